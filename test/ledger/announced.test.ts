/** What a store announces: every append and every removal, and nothing else. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { announced, type SessionChange } from '../../src/ledger/announced.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import { ThreadedLedger } from '../../src/ledger/threaded.ts'
import type { Event } from '../../src/model/types.ts'
import { ledgerStoreContract } from '../contracts/ledger-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-announced-'))
after(() => rmSync(folder, { recursive: true, force: true }))

// It announces every change, and otherwise equals the store that it wraps.
ledgerStoreContract('announced', async name =>
  announced(new SqliteLedger(join(folder, `${name.replace(/\W+/g, '-')}.sqlite`)), () => {}),
)

const said = (text: string): Event => ({ type: 'entry', message: { role: 'user', parts: [{ type: 'text', text }] } })

const made = (session: string): SessionChange => ({ session, what: 'described', length: 0, at: 1 })

test('an append is announced with the new length and the time of its last event', async () => {
  const told: SessionChange[] = []
  const store = announced(new SqliteLedger(':memory:'), change => told.push(change))
  await store.open('a', { at: 1, meta: '{}' })
  const ledger = new Ledger(store, 'a')
  await ledger.append([said('one'), said('two')], 5)
  await ledger.append([said('three')], 6)
  assert.deepEqual(told, [
    made('a'),
    { session: 'a', what: 'grown', length: 2, at: 5 },
    { session: 'a', what: 'grown', length: 3, at: 6 },
  ])
})

test('an append that came too late, or was empty, is not announced', async () => {
  const told: SessionChange[] = []
  const inner = new SqliteLedger(':memory:')
  const store = announced(inner, change => told.push(change))
  await store.open('a', { at: 1, meta: '{}' })
  const late = new Ledger(store, 'a')
  await new Ledger(inner, 'a').append([said('first')], 2)
  assert.equal(await late.append([said('late')], 3), undefined)
  await store.append('a', [])
  assert.deepEqual(told, [made('a')])
})

test('changes of existing data are announced after they are made: new meta, a redaction', async () => {
  const told: SessionChange[] = []
  const store = announced(new SqliteLedger(':memory:'), change => told.push(change))
  await store.open('a', { at: 1, meta: '{}' })
  await new Ledger(store, 'a').append([said('one secret')], 2)
  await store.setMeta('a', '{"title":"x"}')
  await store.setMeta('nobody', '{"title":"x"}')
  await store.redact(['a'], { text: 'secret' }, { at: 3, by: 'alice' })
  await store.redact(['a'], { text: 'nowhere' }, { at: 4, by: 'alice' })
  assert.deepEqual(
    told.map(({ what, length }) => [what, length]),
    [
      ['described', 0],
      ['grown', 1],
      ['described', 1],
      ['redacted', 2],
    ],
  )
})

test('a removal is announced with the length 0, once for each existing session', async () => {
  const told: SessionChange[] = []
  const store = announced(new SqliteLedger(':memory:'), change => told.push(change))
  for (const id of ['a', 'b']) await store.open(id, { at: 1, meta: '{}' })
  await store.remove(['a', 'nobody', 'b'], { at: 9, by: 'alice' })
  assert.deepEqual(told, [
    made('a'),
    made('b'),
    { session: 'a', what: 'removed', length: 0, at: 9 },
    { session: 'b', what: 'removed', length: 0, at: 9 },
  ])
})

test('writes of the early store are announced too, and a store without one gets none', async () => {
  assert.equal(announced(new SqliteLedger(':memory:'), () => {}).early, undefined)
  const told: SessionChange[] = []
  const store = announced(new ThreadedLedger(join(folder, 'early.sqlite')), change => told.push(change))
  const { store: early, synced } = store.early!()
  await early.open('a', { at: 1, meta: '{}' })
  await new Ledger(early, 'a').append([said('one')], 4)
  await synced()
  assert.deepEqual(told, [made('a'), { session: 'a', what: 'grown', length: 1, at: 4 }])
  await store.close()
})
