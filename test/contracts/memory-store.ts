/** The contract of all memory stores, alone and under Memory. Run by each implementation's test. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { exportMemory, importMemory, readMemoryDocument } from '../../src/memory/exchange.ts'
import { Memory } from '../../src/memory/memory.ts'
import type { Actor, Change, MemoryStore, Note, Proposal } from '../../src/memory/store.ts'
import * as fc from '../property.ts'
import { command, runCommands } from './memory-commands.ts'
import { memoryFilesContract } from './memory-files.ts'

/** Opens a store on the same data each time it is called with the same name. */
export type MemoryFactory = (name: string) => Promise<MemoryStore>

const ANN: Actor = 'user:ann'
const agent = { agentId: 'ralph', reasoning: 'she said so' }

export function memoryStoreContract(kind: string, openStore: MemoryFactory): void {
  describe(`memory store: ${kind}`, () => {
    let shared: Memory | undefined
    let users = 0
    after(() => shared?.close())
    memoryFilesContract(openStore)

    /** One store for all tests; each has users of its own. */
    const open = async () => (shared ??= new Memory(await openStore('shared')))
    const freshUser = () => `ann${users++}`

    async function withBlock(body: string, work: (given: Given) => Promise<void>): Promise<void> {
      const memory = await open()
      const user = freshUser()
      const by: Actor = `user:${user}`
      await memory.set(user, 'student', { title: 'Student Profile', body, by })
      await work({ memory, user, by })
    }

    test('a store answers pings until it is closed', async () => {
      const memory = new Memory(await openStore('pinged'))
      await memory.store.ping()
      await memory.close()
      await assert.rejects(memory.store.ping())
    })

    test('a block is created, read, changed, listed by label and deleted', async () => {
      const memory = await open()
      const user = freshUser()
      const by: Actor = `user:${user}`
      assert.equal(await memory.block(user, 'goals'), undefined)
      const made = await memory.set(user, 'goals', { body: 'Learn 🙂 \u0000 "quoted" \\ \'single\'\n', by })
      assert.equal(made.title, 'Goals')
      assert.deepEqual(await memory.block(user, 'goals'), made)
      const changed = await memory.set(user, 'goals', { title: 'Learning Goals', by, expected: made.version })
      assert.equal(changed.body, made.body)
      assert.notEqual(changed.version, made.version)
      await memory.set(user, 'Zeta', { body: '', by })
      await memory.set(user, 'alpha', { body: '', by })
      assert.deepEqual(
        (await memory.blocks(user)).map(block => block.label),
        ['Zeta', 'alpha', 'goals'],
      )
      assert.deepEqual(
        (await memory.blocks(user, { limit: 1, after: 'Zeta' })).map(block => block.label),
        ['alpha'],
      )
      await memory.remove(user, 'goals', { by })
      assert.equal(await memory.block(user, 'goals'), undefined)
      await assert.rejects(memory.remove(user, 'goals', { by }), { code: 'BLOCK_DELETED' })
      await assert.rejects(memory.remove(user, 'never', { by }), { code: 'BLOCK_NOT_FOUND' })
    })

    test('forgetting a user removes everything of that user and nothing of others', () =>
      withBlock('mine', async ({ memory, user, by }) => {
        const other = freshUser()
        await memory.set(other, 'student', { body: 'theirs', by: `user:${other}` })
        await memory.set(user, 'student', { body: 'changed', by })
        await memory.propose(user, 'student', {
          body: { type: 'append', text: 'more' },
          agentId: 'tutor',
          reasoning: 'a test',
        })
        await memory.forget(user, { by })
        assert.deepEqual(await memory.blocks(user), [])
        assert.deepEqual(await memory.proposals(user), [])
        assert.deepEqual(
          (await memory.store.users()).filter(name => name === user),
          [],
        )
        assert.equal((await memory.block(other, 'student'))?.body, 'theirs')
        assert.equal((await memory.set(user, 'student', { body: 'again', by })).body, 'again')
      }))

    test('a write with a wrong expected version is refused as a whole', async () => {
      const { store } = await open()
      const user = freshUser()
      const note: Note = { at: 5, by: `user:${user}`, action: 'set', why: 'because' }
      const change = (label: string, expected: string | null, version: string): Change => ({
        userId: user,
        label,
        expected,
        version,
        content: { title: label, body: version, schemaRef: null },
      })
      assert.equal(await store.write([change('a', null, 'v1'), change('b', null, 'v2')], note), true)
      assert.equal(await store.write([change('a', 'v1', 'v3'), change('b', 'v1', 'v4')], note), false)
      assert.equal(await store.write([change('c', 'v9', 'v5')], note), false)
      assert.equal(await store.write([change('a', null, 'v6')], note), false)
      assert.deepEqual(
        (await store.blocks(user)).map(({ label, body }) => [label, body]),
        [
          ['a', 'v1'],
          ['b', 'v2'],
        ],
      )
    })

    test('unusual names are kept apart and reach only their own rows', async () => {
      const memory = await open()
      const stem = freshUser()
      const names = [
        "o'brien",
        '"; DROP TABLE blocks; --',
        '../main',
        'a/b',
        'a b',
        'A',
        'ä',
        'ä'.normalize('NFD'),
        '%',
        '_',
        '`x`',
        '\\',
        '日本',
        '.lock',
        '-',
        '@{1}',
      ]
      for (const name of names) {
        const user = `${stem}${name}`
        await memory.set(user, name, { body: name, by: `user:${user}` })
        await memory.propose(user, name, { ...agent, agentId: `<${name}>`, body: `${name}!` })
      }
      for (const name of names) {
        const user = `${stem}${name}`
        assert.deepEqual(
          (await memory.blocks(user)).map(({ label, body }) => [label, body]),
          [[name, name]],
        )
        const [proposal, ...others] = await memory.proposals(user)
        assert.equal(others.length, 0)
        assert.equal(proposal?.body, `${name}!`)
        assert.equal(proposal?.agentId, `<${name}>`)
        const { block } = await memory.approve(user, proposal!.id, { by: `user:${user}` })
        assert.equal(block.body, `${name}!`)
      }
    })

    test('an open proposal keeps all its fields and changes nothing', () =>
      withBlock('likes math', async ({ memory, user }) => {
        const entries = [{ session: 'fix-login', entry: 12 }]
        const block = await memory.block(user, 'student')
        const made = await memory.propose(user, 'student', {
          ...agent,
          body: 'loves math',
          confidence: 'high',
          entries,
        })
        assert.equal(made.state, 'open')
        assert.deepEqual(made.base, { version: block!.version, title: 'Student Profile', body: 'likes math' })
        assert.deepEqual(made.entries, entries)
        assert.deepEqual(await memory.proposal(user, made.id), made)
        assert.deepEqual(await memory.proposals(user), [made])
        assert.deepEqual(await memory.block(user, 'student'), block)
      }))

    test('an approval changes the block, and the history names the proposal', () =>
      withBlock('likes math', async ({ memory, user, by }) => {
        const { id } = await memory.propose(user, 'student', { ...agent, body: 'loves math' })
        const { proposal, block } = await memory.approve(user, id, { by, why: 'true' })
        assert.equal(block.body, 'loves math')
        assert.deepEqual(await memory.block(user, 'student'), block)
        assert.equal(proposal.state, 'approved')
        assert.equal(proposal.decision?.by, by)
        assert.equal(proposal.result?.after, block.version)
        assert.deepEqual(await memory.proposals(user, { state: 'open' }), [])
        assert.equal((await memory.proposals(user, { state: 'approved' })).length, 1)
        const history = await memory.history(user, 'student')
        assert.deepEqual(
          history.map(({ action, proposal: from, content }) => [action, from, content?.body]),
          [
            ['approve', id, 'loves math'],
            ['set', undefined, 'likes math'],
          ],
        )
        assert.equal(history[0]?.id, block.version)
        assert.equal(history[0]?.by, by)
        assert.equal(history[0]?.why, 'true')
      }))

    test('a rejection leaves the block unchanged, and the proposal is kept with the reason', () =>
      withBlock('likes math', async ({ memory, user, by }) => {
        const before = await memory.block(user, 'student')
        const { id } = await memory.propose(user, 'student', { ...agent, body: 'hates math' })
        const rejected = await memory.reject(user, id, { by, why: 'not true' })
        assert.equal(rejected.state, 'rejected')
        assert.deepEqual([rejected.body, rejected.decision?.why], ['hates math', 'not true'])
        assert.deepEqual(await memory.block(user, 'student'), before)
        assert.equal((await memory.history(user, 'student')).length, 1)
      }))

    test('a decided proposal cannot be decided again', () =>
      withBlock('one', async ({ memory, user, by }) => {
        const first = await memory.propose(user, 'student', { ...agent, body: 'two' })
        const second = await memory.propose(user, 'student', { ...agent, body: 'three' })
        await memory.approve(user, first.id, { by })
        await memory.reject(user, second.id, { by })
        await assert.rejects(memory.approve(user, first.id, { by }), {
          code: 'PROPOSAL_NOT_OPEN',
          message: /was approved/,
        })
        await assert.rejects(memory.reject(user, first.id, { by }), { code: 'PROPOSAL_NOT_OPEN' })
        await assert.rejects(memory.approve(user, second.id, { by }), {
          code: 'PROPOSAL_NOT_OPEN',
          message: /was rejected/,
        })
        await assert.rejects(memory.revert(user, second.id, { by }), { code: 'PROPOSAL_NOT_OPEN' })
        await assert.rejects(memory.approve(user, 'nosuchproposal', { by }), { code: 'PROPOSAL_NOT_FOUND' })
        assert.equal((await memory.block(user, 'student'))?.body, 'two')
      }))

    test('several proposals on one block are merged one after the other', () =>
      withBlock('a\nb\nc\nd\ne\n', async ({ memory, user, by }) => {
        const first = await memory.propose(user, 'student', { ...agent, body: 'A\nb\nc\nd\ne\n' })
        const second = await memory.propose(user, 'student', { ...agent, body: 'a\nb\nc\nd\nE\n' })
        const third = await memory.propose(user, 'student', { ...agent, body: { type: 'append', text: 'f\n' } })
        const fourth = await memory.propose(user, 'student', { ...agent, body: { type: 'append', text: 'g\n' } })
        await memory.set(user, 'student', { title: 'Renamed', by })
        for (const { id } of [first, second, third, fourth]) await memory.approve(user, id, { by })
        const block = await memory.block(user, 'student')
        assert.deepEqual([block?.title, block?.body], ['Renamed', 'A\nb\nc\nd\nE\nf\ng\n'])
      }))

    test('a conflict shows both sides, changes nothing, and is settled by a body from the user', () =>
      withBlock('likes math\n', async ({ memory, user, by }) => {
        const { id } = await memory.propose(user, 'student', { ...agent, body: 'loves math\n' })
        const now = await memory.set(user, 'student', { body: 'likes maths\n', by })
        const review = await memory.review(user, id)
        assert.equal(review.merge.type, 'conflict')
        await assert.rejects(memory.approve(user, id, { by }), error => {
          assert.ok(error instanceof Error && 'code' in error && 'data' in error)
          assert.equal(error.code, 'CONFLICT')
          const { regions } = error.data as { regions: unknown[] }
          assert.deepEqual(regions, [
            { type: 'conflict', base: 'likes math\n', now: 'likes maths\n', proposed: 'loves math\n' },
          ])
          return true
        })
        assert.deepEqual(await memory.block(user, 'student'), now)
        assert.equal((await memory.proposal(user, id)).state, 'open')
        await assert.rejects(memory.approve(user, id, { by, body: 'x', seen: 'older' }), { code: 'CONFLICT' })
        const { block } = await memory.approve(user, id, { by, body: 'loves maths\n', seen: now.version })
        assert.equal(block.body, 'loves maths\n')
        assert.equal((await memory.block(user, 'student'))?.body, 'loves maths\n')
      }))

    test('a proposal for a deleted block is refused, and the block can be restored for it', () =>
      withBlock('one', async ({ memory, user, by }) => {
        const { id } = await memory.propose(user, 'student', { ...agent, body: 'two' })
        const version = (await memory.block(user, 'student'))!.version
        await memory.remove(user, 'student', { by })
        await assert.rejects(memory.approve(user, id, { by }), { code: 'BLOCK_DELETED' })
        await assert.rejects(memory.propose(user, 'student', { ...agent, body: 'x' }), { code: 'BLOCK_DELETED' })
        await memory.restore(user, 'student', version, { by })
        assert.equal((await memory.approve(user, id, { by })).block.body, 'two')
        assert.deepEqual(
          (await memory.history(user, 'student')).map(({ action, content }) => [action, content?.body]),
          [
            ['approve', 'two'],
            ['restore', 'one'],
            ['delete', undefined],
            ['set', 'one'],
          ],
        )
      }))

    test('a new block can be proposed, and conflicts if the block was created meanwhile', async () => {
      const memory = await open()
      const user = freshUser()
      const by: Actor = `user:${user}`
      await assert.rejects(memory.propose(user, 'goals', { ...agent, body: 'x' }), { code: 'BLOCK_NOT_FOUND' })
      const first = await memory.propose(user, 'goals', { ...agent, kind: 'new', title: 'Goals', body: 'algebra\n' })
      const second = await memory.propose(user, 'goals', { ...agent, kind: 'new', title: 'Goals', body: 'geometry\n' })
      const third = await memory.propose(user, 'goals', { ...agent, kind: 'new', title: 'Goals', body: 'algebra\n' })
      assert.equal((await memory.approve(user, first.id, { by })).block.body, 'algebra\n')
      await assert.rejects(memory.approve(user, second.id, { by }), { code: 'CONFLICT' })
      assert.equal((await memory.approve(user, third.id, { by })).block.body, 'algebra\n')
      await assert.rejects(memory.propose(user, 'goals', { ...agent, kind: 'new', body: 'x' }), {
        code: 'BLOCK_EXISTS',
      })
    })

    test('an approval is reverted as a whole, and later changes stay', () =>
      withBlock('a\nb\nc\nd\ne\n', async ({ memory, user, by }) => {
        const { id } = await memory.propose(user, 'student', { ...agent, body: 'A\nb\nC\nd\ne\n' })
        await memory.approve(user, id, { by })
        await memory.set(user, 'student', { body: 'A\nb\nC\nd\nE\n', by })
        const { proposal, block } = await memory.revert(user, id, { by })
        assert.equal(proposal.state, 'reverted')
        assert.equal(block?.body, 'a\nb\nc\nd\nE\n')
        assert.equal((await memory.block(user, 'student'))?.body, 'a\nb\nc\nd\nE\n')
        await assert.rejects(memory.revert(user, id, { by }), { code: 'PROPOSAL_NOT_OPEN' })
        const fresh = await memory.propose(user, 'extra', { ...agent, kind: 'new', body: 'x' })
        await memory.approve(user, fresh.id, { by })
        assert.equal((await memory.revert(user, fresh.id, { by })).block, undefined)
        assert.equal(await memory.block(user, 'extra'), undefined)
      }))

    test('a revert that conflicts with a later change shows both sides', () =>
      withBlock('one\n', async ({ memory, user, by }) => {
        const { id } = await memory.propose(user, 'student', { ...agent, body: 'two\n' })
        await memory.approve(user, id, { by })
        await memory.set(user, 'student', { body: 'three\n', by })
        await assert.rejects(memory.revert(user, id, { by }), { code: 'CONFLICT' })
        assert.equal((await memory.revert(user, id, { by, body: 'one and three\n' })).block?.body, 'one and three\n')
      }))

    test('any two versions can be compared, and any version can be restored', () =>
      withBlock('one', async ({ memory, user, by }) => {
        const first = (await memory.block(user, 'student'))!.version
        await memory.set(user, 'student', { body: 'two', by })
        const third = await memory.set(user, 'student', { body: 'three', title: 'T', by })
        assert.deepEqual(await memory.diff(user, 'student', first, third.version), [
          { type: 'removed', text: 'one' },
          { type: 'added', text: 'three' },
        ])
        const restored = await memory.restore(user, 'student', first, { by })
        assert.deepEqual([restored.body, restored.title], ['one', 'Student Profile'])
        await assert.rejects(memory.restore(user, 'student', 'nosuch', { by }), { code: 'VERSION_NOT_FOUND' })
        await memory.remove(user, 'student', { by })
        const [gone, ...rest] = await memory.history(user, 'student')
        assert.equal(gone?.content, null)
        assert.equal(rest.length, 4)
        assert.deepEqual(await memory.version(user, 'student', gone!.id), gone)
        await assert.rejects(memory.restore(user, 'student', gone!.id, { by }), { code: 'INVALID_INPUT' })
        const page = await memory.history(user, 'student', { limit: 2, before: gone!.id })
        assert.deepEqual(page, rest.slice(0, 2))
      }))

    test('a user can neither see nor decide anything of another user', () =>
      withBlock('one', async ({ memory, user, by }) => {
        const other = freshUser()
        const { id } = await memory.propose(user, 'student', { ...agent, body: 'two' })
        await assert.rejects(memory.proposal(other, id), { code: 'PROPOSAL_NOT_FOUND' })
        await assert.rejects(memory.approve(other, id, { by: `user:${other}` }), { code: 'PROPOSAL_NOT_FOUND' })
        await assert.rejects(memory.approve(user, id, { by: `user:${other}` }), { code: 'FORBIDDEN' })
        for (const actor of ['agent:ralph', `agent:${user}`] as const) {
          await assert.rejects(memory.approve(user, id, { by: actor }), { code: 'FORBIDDEN' })
          await assert.rejects(memory.reject(user, id, { by: actor }), { code: 'FORBIDDEN' })
          await assert.rejects(memory.revert(user, id, { by: actor }), { code: 'FORBIDDEN' })
          await assert.rejects(memory.set(user, 'student', { body: 'x', by: actor }), { code: 'FORBIDDEN' })
          await assert.rejects(memory.remove(user, 'student', { by: actor }), { code: 'FORBIDDEN' })
          await assert.rejects(memory.restore(user, 'student', 'v', { by: actor }), { code: 'FORBIDDEN' })
        }
        assert.deepEqual(await memory.blocks(other), [])
        assert.deepEqual(await memory.proposals(other), [])
        assert.equal((await memory.approve(user, id, { by })).block.body, 'two')
      }))

    test('lists come in pages, the newest proposal first', () =>
      withBlock('x', async ({ memory, user }) => {
        const made: string[] = []
        for (let i = 0; i < 7; i++) {
          made.unshift((await memory.propose(user, 'student', { ...agent, body: `y${i}` })).id)
        }
        const first = await memory.proposals(user, { limit: 4, state: 'open' })
        const second = await memory.proposals(user, { limit: 4, after: first.at(-1)!.id })
        assert.deepEqual(
          [...first, ...second].map(({ id }) => id),
          made,
        )
        assert.deepEqual(await memory.proposals(user, { label: 'other' }), [])
        assert.equal((await memory.proposals(user, { label: 'student', state: 'open' })).length, 7)
      }))

    test('a body that violates its schema is refused on proposal, on approval and after a merge', async () => {
      const memory = await open()
      const user = freshUser()
      const by: Actor = `user:${user}`
      const schemaRef = JSON.stringify({
        type: 'object',
        required: ['age'],
        properties: { age: { type: 'integer' } },
        maxProperties: 2,
      })
      const body = '{\n"age": 1,\n\n\n"b": 2\n}'
      await memory.set(user, 'data', { body, schemaRef, by })
      await assert.rejects(memory.propose(user, 'data', { ...agent, body: '{"age": "old"}' }), {
        code: 'SCHEMA_VIOLATION',
        message: /age/,
      })
      await assert.rejects(memory.propose(user, 'data', { ...agent, body: 'no json' }), { code: 'SCHEMA_VIOLATION' })
      const { id } = await memory.propose(user, 'data', { ...agent, body: '{"age": 2}' })
      await assert.rejects(memory.approve(user, id, { by, body: '{}' }), { code: 'SCHEMA_VIOLATION' })
      assert.equal((await memory.approve(user, id, { by })).block.schemaRef, schemaRef)
    })

    test('an export imported into another store gives the same blocks and open proposals', () =>
      withBlock('one\n', async ({ memory, user, by }) => {
        await memory.set(user, 'empty', { body: '', by })
        await memory.propose(user, 'student', { ...agent, body: 'two\n', confidence: 'low' })
        const document = readMemoryDocument(JSON.parse(JSON.stringify(await exportMemory(memory, user))))
        const other = freshUser()
        const moved = readMemoryDocument(document, other)
        assert.deepEqual(await importMemory(memory, moved, `user:${other}`), {
          blocks: 2,
          same: 0,
          proposals: 1,
          refused: [],
        })
        assert.deepEqual((await importMemory(memory, { ...moved, proposals: [] }, `user:${other}`)).same, 2)
        const bare = async (name: string) =>
          (await memory.blocks(name)).map(({ label, title, body }) => ({ label, title, body }))
        assert.deepEqual(await bare(other), await bare(user))
        const [proposal] = await memory.proposals(other, { state: 'open' })
        assert.deepEqual([proposal?.body, proposal?.confidence], ['two\n', 'low'])
        assert.ok((await memory.store.users({ limit: 1000 })).includes(other))
      }))

    test('of two concurrent approvals exactly one succeeds, and the text is merged once', () =>
      withBlock('one\n', async ({ memory, user, by }) => {
        const { id } = await memory.propose(user, 'student', { ...agent, body: { type: 'append', text: 'two\n' } })
        const outcomes = await Promise.allSettled([1, 2, 3, 4, 5, 6].map(() => memory.approve(user, id, { by })))
        assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
        for (const outcome of outcomes) {
          if (outcome.status === 'rejected')
            assert.equal(outcome.reason.code, 'PROPOSAL_NOT_OPEN', String(outcome.reason))
        }
        assert.equal((await memory.block(user, 'student'))?.body, 'one\ntwo\n')
        assert.equal((await memory.history(user, 'student')).length, 2)
      }))

    test('proposals for two places of one text are both approved, in either order', async () => {
      const cases = [
        {
          body: '- likes math\n- likes science\n- lives in Rome',
          one: { type: 'replace', old: '- likes math', new: '- likes physics' },
          two: { type: 'replace', old: '- likes science', new: '- likes biology' },
          both: '- likes physics\n- likes biology\n- lives in Rome',
        },
        {
          body: 'She likes math and science in Rome.',
          one: { type: 'replace', old: 'math', new: 'physics' },
          two: { type: 'replace', old: 'science', new: 'biology' },
          both: 'She likes physics and biology in Rome.',
        },
        {
          body: '# A\nold a\n# B\nold b\n',
          one: { type: 'section', header: '# A', content: 'new a' },
          two: { type: 'section', header: '# B', content: 'new b' },
          both: '# A\nnew a\n# B\nnew b\n',
        },
      ] as const
      for (const { body, one, two, both } of cases) {
        for (const order of [
          [one, two],
          [two, one],
        ]) {
          await withBlock(body, async ({ memory, user, by }) => {
            const made: Proposal[] = []
            for (const operation of [one, two]) {
              made.push(await memory.propose(user, 'student', { ...agent, body: operation }))
            }
            assert.deepEqual(
              made.map(({ operation }) => operation),
              [one, two],
            )
            for (const operation of order) {
              const { id } = made[operation === one ? 0 : 1]!
              assert.equal((await memory.review(user, id)).merge.type, 'clean')
              await memory.approve(user, id, { by })
            }
            assert.equal((await memory.block(user, 'student'))!.body, both)
            for (const { id } of made) await memory.revert(user, id, { by })
            assert.equal((await memory.block(user, 'student'))!.body, body)
          })
        }
      }
    })

    test('an operation that no longer applies exactly once is a conflict', () =>
      withBlock('- likes math\n- lives in Rome', async ({ memory, user, by }) => {
        const replace = (old: string, to: string) => ({ type: 'replace', old, new: to }) as const
        const one = await memory.propose(user, 'student', { ...agent, body: replace('likes math', 'likes physics') })
        const two = await memory.propose(user, 'student', { ...agent, body: replace('likes math', 'likes biology') })
        await memory.approve(user, one.id, { by })
        await assert.rejects(memory.approve(user, two.id, { by }), { code: 'CONFLICT' })
        const { merge } = await memory.review(user, two.id)
        assert.ok(merge.type === 'conflict' && merge.marked.includes('physics') && merge.marked.includes('biology'))
        const section = { type: 'section', header: '# A', content: 'mine' } as const
        await memory.set(user, 'student', { body: '# A\nold\n', by })
        const three = await memory.propose(user, 'student', { ...agent, body: section })
        await memory.set(user, 'student', { body: '# A\ntheirs\n', by })
        await assert.rejects(memory.approve(user, three.id, { by }), { code: 'CONFLICT' })
      }))

    test('an addition without a line end can be reverted after a later addition', () =>
      withBlock('a', async ({ memory, user, by }) => {
        const ids: string[] = []
        for (const text of ['b', 'c']) {
          const { id } = await memory.propose(user, 'student', { ...agent, body: { type: 'append', text } })
          await memory.approve(user, id, { by })
          ids.push(id)
        }
        const { block } = await memory.revert(user, ids[0]!, { by })
        assert.equal(block?.body, 'a\nc')
      }))

    test('a user with an open proposal and no block is listed', async () => {
      const memory = await open()
      const user = freshUser()
      const { id } = await memory.propose(user, 'goals', { ...agent, kind: 'new', body: 'learn Go' })
      const users = async () => memory.store.users({ limit: 1000 })
      assert.ok((await users()).includes(user))
      await memory.reject(user, id, { by: `user:${user}` })
      assert.ok(!(await users()).includes(user))
    })

    test('concurrent approvals of different proposals, from two handles, are all in the block', async () => {
      const [one, two] = await Promise.all([openStore('race'), openStore('race')])
      const memories = [new Memory(one!), new Memory(two!)] as const
      await memories[0].set('ann', 'student', { body: '', by: ANN })
      const ids: string[] = []
      for (let i = 0; i < 8; i++) {
        const body = { type: 'append', text: `line ${i}\n` } as const
        ids.push((await memories[i % 2]!.propose('ann', 'student', { ...agent, body })).id)
      }
      await Promise.all(ids.map((id, i) => memories[i % 2]!.approve('ann', id, { by: ANN })))
      const lines = (await memories[1].block('ann', 'student'))!.body.trimEnd().split('\n')
      assert.deepEqual(
        lines.sort(),
        ids.map((_, i) => `line ${i}`),
      )
      assert.equal((await memories[0].history('ann', 'student')).length, 9)
      await Promise.all(memories.map(memory => memory.close()))
    })

    test('concurrent proposals of fifty agents are all stored', async () => {
      const memory = await open()
      const user = freshUser()
      await memory.set(user, 'student', { body: 'base\n', by: `user:${user}` })
      const made = await Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          memory.propose(user, 'student', {
            ...agent,
            agentId: `agent-${i}`,
            body: { type: 'append', text: `${i}\n` },
          }),
        ),
      )
      assert.equal(new Set(made.map(({ id }) => id)).size, 50)
      const listed = await memory.proposals(user, { state: 'open' })
      assert.deepEqual(new Set(listed.map(({ agentId }) => agentId)), new Set(made.map(({ agentId }) => agentId)))
    })

    test('acknowledged writes are there after reopening', async () => {
      const before = new Memory(await openStore('reopen'))
      await before.set('ann', 'student', { body: 'one', by: ANN })
      const proposal = await before.propose('ann', 'student', { ...agent, body: 'two' })
      await before.close()
      const after = new Memory(await openStore('reopen'))
      assert.deepEqual(await after.proposal('ann', proposal.id), proposal)
      assert.equal((await after.approve('ann', proposal.id, { by: ANN })).block.body, 'two')
      await after.close()
    })

    test('after any decisions in any order, the block is that of a plain list of versions', async () => {
      const memory = await open()
      await fc.assert(
        fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 8 }), async commands => {
          const user = freshUser()
          await runCommands(memory, user, commands)
        }),
        { numRuns: kind === 'sqlite' ? 60 : 4 },
      )
    })
  })
}

type Given = { memory: Memory; user: string; by: Actor }
