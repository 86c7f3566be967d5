/** Copies of memory: the same blocks, versions and proposals; blocks changed at the target are kept. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CopyTally } from '../../src/ledger/copy-rows.ts'
import type { SqliteSql } from '../../src/ledger/sql.ts'
import { copyMemory, memoryUsers } from '../../src/memory/copying.ts'
import { Memory } from '../../src/memory/memory.ts'
import { SqlMemory } from '../../src/memory/sql.ts'
import { openSqliteTables } from '../../src/memory/sqlite.ts'

const BY = 'user:ann'
const PROPOSED = { agentId: 'tutor', reasoning: 'they said so' }

type Opened = { sql: SqliteSql; memory: Memory }

function open(): Opened {
  const sql = openSqliteTables(':memory:')
  return { sql, memory: new Memory(new SqlMemory(sql)) }
}

async function filled(): Promise<Opened & { open: string }> {
  const own = open()
  const { memory } = own
  for (const body of ['one\n', 'two\n']) await memory.set('ann', 'goals', { body, by: BY })
  await memory.set('ann', 'gone', { body: 'x\n', by: BY })
  await memory.remove('ann', 'gone', { by: BY })
  await memory.set('bob', 'goals', { body: 'of bob\n', by: 'user:bob' })
  const proposal = await memory.propose('ann', 'goals', { ...PROPOSED, body: { type: 'append', text: 'three\n' } })
  return { ...own, open: proposal.id }
}

async function copied(from: Opened, to: Opened, user = 'ann'): Promise<CopyTally> {
  const tally = new CopyTally()
  await copyMemory(from.sql, to.sql, user, tally)
  return tally
}

const stateOf = async ({ memory }: Opened, user = 'ann') => ({
  blocks: await memory.blocks(user),
  goals: await memory.history(user, 'goals'),
  gone: await memory.history(user, 'gone'),
  proposals: await memory.proposals(user),
})

test("a user's blocks, including removed ones, have all versions, and an open proposal can be approved", async () => {
  const [from, to] = [await filled(), open()]
  const first = await copied(from, to)
  assert.deepEqual(await stateOf(to), await stateOf(from))
  assert.deepEqual(await to.memory.blocks('bob'), [])
  assert.deepEqual([first.added, first.already, first.differing], [5, 0, []])
  const { block } = await to.memory.approve('ann', from.open, { by: BY })
  assert.equal(block.body, 'two\nthree\n')
  assert.deepEqual(await memoryUsers(from.sql), ['ann', 'bob'])
})

test('copying again changes nothing, and new content is added', async () => {
  const [from, to] = [await filled(), open()]
  const first = await copied(from, to)
  const again = await copied(from, to)
  assert.deepEqual([again.added, again.already, again.hash], [0, 5, first.hash])
  await from.memory.set('ann', 'goals', { body: 'later\n', by: BY })
  const later = await copied(from, to)
  assert.deepEqual([later.added, later.already, later.differing], [1, 5, []])
  assert.deepEqual(await stateOf(to), await stateOf(from))
})

test('a block that was changed at the target is kept, and named', async () => {
  const [from, to] = [await filled(), open()]
  await copied(from, to)
  await to.memory.set('ann', 'goals', { body: 'of the target\n', by: BY })
  await from.memory.set('ann', 'goals', { body: 'of the source\n', by: BY })
  const before = await stateOf(to)
  const { differing } = await copied(from, to)
  assert.deepEqual(differing, ['block goals of ann'])
  assert.deepEqual(await stateOf(to), before)
})

test('a proposal that was decided at the target stays decided, and is named', async () => {
  const [from, to] = [await filled(), open()]
  await copied(from, to)
  await to.memory.reject('ann', from.open, { by: BY })
  const { differing } = await copied(from, to)
  assert.deepEqual(differing, [`proposals ann ${from.open}`])
  assert.equal((await to.memory.proposal('ann', from.open)).state, 'rejected')
})
