import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import { listStatement } from '../../src/ledger/sqlite-list.ts'
import { familyLaw } from '../contracts/ledger-family.ts'
import { ledgerStoreContract } from '../contracts/ledger-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
after(() => rmSync(folder, { recursive: true, force: true }))

ledgerStoreContract('sqlite', async name => new SqliteLedger(join(folder, `${name.replace(/\W+/g, '-')}.sqlite`)))

test('in memory, without disk waits, many families satisfy the contract', () =>
  familyLaw(async () => new SqliteLedger(':memory:'), 80))

test('a page of the list is read from an index, in order, for one owner or for all', async () => {
  const path = join(folder, 'pages.sqlite')
  const store = new SqliteLedger(path)
  const anchor = await store.open('@ann/one', { at: 5, meta: '{}' })
  await store.close()
  const db = new DatabaseSync(path)
  const planOf = (prefix: string, from: typeof anchor | undefined) => {
    const { sql, values } = listStatement({ limit: 50, anchor: from, contains: undefined, prefix })
    return db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...values)
      .map(row => String(row['detail']))
  }
  for (const from of [undefined, anchor]) {
    for (const [prefix, index] of [
      ['', 'sessions_by_use'],
      ['@ann/', 'sessions_of_owner'],
    ] as const) {
      const plan = planOf(prefix, from)
      assert.match(plan[0]!, new RegExp(`^(SEARCH|SCAN) s USING INDEX ${index}`))
      assert.ok(!plan.some(step => /TEMP B-TREE|SCAN (?!s USING INDEX)/.test(step)), plan.join('\n'))
    }
  }
  db.close()
})

test('a list of recent changes leaves out older ones, to the minute', async () => {
  const path = join(folder, 'lately.sqlite')
  const store = new SqliteLedger(path)
  for (const id of ['old', 'new']) await store.open(id, { at: 1, meta: '{}' })
  const db = new DatabaseSync(path)
  db.exec("UPDATE sessions SET changed_minute = changed_minute - 10 WHERE id = 'old'")
  db.close()
  const within = async (minutes: number) => (await store.list({ changedWithin: minutes * 60_000 })).map(({ id }) => id)
  assert.deepEqual([await within(5), await within(15)], [['new'], ['old', 'new']])
  await store.redact(['old'], { text: 'nowhere' }, { at: 2, by: 'alice' })
  assert.deepEqual(await within(5), ['new'], 'what is not there changes nothing')
  await store.close()
})

test('an append writes only the page of its event', async () => {
  const path = join(folder, 'one-page.sqlite')
  const store = new SqliteLedger(path, { indexes: false })
  await store.open('s', { at: 1, meta: '{}' })
  const append = (seq: number) =>
    store.append('s', [{ seq, type: 'decision', at: seq, hash: `h${seq}`, light: '', body: '{}' }])
  await append(0)
  const sizeOfLog = () => statSync(`${path}-wal`).size
  const before = sizeOfLog()
  await append(1)
  const [PAGE, FRAME_HEADER] = [4096, 24]
  assert.equal(sizeOfLog() - before, PAGE + FRAME_HEADER)
  await store.close()
})

test('sessions appended to by a killed process are in order in the list after indexing', async () => {
  const path = join(folder, 'killed.sqlite')
  const killed = new SqliteLedger(path, { indexes: false })
  for (const [at, id] of ['a', 'b', 'c'].entries()) await killed.open(id, { at, meta: '{}' })
  await killed.append('a', [{ seq: 0, type: 'decision', at: 9, hash: 'h', light: '', body: '{}' }])
  const next = new SqliteLedger(path, { indexes: false })
  while (await next.advanceIndex(undefined, { steps: 4, merge: false }));
  assert.deepEqual(
    (await next.list()).map(({ id, updatedAt }) => [id, updatedAt]),
    [
      ['a', 9],
      ['c', 2],
      ['b', 1],
    ],
  )
  await next.close()
  await killed.close()
})

test('a database of a newer version is refused and not changed', () => {
  const path = join(folder, 'newer.sqlite')
  const db = new DatabaseSync(path)
  db.exec('PRAGMA user_version = 999')
  db.close()
  assert.throws(() => new SqliteLedger(path), { code: 'LEDGER_NEWER', message: /Update Palimpsest/ })
})

test('a file that is not a database is refused with a clear code', () => {
  const path = join(folder, 'text.sqlite')
  writeFileSync(path, 'this is not a database, and it is long enough to have a header of its own'.repeat(20))
  assert.throws(() => new SqliteLedger(path), { code: 'LEDGER_CORRUPT' })
})

test('a locked database is an error after the wait, and works after the lock is released', async () => {
  const path = join(folder, 'locked.sqlite')
  const store = new SqliteLedger(path, { busyMs: 50 })
  await store.open('a', { at: 0, meta: '{}' })
  await store.append('a', [{ seq: 0, type: 'decision', at: 9, hash: 'h', light: '', body: '{}' }])
  const made = await store.find('a')
  const other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE')
  await assert.rejects(store.open('b', { at: 0, meta: '{}' }), { code: 'STORE_LOCKED' })
  assert.deepEqual(await store.list(), [made], 'it can be read')
  new SqliteLedger(path, { busyMs: 0, readOnly: true }).close()
  other.exec('ROLLBACK')
  other.close()
  assert.equal((await store.open('b', { at: 0, meta: '{}' })).length, 0)
  await store.close()
  await store.close()
})

