/** A store that tells of what is written through it: which session grew or was removed, its events, and when. */
import type { LedgerStore } from './store.ts'

/** `session` is the id in the ledger; the length of one that was removed is 0. */
export type SessionChange = { session: string; length: number; at: number }

export function announced(store: LedgerStore, tell: (change: SessionChange) => void): LedgerStore {
  const telling: LedgerStore = {
    open: (id, init) => store.open(id, init),
    find: id => store.find(id),
    list: options => store.list(options),
    setMeta: (id, meta) => store.setMeta(id, meta),
    async append(id, rows) {
      const done = await store.append(id, rows)
      const last = rows.at(-1)
      if (done && last) tell({ session: id, length: last.seq + 1, at: last.at })
      return done
    },
    read: (id, options) => store.read(id, options),
    contents: hashes => store.contents(hashes),
    async remove(ids, removal) {
      const removed = await store.remove(ids, removal)
      for (const { session, at } of removed) tell({ session, length: 0, at })
      return removed
    },
    redact: (ids, what, removal) => store.redact(ids, what, removal),
    tombstones: () => store.tombstones(),
    index: scope => store.index(scope),
    close: () => store.close(),
  }
  const { early } = store
  if (!early) return telling
  telling.early = () => {
    const { store: inner, synced } = early.call(store)
    return { store: announced(inner, tell), synced }
  }
  return telling
}
