/** When ThreadedLedger waits for the disk, and what it does when the disk fails. The test decides when a sync ends. */
import assert from 'node:assert/strict'
import fs, { mkdtempSync, rmSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setImmediate as nextRound } from 'node:timers/promises'
import { openBelow } from '../files/open-below.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-syncs-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** Ends the waiting syncs, with an error if one is given. */
type End = (failure?: Error) => void
const waiting: End[] = []
const folders: string[] = []
const { fdatasync, fsyncSync } = fs
let holds = false
Object.assign(fs, {
  fdatasync: (file: number, done: (failure?: Error | null) => void) =>
    holds ? waiting.push(failure => done(failure ?? null)) : fdatasync(file, done),
  fsyncSync: (file: number) => {
    if (process.platform === 'linux') folders.push(fs.readlinkSync(`/proc/self/fd/${file}`))
    fsyncSync(file)
  },
})
syncBuiltinESMExports()
// Loaded now, so that it uses these functions.
const { ThreadedLedger } = await import('../../src/ledger/threaded.ts')

const row = (seq: number) => ({ seq, at: 0, type: 'entry', hash: `${seq}`, light: '', body: `row ${seq}` })

async function open(name: string) {
  holds = false
  const ledger = new ThreadedLedger(join(folder, `${name}.sqlite`))
  await ledger.open('a', { at: 0, meta: '{}' })
  holds = true
  return ledger
}

/** Lets everything run that does not wait for a sync. */
async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await nextRound()
}

function end(failure?: Error): void {
  for (const one of waiting.splice(0)) one(failure)
}

test('an append resolves when it is on disk, an early one when it is committed', async () => {
  const ledger = await open('waits')
  const done: string[] = []
  const append = ledger.append('a', [row(0)]).then(() => done.push('append'))
  await settle()
  assert.deepEqual([done, waiting.length, (await ledger.read('a')).length], [[], 1, 1])
  end()
  await append
  const { store, synced } = ledger.early()
  await store.append('a', [row(1)])
  await store.setMeta('a', '{"x":1}')
  await store.open('b', { at: 0, meta: '{}' })
  assert.equal(waiting.length, 0)
  const all = synced().then(() => done.push('synced'))
  await settle()
  assert.deepEqual([done, waiting.length], [['append'], 1])
  end()
  await all
  for (const write of [() => ledger.setMeta('a', '{}'), () => ledger.open('c', { at: 0, meta: '{}' })]) {
    let isDone = false
    const written = write().then(() => (isDone = true))
    await settle()
    assert.equal(isDone, false)
    end()
    await written
  }
  holds = false
  await ledger.close()
  assert.deepEqual(openBelow(folder), [])
  if (process.platform === 'linux') assert.ok(folders.includes(folder), 'the name of the file is on disk, too')
})

test('writes during a sync wait together for the next one', async () => {
  const ledger = await open('shares')
  const done: number[] = []
  const append = (seq: number) => ledger.append('a', [row(seq)]).then(() => done.push(seq))
  const first = append(0)
  await settle()
  const others = [append(1), append(2), append(3)]
  await settle()
  assert.equal(waiting.length, 1)
  end()
  await first
  await settle()
  assert.deepEqual([done, waiting.length], [[0], 1])
  const last = append(4)
  await settle()
  end()
  await Promise.all(others)
  assert.deepEqual(done, [0, 1, 2, 3])
  await settle()
  end()
  await last
  holds = false
  await ledger.close()
})

test('closing waits for a write that is not on disk yet', async () => {
  const ledger = await open('closing')
  const done: string[] = []
  const written = ledger.append('a', [row(0)]).then(() => done.push('append'))
  await settle()
  const closing = ledger.close().then(() => done.push('close'))
  await settle()
  assert.deepEqual(done, [])
  holds = false
  end()
  await Promise.all([written, closing])
  assert.deepEqual(done, ['append', 'close'])
})

test('after a failed sync nothing is written, and nothing is reported to be on disk', async () => {
  const ledger = await open('failed')
  const { store: early, synced } = ledger.early()
  const failed = { code: 'STORE_FAILED', message: /could not be written to disk/ }
  const writes = [ledger.append('a', [row(0)])]
  await settle()
  writes.push(ledger.append('a', [row(1)]))
  await settle()
  end(new Error('EIO'))
  for (const written of await Promise.allSettled(writes)) {
    assert.equal(written.status, 'rejected')
    assert.match(String(written.reason), failed.message)
  }
  assert.equal(waiting.length, 0, 'a later success would not cover it')
  holds = false
  for (const store of [ledger, early]) await assert.rejects(store.append('a', [row(2)]), failed)
  await assert.rejects(synced(), failed)
  assert.equal((await ledger.read('a')).length, 2)
  await ledger.close()
})
