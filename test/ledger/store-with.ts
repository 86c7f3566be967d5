/** A store that does some things its own way and leaves the rest to another one. */
import type { LedgerStore } from '../../src/ledger/store.ts'

export function storeWith(store: LedgerStore, own: Partial<LedgerStore>): LedgerStore {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(own, name) ?? Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
