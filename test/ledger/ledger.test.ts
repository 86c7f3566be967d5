/** A ledger over a store: its position after each way of reading, and how it is checked against a kept head. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ledger } from '../../src/ledger/ledger.ts'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import type { Event } from '../../src/model/types.ts'

const said = (text: string): Event => ({ type: 'entry', message: { role: 'user', parts: [{ type: 'text', text }] } })

/** A store with one session of three events, and the ledger that wrote them. */
async function written(): Promise<{ store: SqliteLedger; writer: Ledger }> {
  const store = new SqliteLedger(':memory:')
  await store.open('a', { at: 0, meta: '{}' })
  const writer = new Ledger(store, 'a')
  await writer.append([said('one'), said('two'), said('three')], 1)
  return { store, writer }
}

test('a ledger that has loaded or caught up can append, another one comes too late', async () => {
  const { store, writer } = await written()
  const fresh = new Ledger(store, 'a')
  assert.equal(await fresh.append([said('too early')], 2), undefined)
  const { rows } = await fresh.load()
  assert.deepEqual([rows.length, fresh.length, fresh.head], [3, 3, writer.head])
  assert.deepEqual(
    (await fresh.append([said('four')], 2))?.map(({ seq }) => seq),
    [3],
  )
  assert.equal(await writer.append([said('late')], 3), undefined)
  assert.deepEqual(
    (await writer.catchUp()).map(({ seq }) => seq),
    [3],
  )
  assert.deepEqual(await writer.catchUp(), [])
  assert.deepEqual(
    (await writer.append([said('five')], 3))?.map(({ seq }) => seq),
    [4],
  )
})

test('a kept head is found in the chain, even after more appends; a wrong one is not', async () => {
  const { store, writer } = await written()
  const kept = { session: 'a', ...writer.head }
  await writer.append([said('four')], 2)
  assert.equal((await new Ledger(store, 'a').verify(kept)).length, 4)
  await new Ledger(store, 'a').verify({ session: 'a', events: 0, hash: '' })
  const fails = (events: number, hash: string, message: RegExp) =>
    assert.rejects(new Ledger(store, 'a').verify({ session: 'a', events, hash }), { code: 'LEDGER_CORRUPT', message })
  await fails(3, 'f'.repeat(64), /was rewritten/)
  await fails(4, kept.hash, /was rewritten/)
  await fails(5, kept.hash, /has 4 events, but the kept head has 5/)
})

test('a redaction explains a changed chain from its first changed event, but not for heads kept later', async () => {
  const { store, writer } = await written()
  const one = { session: 'a', events: 1, hash: (await store.read('a'))[0]!.hash }
  const all = { session: 'a', ...writer.head }
  await store.redact(['a'], { text: 'two' }, { at: 2, by: 'alice' })
  const verify = (head: typeof all) => new Ledger(store, 'a').verify(head)
  await verify(one)
  await verify(all)
  await verify({ ...all, events: 2, hash: 'e'.repeat(64) })
  await assert.rejects(verify({ ...one, hash: 'e'.repeat(64) }), { code: 'LEDGER_CORRUPT' })
  await assert.rejects(verify({ ...all, hash: 'e'.repeat(64) }), { code: 'LEDGER_CORRUPT' })
  await assert.rejects(verify({ ...all, events: 4, hash: 'e'.repeat(64) }), { code: 'LEDGER_CORRUPT' })
})

test('a redact event lists only texts that the redaction covered', async () => {
  const { store } = await written()
  await store.append('a', [])
  await store.redact(['a'], { text: 'two' }, { at: 2, by: 'alice' })
  const [last] = await new Ledger(store, 'a').events([3])
  assert.equal(last!.event.type === 'redact' && last!.event.texts.length, 1)
})

test('a message keeps its own time, to the millisecond, and other events get the time of writing', async () => {
  const { store } = await written()
  const ledger = new Ledger(store, 'a')
  await ledger.load()
  const at = (time?: number): Event => ({
    type: 'entry',
    message: { role: 'user', parts: [], ...(time === undefined ? {} : { at: time }) },
  })
  const placed = await ledger.append([at(1234.6), at(), { type: 'decision', text: 'x' }], 9.4)
  assert.deepEqual(
    placed?.map(one => one.at),
    [1235, 9, 9],
  )
})

test('loading includes texts of edits, but not of entries and files; each can be requested', async () => {
  const store = new SqliteLedger(':memory:')
  await store.open('a', { at: 0, meta: '{}' })
  const large = (char: string) => char.repeat(20_000)
  const target = { type: 'part' as const, entry: 0, part: 0 }
  const events: Event[] = [
    said(large('x')),
    { type: 'file', action: 'write', path: 'a', hash: 'h', before: null, after: large('y') },
    { type: 'edit', edits: [{ id: 'e1', target, replacement: large('z'), by: 'user', why: '', saved: 1 }] },
    { type: 'revert', edits: ['e1'], by: 'user' },
    { type: 'pin', entry: 0, on: true, by: 'user' },
    { type: 'reapply', edits: ['e1'], by: 'user' },
  ]
  await new Ledger(store, 'a').append(events, 1)
  const ledger = new Ledger(store, 'a')
  const { rows, contents } = await ledger.load()
  assert.deepEqual([rows.length, [...contents.values()]], [6, [large('z')]])
  const { events: edits, besides } = await ledger.edits()
  assert.deepEqual(
    edits.map(({ seq, event }) => [seq, event]),
    [2, 3, 5].map(seq => [seq, events[seq]]),
  )
  assert.deepEqual(besides, [1, 2, 3, 4, 5])
  const messages = await ledger.messages([0, 1, 4])
  assert.deepEqual([...messages], [[0, events[0]!.type === 'entry' && events[0]!.message]])
})

test('a renamed session keeps its events and forks, for existing readers too', async () => {
  const { store } = await written()
  await store.open('b', { at: 0, meta: '{}', parent: { id: 'a', seq: 1 } })
  const before = [await store.read('a'), await store.read('b')]
  assert.equal(store.rename('a', 'b'), false, 'the id is taken')
  assert.equal(store.rename('nobody', 'c'), false)
  assert.equal(store.rename('a', 'c'), true)
  assert.deepEqual([await store.read('c'), await store.read('b')], before)
  await assert.rejects(store.read('a'), { code: 'SESSION_NOT_FOUND' })
})
