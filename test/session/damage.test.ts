/** A damaged ledger: any changed character of any row is reported as damage. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ledger } from '../../src/ledger/ledger.ts'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import type { Row } from '../../src/ledger/store.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { storeWith } from '../ledger/store-with.ts'
import * as fc from '../property.ts'
import { openSmall, SMALL } from '../small-session.ts'

const SIGNS = ['x', '"', '{', '}', ',', ':', '0', 'null', '\u0000', '']

test('a session with a changed row opens or is reported as damaged, and never verifies', async () => {
  const store = new SqliteLedger(':memory:')
  const pal = await openPalimpsest({ home: ':memory:', store, config: false })
  await openSmall(pal)
  const { length } = await store.read(SMALL)
  const damage = fc.record({
    seq: fc.nat(length - 1),
    column: fc.constantFrom('body', 'light'),
    place: fc.nat(400),
    sign: fc.constantFrom(...SIGNS),
  })
  const property = fc.asyncProperty(damage, async ({ seq, column, place, sign }) => {
    const harm = (row: Row): Row => {
      const text = row[column as 'body' | 'light']
      if (row.seq !== seq || !text) return row
      const at = place % text.length
      return { ...row, [column]: text.slice(0, at) + sign + text.slice(at + 1) }
    }
    const damaged = storeWith(store, { read: async (...args) => (await store.read(...args)).map(harm) })
    const [row] = await store.read(SMALL, { only: [seq] })
    if (harm(row!)[column as 'body'] === row![column as 'body']) return
    const again = await openPalimpsest({ home: ':memory:', store: damaged, config: false })
    await again.session(SMALL).catch(error => assert.equal(error.code, 'LEDGER_CORRUPT', error.stack))
    await assert.rejects(new Ledger(damaged, SMALL).verify(), { code: 'LEDGER_CORRUPT' })
  })
  await fc.assert(property, { numRuns: 300, seeds: [{ seed: 1999970518, path: '5:13:6:6' }] })
  await pal.close()
})

test('a replaced large text is reported as damage wherever it is read', async () => {
  const store = new SqliteLedger(':memory:')
  const pal = await openPalimpsest({ home: ':memory:', store, config: false })
  const session = await pal.session('s')
  const large = `large ${'x'.repeat(20_000)}`
  await session.append({ role: 'user', parts: [{ type: 'text', text: large }] })
  const damaged = storeWith(store, {
    contents: async hashes => new Map([...(await store.contents(hashes))].map(([hash, text]) => [hash, `${text}!`])),
  })
  const again = await openPalimpsest({ home: ':memory:', store: damaged, config: false })
  await assert.rejects(again.session('s'), { code: 'LEDGER_CORRUPT', message: /does not match its hash/ })
  const ledger = new Ledger(damaged, 's')
  await assert.rejects(ledger.verify(), { code: 'LEDGER_CORRUPT' })
  await assert.rejects(ledger.events([0]), { code: 'LEDGER_CORRUPT' })
  await pal.close()
})
