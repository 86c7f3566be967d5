/** Half-written files that killed processes left: they go with the next write, those of the living stay. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { changeFile, changeOwnFile, isTemporary } from '../../src/files/atomic.ts'
import { openRoot } from '../../src/files/root.ts'
import { MAX_FILE_BYTES } from '../../src/files/text.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-atomic-'))
process.env.PALIMPSEST_LOCKS ??= join(folder, 'locks')
after(() => rmSync(folder, { recursive: true, force: true }))

const halfOf = (pid: number, sign: string) => `.palimpsest-${pid}-${sign.repeat(16)}.tmp`

test('what the dead left, or the living an hour ago, is swept; all else stays', async () => {
  const home = mkdtempSync(join(folder, 'sweep-'))
  const { pid: dead } = spawnSync(process.execPath, ['-e', ''])
  const names = {
    dead: halfOf(dead, 'a'),
    living: halfOf(process.ppid, 'b'),
    old: halfOf(process.ppid, 'c'),
    own: halfOf(process.pid, 'd'),
    other: '.palimpsest-notes.tmp',
  }
  for (const name of Object.values(names)) writeFileSync(join(home, name), 'half')
  const longAgo = Date.now() / 1000 - 3700
  for (const name of [names.old, names.own, names.other]) utimesSync(join(home, name), longAgo, longAgo)
  await changeFile({ root: await openRoot(home), path: 'a.txt' }, {}, () => 'text')
  assert.deepEqual(readdirSync(home).sort(), [names.living, names.own, names.other, 'a.txt'].sort())
  assert.deepEqual(Object.values(names).map(isTemporary), [true, true, true, true, false])
})

test('a change that is none writes nothing, one that throws does nothing, and null removes', async () => {
  const path = join(folder, 'own.txt')
  assert.deepEqual(await changeOwnFile(path, {}, () => 'one'), { key: 'own.txt', before: null, after: 'one' })
  const failing = changeOwnFile(path, {}, () => {
    throw new Error('no')
  })
  await assert.rejects(failing, /no/)
  assert.deepEqual(await changeOwnFile(path, {}, now => now), { key: 'own.txt', before: 'one', after: 'one' })
  assert.equal(readFileSync(path, 'utf8'), 'one')
  assert.deepEqual(await changeOwnFile(path, {}, () => null), { key: 'own.txt', before: 'one', after: null })
  assert.ok(!readdirSync(folder).includes('own.txt'))
})

test('a file that another program changes meanwhile is read again, and after many times given up', async () => {
  const path = join(folder, 'busy.txt')
  writeFileSync(path, '0')
  let times = 0
  const once = await changeOwnFile(path, {}, now => {
    if (++times === 1) writeFileSync(path, 'from elsewhere')
    return `${now}!`
  })
  assert.deepEqual([once.before, readFileSync(path, 'utf8'), times], ['from elsewhere', 'from elsewhere!', 2])
  const always = changeOwnFile(path, {}, now => {
    writeFileSync(path, `${times++}`)
    return `${now}!`
  })
  await assert.rejects(always, { code: 'FILE_CHANGED' })
  assert.doesNotMatch(readFileSync(path, 'utf8'), /!/)
})

test('a file over the limit is not read, and stays', async () => {
  const root = await openRoot(folder)
  writeFileSync(join(folder, 'large.txt'), '')
  truncateSync(join(folder, 'large.txt'), MAX_FILE_BYTES + 1)
  const change = changeFile({ root, path: 'large.txt' }, {}, () => 'small')
  await assert.rejects(change, { code: 'TOO_LARGE', data: { path: 'large.txt', size: MAX_FILE_BYTES + 1 } })
  assert.equal(statSync(join(folder, 'large.txt')).size, MAX_FILE_BYTES + 1)
})
