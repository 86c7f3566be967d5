/** Small parts of memory: limits, pages, rows, and how a proposal is shown. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { checkContent, checkLabel, checkProposal, checkUser, titleOf } from '../../src/memory/checks.ts'
import { hiddenIn, reveal } from '../../src/memory/diff.ts'
import { exportMemory, importMemory } from '../../src/memory/exchange.ts'
import { Memory } from '../../src/memory/memory.ts'
import { openMemory } from '../../src/memory/open.ts'
import { reviewOf } from '../../src/memory/review.ts'
import { toProposal, toVersion } from '../../src/memory/rows.ts'
import { checkSchema } from '../../src/memory/schema.ts'
import { SqliteMemory } from '../../src/memory/sqlite.ts'
import { allBlocks, type Block, type EntryLink, type Proposal } from '../../src/memory/store.ts'
import { workspaceFiles } from '../../src/memory/workspace.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const INVALID = { code: 'INVALID_INPUT' }

describe('new content', () => {
  const content = { title: 'T', body: 'b', schemaRef: null }

  test('has a body, a title and a schema within their limits, and is valid text', () => {
    checkContent(content, { body: 1, title: 1 })
    assert.throws(() => checkContent({ ...content, body: 'bb' }, { body: 1 }), /body/)
    assert.throws(() => checkContent({ ...content, title: 'TT' }, { title: 1 }), /title/)
    assert.throws(() => checkContent({ ...content, schemaRef: 'ss' }, { body: 1 }), /schema/)
    assert.throws(() => checkContent({ ...content, body: '\ud800' }), Error)
  })

  test('has a user and a label', () => {
    for (const name of ['', ' '.repeat(3), 'x'.repeat(1000)]) {
      assert.throws(() => checkUser(name), INVALID, JSON.stringify(name))
      assert.throws(() => checkLabel(name), INVALID, JSON.stringify(name))
    }
    checkUser('ann')
    checkLabel('goals')
    assert.equal(titleOf('learning_GOALS'), 'Learning Goals')
  })

  test('is proposed with an agent, a reason, a confidence and a limited number of entries', () => {
    const entries = (count: number) => Array.from({ length: count }, (_, entry) => ({ session: 's', entry }))
    const given = {
      userId: 'ann',
      label: 'goals',
      agentId: 'a',
      reasoning: 'r',
      confidence: 'low' as const,
      entries: [],
    }
    checkProposal(given)
    assert.throws(() => checkProposal({ ...given, agentId: '' }), INVALID)
    assert.throws(() => checkProposal({ ...given, reasoning: '' }), INVALID)
    assert.throws(() => checkProposal({ ...given, confidence: 'sure' as 'high' }), INVALID)
    assert.throws(() => checkProposal({ ...given, userId: '' }), INVALID)
    assert.throws(() => checkProposal({ ...given, label: '' }), INVALID)
    let most = 0
    while (most < 10_000 && !throws(() => checkProposal({ ...given, entries: entries(most + 1) }))) most++
    assert.throws(() => checkProposal({ ...given, entries: entries(most + 1) }), {
      message: new RegExp(`at most ${most} `),
    })
  })
})

function throws(work: () => void): boolean {
  try {
    work()
    return false
  } catch {
    return true
  }
}

describe('all blocks', () => {
  const block = (n: number) => ({ label: `l${String(n).padStart(4, '0')}` }) as Block
  for (const count of [0, 1, 499, 500, 501, 1200]) {
    test(`in pages are complete and without repeats: ${count} blocks`, async () => {
      const all = Array.from({ length: count }, (_, n) => block(n))
      let pages = 0
      const blocks = async (_: string, { limit = 1, after = '' } = {}) => {
        pages++
        return all.filter(({ label }) => label > after).slice(0, limit)
      }
      assert.deepEqual(await allBlocks({ blocks }, 'ann'), all)
      assert.equal(pages, Math.floor(count / 500) + 1)
    })
  }
})

describe('a row', () => {
  const version = { id: 'v', user_id: 'ann', label: 'l', at: 5, actor: 'user:ann', action: 'set', why: 'w' }

  test('of a version has its content, or none if the block was deleted', () => {
    assert.deepEqual(toVersion({ ...version, title: null, body: '', schema_ref: null }), {
      ...{ id: 'v', userId: 'ann', label: 'l', at: 5, by: 'user:ann', action: 'set', why: 'w' },
      content: { title: '', body: '', schemaRef: null },
    })
    const deleted = toVersion({ ...version, action: 'delete', body: null, proposal: 'p', commit_hash: 'c' })
    assert.deepEqual([deleted.content, deleted.proposal, deleted.commit], [null, 'p', 'c'])
    assert.throws(() => toVersion({ ...version, actor: 'somebody' }))
  })

  test('of a proposal has all known fields and nothing else', () => {
    const row = {
      ...{ user_id: 'ann', id: 'p', label: 'l', kind: 'edit', state: 'open', title: 't', body: 'b', agent_id: 'a' },
      ...{ reasoning: 'r', confidence: 'high', entries: '[{"session":"s","entry":1}]', created_at: 3 },
    }
    const open = toProposal(row)
    assert.deepEqual(Object.keys(open).sort(), [
      ...['agentId', 'base', 'body', 'confidence', 'createdAt', 'entries', 'id', 'kind', 'label', 'reasoning'],
      ...['state', 'title', 'userId'],
    ])
    assert.deepEqual([open.base, open.entries], [null, [{ session: 's', entry: 1 }]])
    for (const half of [{ decided_at: 3 }, { decided_by: 'user:ann' }])
      assert.deepEqual(toProposal({ ...row, ...half }), open, 'a decision has a time and a person')
    const done = toProposal({
      ...{ ...row, state: 'approved', base_version: 'v', decided_at: 0, decided_by: 'user:ann', after_version: 'w' },
      ...{ branch: 'b', operation: '{"type":"append","text":"x"}' },
    })
    assert.deepEqual(done.base, { version: 'v', title: '', body: '' })
    assert.deepEqual(done.decision, { at: 0, by: 'user:ann', why: '' })
    assert.deepEqual(done.result, { before: null, after: 'w' })
    assert.deepEqual([done.branch, done.operation], ['b', { type: 'append', text: 'x' }])
  })
})

describe('a review', () => {
  const base = { version: 'v', title: 'Goals', body: 'one' }
  const open = {
    ...{ id: 'p', title: 'Goals', body: 'one two', base, reasoning: 'r\u200b', entries: [] as EntryLink[] },
    state: 'open',
  } as Proposal
  const block = { title: 'Goals', body: 'one three' } as Block
  const clean = { type: 'clean', title: 'Goals', body: 'one two three', stale: true } as const
  const words = (parts: { type: string; text: string }[]) =>
    parts.filter(({ type }) => type !== 'same').map(({ text }) => text.trim())

  test('of an open proposal shows the change by an approval now', () => {
    const review = reviewOf(open, { block, merge: clean, problem: undefined, duplicates: [] })
    assert.deepEqual(words(review.diff), ['two'])
    assert.equal('problem' in review, false)
    assert.deepEqual(review.hidden, [{ char: 'U+200B', name: 'zero-width space', count: 1 }])
    const fresh = reviewOf(open, { block: undefined, merge: clean, problem: 'too large', duplicates: [] })
    assert.equal(fresh.problem, 'too large')
    assert.deepEqual(words(fresh.diff), ['one two three'])
  })

  test('says whether any of its text came from tools or all from the user', () => {
    const from = (...sources: ('tool' | 'user')[]) => {
      const entries = sources.map((source, entry) => ({ session: 's', entry, source })) as unknown as EntryLink[]
      return reviewOf({ ...open, entries }, { block, merge: clean, problem: undefined, duplicates: [] }).fromTools
    }
    assert.deepEqual([from(), from('user'), from('user', 'tool'), from('tool')], [false, false, true, true])
  })

  test("of a decided proposal, or one in conflict, shows the agent's change", () => {
    const decided = reviewOf(
      { ...open, state: 'approved' },
      { block, merge: clean, problem: undefined, duplicates: [] },
    )
    assert.deepEqual(decided.diff.map(({ text }) => text).join(''), 'one two')
    const gone = reviewOf(open, { block, merge: { type: 'deleted' }, problem: undefined, duplicates: [] })
    assert.deepEqual(words(gone.diff), ['two'])
    assert.deepEqual(
      words(
        reviewOf({ ...open, base: null }, { block, merge: { type: 'deleted' }, problem: undefined, duplicates: [] })
          .diff,
      ),
      ['one two'],
    )
  })

  test('names invisible characters, but not emoji and line breaks', () => {
    assert.equal(reveal('a\u202eb\tc\n👩‍💻'), 'a⟨U+202E⟩b\tc\n👩‍💻')
    const names = hiddenIn('\u0007\u00ad\u200d\u2066\u{e0041}\ue000\u200d').map(({ name, count }) => [name, count])
    assert.deepEqual(names, [
      ['control character', 1],
      ['soft hyphen', 1],
      ['zero-width joiner or non-joiner', 2],
      ['direction isolate', 1],
      ['tag character', 1],
      ['invisible character', 1],
    ])
  })
})

describe('a schema', () => {
  const check = (schemaRef: string | null, body = '{"a":1}', known?: string) =>
    checkSchema({ title: '', body, schemaRef }, async () => known)

  test('that is missing or unknown checks nothing', async () => {
    await check(null, 'no json')
    await check('of-another-system', 'no json')
  })

  test('is a JSON object', async () => {
    await assert.rejects(check('name', '{}', '[1]'), { ...INVALID, message: /JSON object/ })
    await assert.rejects(check('name', '{}', 'null'), { ...INVALID, message: /JSON object/ })
    await assert.rejects(check('{not json', '{}'), { ...INVALID, message: /not valid JSON/ })
  })

  test('is satisfied by the body, or names the wrong places', async () => {
    const schema = '{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}'
    await assert.rejects(check(schema), (error: Error & { code?: string; data?: { problems: string[] } }) => {
      assert.equal(error.code, 'SCHEMA_VIOLATION')
      assert.equal(error.data?.problems.length, 2)
      assert.ok(error.data?.problems.some(problem => problem.startsWith('a: ')))
      return true
    })
    await check(schema, '{"a":"x","b":1}')
    await assert.rejects(check(schema, 'plain words'), /not JSON .* and does not begin with front matter/)
  })
})

test('a memory in a home finds its schemas by plain names only', async () => {
  const home = join(folder, 'home')
  mkdirSync(join(home, 'schemas'), { recursive: true })
  writeFileSync(join(home, 'schemas', 'person.json'), '{"type":"object","required":["name"]}')
  writeFileSync(join(home, 'secret.json'), '{"type":"string"}')
  const memory = await openMemory({ home, env: {}, clock: () => 77 })
  const by = 'user:ann' as const
  await assert.rejects(memory.set('ann', 'p', { body: '{}', schemaRef: 'person', by }), { code: 'SCHEMA_VIOLATION' })
  const made = await memory.set('ann', 'p', { body: '{"name":"x"}', schemaRef: 'person', by })
  assert.equal(made.updatedAt, 77)
  await memory.set('ann', 'q', { body: '{}', schemaRef: '../secret', by })
  await memory.set('ann', 'r', { body: 'x', schemaRef: 'unknown', by })
  await memory.close()
})

test('an export has every user and every open proposal, oldest first, over any number of pages', async () => {
  const memory = new Memory(new SqliteMemory(':memory:'))
  const ask = (userId: string, body: string) =>
    memory.propose(userId, 'goals', { kind: 'new', body, agentId: 'a', reasoning: 'r' })
  const users = Array.from({ length: 501 }, (_, n) => `user${String(n).padStart(3, '0')}`)
  for (const user of users) await ask(user, 'first')
  const bodies = Array.from({ length: 200 }, (_, n) => `later ${n}`)
  for (const body of bodies) await ask('user500', body)
  await memory.reject('user500', (await ask('user500', 'no')).id, { by: 'user:user500' })
  const { proposals } = await exportMemory(memory)
  assert.deepEqual([...new Set(proposals.map(({ userId }) => userId))], users)
  const last = (await exportMemory(memory, 'user500')).proposals.map(({ body }) => body)
  assert.deepEqual(last, ['first', ...bodies])
  await memory.close()
})

test('an import reports what it wrote, what existed, and what was refused', async () => {
  const from = new Memory(new SqliteMemory(':memory:'))
  const to = new Memory(new SqliteMemory(':memory:'))
  for (const user of ['ann', 'bob']) await from.set(user, 'goals', { body: user, by: `user:${user}` })
  await from.propose('ann', 'goals', { agentId: 'a', reasoning: 'r', body: 'more' })
  const document = await exportMemory(from)
  assert.deepEqual(
    document.blocks.map(({ userId }) => userId),
    ['ann', 'bob'],
  )
  const first = await importMemory(to, document, 'admin:root')
  assert.deepEqual(first, { blocks: 2, same: 0, proposals: 1, refused: [] })
  const fresh: typeof document.proposals = [{ ...document.proposals[0]!, label: 'plans', kind: 'new' }]
  assert.equal((await importMemory(to, { ...document, proposals: fresh }, 'admin:root')).proposals, 1)
  const [kept] = await to.proposals('ann', { state: 'open', label: 'plans' })
  assert.deepEqual([kept?.kind, kept?.base], ['new', null], 'a proposal of a new block stays one')
  const [proposal] = document.proposals
  const again = await importMemory(to, { ...document, proposals: [{ ...proposal!, reasoning: '' }] }, 'admin:root')
  assert.deepEqual([again.blocks, again.same, again.proposals, again.refused.length], [0, 2, 0, 1])
  assert.match(again.refused[0]!, /^ann\/goals: /)
  await Promise.all([from.close(), to.close()])
  const failed = importMemory(to, { ...document, blocks: [] }, 'admin:root')
  await assert.rejects(failed, { code: 'STORE_FAILED' }, 'a store that fails is no refusal')
})

test('the files of a workspace are the standard ones, then other notes; none if the folder is missing', async () => {
  assert.deepEqual(await workspaceFiles({ folder: join(folder, 'none') }), [])
  const place = join(folder, 'workspace')
  mkdirSync(place)
  for (const name of ['aaa.md', 'MEMORY.md', 'picture.png']) writeFileSync(join(place, name), 'x')
  assert.deepEqual(await workspaceFiles({ folder: place }), ['MEMORY.md', 'aaa.md'])
})
