/** Removing sessions with any forks: the remaining ones verify, and dropped tombstones are detected. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ledger } from '../../src/ledger/ledger.ts'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import { checkTombstones } from '../../src/ledger/tombstones.ts'
import type { Event } from '../../src/model/types.ts'
import * as fc from '../property.ts'

const said = (text: string): Event => ({ type: 'entry', message: { role: 'user', parts: [{ type: 'text', text }] } })

/** Sessions 0…: each forks an earlier one or starts new, and appends some events; then some are removed in turn. */
const history = fc.record({
  sessions: fc.array(fc.record({ from: fc.nat(9), at: fc.nat(9), events: fc.integer({ min: 0, max: 5 }) }), {
    minLength: 1,
    maxLength: 8,
  }),
  removed: fc.array(fc.nat(7), { minLength: 1, maxLength: 6 }),
})

test('after any removals, all other sessions keep every event and verify', async () => {
  await fc.assert(
    fc.asyncProperty(history, async ({ sessions, removed }) => {
      const store = new SqliteLedger(':memory:')
      const lengths: number[] = []
      for (const [i, { from, at, events }] of sessions.entries()) {
        const shared = from < i ? Math.min(at, lengths[from]! - 1) : -1
        await store.open(`s${i}`, {
          at: i,
          meta: '{}',
          ...(shared >= 0 ? { parent: { id: `s${from}`, seq: shared } } : {}),
        })
        const ledger = new Ledger(store, `s${i}`)
        await ledger.load()
        await ledger.append(
          Array.from({ length: events }, (_, n) => said(`${i} says ${n}`)),
          i,
        )
        lengths.push(ledger.length)
      }
      const names = sessions.map((_, i) => `s${i}`)
      const before = new Map(await Promise.all(names.map(async id => [id, await store.read(id)] as const)))
      for (const which of removed) {
        const id = `s${which}`
        const [tombstone] = await store.remove([id], { at: 99, by: 'somebody' })
        if (tombstone) assert.equal(tombstone.events, before.get(id)!.length)
        before.delete(id)
        for (const [name, rows] of before) {
          assert.deepEqual(await store.read(name), rows, `${name} without ${id}`)
          await new Ledger(store, name).verify()
        }
      }
      checkTombstones(await store.tombstones())
      assert.equal((await store.tombstones()).length, sessions.length - before.size)
      await store.close()
    }),
    { numRuns: 60 },
  )
})

test('a dropped or changed tombstone is detected', async () => {
  const store = new SqliteLedger(':memory:')
  for (const id of ['a', 'b', 'c']) await store.open(id, { at: 0, meta: '{}' })
  await store.remove(['a', 'b', 'c'], { at: 1, by: 'somebody' })
  const [a, b, c] = await store.tombstones()
  checkTombstones([a!, b!, c!])
  assert.throws(() => checkTombstones([a!, c!]), { code: 'LEDGER_CORRUPT' })
  assert.throws(() => checkTombstones([a!, { ...b!, by: 'nobody' }, c!]), { code: 'LEDGER_CORRUPT' })
  await store.close()
})
