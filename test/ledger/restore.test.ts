/** Sessions restored from their events: once, continued after an interrupted attempt, and never over others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ledger } from '../../src/ledger/ledger.ts'
import { restoreEvents } from '../../src/ledger/restore.ts'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import type { Event } from '../../src/model/types.ts'

type At = { at: number; event: Event }

function said(count: number, word = 'text'): At[] {
  return Array.from({ length: count }, (_, i) => {
    const message = { role: 'user' as const, parts: [{ type: 'text' as const, text: `${word} ${i}` }] }
    return { at: i, event: { type: 'entry' as const, message } }
  })
}

const given = (events: readonly At[]) => ({ createdAt: 5, meta: '{"title":"a"}', events })

async function textsOf(store: SqliteLedger, id: string): Promise<unknown[]> {
  const placed = await new Ledger(store, id).verify()
  return placed.map(({ at, event }) => ({ at, event }))
}

test('all events are restored with their times, and a second run adds nothing', async () => {
  const store = new SqliteLedger(':memory:')
  const events = said(2500)
  assert.deepEqual(await restoreEvents(store, 's', given(events)), { added: 2500 })
  assert.deepEqual(await textsOf(store, 's'), events)
  const { createdAt, meta, parent } = (await store.find('s'))!
  assert.deepEqual({ createdAt, meta, parent }, { createdAt: 5, meta: '{"title":"a"}', parent: undefined })
  assert.deepEqual(await restoreEvents(store, 's', given(events)), { added: 0 })
  await store.close()
})

test('a session with the first events gets the rest, and a longer one is not changed', async () => {
  const store = new SqliteLedger(':memory:')
  const events = said(7)
  await restoreEvents(store, 's', given(events.slice(0, 3)))
  assert.deepEqual(await restoreEvents(store, 's', given(events)), { added: 4 })
  assert.deepEqual(await restoreEvents(store, 's', given(events.slice(0, 5))), { added: 0 })
  assert.deepEqual(await textsOf(store, 's'), events)
  await store.close()
})

test('a session with other events is not changed, and the first difference is named', async () => {
  const store = new SqliteLedger(':memory:')
  const events = said(4)
  await restoreEvents(store, 's', given(events))
  const other = [...events.slice(0, 2), ...said(3, 'other')]
  assert.deepEqual(await restoreEvents(store, 's', given(other)), { added: 0, differs: 2 })
  assert.deepEqual(await textsOf(store, 's'), events)
  await store.close()
})

test('a session that another process writes meanwhile is not overwritten', async () => {
  const store = new SqliteLedger(':memory:')
  const theirs = said(1, 'theirs')
  const read = store.read.bind(store)
  store.read = async (id, options) => {
    const rows = await read(id, options)
    store.read = read
    await new Ledger(store, 's').appendTimed(theirs)
    return rows
  }
  assert.deepEqual(await restoreEvents(store, 's', given(said(3))), { added: 0, differs: 0 })
  assert.deepEqual(await textsOf(store, 's'), theirs)
  await store.close()
})

test('a write of another process between two batches ends the restore, with the number of added events', async () => {
  const store = new SqliteLedger(':memory:')
  const events = said(2500)
  await restoreEvents(store, 's', given(events.slice(0, 3)))
  const append = store.append.bind(store)
  let appends = 0
  store.append = async (id, rows) => ++appends < 2 && append(id, rows)
  assert.deepEqual(await restoreEvents(store, 's', given(events)), { added: 1000, differs: 1003 })
  assert.deepEqual(await textsOf(store, 's'), events.slice(0, 1003))
  await store.close()
})

test('a fork shares the events of its parent if the same parent exists, else it gets its own', async () => {
  const events = [...said(3), ...said(2, 'fork')]
  const parents: Record<string, readonly At[] | undefined> = {
    same: events.slice(0, 3),
    longer: [...events.slice(0, 3), ...said(2, 'later')],
    shorter: events.slice(0, 2),
    different: said(3, 'other'),
    missing: undefined,
  }
  for (const [name, above] of Object.entries(parents)) {
    const store = new SqliteLedger(':memory:')
    if (above) await restoreEvents(store, 'parent', given(above))
    const parent = { id: 'parent', seq: 2 }
    await restoreEvents(store, 'fork', { ...given(events), parent })
    const shared = name === 'same' || name === 'longer' ? parent : undefined
    assert.deepEqual((await store.find('fork'))!.parent, shared, name)
    assert.deepEqual(await textsOf(store, 'fork'), events, name)
    await store.close()
  }
})
