import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openPalimpsest } from '../../../src/session/engine.ts'
import type { Turn } from '../../upstream.ts'
import { largeOutput, type Setup, sessionNames, setUp } from './setup.ts'

type Block = Record<string, unknown>
type WireMessage = { role: string; content: string | Block[] }
type Reply = { content: Block[] }

const TOOLS = [{ name: 'bash', input_schema: { type: 'object' } }]

async function ask(url: string, messages: WireMessage[], headers: Record<string, string> = {}, extra: object = {}) {
  const body = JSON.stringify({ model: 'claude-sonnet-4-5', max_tokens: 10, tools: TOOLS, ...extra, messages })
  const response = await fetch(`${url}/v1/messages`, { method: 'POST', body, headers })
  assert.equal(response.status, 200)
  return (await response.json()) as Reply
}

/** A client that runs what it is told; gives its messages. */
async function run(url: string, task: string, rounds: number, headers: Record<string, string> = {}) {
  const messages: WireMessage[] = [{ role: 'user', content: task }]
  for (let round = 0; round < rounds; round++) {
    const { content } = await ask(url, messages, headers)
    messages.push({ role: 'assistant', content })
    const calls = content.filter(block => block['type'] === 'tool_use')
    messages.push({
      role: 'user',
      content: calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: largeOutput(round, 300) })),
    })
  }
  return messages
}

const alwaysCalls = (_: unknown, index: number): Turn => ({ calls: [{ name: 'bash', input: { n: index } }] })

async function names({ pal, proxy }: Setup): Promise<string[]> {
  await proxy.idle()
  return sessionNames(pal)
}

test('a client that names its conversation gets a session of that name', async () => {
  await using it = await setUp(alwaysCalls)
  await Promise.all([
    run(it.url, 'same task', 4, { 'x-claude-code-session-id': 'aa' }),
    run(it.url, 'same task', 4, { 'x-claude-code-session-id': 'aa', 'x-claude-code-agent-id': 'sub' }),
    run(it.url, 'same task', 4, { 'thread-id': 'bb', 'user-agent': 'codex_exec/0.166.0 (Linux)' }),
    run(it.url, 'same task', 4, { 'x-session-id': 'cc', 'x-parent-session-id': 'dd', 'user-agent': 'opencode/1.18' }),
  ])
  assert.deepEqual((await names(it)).sort(), ['claude-aa', 'claude-aa.sub', 'codex-bb', 'session-cc'])
  const [born] = await (await it.pal.session('claude-aa.sub')).events()
  assert.ok(born?.event.type === 'decision' && /from claude-aa\b/.test(born.event.text))
  const about = Object.fromEntries((await it.pal.sessions()).map(({ id, about }) => [id, about]))
  assert.deepEqual(about, {
    'claude-aa': { client: 'claude-code' },
    'claude-aa.sub': { client: 'claude-code', parent: 'claude-aa', reason: 'sub-agent' },
    'codex-bb': { client: 'codex' },
    'session-cc': { client: 'opencode', parent: 'session-dd', reason: 'sub-agent' },
  })
})

test('without headers, returned tool calls identify the conversation', async () => {
  await using it = await setUp(alwaysCalls)
  await run(it.url, 'first task', 5)
  await run(it.url, 'second task', 5)
  assert.equal((await names(it)).length, 2)
})

test('fourteen identical subagents at once are fourteen sessions', async () => {
  await using it = await setUp(alwaysCalls)
  const all = await Promise.all(Array.from({ length: 14 }, () => run(it.url, 'the same for all', 4)))
  await it.proxy.idle()
  assert.deepEqual(it.faults, [])
  const lasts = new Set(all.map(messages => JSON.stringify(messages.at(-2))))
  const kept = new Set<string>()
  for (const name of await names(it)) {
    const session = await it.pal.session(name)
    const calls = session.fold.entries.map(({ message }) => message?.parts.map(part => ('id' in part ? part.id : '')))
    kept.add(JSON.stringify(calls))
  }
  assert.equal(lasts.size, 14)
  assert.equal(kept.size >= 14, true, `${kept.size} conversations were kept`)
})

test('a string equals a single text block, and cache marks are ignored', async () => {
  await using it = await setUp(() => ({ text: 'yes' }))
  const mark = { cache_control: { type: 'ephemeral' } }
  await ask(it.url, [{ role: 'user', content: [{ type: 'text', text: 'a question', ...mark }] }])
  await ask(it.url, [
    { role: 'user', content: 'a question' },
    { role: 'assistant', content: 'yes' },
    { role: 'user', content: [{ type: 'text', text: 'another', ...mark }] },
  ])
  assert.equal((await names(it)).length, 1)
})

