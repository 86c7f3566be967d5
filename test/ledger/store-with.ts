/** A store with some methods of its own; the others are those of another store. */
import type { LedgerStore } from '../../src/ledger/store.ts'

export function storeWith(store: LedgerStore, own: Partial<LedgerStore>): LedgerStore {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(own, name) ?? Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
