/** A store that announces its writes: the session, the kind of change, its events, and the time. */

import { earlyOf, type LedgerStore } from './store.ts'

/**
 * `session` is the id in the ledger. `described`: the session was created or its meta changed. After `redacted` or
 * `removed`, anything read before is out of date; a removed session has length 0.
 */
export type SessionChange = {
  session: string
  what: 'grown' | 'described' | 'redacted' | 'removed'
  length: number
  at: number
}

export function announced(store: LedgerStore, tell: (change: SessionChange) => void): LedgerStore {
  const tellOf = async (session: string, what: 'described' | 'redacted') => {
    const row = await store.find(session)
    if (row) tell({ session, what, length: row.length, at: row.updatedAt })
  }
  return {
    async open(id, init) {
      const row = await store.open(id, init)
      tell({ session: id, what: 'described', length: row.length, at: row.updatedAt })
      return row
    },
    find: id => store.find(id),
    list: options => store.list(options),
    async setMeta(id, meta) {
      await store.setMeta(id, meta)
      await tellOf(id, 'described')
    },
    async append(id, rows) {
      const done = await store.append(id, rows)
      const last = rows.at(-1)
      if (done && last) tell({ session: id, what: 'grown', length: last.seq + 1, at: last.at })
      return done
    },
    read: (id, options) => store.read(id, options),
    contents: hashes => store.contents(hashes),
    async remove(ids, removal) {
      const removed = await store.remove(ids, removal)
      for (const { session, at } of removed) tell({ session, what: 'removed', length: 0, at })
      return removed
    },
    async redact(ids, what, removal) {
      const redacted = await store.redact(ids, what, removal)
      for (const { session } of redacted) await tellOf(session, 'redacted')
      return redacted
    },
    scrub: () => store.scrub(),
    tombstones: from => store.tombstones(from),
    index: scope => store.index(scope),
    close: () => store.close(),
    ...earlyOf(store, inner => announced(inner, tell)),
  }
}
