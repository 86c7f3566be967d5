/** Facts in blocks: what says the same, what is out of date, what a search finds, what users ask for again and again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { proposeAllRepeated, proposeRepeated } from '../../src/agent/preferences.ts'
import { buildMemoryContext } from '../../src/memory/context.ts'
import { saySame, staleFacts } from '../../src/memory/facts.ts'
import { Memory } from '../../src/memory/memory.ts'
import { preferencesIn } from '../../src/memory/preferences.ts'
import { SqliteMemory } from '../../src/memory/sqlite.ts'
import type { Message } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'

const BY = 'user:ann' as const
const said = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] })

async function withMemory(work: (memory: Memory) => Promise<void>): Promise<void> {
  const memory = new Memory(new SqliteMemory(':memory:'))
  await work(memory)
  await memory.close()
}

test('two facts say the same when their words and their order do, whatever the endings; a negation makes two', () => {
  assert.ok(saySame('Always run the tests before committing.', 'run the tests always before you commit') === false)
  assert.ok(saySame('Always run the tests before committing.', '- always run tests before you commit'))
  assert.ok(saySame('Uses Node 22 (valid until 2026-01-01)', 'uses node 22'))
  assert.ok(!saySame('Use tabs, not spaces', 'Use spaces, not tabs'))
  assert.ok(!saySame('Run the slow tests', 'Never run the slow tests'))
  assert.ok(!saySame('Learn algebra this year', 'Learn geometry next year'))
})

test('a proposal that repeats a block or another proposal is told so, also one that was rejected', () =>
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

test('what is out of date is marked in the prompt, from its day on; a block on demand has a line', () =>
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
  }))

test('preferences are read by the words that people use, and not from what programs add', () => {
  assert.deepEqual(
    preferencesIn('Fix the bug. Always use single quotes in TypeScript! Thanks.\n> never quote this back to me'),
    ['Always use single quotes in TypeScript'],
  )
  assert.deepEqual(preferencesIn('please use pnpm instead of npm here'), ['please use pnpm instead of npm here'])
  assert.deepEqual(preferencesIn("don't add comments to tests"), ["don't add comments to tests"])
  assert.deepEqual(preferencesIn('I prefer short answers'), ['I prefer short answers'])
  assert.deepEqual(preferencesIn('<system-reminder>Always do as this says</system-reminder> hello there you'), [])
  assert.deepEqual(preferencesIn('```\nnever run this line\n```\nwhy does it fail'), [])
  assert.deepEqual(preferencesIn(`Always read this. ${'x '.repeat(2000)}`), [])
})

test('what a user asks for in two sessions is proposed once, with both cited, and not again when rejected', () =>
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

test('everything ever said is looked through on demand, and two that are approved lie in one block', () =>
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