test('a write waits for another process, unless told not to', async () => {
  const path = join(folder, 'waiting.sqlite')
  const store = new SqliteLedger(path)
  const held = new Int32Array(new SharedArrayBuffer(4))
  const holding = `
    const { workerData } = require('node:worker_threads')
    const { DatabaseSync } = require('node:sqlite')
    const db = new DatabaseSync(workerData.path)
    db.exec('BEGIN IMMEDIATE')
    Atomics.store(workerData.held, 0, 1)
    Atomics.notify(workerData.held, 0)
    Atomics.wait(workerData.held, 0, 1, 50)
    db.exec('ROLLBACK')
    db.close()`
  const worker = new Worker(holding, { eval: true, workerData: { path, held } })
  const ended = once(worker, 'exit')
  Atomics.wait(held, 0, 0)
  assert.equal((await store.open('a', { at: 0, meta: '{}' })).length, 0)
  await store.close()
  await ended
})

test('recently used sessions are in that order also after a restart', async () => {
  const path = join(folder, 'used.sqlite')
  const store = new SqliteLedger(path, { indexes: false })
  for (const [at, id] of ['a', 'b'].entries()) await store.open(id, { at, meta: '{}' })
  await store.append('a', [{ seq: 0, type: 'decision', at: 9, hash: 'h', light: '', body: '{}' }])
  await store.close()
  const again = new SqliteLedger(path, { indexes: false })
  assert.deepEqual(
    (await again.list()).map(({ id }) => id),
    ['a', 'b'],
  )
  await again.close()
})

test('the log is moved into the file by commits, or only on request', async () => {
  const sizes: number[][] = []
  for (const checkpoints of [true, false]) {
    const path = join(folder, `log-${checkpoints}.sqlite`)
    const store = new SqliteLedger(path, { checkpoints, sync: 'normal', indexes: false })
    await store.open('a', { at: 0, meta: '{}' })
    const sizeOfLog = () => statSync(`${path}-wal`).size
    const body = 'x'.repeat(16_000)
    const append = (from: number) =>
      store.append(
        'a',
        Array.from({ length: 50 }, (_, i) => ({ seq: from + i, type: 'x', at: 0, hash: '', light: '', body })),
      )
    for (let from = 0; from < 500; from += 50) await append(from)
    const full = sizeOfLog()
    await store.checkpoint()
    await append(500)
    sizes.push([full, sizeOfLog()])
    await store.close()
  }
  const [[moved], [kept, after]] = sizes as [[number], [number, number]]
  assert.ok(moved < 7_000_000 && kept > 8_000_000, `${moved} and ${kept}`)
  assert.equal(after, kept, 'and begins anew')
})

test('if the file cannot be scrubbed after a removal, there is an error, and the next scrub works', async () => {
  const path = join(folder, 'scrubbed.sqlite')
  const store = new SqliteLedger(path, { busyMs: 50 })
  await store.open('a', { at: 0, meta: '{}' })
  await store.append('a', [{ seq: 0, at: 0, type: 'entry', hash: '0', light: '', body: 'a xylophone' }])
  await store.remove(['a'], { at: 1, by: 'alice' })
  const other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE')
  await assert.rejects(store.scrub(), {
    code: 'STORE_FAILED',
    message: /^It is deleted, but its bytes stay in the file/,
  })
  other.close()
  await store.scrub()
  for (const end of ['', '-wal']) assert.ok(!readFileSync(path + end).includes('xylophone'))
  await store.close()
})

test('a full disk is an error and loses nothing acknowledged', async () => {
  const path = join(folder, 'full.sqlite')
  const store = new SqliteLedger(path, { maxPages: 40 })
  await store.open('a', { at: 0, meta: '{}' })
  let kept = 0
  const row = (seq: number) => ({ seq, at: 0, type: 'entry', hash: `${seq}`, light: '', body: 'x'.repeat(9000) })
  await assert.rejects(
    async () => {
      for (; kept < 1000; kept++) await store.append('a', [row(kept)])
    },
    { code: 'STORE_FULL' },
  )
  assert.equal((await store.read('a')).length, kept)
  await store.close()
})

test('a home that cannot be made is an error that says so', () => {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  assert.throws(() => new SqliteLedger(join(file, 'x.sqlite')), { code: 'STORE_FAILED', message: /x\.sqlite\)$/ })
})

test('a database that is read only is an error that says so', async () => {
  const path = join(folder, 'readonly.sqlite')
  await new SqliteLedger(path).close()
  const store = new SqliteLedger(path, { readOnly: true })
  await assert.rejects(store.open('a', { at: 0, meta: '{}' }), { code: 'STORE_READONLY' })
  await store.close()
})

test('a new file is for its owner alone, and looking makes none', async () => {
  const umask = process.umask(0)
  try {
    const path = join(folder, 'made', 'new.sqlite')
    assert.throws(() => new SqliteLedger(path, { readOnly: true }), { code: 'STORE_FAILED' })
    assert.equal(existsSync(join(folder, 'made')), false)
    const store = new SqliteLedger(path)
    if (process.platform !== 'win32') {
      const modes = ['', 'new.sqlite', 'new.sqlite-wal'].map(name => statSync(join(folder, 'made', name)).mode & 0o777)
      assert.deepEqual(modes, [0o700, 0o600, 0o600])
    }
    await store.close()
  } finally {
    process.umask(umask)
  }
})
