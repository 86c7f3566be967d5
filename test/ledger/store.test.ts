/** Rows of a database as every store reads them, and stores that wrap others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import { earlyOf, noSession, toRow, toSession } from '../../src/ledger/store.ts'
import { storeWith } from './store-with.ts'

test('an event is read from its row, even without its body, or with its number in the key', () => {
  const row = { seq: '3', type: 'entry', at: '7', hash: 'h', light: '{}', body: '{"a":1}' }
  const event = { seq: 3, type: 'entry', at: 7, hash: 'h', light: '{}', body: '{"a":1}' }
  assert.deepEqual(toRow(row), event)
  assert.deepEqual(toRow({ ...row, body: null }), { ...event, body: undefined })
  assert.equal(toRow(row, 9).seq, 9)
})

test('a session is read from its row, with its parent if it has one', () => {
  const row = { id: 'a', parent_id: null, fork_seq: null, created_at: '1', updated_at: '2', length: '3', meta: '{}' }
  const session = { id: 'a', createdAt: 1, updatedAt: 2, length: 3, meta: '{}' }
  assert.deepEqual(toSession(row), session)
  assert.deepEqual(toSession({ ...row, parent_id: 'b', fork_seq: '0' }), { ...session, parent: { id: 'b', seq: 0 } })
  const { code, message, data } = noSession('a')
  assert.deepEqual([code, message, data], ['SESSION_NOT_FOUND', 'There is no session a.', { session: 'a' }])
})

test('the early store of a wrapped store is wrapped too, if there is one', async () => {
  const inner = new SqliteLedger(':memory:')
  assert.deepEqual(
    earlyOf(inner, store => store),
    {},
  )
  const other = new SqliteLedger(':memory:')
  const synced = async () => undefined
  const wrapped = earlyOf(storeWith(inner, { early: () => ({ store: other, synced }) }), store =>
    storeWith(store, { find: async () => assert.fail('the wrapper’s') }),
  ).early!()
  assert.equal(wrapped.synced, synced)
  await assert.rejects(async () => wrapped.store.find('a'), /the wrapper’s/)
  assert.deepEqual(await wrapped.store.list(), [])
  await Promise.all([inner.close(), other.close()])
})
