/** Locks of files: one holder at a time, within a process and between processes, in one order, released when it ends. */
import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { withLocks } from '../../src/files/lock.ts'
import { openBelow } from './open-below.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-locks-test-'))
const { TMPDIR } = process.env
after(() => {
  process.env['TMPDIR'] = TMPDIR
  rmSync(folder, { recursive: true, force: true })
})
process.env.PALIMPSEST_LOCKS = join(folder, 'locks')

test('locks of a file are given in the order of the requests', async () => {
  const seen: string[] = []
  const first = Promise.withResolvers<void>()
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
  const works = names.map(name =>
    withLocks(['file'], async () => {
      seen.push(`${name} begins`)
      if (name === 'a') await first.promise
      seen.push(`${name} ends`)
    }),
  )
  while (seen.length === 0) await new Promise(resolve => setImmediate(resolve))
  // A request that does not wait for its turn would have tried by now, and would try again later.
  const start = performance.now()
  while (performance.now() - start < 40) await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual(seen, ['a begins'])
  first.resolve()
  await Promise.all(works)
  assert.deepEqual(
    seen,
    names.flatMap(name => [`${name} begins`, `${name} ends`]),
  )
})

test('failing work releases its lock, and its error is passed on', async () => {
  await assert.rejects(
    withLocks(['file'], async () => {
      throw new Error('the work failed')
    }),
    /the work failed/,
  )
  assert.equal(await withLocks(['file', 'other', 'file'], async () => 'done'), 'done')
})

test('a lock of another process is waited for', async () => {
  await withLocks(['file'], async () => {})
  const [name] = readdirSync(process.env.PALIMPSEST_LOCKS!).filter(file => file.endsWith('.lock'))
  // Another connection represents another process: SQLite's locks do not distinguish them.
  const other = new DatabaseSync(join(process.env.PALIMPSEST_LOCKS!, name!))
  other.exec('BEGIN EXCLUSIVE')
  let isDone = false
  const waiting = withLocks(['file'], async () => (isDone = true))
  // The waiting process has opened the lock, tried, and tried again.
  const start = performance.now()
  while (performance.now() - start < 20) await new Promise(resolve => setImmediate(resolve))
  assert.equal(isDone, false)
  other.close()
  await waiting
  assert.equal(isDone, true)
})

test('waiting for a lock ends with an error after a minute', async t => {
  await withLocks(['file'], async () => {})
  const [name] = readdirSync(process.env.PALIMPSEST_LOCKS!).filter(file => file.endsWith('.lock'))
  const other = new DatabaseSync(join(process.env.PALIMPSEST_LOCKS!, name!))
  other.exec('BEGIN EXCLUSIVE')
  const times = [0, 60_000, 60_001]
  const now = t.mock.method(performance, 'now', () => times.shift() ?? assert.fail('it was not given up'))
  const waiting = withLocks(['file'], async () => assert.fail('it is held'))
  await assert.rejects(waiting, { code: 'STORE_LOCKED' })
  now.mock.restore()
  other.close()
  assert.deepEqual(openBelow(process.env.PALIMPSEST_LOCKS!), [])
  assert.equal(await withLocks(['file'], async () => 'done'), 'done')
})

test('a damaged lock file is an error at once, and is closed', async () => {
  const places = join(folder, 'damaged')
  process.env.PALIMPSEST_LOCKS = places
  await withLocks(['file'], async () => {})
  const [lock] = readdirSync(places)
  writeFileSync(join(places, lock!), 'no database, and long enough to be read as one. '.repeat(40))
  const damaged = withLocks(['file'], async () => assert.fail('nobody has this lock'))
  await assert.rejects(damaged, /not a database/)
  assert.deepEqual(openBelow(places), [])
  rmSync(join(places, lock!))
  assert.equal(await withLocks(['file'], async () => 'done'), 'done')
})

test("if the folder of locks cannot be created, one of the user's in the temporary folder is used", async t => {
  const file = join(folder, 'a-file')
  writeFileSync(file, '')
  process.env.PALIMPSEST_LOCKS = join(file, 'locks')
  process.env['TMPDIR'] = folder
  const own = join(folder, `palimpsest-locks-${process.getuid?.() ?? 0}`)
  assert.equal(await withLocks(['file'], async () => 'done'), 'done')
  if (process.platform !== 'win32') assert.equal(statSync(own).mode & 0o777, 0o700)
  assert.equal(readdirSync(own).filter(name => name.endsWith('.lock')).length, 1)
  rmSync(own, { recursive: true })
  writeFileSync(own, 'not a folder')
  chmodSync(own, 0o600)
  await assert.rejects(
    withLocks(['file'], async () => 'done'),
    { code: 'EEXIST' },
  )
  rmSync(own)
  mkdirSync(join(folder, 'of-others'))
  symlinkSync(join(folder, 'of-others'), own)
  await assert.rejects(
    withLocks(['file'], async () => 'done'),
    { code: 'STORE_FAILED', message: /belongs to another user/ },
  )
  if (process.getuid?.() !== 0) return t.diagnostic('not root: no folder can be given to somebody else')
  rmSync(own)
  mkdirSync(own)
  chownSync(own, 1234, 1234)
  await assert.rejects(
    withLocks(['file'], async () => 'done'),
    { code: 'STORE_FAILED', message: /belongs to another user/ },
  )
})