test('a repeated body is the same turn', async () => {
  await using it = await setUp(alwaysCalls)
  const messages = await run(it.url, 'a task', 3)
  await ask(it.url, messages)
  await ask(it.url, messages)
  const [name, ...more] = await names(it)
  assert.deepEqual(more, [])
  const session = await it.pal.session(name!)
  assert.equal(session.fold.entries.length, messages.length)
  const [one, other] = it.upstream.requests.slice(-2)
  assert.equal(one!.body, other!.body)
})

test('the same first question at a later time is another conversation', async () => {
  let now = 1_000_000
  await using it = await setUp(() => ({ text: 'yes' }), { clock: () => now })
  await ask(it.url, [{ role: 'user', content: 'what time is it?' }])
  now += 3_600_000
  await ask(it.url, [{ role: 'user', content: 'what time is it?' }])
  assert.equal((await names(it)).length, 2)
})

test('side requests are recorded separately and not edited', async () => {
  await using it = await setUp(alwaysCalls)
  const headers = { 'x-session-id': 'cc' }
  const title = [{ role: 'user', content: 'Generate a title for this conversation: fix it' }]
  await ask(it.url, title, headers, { tools: [] })
  const messages = await run(it.url, 'a task', 3, headers)
  await ask(it.url, [{ role: 'user', content: 'is this fine?' }], headers, { tools: undefined })
  const summarise = 'Your task is to create a detailed summary of the conversation so far.'
  await ask(it.url, [...messages, { role: 'user', content: summarise }], headers)
  await ask(it.url, messages, headers)
  const all = await names(it)
  assert.deepEqual(all.map(name => name.replace(/-[0-9a-f]{8}$/, '')).sort(), [
    'session-cc',
    'session-cc.compaction',
    'session-cc.other',
    'session-cc.title',
  ])
  assert.equal((await it.pal.session('session-cc')).fold.entries.length, messages.length)
})

test("a client's own compaction begins a new segment with its parent", async () => {
  await using it = await setUp(alwaysCalls)
  const headers = { 'x-claude-code-session-id': 'aa' }
  const messages = await run(it.url, 'a task', 3, headers)
  const after = [
    { role: 'user', content: 'This session is being continued from a previous conversation.' },
    ...messages.slice(-2),
  ]
  const { content } = await ask(it.url, after, headers)
  await ask(
    it.url,
    [
      ...after,
      { role: 'assistant', content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: content[0]!['id'], content: 'ok' }] },
    ],
    headers,
  )
  assert.deepEqual(await names(it), ['claude-aa', 'claude-aa.2'])
  const [born] = await (await it.pal.session('claude-aa.2')).events()
  assert.ok(born?.event.type === 'decision' && /from claude-aa\b/.test(born.event.text))
})

test('a client that goes back and continues differently gets a fork', async () => {
  await using it = await setUp(alwaysCalls)
  const headers = { 'x-claude-code-session-id': 'aa' }
  const messages = await run(it.url, 'a task', 3, headers)
  await ask(
    it.url,
    [...messages.slice(0, 3), { role: 'assistant', content: 'no' }, { role: 'user', content: 'do this' }],
    headers,
  )
  await ask(it.url, messages, headers)
  const all = await it.pal.sessions()
  const fork = all.find(({ id }) => id !== 'claude-aa')
  assert.equal(all.length, 2)
  assert.equal(fork?.parent?.id, 'claude-aa')
})

test('conversations continue after a restart', async t => {
  const home = await mkdtemp(join(tmpdir(), 'palimpsest-'))
  t.after(() => rm(home, { recursive: true }))
  const told = { 'x-claude-code-session-id': 'aa' }
  const before = await openPalimpsest({ home })
  let messages: WireMessage[] = []
  let untold: WireMessage[] = []
  {
    await using it = await setUp(alwaysCalls, { pal: before })
    messages = await run(it.url, 'a task', 3, told)
    untold = await run(it.url, 'another', 3)
  }
  await before.close()
  const pal = await openPalimpsest({ home })
  {
    await using it = await setUp(() => ({ text: 'done' }), { pal })
    await ask(it.url, [...messages, { role: 'assistant', content: 'so' }, { role: 'user', content: 'go on' }], told)
    await ask(it.url, [...untold, { role: 'assistant', content: 'so' }, { role: 'user', content: 'go on' }])
    assert.deepEqual(it.faults, [])
  }
  assert.equal((await pal.sessions()).length, 2)
  await pal.close()
})

test('a holdout is recorded and never edited', async () => {
  await using it = await setUp(alwaysCalls, { holdout: 1 })
  await run(it.url, 'a task', 3, { 'thread-id': 'aa' })
  await it.proxy.idle()
  const session = await it.pal.session('codex-aa')
  assert.equal(session.options.policy.name, 'none')
  const [born] = await session.events()
  assert.ok(born?.event.type === 'decision' && /Holdout/.test(born.event.text))
})
