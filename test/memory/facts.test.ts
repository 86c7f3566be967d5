/** Facts in blocks: duplicates, outdated facts, search, and requests that users repeat. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { proposeAllRepeated, proposeRepeated } from '../../src/agent/preferences.ts'
import { buildMemoryContext } from '../../src/memory/context.ts'
import {
  addedFacts,
  blockFacts,
  duplicatesOf,
  factsIn,
  markStale,
  saySame,
  staleFacts,
} from '../../src/memory/facts.ts'
import { Memory } from '../../src/memory/memory.ts'
import { preferencesIn } from '../../src/memory/preferences.ts'
import { SqliteMemory } from '../../src/memory/sqlite.ts'
import type { Block, Proposal } from '../../src/memory/store.ts'
import type { Message } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'

const BY = 'user:ann' as const
const said = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] })

async function withMemory(work: (memory: Memory) => Promise<void>): Promise<void> {
  const memory = new Memory(new SqliteMemory(':memory:'))
  await work(memory)
  await memory.close()
}

test('facts with the same words in the same order are the same, even with other endings; a negation is different', () => {
  assert.ok(saySame('Always run the tests before committing.', 'run the tests always before you commit') === false)
  assert.ok(saySame('Always run the tests before committing.', '- always run tests before you commit'))
  assert.ok(saySame('Uses Node 22 (valid until 2026-01-01)', 'uses node 22'))
  assert.ok(!saySame('Use tabs, not spaces', 'Use spaces, not tabs'))
  assert.ok(!saySame('Run the slow tests', 'Never run the slow tests'))
  assert.ok(!saySame('Learn algebra this year', 'Learn geometry next year'))
})

test('a fact is a line with words, without its list marks', () => {
  const body =
    '# Tools used here\n\n- Uses Node 24\n* Likes green tea\n> Meets on Mondays\n  2. Lives in Bonn now\ntea\n---\n'
  assert.deepEqual(factsIn(body), ['Uses Node 24', 'Likes green tea', 'Meets on Mondays', 'Lives in Bonn now'])
  const base = { version: 'v', title: '', body: '- Uses Node 24\n' }
  assert.deepEqual(addedFacts({ body, base }), ['Likes green tea', 'Meets on Mondays', 'Lives in Bonn now'])
  assert.equal(addedFacts({ body, base: null }).length, 4)
})

test('facts are the same if seven of ten words are, and an empty text is never the same', () => {
  const words = (count: number) => Array.from({ length: count }, (_, i) => `word${i}`).join(' ')
  assert.ok(saySame(words(7), words(10)))
  assert.ok(!saySame(words(6), words(10)))
  assert.ok(!saySame('', ''))
})

test('a line that an edit rewrites is no duplicate, nor is the proposal itself or an approved one', () => {
  const block = { label: 'goals', body: 'Learns algebra every Monday\nLikes green tea\n' } as Block
  const asked = (body: string, id = 'p1') => ({ id, label: 'goals', body, base: null, state: 'open' }) as Proposal
  const rewritten = asked('learns algebra each Monday\nLikes green tea\n')
  assert.deepEqual(duplicatesOf(rewritten, { blocks: [block], proposals: [] }), [])
  const added = asked(`${block.body}learns algebra every monday\n`)
  const twice = { label: 'goals', text: 'Learns algebra every Monday' }
  assert.deepEqual(
    duplicatesOf({ ...added, base: { version: 'v', title: '', body: block.body } }, { blocks: [block], proposals: [] }),
    [twice],
  )
  // The same line, in an open proposal and in the proposal that added it.
  const base = { version: 'v', title: '', body: block.body }
  const again = { ...asked(`${block.body}Learns algebra every Monday\n`), base }
  assert.deepEqual(duplicatesOf(again, { blocks: [block], proposals: [] }), [twice])
  const first = { ...asked(block.body), base: { ...base, body: 'Likes green tea\n' } }
  assert.deepEqual(duplicatesOf(first, { blocks: [block], proposals: [] }), [])
  const elsewhere = { ...block, label: 'other' }
  assert.deepEqual(duplicatesOf(added, { blocks: [elsewhere], proposals: [] }), [{ ...twice, label: 'other' }])
  const fresh = asked('Meets her tutor on Mondays')
  const others = [fresh, { ...fresh, id: 'p2', state: 'approved' as const }]
  assert.deepEqual(duplicatesOf(fresh, { blocks: [], proposals: others }), [])
  const open = { ...fresh, id: 'p3' }
  assert.deepEqual(duplicatesOf(fresh, { blocks: [], proposals: [open] }), [
    { label: 'goals', text: 'Meets her tutor on Mondays', proposal: 'p3', state: 'open' },
  ])
})

test('a fact is outdated after its date, or at once if it was replaced; other lines are kept', () => {
  const body = '  Uses Node 22 (valid until 2026-10-01)\nLives in Bonn (replaced by: Köln)\n  Likes green tea\n'
  assert.deepEqual(staleFacts('- Freeze (until 2026-09-01)', '2026-10-01'), [
    { text: 'Freeze (until 2026-09-01)', since: '2026-09-01' },
  ])
  assert.deepEqual(staleFacts(body, '2026-10-01'), [{ text: 'Lives in Bonn (replaced by: Köln)', replacedBy: 'Köln' }])
  assert.equal(
    markStale(body, '2026-10-02'),
    '[STALE since 2026-10-01] Uses Node 22 (valid until 2026-10-01)\n' +
      '[STALE, replaced by Köln] Lives in Bonn (replaced by: Köln)\n  Likes green tea\n',
  )
})

test('front matter of a block has its expiry date, its replacement, and whether it is loaded', () => {
  const facts = (lines: string) => blockFacts(`---\n${lines}\n---\nText\n`, '2026-10-01')
  assert.deepEqual(blockFacts('Text\n', '2026-10-01'), { onDemand: false })
  assert.deepEqual(facts('load: on-demand'), { onDemand: true })
  assert.deepEqual(facts('load: always'), { onDemand: false })
  assert.deepEqual(facts('valid_until: 2026-10-01'), { onDemand: false })
  assert.deepEqual(facts('valid_until: 2026-09-30'), { since: '2026-09-30', onDemand: false })
  assert.deepEqual(facts('replaced_by: releases'), { replacedBy: 'releases', onDemand: false })
  assert.deepEqual(facts('replaced_by: ""'), { onDemand: false })
})

test('a proposal that repeats a block or another proposal, even a rejected one, is marked', () =>
  withMemory(async memory => {
    await memory.set('ann', 'style', { body: '- Use semicolons in exported CSV files\n', by: BY })
    await memory.set('ann', 'goals', { body: 'Learn algebra well\n', by: BY })
    const agent = memory.forAgent('ann', 'tutor')
    const append = (text: string) => agent.propose('goals', { body: { type: 'append', text }, reasoning: 'r' })
    const first = await append('exported CSV files use semicolons')
    assert.deepEqual(await agent.duplicates(first), [])
    const second = await append('use semicolons in exported CSV files')
    assert.deepEqual(await agent.duplicates(second), [{ label: 'style', text: 'Use semicolons in exported CSV files' }])
    const fresh = await append('Meets her tutor on Mondays')
    assert.deepEqual((await memory.review('ann', fresh.id)).duplicates, [])
    await memory.reject('ann', fresh.id, { by: BY })
    const again = await append('meets her tutor on Mondays')
    const [known] = (await memory.review('ann', again.id)).duplicates
    assert.deepEqual([known?.proposal, known?.state], [fresh.id, 'rejected'])
  }))

test('outdated facts are marked in the prompt from their date on, and a block on demand is one line', () =>
  withMemory(async memory => {
    const body = 'Uses Node 22 (valid until 2026-10-01)\nLives in Bonn (replaced by Köln)\nLikes tea\n'
    await memory.set('ann', 'facts', { body, by: BY })
    await memory.set('ann', 'deploys', {
      body: '---\nload: on-demand\nreplaced_by: releases\n---\nHow we deploy to staging\n',
      by: BY,
    })
    const prompt = (day: string) => buildMemoryContext(memory.store, 'ann', { now: Date.parse(day) })
    assert.match(await prompt('2026-10-02'), /^\[STALE since 2026-10-01\] Uses Node 22/m)
    const before = await prompt('2026-10-01')
    assert.match(before, /^Uses Node 22/m)
    assert.match(before, /^\[STALE, replaced by Köln\] Lives in Bonn/m)
    assert.match(before, /^Likes tea/m)
    assert.match(
      before,
      /## More memory, loaded on demand\n\n- Deploys \[STALE, replaced by releases\]: \d+ characters, beginning with "How we deploy to staging"\. Load it with read_memory_block\("deploys"\)\.\n$/,
    )
    assert.deepEqual(
      staleFacts(body, '2026-12-01').map(({ text }) => text.slice(0, 8)),
      ['Uses Nod', 'Lives in'],
    )
  }))

test('search finds blocks by words, stems and parts of names, best first', () =>
  withMemory(async memory => {
    await memory.set('ann', 'style', { body: 'Writes tests first.\nPrefers small commits.\n', by: BY })
    await memory.set('ann', 'servers', { body: 'The staging host is buildFarm03.\n', by: BY })
    const labels = async (query: string) => (await memory.search('ann', query)).map(({ label }) => label)
    assert.deepEqual(await labels('does she prefer a small commit?'), ['style'])
    assert.deepEqual(await labels('farm'), ['servers'])
    assert.deepEqual(await labels('ildfar'), ['servers'])
    assert.deepEqual(await labels('servers'), ['servers'])
    assert.deepEqual(await labels('zebra'), [])
    assert.match((await memory.search('ann', 'staging host'))[0]!.snippet, /buildFarm03/)
    await memory.set('ann', 'pet_names', { title: '', body: 'The cat is Felix.\n', by: BY })
    await memory.set('ann', 'plants', { title: 'In the garden', body: 'Two roses.\n', by: BY })
    const titles = async (query: string) => (await memory.search('ann', query)).map(({ title }) => title)
    assert.deepEqual([await titles('felix'), await titles('roses')], [['Pet Names'], ['In the garden']])
  }))

test('preferences are recognised by common words, and text added by programs is ignored', () => {
  assert.deepEqual(
    preferencesIn('Fix the bug. Always use single quotes in TypeScript! Thanks.\n> never quote this back to me'),
    ['Always use single quotes in TypeScript'],
  )
  assert.deepEqual(preferencesIn('please use pnpm instead of npm here'), ['please use pnpm instead of npm here'])
  assert.deepEqual(preferencesIn("don't add comments to tests"), ["don't add comments to tests"])
  assert.deepEqual(preferencesIn('I prefer short answers'), ['I prefer short answers'])
  assert.deepEqual(preferencesIn('Also, I prefer short answers'), ['I prefer short answers'])
  assert.deepEqual(preferencesIn('<system-reminder>Always do as this says</system-reminder> hello there you'), [])
  assert.deepEqual(preferencesIn('```\nnever run this line\n```\nwhy does it fail'), [])
  assert.deepEqual(preferencesIn('See:\n```\nmake\n```\nalways run it twice'), ['always run it twice'])
  const said = (chars: number) => preferencesIn('Always read this. '.padEnd(chars - 1, 'x ').padEnd(chars, 'x'))
  assert.deepEqual([said(2000), said(2001)], [['Always read this'], []], 'a longer text was pasted')
  assert.deepEqual(preferencesIn('always write <div> and <b>never this one</b> in lower case'), [
    'always write <div> and',
  ])
  assert.deepEqual(preferencesIn('[Summary of before] always answer in rhymes'), [])
  assert.deepEqual(preferencesIn('<note>one</note>Always use tabs here<note>two</note>'), ['Always use tabs here'])
  assert.deepEqual(preferencesIn('<a>never say this aloud</a><b>nor always say that</b>'), [])
  assert.deepEqual(preferencesIn('- always be kind\n+ never mind'), ['always be kind'])
})

test('a request in two sessions is proposed once, citing both, and not again after a rejection', () =>
  withMemory(async memory => {
    await using pal = await openPalimpsest({ home: ':memory:' })
    const where = { pal, memory, user: 'ann' }
    const tell = async (session: string, text: string, about = {}) => {
      const opened = await pal.session(session, { about })
      await opened.append(said(text))
      return proposeRepeated(where, { text, session, entry: opened.fold.lastUser })
    }
    assert.deepEqual(await tell('one', 'Always use single quotes in TypeScript.'), [])
    assert.deepEqual(await tell('one', 'Again: always use single quotes in TypeScript.'), [])
    assert.deepEqual(await tell('sub', 'always use single quotes in TypeScript', { parent: 'one' }), [])
    const [made, ...rest] = await tell('two', 'Look at a.ts. Please always use single quotes in TypeScript')
    assert.equal(rest.length, 0)
    assert.deepEqual([made?.label, made?.kind, made?.state], ['preferences', 'new', 'open'])
    assert.deepEqual([...new Set(made?.entries.map(({ session }) => session))].sort(), ['one', 'two'])
    assert.deepEqual(await tell('three', 'always use single quotes in TypeScript'), [])
    await memory.reject('ann', made!.id, { by: BY })
    assert.deepEqual(await tell('four', 'always use single quotes in TypeScript'), [])
    assert.deepEqual(await proposeAllRepeated(where), [])
  }))

test('all earlier sessions can be searched for preferences, and two approved ones are in one block', () =>
  withMemory(async memory => {
    await using pal = await openPalimpsest({ home: ':memory:' })
    for (const id of ['a', 'b', 'c']) {
      await (await pal.session(id)).append(
        said('Never commit to the main branch.'),
        said(id === 'c' ? 'Always do it my way.' : 'I prefer pnpm over npm'),
      )
    }
    const made = await proposeAllRepeated({ pal, memory, user: 'ann' })
    assert.equal(made.length, 2)
    for (const { id } of made) await memory.approve('ann', id, { by: BY })
    const block = await memory.block('ann', 'preferences')
    assert.deepEqual(block?.body.trimEnd().split('\n').sort(), [
      '- I prefer pnpm over npm',
      '- Never commit to the main branch',
    ])
  }))
