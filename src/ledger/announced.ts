/** A store that tells of what is written through it: which session grew, to how many events, and when. */
import type { LedgerStore } from './store.ts'

/** `session` is the id in the ledger. */
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
