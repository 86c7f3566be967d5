/**
 * Writes a session from the events of an export. The hash chain follows from the events and their times, so it tells
 * whether two ledgers hold the same events. If the existing session has only the first of the given events, it gets
 * the rest. A fork whose parent exists shares its events again.
 */
import type { Event } from '../model/types.ts'
import { encodeEvents, GENESIS } from './codec.ts'
import type { LedgerStore } from './store.ts'

export type ToRestore = {
  createdAt: number
  meta: string
  parent?: { id: string; seq: number }
  events: readonly { at: number; event: Event }[]
}

/**
 * `added`: the number of new events; `differs`: the first event that differs from the existing session. Then nothing
 * is written.
 */
export type Restored = { added: number; differs?: number }

/** Events per write; an interrupted restore continues where it stopped. */
const EVENTS_PER_BATCH = 1000

export async function restoreEvents(store: LedgerStore, id: string, given: ToRestore): Promise<Restored> {
  const { createdAt: at, meta, parent, events } = given
  const rows = encodeEvents(events, { prev: GENESIS, seq: 0 })
  if (!(await store.find(id))) {
    const isShared = parent !== undefined && (await hashAt(store, parent)) === rows[parent.seq]?.hash
    await store.open(id, { at, meta, ...(isShared ? { parent } : {}) })
  }
  const there = await store.read(id, { lightType: 'entry' })
  const differs = there.findIndex(({ hash }, i) => rows[i] && rows[i].hash !== hash)
  if (differs >= 0) return { added: 0, differs }
  for (let from = there.length; from < rows.length; from += EVENTS_PER_BATCH) {
    if (!(await store.append(id, rows.slice(from, from + EVENTS_PER_BATCH))))
      return { added: from - there.length, differs: from }
  }
  return { added: Math.max(0, rows.length - there.length) }
}

async function hashAt(store: LedgerStore, { id, seq }: { id: string; seq: number }): Promise<string | undefined> {
  if (!(await store.find(id))) return undefined
  const [row] = await store.read(id, { only: [seq] })
  return row?.hash
}
