/** What memory refuses and announces, and concurrent decisions; the contract of the stores covers the rest. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { Memory, type MemoryChange } from '../../src/memory/memory.ts'
import { SqliteMemory } from '../../src/memory/sqlite.ts'
import { newId } from '../../src/memory/store.ts'

const by = 'user:ann' as const
const opened: Memory[] = []
after(() => Promise.all(opened.map(memory => memory.close())))

async function goals(body = 'one\n', options: ConstructorParameters<typeof Memory>[1] = {}): Promise<Memory> {
  const memory = new Memory(new SqliteMemory(':memory:'), options)
  opened.push(memory)
  await memory.set('ann', 'goals', { title: 'Goals', body, by })
  return memory
}

const asked = { agentId: 'tutor', reasoning: 'r' }
const propose = (memory: Memory, body: string, more: object = {}) =>
  memory.propose('ann', 'goals', { ...asked, body, ...more })

describe('a proposal', () => {
  test('must change the title or the body', async () => {
    const memory = await goals()
    await assert.rejects(propose(memory, 'one\n'), { code: 'INVALID_INPUT', message: /changes nothing/ })
    await assert.rejects(propose(memory, 'one\n', { title: 'Goals' }), { code: 'INVALID_INPUT' })
    assert.equal((await propose(memory, 'one\n', { title: 'Aims' })).title, 'Aims')
    assert.equal((await propose(memory, 'two\n', { title: 'Goals' })).body, 'two\n')
  })

  test('of an existing, deleted or unknown block is refused with the matching code', async () => {
    const memory = await goals()
    await assert.rejects(propose(memory, 'x', { kind: 'new' }), { code: 'BLOCK_EXISTS' })
    await assert.rejects(memory.propose('ann', 'other', { ...asked, body: 'x' }), { code: 'BLOCK_NOT_FOUND' })
    await memory.remove('ann', 'goals', { by })
    await assert.rejects(propose(memory, 'x'), { code: 'BLOCK_DELETED' })
  })

  test('has the kind of its operation, unless it is for a new block', async () => {
    const memory = await goals()
    const append = { type: 'append', text: 'two\n' } as const
    assert.equal((await memory.propose('ann', 'goals', { ...asked, body: append })).kind, 'append')
    assert.equal((await propose(memory, 'two\n')).kind, 'edit')
    assert.equal((await memory.propose('ann', 'fresh', { ...asked, kind: 'new', body: append })).kind, 'new')
  })

  test('with a conflict in the title is approved with the title that the user gives', async () => {
    const memory = await goals()
    const { id } = await propose(memory, 'one\ntwo\n', { title: 'Aims' })
    await memory.set('ann', 'goals', { title: 'Plans', body: 'zero\none\n', by })
    await assert.rejects(memory.approve('ann', id, { by }), { code: 'CONFLICT' })
    const { block } = await memory.approve('ann', id, { by, title: 'Mine' })
    assert.deepEqual([block.title, block.body], ['Mine', 'zero\none\ntwo\n'])
  })

  test("is approved with the user's text only for the version that they saw", async () => {
    const memory = await goals()
    const { id } = await propose(memory, 'two\n')
    const seen = (await memory.block('ann', 'goals'))!.version
    await memory.set('ann', 'goals', { body: 'three\n', by })
    await assert.rejects(memory.approve('ann', id, { by, body: 'mine\n', seen }), { code: 'CONFLICT' })
    const now = (await memory.block('ann', 'goals'))!.version
    const { block, proposal } = await memory.approve('ann', id, { by, body: 'mine\n', seen: now })
    assert.deepEqual([block.body, block.title, proposal.state], ['mine\n', 'Goals', 'approved'])
  })
})

describe('reverting an approval', () => {
  test('restores the previous block, and removes a block that the approval created', async () => {
    const memory = await goals()
    const { id } = await propose(memory, 'two\n')
    await memory.approve('ann', id, { by })
    const { block, proposal } = await memory.revert('ann', id, { by })
    assert.deepEqual([block?.body, proposal.state], ['one\n', 'reverted'])
    const made = await memory.propose('ann', 'fresh', { ...asked, kind: 'new', body: 'x\n' })
    await memory.approve('ann', made.id, { by })
    assert.equal((await memory.revert('ann', made.id, { by })).block, undefined)
    assert.equal(await memory.block('ann', 'fresh'), undefined)
  })

  test('of a deleted block is refused, unless the user gives its text', async () => {
    const memory = await goals()
    const { id } = await propose(memory, 'two\n')
    await assert.rejects(memory.revert('ann', id, { by }), { code: 'PROPOSAL_NOT_OPEN', message: /still open/ })
    await memory.approve('ann', id, { by })
    await memory.remove('ann', 'goals', { by })
    await assert.rejects(memory.revert('ann', id, { by }), { code: 'BLOCK_DELETED' })
    const { block } = await memory.revert('ann', id, { by, body: 'mine\n' })
    assert.deepEqual([block?.body, block?.title], ['mine\n', 'Goals'])
    await assert.rejects(memory.revert('ann', id, { by }), {
      code: 'PROPOSAL_NOT_OPEN',
      message: /was reverted on .* by/,
    })
  })
})

describe('a decision', () => {
  test('is only for the user or an admin', async () => {
    const memory = await goals()
    const { id } = await propose(memory, 'two\n')
    for (const stranger of ['user:bob', 'agent:ann', 'user:ann2'] as never[]) {
      const all = [
        () => memory.set('ann', 'goals', { body: 'x', by: stranger }),
        () => memory.remove('ann', 'goals', { by: stranger }),
        () => memory.approve('ann', id, { by: stranger }),
        () => memory.reject('ann', id, { by: stranger }),
        () => memory.revert('ann', id, { by: stranger }),
        () => memory.restore('ann', 'goals', 'v', { by: stranger }),
        () => memory.forget('ann', { by: stranger }),
        () => memory.writeAll([{ userId: 'ann', label: 'a', title: '', body: '', schemaRef: null }], stranger, ''),
      ]
      for (const act of all) await assert.rejects(act, { code: 'FORBIDDEN' })
    }
    assert.equal((await memory.block('ann', 'goals'))?.body, 'one\n')
    await memory.approve('ann', id, { by: 'admin:root' })
    assert.equal((await memory.block('ann', 'goals'))?.body, 'two\n')
  })

  test('on an outdated version is refused, for writing and for removing', async () => {
    const memory = await goals()
    const { version } = (await memory.block('ann', 'goals'))!
    const next = await memory.set('ann', 'goals', { body: 'two\n', by, expected: version })
    await assert.rejects(memory.set('ann', 'goals', { body: 'x', by, expected: version }), { code: 'CONFLICT' })
    await assert.rejects(memory.remove('ann', 'goals', { by, expected: version }), { code: 'CONFLICT' })
    await assert.rejects(memory.set('ann', 'goals', { body: 'x', by, expected: null }), { code: 'CONFLICT' })
    await memory.remove('ann', 'goals', { by, expected: next.version })
    await memory.set('ann', 'goals', { body: 'again', by, expected: null })
  })

  test('keeps what was not given: the title, the body, the schema', async () => {
    const memory = await goals()
    await memory.set('ann', 'goals', { schemaRef: 'plan', by })
    const kept = await memory.set('ann', 'goals', { title: 'Aims', by })
    assert.deepEqual([kept.title, kept.body, kept.schemaRef], ['Aims', 'one\n', 'plan'])
    assert.equal((await memory.set('ann', 'goals', { schemaRef: null, by })).schemaRef, null)
    const plain = await memory.set('ann', 'learning_goals', { by })
    assert.deepEqual([plain.title, plain.body, plain.schemaRef], ['Learning Goals', '', null])
  })

  test('cannot restore the version of a deletion', async () => {
    const memory = await goals()
    await memory.remove('ann', 'goals', { by })
    const [deleted, first] = await memory.history('ann', 'goals')
    await assert.rejects(memory.restore('ann', 'goals', deleted!.id, { by }), { code: 'INVALID_INPUT' })
    assert.equal((await memory.restore('ann', 'goals', first!.id, { by })).body, 'one\n')
    await assert.rejects(memory.version('ann', 'goals', 'none'), { code: 'VERSION_NOT_FOUND' })
    assert.match((await memory.history('ann', 'goals'))[0]!.why, new RegExp(`version ${first!.id}`))
  })
})

test('a review gives the reason why approving would fail, for open proposals without conflict', async () => {
  const memory = await goals('one\n', { limits: { body: 10 } })
  const { id } = await propose(memory, 'two\n')
  assert.equal((await memory.review('ann', id)).problem, undefined)
  const long = await memory.propose('ann', 'goals', { ...asked, body: { type: 'append', text: '23456\n' } })
  await memory.set('ann', 'goals', { body: 'more one\n', by })
  assert.match((await memory.review('ann', long.id)).problem ?? '', /the limit is 10/)
  await memory.reject('ann', long.id, { by })
  assert.equal((await memory.review('ann', long.id)).problem, undefined)
})

test('listeners get successful changes, and no refused ones', async () => {
  const memory = await goals('one\n', { clock: () => 7 })
  const told: MemoryChange[] = []
  const stop = memory.onChange(change => told.push(change))
  const first = await propose(memory, 'two\n')
  await memory.approve('ann', first.id, { by })
  const second = await propose(memory, 'three\n')
  await memory.reject('ann', second.id, { by })
  await assert.rejects(memory.reject('ann', second.id, { by }), { code: 'PROPOSAL_NOT_OPEN' })
  await memory.remove('ann', 'goals', { by })
  assert.deepEqual(
    told.map(change => [change.type, 'state' in change ? change.state : '', change.label, change.at]),
    [
      ['proposal.opened', 'open', 'goals', 7],
      ['proposal.decided', 'approved', 'goals', 7],
      ['block.changed', '', 'goals', 7],
      ['proposal.opened', 'open', 'goals', 7],
      ['proposal.decided', 'rejected', 'goals', 7],
      ['block.changed', '', 'goals', 7],
    ],
  )
  stop()
  await memory.set('ann', 'goals', { body: 'x', by })
  assert.equal(told.length, 6)
})

test("an agent reads its user's blocks, proposes under its own name, and gets nothing for an invalid label", async () => {
  const memory = await goals()
  const agent = memory.forAgent('ann', 'tutor')
  assert.equal((await agent.block('goals'))?.body, 'one\n')
  assert.equal(await agent.block(' goals'), undefined)
  const forged = { ...asked, agentId: 'somebody', body: 'two\n' }
  assert.equal((await agent.propose('goals', forged)).agentId, 'tutor')
  assert.throws(() => memory.forAgent('', 'tutor'), { code: 'INVALID_INPUT' })
})

test('ids of versions sort by time, even within a millisecond, and have only letters and digits', async () => {
  assert.ok(newId(1) < newId(2) && newId(35) < newId(36) && newId(Date.now()) < newId(Date.now() + 1))
  assert.match(newId(Date.now()), /^[0-9a-z]{17}$/)
  const memory = await goals('one\n', { clock: () => 7 })
  const ids: string[] = []
  for (let i = 0; i < 20; i++) ids.push((await propose(memory, `body ${i}`)).id)
  assert.deepEqual(ids.toSorted(), ids)
})
