/** ThreadedLedger when it cannot write at once, when it is closed, and when it is not closed. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, test } from 'node:test'
import { setImmediate as nextRound } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import type { LedgerStore } from '../../src/ledger/store.ts'
import { ThreadedLedger } from '../../src/ledger/threaded.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const row = (seq: number) => ({ seq, at: 0, type: 'entry', hash: `${seq}`, light: '', body: `row ${seq}` })
const INIT = { at: 0, meta: '{}' }

/** A database that another process is writing, until `release`. */
function lock(path: string): () => void {
  const other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE')
  return () => {
    other.exec('ROLLBACK')
    other.close()
  }
}

describe('a write that must wait for another process', () => {
  const kinds: [string, (store: ThreadedLedger) => LedgerStore][] = [
    ['durable', store => store],
    ['early', store => store.early().store],
  ]
  for (const [kind, of] of kinds) {
    test(`waits on the thread and is done in order (${kind})`, async () => {
      const path = join(folder, `waits-${kind}.sqlite`)
      const ledger = new ThreadedLedger(path)
      const store = of(ledger)
      await store.open('a', INIT)
      const release = lock(path)
      const writes = [
        store.append('a', [row(0)]),
        store.append('a', [row(1)]),
        store.setMeta('a', '{"x":1}'),
        store.open('b', INIT),
        store.append('a', [row(1)]),
      ]
      // By then each has tried here and been passed to the thread.
      await nextRound()
      release()
      const [first, second, meta, opened, taken] = await Promise.all(writes)
      assert.deepEqual([first, second, meta, taken], [true, true, undefined, false])
      assert.equal((opened as { id: string }).id, 'b')
      assert.deepEqual(
        (await store.read('a')).map(({ body }) => body),
        ['row 0', 'row 1'],
      )
      assert.equal((await store.find('a'))?.meta, '{"x":1}')
      assert.equal(await store.append('a', [row(2)]), true)
      await ledger.close()
    })
  }

  test('fails with the full error of the database', async () => {
    const path = join(folder, 'fails.sqlite')
    const store = new ThreadedLedger(path, { busyMs: 20 })
    await store.open('a', INIT)
    const release = lock(path)
    await assert.rejects(store.append('a', [row(0)]), (error: Error & { code?: string; data?: object }) => {
      assert.equal(error.code, 'STORE_LOCKED')
      assert.match(error.message, /^Another process has locked the database/)
      assert.deepEqual(error.data, { sqlite: 'database is locked' })
      return true
    })
    release()
    assert.equal(await store.append('a', [row(0)]), true)
    await store.close()
  })

  test('does not hide another error', async () => {
    const store = new ThreadedLedger(join(folder, 'other.sqlite'))
    await assert.rejects(store.append('nosuch', [row(0)]), { code: 'SESSION_NOT_FOUND' })
    await store.close()
  })
})

describe('closing', () => {
  test('waits for pending writes, leaves one complete file, and may be repeated', async () => {
    const path = join(folder, 'closed.sqlite')
    const store = new ThreadedLedger(path)
    await store.open('a', INIT)
    const release = lock(path)
    const written = store.append('a', [row(0)])
    await nextRound()
    const closing = store.close()
    release()
    assert.equal(await written, true)
    await closing
    await store.close()
    assert.equal(existsSync(`${path}-wal`), false, 'the log is moved into the file')
    const again = new SqliteLedger(path)
    assert.equal((await again.read('a')).length, 1)
    await again.close()
  })

  test('ends if the thread cannot start, before or during the wait, and its requests fail', async () => {
    for (const isClosing of [false, true]) {
      const path = join(folder, `gone-${isClosing}.sqlite`)
      const store = new ThreadedLedger(path)
      rmSync(path)
      mkdirSync(path)
      if (!isClosing) {
        await assert.rejects(store.index('all'), { code: 'STORE_FAILED' })
        await assert.rejects(store.index('all'), { code: 'STORE_FAILED' })
        await assert.rejects(store.append('a', [row(0)]), { code: 'STORE_FAILED' })
        await assert.rejects(store.remove(['a'], { at: 1, by: 'alice' }), { code: 'STORE_FAILED' })
      }
      await store.close()
    }
  })

  test('refuses every later write, even through the early store', async () => {
    const ledger = new ThreadedLedger(join(folder, 'late.sqlite'))
    const { store: early } = ledger.early()
    await early.close()
    for (const store of [ledger, early]) {
      await assert.rejects(store.open('a', INIT), { code: 'STORE_FAILED', message: /closed/ })
      await assert.rejects(store.setMeta('a', '{}'), { code: 'STORE_FAILED' })
      await assert.rejects(store.append('a', [row(0)]), { code: 'STORE_FAILED' })
      const by = { at: 1, by: 'alice' }
      await assert.rejects(store.remove(['a'], by), { code: 'STORE_FAILED', message: /closed/ })
      await assert.rejects(store.redact(['a'], { text: 'x' }, by), { code: 'STORE_FAILED', message: /closed/ })
      await assert.rejects(store.scrub(), { code: 'STORE_FAILED', message: /closed/ })
    }
  })
})

test('an early write survives a crash of the machine after a sync, and concurrent syncs share one', async () => {
  const path = join(folder, 'early.sqlite')
  const ledger = new ThreadedLedger(path)
  const { store, synced } = ledger.early()
  await store.open('a', INIT)
  await store.append('a', [row(0)])
  const all = await Promise.all([synced(), store.append('a', [row(1)]).then(synced), synced(), synced()])
  assert.deepEqual(all, [undefined, undefined, undefined, undefined])
  const other = new SqliteLedger(path, { readOnly: true })
  assert.equal((await other.read('a')).length, 2)
  await other.close()
  await ledger.close()
})

test('a process that does not close its ledger ends by itself, after its pending writes', async () => {
  const path = join(folder, 'process.sqlite')
  const opening = `
    import { DatabaseSync } from 'node:sqlite'
    import { ThreadedLedger } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, '../../src/ledger/threaded.ts')).href)}
    const store = new ThreadedLedger(${JSON.stringify(path)})`
  const writing = `
    await store.open('a', { at: 0, meta: '{}' })
    const other = new DatabaseSync(${JSON.stringify(path)})
    other.exec('BEGIN IMMEDIATE')
    store.append('a', [${JSON.stringify(row(0))}]).then(made => console.log(made))
    setImmediate(() => { other.exec('ROLLBACK'); other.close() })`
  const run = (program: string) => promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
  assert.equal((await run(opening)).stdout, '')
  assert.equal((await run(opening + writing)).stdout.trim(), 'true')
  const store = new SqliteLedger(path)
  assert.equal((await store.read('a')).length, 1)
  await store.close()
})
