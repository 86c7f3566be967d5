/** Copies of ledgers: the copy is the same after any forks and removals, and copying again or on changes nothing. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encodeEvents, GENESIS } from '../../src/ledger/codec.ts'
import { copyLedger } from '../../src/ledger/copying.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { ledgerId } from '../../src/ledger/owners.ts'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import type { NewRow } from '../../src/ledger/store.ts'
import type { Event } from '../../src/model/types.ts'
import * as fc from '../property.ts'
import { storeWith } from './store-with.ts'

const said = (text: string): Event => ({ type: 'entry', message: { role: 'user', parts: [{ type: 'text', text }] } })
const LARGE = 'large '.repeat(5000)

async function append(store: SqliteLedger, id: string, ...texts: string[]): Promise<void> {
  const ledger = new Ledger(store, id)
  await ledger.load()
  await ledger.append(texts.map(said), 5)
}

async function make(store: SqliteLedger, id: string, at: number, parent?: { id: string; seq: number }): Promise<void> {
  await store.open(id, { at, meta: `{"title":"${at}"}`, ...(parent ? { parent } : {}) })
}

/** Everything that a reader of the store can see. */
async function contentOf(store: SqliteLedger) {
  const sessions = (await store.list({ limit: 100 })).toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const all = []
  for (const { id, createdAt, meta, length, parent } of sessions) {
    await new Ledger(store, id).verify()
    all.push({ id, createdAt, meta, length, parent, rows: await store.read(id) })
  }
  return { all, removed: await store.tombstones() }
}

const history = fc.record({
  sessions: fc.array(fc.record({ from: fc.nat(7), at: fc.nat(5), events: fc.nat(4) }), { minLength: 1, maxLength: 6 }),
  removed: fc.option(fc.nat(5)),
  interrupted: fc.nat(20),
})

test('a copy has every session, fork, event and removed session of the source, even on a second run', () =>
  fc.assert(
    fc.asyncProperty(history, async ({ sessions, removed, interrupted }) => {
      const [from, to] = [new SqliteLedger(':memory:'), new SqliteLedger(':memory:')]
      const lengths: number[] = []
      for (const [i, { from: other, at, events }] of sessions.entries()) {
        const seq = other < i ? Math.min(at, lengths[other]! - 1) : -1
        await make(from, `s${i}`, 100 - i, seq < 0 ? undefined : { id: `s${other}`, seq })
        await append(
          from,
          `s${i}`,
          ...Array.from({ length: events }, (_, n) => (n === 2 ? `${LARGE}${i}` : `${i} ${n}`)),
        )
        lengths.push(Math.max(0, seq + 1) + events)
      }
      if (removed !== null) await from.remove([`s${removed}`], { at: 7, by: 'user:ann' })
      // An interrupted copy has some sessions, and the beginning of one.
      const [first] = removed === 0 ? [] : await from.read('s0')
      if (first && interrupted > 10) {
        const row = (await from.find('s0'))!
        await to.open('s0', { at: row.createdAt, meta: row.meta })
        if (interrupted > 15 && first.body !== undefined) await to.append('s0', [{ ...first, body: first.body }])
      }
      const copied = await copyLedger(from, to)
      assert.deepEqual(await contentOf(to), await contentOf(from))
      assert.equal(copied.sessions + copied.already, (await from.list({ limit: 100 })).length)
      const again = await copyLedger(from, to)
      assert.deepEqual([again.sessions, again.events, again.removed], [0, 0, 0])
      assert.equal(again.already, copied.sessions + copied.already)
      await Promise.all([from.close(), to.close()])
    }),
    { numRuns: 40 },
  ))

