import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { SqliteMemory } from '../../src/memory/sqlite.ts'
import { memoryStoreContract } from '../contracts/memory-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
after(() => rmSync(folder, { recursive: true, force: true }))

memoryStoreContract('sqlite', async name => new SqliteMemory(join(folder, `${name}.sqlite`)))

test("a user's lists are read from an index that begins with the user", async t => {
  const path = join(folder, 'plan.sqlite')
  const store = new SqliteMemory(path)
  const asked = t.mock.method(DatabaseSync.prototype, 'prepare')
  await store.blocks('u', { after: 'a' })
  await store.block('u', 'a')
  await store.versions('u', 'a', { before: 'v' })
  await store.version('u', 'a', 'v')
  await store.proposals('u')
  await store.proposals('u', { state: 'open', after: 'z' })
  await store.proposals('u', { state: 'open', label: 'a' })
  await store.proposal('u', 'p')
  const statements = asked.mock.calls.map(({ arguments: [sql] }) => sql)
  asked.mock.restore()
  await store.close()
  assert.ok(statements.length >= 8, `the store prepared ${statements.length} statements`)
  const db = new DatabaseSync(path)
  for (const sql of statements) {
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()
    const used = plan.map(row => String(row['detail'])).join('; ')
    assert.match(used, /SEARCH .* USING .*\(user_id=\?/, sql)
    assert.doesNotMatch(used, /SCAN|TEMP B-TREE/, sql)
  }
  db.close()
})

test('a database of a newer version is refused and not changed', () => {
  const path = join(folder, 'newer.sqlite')
  const db = new DatabaseSync(path)
  db.exec('PRAGMA user_version = 999')
  db.close()
  assert.throws(() => new SqliteMemory(path), { code: 'LEDGER_NEWER', message: /Update Palimpsest/ })
})

test('a damaged database is named, since a home has several', async () => {
  const path = join(folder, 'damaged.sqlite')
  const store = new SqliteMemory(path)
  await store.close()
  const whole = readFileSync(path)
  writeFileSync(path, Buffer.concat([whole.subarray(0, 4096), Buffer.alloc(whole.length - 4096, 0xab)]))
  const damaged = new SqliteMemory(path)
  const named = { code: 'LEDGER_CORRUPT', message: /damaged\.sqlite/ }
  await assert.rejects(damaged.blocks('u'), named)
  await damaged.close()
  writeFileSync(path, 'not a database '.repeat(1000))
  assert.throws(() => new SqliteMemory(path), named)
})

test('a locked database is an error after the waiting time', async () => {
  const path = join(folder, 'locked.sqlite')
  const store = new SqliteMemory(path, { busyMs: 50 })
  const other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE')
  const note = { at: 0, by: 'user:a', action: 'set', why: '' } as const
  const content = { title: '', body: '', schemaRef: null }
  const change = { userId: 'a', label: 'b', expected: null, version: 'v', content }
  await assert.rejects(store.write([change], note), { code: 'STORE_LOCKED' })
  other.exec('ROLLBACK')
  other.close()
  assert.equal(await store.write([change], note), true)
  await store.close()
})

test('removing a missing block succeeds, and is refused if the block has been created since', async () => {
  const store = new SqliteMemory(':memory:')
  const note = { at: 7, by: 'user:ann', action: 'delete', why: '' } as const
  const gone = { userId: 'ann', label: 'goals', expected: null, content: null }
  assert.equal(await store.write([{ ...gone, version: 'v1' }], note), true)
  assert.equal(await store.block('ann', 'goals'), undefined)
  const content = { title: 'Goals', body: 'one', schemaRef: null }
  await store.write([{ ...gone, version: 'v2', content }], note)
  assert.equal(await store.write([{ ...gone, version: 'v3' }], note), false)
  assert.equal((await store.block('ann', 'goals'))?.version, 'v2')
  await store.close()
})

test('of two decisions on one proposal the second changes nothing', async () => {
  const path = join(folder, 'decided.sqlite')
  const [one, two] = [new SqliteMemory(path), new SqliteMemory(path)]
  const note = (by: 'user:ann' | 'user:bob', why: string) =>
    ({ at: 7, by, action: 'approve', why, proposal: 'p1' }) as const
  const content = (body: string) => ({ title: 'Goals', body, schemaRef: null })
  const change = (expected: string | null, version: string, body: string) => {
    return { userId: 'ann', label: 'goals', expected, version, content: content(body) }
  }
  await one.write([change(null, 'v1', 'one')], note('user:ann', ''))
  const base = { version: 'v1', title: 'Goals', body: 'one' }
  const made = {
    title: 'Goals',
    body: 'two',
    agentId: 'ralph',
    reasoning: 'r',
    confidence: 'high' as const,
    entries: [],
  }
  const proposal = {
    id: 'p1',
    userId: 'ann',
    label: 'goals',
    kind: 'edit' as const,
    base,
    createdAt: 1,
    state: 'open' as const,
  }
  await one.propose({ ...proposal, ...made })
  const approval = {
    from: 'open',
    to: 'approved',
    note: note('user:ann', 'yes'),
    change: change('v1', 'v2', 'two'),
  } as const
  assert.equal(await one.decide('ann', 'p1', approval), true)

  const again = { ...approval, note: note('user:bob', 'me too'), change: change('v2', 'v3', 'two again') }
  assert.equal(await two.decide('ann', 'p1', again), false, 'it is not open any more')
  assert.equal(await two.decide('ann', 'p1', { from: 'open', to: 'rejected', note: note('user:bob', 'no') }), false)
  assert.equal(await two.decide('bob', 'p1', { from: 'approved', to: 'reverted', note: note('user:bob', 'no') }), false)
  assert.equal(await two.decide('ann', 'nosuch', approval), false)
  const stale = {
    from: 'approved',
    to: 'reverted',
    note: note('user:ann', 'back'),
    change: change('v1', 'v3', 'one'),
  } as const
  assert.equal(await two.decide('ann', 'p1', stale), false, 'the block is at another version')

  assert.equal((await one.block('ann', 'goals'))?.body, 'two')
  assert.deepEqual(
    (await one.versions('ann', 'goals')).map(({ id }) => id),
    ['v2', 'v1'],
  )
  const kept = await one.proposal('ann', 'p1')
  assert.deepEqual([kept?.state, kept?.decision], ['approved', { at: 7, by: 'user:ann', why: 'yes' }])
  assert.deepEqual(kept?.result, { before: 'v1', after: 'v2' })
  await Promise.all([one.close(), two.close()])
})
