import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { setImmediate as nextRound } from 'node:timers/promises'
import { ThreadedLedger } from '../../src/ledger/threaded.ts'
import { search } from '../../src/recall/search.ts'
import { ledgerStoreContract } from '../contracts/ledger-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
after(() => rmSync(folder, { recursive: true, force: true }))

ledgerStoreContract('threaded', async name => new ThreadedLedger(join(folder, `${name.replace(/\W+/g, '-')}.sqlite`)))

ledgerStoreContract('threaded, early', async name => {
  return new ThreadedLedger(join(folder, `early-${name.replace(/\W+/g, '-')}.sqlite`)).early().store
})

const row = (seq: number) => ({ seq, at: 0, type: 'entry', hash: `${seq}`, light: '', body: 'x'.repeat(9000) })

/** A store with a database that another connection has locked. */
async function lockedStore(name: string, busyMs: number) {
  const path = join(folder, `${name}.sqlite`)
  const store = new ThreadedLedger(path, { busyMs })
  await store.open('a', { at: 0, meta: '{}' })
  const other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE')
  const unlock = () => {
    other.exec('ROLLBACK')
    other.close()
  }
  return { store, unlock }
}

test('a lock gives the same error as on one thread', async () => {
  const { store, unlock } = await lockedStore('locked', 50)
  await assert.rejects(store.append('a', [row(0)]), { code: 'STORE_LOCKED' })
  unlock()
  assert.equal(await store.append('a', [row(0)]), true)
  await store.close()
})

test('the main thread does not wait for a lock, so it can release the lock itself', async () => {
  const { store, unlock } = await lockedStore('held', 600_000)
  const appended = store.append('a', [row(0)])
  for (let i = 0; i < 20; i++) await nextRound()
  unlock()
  assert.equal(await appended, true)
  await store.close()
})

test('a full disk is an error and loses nothing acknowledged', async () => {
  const store = new ThreadedLedger(join(folder, 'full.sqlite'), { maxPages: 40 })
  await store.open('a', { at: 0, meta: '{}' })
  let kept = 0
  const fill = async () => {
    for (; kept < 1000; kept++) await store.append('a', [row(kept)])
  }
  await assert.rejects(fill, { code: 'STORE_FULL' })
  assert.equal((await store.read('a')).length, kept)
  await store.close()
})

test('a search waits for a writer', async () => {
  const path = join(folder, 'searched.sqlite')
  const store = new ThreadedLedger(path)
  await store.open('a', { at: 0, meta: '{}' })
  const body = JSON.stringify({ type: 'entry', message: { role: 'user', parts: [{ type: 'text', text: 'a needle' }] } })
  await store.append('a', [{ ...row(0), body }])
  const other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE')
  const found = store.index('all').then(index => search(index, 'needle', { limit: 5 }))
  setImmediate(() => {
    other.exec('ROLLBACK')
    other.close()
  })
  assert.equal((await found).length, 1)
  await store.close()
})

test('the log is moved into the file from time to time, so that it does not grow without limit', async () => {
  const path = join(folder, 'log.sqlite')
  const store = new ThreadedLedger(path)
  await store.open('a', { at: 0, meta: '{}' })
  for (let seq = 0; seq < 1500; seq++) {
    assert.equal(await store.append('a', [row(seq)]), true)
    // The thread answers in order: after indexing new events, it has also moved the log.
    if (seq % 300 === 299) await store.index({ session: 'a' })
  }
  const log = statSync(`${path}-wal`).size
  assert.ok(log < 1000 * 9000, `the log has ${log} bytes`)
  assert.equal((await store.read('a')).length, 1500)
  await store.close()
})

test('closing waits for current writes, and then refuses new ones', async () => {
  const path = join(folder, 'closing.sqlite')
  const store = new ThreadedLedger(path)
  await store.open('a', { at: 0, meta: '{}' })
  const written = Promise.all(Array.from({ length: 20 }, (_, seq) => store.append('a', [row(seq)])))
  await store.close()
  assert.ok((await written).every(Boolean))
  await assert.rejects(store.append('a', [row(20)]), { code: 'STORE_FAILED' })
  const again = new ThreadedLedger(path)
  assert.equal((await again.read('a')).length, 20)
  await again.close()
})

test('a file that is not a database is refused on opening', () => {
  assert.throws(() => new ThreadedLedger(join(folder, 'closing.sqlite', 'x.sqlite')), { code: 'STORE_FAILED' })
})