describe('a copy', () => {
  const open = async () => {
    const [from, to] = [new SqliteLedger(':memory:'), new SqliteLedger(':memory:')]
    await make(from, 'one', 1)
    await append(from, 'one', 'a', 'b')
    return { from, to }
  }

  test('reports its progress, and counts its actions', async () => {
    const { from, to } = await open()
    await make(from, 'empty', 2)
    const told: unknown[] = []
    const copied = await copyLedger(from, to, { progress: (...progress) => told.push(progress) })
    assert.deepEqual(told, [
      ['one', 0, 2],
      ['empty', 1, 2],
    ])
    assert.deepEqual(copied, { sessions: 2, events: 2, already: 0, removed: 0 })
    await append(from, 'one', 'c')
    assert.deepEqual(await copyLedger(from, to), { sessions: 1, events: 1, already: 1, removed: 0 })
  })

  test('accepts a longer target, and does not change it', async () => {
    const { from, to } = await open()
    await copyLedger(from, to)
    await append(to, 'one', 'c')
    assert.deepEqual(await copyLedger(from, to), { sessions: 0, events: 0, already: 1, removed: 0 })
    assert.equal((await to.find('one'))?.length, 3)
  })

  test('does not change a session with other events, and names it', async () => {
    const { from, to } = await open()
    await make(to, 'one', 1)
    await append(to, 'one', 'x')
    const before = await contentOf(to)
    await assert.rejects(copyLedger(from, to), { code: 'CONFLICT', message: /session one/ })
    assert.deepEqual(await contentOf(to), before)
  })

  test("of one user has only that user's sessions, with all rows of a fork of another's, and no tombstones", async () => {
    const { from, to } = await open()
    const [ann, bob] = [ledgerId('ann', 'x'), ledgerId('bob', 'x')]
    await make(from, bob, 2)
    await append(from, bob, 'a', 'b')
    await make(from, ann, 3, { id: bob, seq: 1 })
    await append(from, ann, 'c')
    await from.remove(['one'], { at: 7, by: 'user:ann' })
    assert.deepEqual(await copyLedger(from, to, { user: 'ann' }), { sessions: 1, events: 3, already: 0, removed: 0 })
    const [row, ...others] = await to.list({ limit: 10 })
    assert.deepEqual([row?.id, row?.length, row?.parent, others.length], [ann, 3, undefined, 0])
    assert.deepEqual(await to.read(ann), await from.read(ann))
  })

  test('takes many events in batches, large texts included', async () => {
    const { from, to } = await open()
    await append(from, 'one', ...Array.from({ length: 450 }, (_, n) => `event ${n}`))
    await append(from, 'one', ...Array.from({ length: 3 }, (_, n) => `${'x'.repeat(10_000)}${n}`.repeat(100)))
    const { events } = await copyLedger(from, to)
    assert.equal(events, 455)
    assert.deepEqual(await contentOf(to), await contentOf(from))
  })

  test('does not get the record of removed sessions if both sides have removed different ones', async () => {
    const { from, to } = await open()
    await make(to, 'gone', 1)
    await to.remove(['gone'], { at: 7, by: 'user:bob' })
    await make(from, 'also', 1)
    await from.remove(['also'], { at: 7, by: 'user:ann' })
    await assert.rejects(copyLedger(from, to), { code: 'CONFLICT', message: /target has removed sessions/ })
    assert.equal((await to.find('one'))?.length, 2, 'the sessions were copied')
  })

  test('takes the oldest session first', async () => {
    const { from, to } = await open()
    for (const [id, at] of [
      ['c', 4],
      ['a', 3],
      ['d', 9],
      ['b', 2],
    ] as const)
      await make(from, id, at)
    const told: string[] = []
    await copyLedger(from, to, { progress: id => told.push(id) })
    assert.deepEqual(told, ['one', 'b', 'a', 'c', 'd'])
  })

  test('refuses a session that another process writes at the target meanwhile', async () => {
    const { from, to } = await open()
    const busy = Object.assign(storeWith(to, { append: async () => false }), { addTombstones: to.addTombstones })
    await assert.rejects(copyLedger(from, busy), { code: 'CONFLICT', message: /session one/ })
  })

  test('checks the record of removed sessions, at the source and at the target', async () => {
    const { from, to } = await open()
    await from.remove(['one'], { at: 7, by: 'user:ann' })
    const forged = async () => (await from.tombstones()).map(one => ({ ...one, by: 'user:bob' }))
    const taking = (tombstones: typeof forged, inner: SqliteLedger) =>
      Object.assign(storeWith(inner, { tombstones }), { addTombstones: async () => undefined })
    await assert.rejects(copyLedger(taking(forged, from), to), { code: 'LEDGER_CORRUPT' })
    assert.deepEqual(await to.tombstones(), [])
    let asked = 0
    const late = async () => (asked++ === 0 ? [] : forged())
    await assert.rejects(copyLedger(from, taking(late, to)), { code: 'LEDGER_CORRUPT' })
  })
})

test('of a long session has batches of limited number and size', async () => {
  const [from, to] = [new SqliteLedger(':memory:'), new SqliteLedger(':memory:')]
  await make(from, 'many', 1)
  await append(from, 'many', ...Array.from({ length: 450 }, (_, n) => `${n}`))
  await make(from, 'long', 2)
  const [row] = encodeEvents([{ event: said(''), at: 5 }], { prev: GENESIS, seq: 0 })
  await append(from, 'long', ...Array.from({ length: 200 }, () => 'x'.repeat(10_000 - row!.body.length)))
  await make(from, 'wide', 3)
  const parts = Array.from({ length: 70 }, () => ({ type: 'text' as const, text: 'x'.repeat(15_000) }))
  const wide: Event = { type: 'entry', message: { role: 'user', parts } }
  await new Ledger(from, 'wide').append([wide], 5)
  const batches: NewRow[][] = []
  const appended = to.append.bind(to)
  to.append = async (id, rows) => {
    batches.push([...rows])
    return appended(id, rows)
  }
  await copyLedger(from, to)
  assert.deepEqual(await contentOf(to), await contentOf(from))
  const sizes = batches.map(rows => rows.reduce((sum, { body }) => sum + body.length, 0))
  assert.deepEqual(
    batches.map(rows => rows.length),
    [200, 200, 50, 100, 100, 1],
    'no more of them than that takes',
  )
  assert.ok(
    sizes.slice(0, -1).every(size => size > 0 && size <= 1_000_000),
    'a single event may have more',
  )
  await copyLedger(from, to)
  assert.equal(batches.length, 6, 'nothing is appended again')
})
