import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPalimpsest, type Palimpsest } from '../../../src/session/engine.ts'
import { type Account, checkingAnthropic } from '../../providers/checking-anthropic.ts'
import { type AgentOptions, AnthropicAgent, thinkingModel } from './anthropic-agent.ts'
import { setUp } from './setup.ts'

const CONTROLS = 'thinking-binding-controls-2026-08-01'

type Given = { account?: Account; agent?: AgentOptions; policy?: string; turn?: number; pal?: Palimpsest }

async function begun({ account = {}, agent: options = {}, policy = 'none', turn = 6, pal }: Given = {}) {
  const provider = checkingAnthropic(thinkingModel(turn), account)
  const it = await setUp(provider.script, { policy, ...(pal ? { pal } : {}) }, provider)
  const agent = new AnthropicAgent(it.url, options)
  const edit = async (entry: number, replacement = 'cleared') => {
    await it.proxy.idle()
    const session = await it.pal.session('one')
    return session.apply([{ target: { type: 'part', entry, part: 0 }, replacement, why: 'by hand' }])
  }
  const play = async (rounds: number) => {
    for (let i = 0; i < rounds; i++) await agent.round()
  }
  return { ...it, provider, agent, edit, play, [Symbol.asyncDispose]: () => it[Symbol.asyncDispose]() }
}

/** Thinking in the messages that the provider got last. */
function thoughtsIn(it: { upstream: { requests: { json: { messages: { content: unknown }[] } }[] } }): number[] {
  const { messages } = it.upstream.requests.at(-1)!.json
  return messages.flatMap(({ content }, i) =>
    Array.isArray(content) ? content.filter(({ type }) => /thinking/.test(type)).map(() => i) : [],
  )
}

const WORLDS: [string, Given][] = [
  ['a new account', {}],
  ['an old account', { account: { age: 'old' } }],
  ['Fable 5.2', { account: { age: 'old' }, agent: { model: 'claude-fable-5-2' } }],
  ['a platform that refuses unknown betas', { account: { betas: [] } }],
  [
    'a client that asks for drop_block',
    {
      agent: {
        headers: { 'anthropic-beta': CONTROLS },
        more: { thinking: { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } } },
      },
    },
  ],
  [
    'a client that asks for errors',
    {
      agent: {
        headers: { 'anthropic-beta': CONTROLS },
        more: { thinking: { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'error' } } },
      },
    },
  ],
]

for (const [name, given] of WORLDS) {
  test(`on ${name}, requests after edits and undos, and token counts, are never refused`, async () => {
    await using it = await begun(given)
    await it.play(4)
    const [first] = await it.edit(3)
    await it.play(4)
    assert.equal((await it.agent.post('/v1/messages/count_tokens')).status, 200)
    assert.equal((await it.agent.post('/v1/messages/count_tokens', it.agent.messages.slice(0, 9))).status, 200)
    await it.edit(9)
    await it.play(3)
    const session = await it.pal.session('one')
    await session.undo(first!.id)
    await it.play(9)
    assert.deepEqual(it.provider.refusals, [])
    assert.deepEqual(it.faults, [])
    assert.equal(it.provider.dropped + it.provider.allowed, 0)
  })
}

test('after an edit, later reasoning is left out, and stays out', async () => {
  await using it = await begun()
  await it.play(4)
  const before = thoughtsIn(it)
  await it.edit(5)
  await it.play(1)
  assert.deepEqual(
    thoughtsIn(it),
    before.filter(at => at < 4),
  )
  await it.play(3)
  const later = thoughtsIn(it)
  assert.deepEqual(
    later.filter(at => at < 8),
    before.filter(at => at < 4),
  )
  assert.ok(
    later.some(at => at > 8),
    'thinking that came later is sent',
  )
})

test('a restarted proxy leaves out the same reasoning', async () => {
  await using it = await begun()
  await it.play(4)
  await it.edit(3)
  await it.play(3)
  const sent = it.upstream.requests.at(-1)!.body
  await it.proxy.idle()
  await using other = await setUp(it.provider.script, { policy: 'none', pal: it.pal }, it.provider)
  await new AnthropicAgent(other.url).post('/v1/messages', it.agent.messages.slice(0, -2))
  assert.equal(other.upstream.requests[0]!.body, sent)
})

test('a refused request is repeated once without reasoning, and the refusal is remembered and reported', async () => {
  await using it = await begun()
  await it.play(4)
  // The client changes what it said before: that is its own doing, and the provider refuses it.
  it.agent.messages[0].content = 'Build nothing at all.'
  await it.play(1)
  assert.equal(it.provider.refusals.length, 1)
  assert.equal(it.agent.answered?.get('x-palimpsest-recovered'), 'reasoning-left-out')
  await it.play(5)
  assert.equal(it.provider.refusals.length, 1)
  assert.match(it.faults.join('\n'), /refused reasoning in one/)
  assert.match(await it.proxy.metrics(), /palimpsest_reasoning_refused_total\{outcome="sent again"\} 1/)
  await it.proxy.idle()
  const sessions = await it.pal.sessions()
  const all = await Promise.all(sessions.map(async ({ id }) => (await it.pal.session(id)).events()))
  const told = all.flat().filter(({ event }) => event.type === 'decision' && /refused reasoning/.test(event.text))
  assert.equal(told.length, 1)
})

test('a refused request of an unknown conversation is repeated without reasoning too', async () => {
  await using it = await begun()
  await it.play(4)
  await it.edit(3)
  await it.play(2)
  await using pal = await openPalimpsest({ home: ':memory:' })
  await using other = await setUp(it.provider.script, { policy: 'none', pal }, it.provider)
  const again = new AnthropicAgent(other.url)
  assert.equal((await again.post('/v1/messages', it.agent.messages)).status, 200)
  assert.equal((await again.post('/v1/messages/count_tokens', it.agent.messages.slice(0, -2))).status, 200)
  assert.equal(it.provider.refusals.length, 2)
})

const message = 'messages.1.content.0: Invalid `signature` in `thinking` block.'
const error = { status: 400, body: { type: 'error', error: { type: 'invalid_request_error', message } } }

test('a refusal of reasoning that a request does not have is passed to the client', async () => {
  await using it = await setUp(() => ({ error }))
  const { status, json } = await new AnthropicAgent(it.url).post('/v1/messages', [{ role: 'user', content: 'Go.' }])
  assert.deepEqual([status, json.error.message], [400, message])
  assert.equal(it.upstream.requests.length, 1)
  assert.match(await it.proxy.metrics(), /palimpsest_reasoning_refused_total\{outcome="passed on"\} 1/)
})

test('a second refusal is passed to the client', async () => {
  let asked = 0
  const model = thinkingModel()
  await using it = await setUp((received, index) => (++asked > 2 ? { error } : model(received, index)))
  const agent = new AnthropicAgent(it.url)
  await agent.round()
  await agent.round()
  const { status, json } = await agent.post('/v1/messages')
  assert.equal(status, 400)
  assert.equal(json.error.message, message)
  assert.equal(asked, 4)
})

for (const model of ['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-fable-5-2', 'claude-haiku-5-5', 'claude-opus-5']) {
  test(`thrifty runs 60 rounds on ${model} without a refusal`, async () => {
    await using it = await begun({ policy: 'thrifty', agent: { model } })
    await it.play(60)
    assert.deepEqual(it.provider.refusals, [])
    assert.deepEqual(it.faults, [])
  })
}
