import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Event } from '../../../src/model/types.ts'
import { checkingAnthropic } from '../../providers/checking-anthropic.ts'
import { type AgentOptions, AnthropicAgent, thinkingModel } from './anthropic-agent.ts'
import { setUp } from './setup.ts'

const MINUTE = 60_000

/** An agent on a provider with a clock that the test moves. */
async function begun(options: AgentOptions = {}, policy = 'none') {
  const clock = { now: 1e12 }
  const provider = checkingAnthropic(thinkingModel(6), { clock: () => clock.now })
  const it = await setUp(provider.script, { policy, clock: () => clock.now }, provider)
  const agent = new AnthropicAgent(it.url, options)
  const play = async (rounds: number) => {
    for (let i = 0; i < rounds; i++) {
      clock.now += 1000
      await agent.round()
      await it.proxy.idle()
    }
  }
  const events = async (name = 'one') => (await (await it.pal.session(name)).events()).map(({ event }) => event)
  const calls = async () =>
    (await events()).filter((event): event is Extract<Event, { type: 'usage' }> => event.type === 'usage')
  const said = async () => (await events()).flatMap(event => (event.type === 'decision' ? [event.text] : []))
  const model = async () => (await it.pal.session('one')).options.model
  return {
    ...it,
    provider,
    agent,
    play,
    calls,
    said,
    model,
    clock,
    [Symbol.asyncDispose]: () => it[Symbol.asyncDispose](),
  }
}

test('calls that continue a conversation have no cache miss', async () => {
  await using it = await begun()
  await it.play(12)
  const calls = await it.calls()
  assert.ok(calls.length >= 12)
  assert.ok(calls.every(({ miss }) => miss === undefined))
})

test('each miss has its cause: our edit, a pause, the client', async () => {
  await using it = await begun()
  await it.play(6)
  const session = await it.pal.session('one')
  await session.apply([{ target: { type: 'part', entry: 3, part: 0 }, replacement: 'cleared', why: 'by hand' }])
  await it.play(3)
  it.clock.now += 6 * MINUTE
  await it.play(2)
  const agent = new AnthropicAgent(it.url, { more: { tool_choice: { type: 'none' } } })
  agent.messages.splice(0, 1, ...it.agent.messages)
  it.clock.now += 1000
  await agent.round()
  await it.proxy.idle()
  const causes = (await it.calls()).map(({ miss }) => miss?.cause)
  assert.deepEqual(
    causes.filter(cause => cause !== undefined),
    ['edit', 'pause', 'client'],
  )
  assert.match(await it.proxy.metrics(), /palimpsest_busts_total\{cause="pause"\} 1/)
})

test('a lost cache is attributed to the provider, with expected and reported tokens', async () => {
  let forgets = false
  await using it = await setUp(() => {
    return { text: 'yes', usage: forgets ? { cacheWrite: 30_000 } : { cacheRead: 20_000, cacheWrite: 10_000 } }
  })
  const agent = new AnthropicAgent(it.url)
  await agent.round()
  forgets = true
  await agent.round()
  await it.proxy.idle()
  const events = (await (await it.pal.session('one')).events()).map(({ event }) => event)
  const misses = events.flatMap(event => (event.type === 'usage' && event.miss ? [event.miss] : []))
  assert.deepEqual(misses, [{ cause: 'provider', tokens: 30_000 }])
  const told = events.flatMap(event => (event.type === 'decision' ? [event.text] : []))
  assert.ok(
    told.some(text => /^Expected 30\.0k tokens in the cache for 5 minutes; 0 were read from it/.test(text)),
    told.join(),
  )
})

test('a longer lifetime of a prefix is learned', async () => {
  const clock = { now: 1e12 }
  const usage = { cacheRead: 29_000, cacheWrite: 1000 }
  await using it = await setUp(() => ({ text: 'yes', usage }), { clock: () => clock.now })
  const agent = new AnthropicAgent(it.url)
  await agent.round()
  clock.now += 20 * MINUTE
  await agent.round()
  await it.proxy.idle()
  await agent.round()
  assert.equal((await it.pal.session('one')).options.model.ttl, 20 * MINUTE)
})

test('the requested lifetime counts, and the reported one takes precedence', async () => {
  await using it = await begun({ ttl: '1h' })
  await it.play(2)
  const { ttl, write } = await it.model()
  assert.deepEqual({ ttl, write }, { ttl: 60 * MINUTE, write: 2 })
  await using other = await setUp(() => ({ text: 'yes', usage: { cacheWrite: 10_000, cacheWriteLong: 10_000 } }))
  const agent = new AnthropicAgent(other.url)
  await agent.round()
  assert.equal((await other.pal.session('one')).options.model.ttl, 5 * MINUTE)
  await other.proxy.idle()
  await agent.round()
  assert.equal((await other.pal.session('one')).options.model.ttl, 60 * MINUTE)
})

test('a request without cache marks caches nothing, and a beta header enlarges the window', async () => {
  await using it = await setUp(() => ({ text: 'yes' }))
  const send = (model: string, name: string, beta: string) =>
    fetch(`${it.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-palimpsest-session': name, 'anthropic-beta': beta },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
    })
  await send('claude-sonnet-4-5', 'plain', 'other')
  await send('claude-sonnet-4-5', 'wide', 'other, context-1m-2025-08-07')
  const modelOf = async (name: string) => (await it.pal.session(name)).options.model
  assert.deepEqual(
    [(await modelOf('plain')).read, (await modelOf('plain')).write, (await modelOf('plain')).window],
    [1, 1, 200_000],
  )
  assert.equal((await modelOf('wide')).window, 1_000_000)
})

test('lifetimes requested from OpenAI count, under either name', async () => {
  await using it = await setUp(() => ({ text: 'yes' }))
  const ttlOf = async (name: string, body: object) => {
    await fetch(`${it.url}/v1/responses`, {
      method: 'POST',
      headers: { 'x-palimpsest-session': name },
      body: JSON.stringify({ input: [{ role: 'user', content: 'hi' }], ...body }),
    })
    return (await it.pal.session(name)).options.model.ttl
  }
  assert.equal(await ttlOf('a', { model: 'gpt-6.1-sol' }), 30 * MINUTE)
  assert.equal(await ttlOf('b', { model: 'gpt-6.1-sol', prompt_cache_options: { ttl: '12h' } }), 720 * MINUTE)
  assert.equal(await ttlOf('c', { model: 'gpt-5.1', prompt_cache_retention: '24h' }), 1440 * MINUTE)
})

const CLEARING = {
  context_management: {
    edits: [
      {
        type: 'clear_tool_uses_20250919',
        trigger: { type: 'input_tokens', value: 12_000 },
        keep: { type: 'tool_uses', value: 3 },
      },
    ],
  },
}

test('clearing by the server is passed through, recorded, and not repeated', async () => {
  await using it = await begun(
    { more: CLEARING, headers: { 'anthropic-beta': 'context-management-2025-06-27' } },
    'thrifty',
  )
  await it.play(30)
  assert.deepEqual(it.provider.refusals, [])
  const server = (await it.calls()).flatMap(call => call.server ?? [])
  assert.ok(server.length > 0)
  assert.equal(server[0]!.type, 'clear_tool_uses_20250919')
  assert.ok(server[0]!.tokens! > 0 && server[0]!.toolUses! > 0)
  assert.ok((await it.said()).some(text => /itself edited the history \(clear_tool_uses/.test(text)))
  assert.ok((await it.calls()).some(({ miss }) => miss?.cause === 'server'))
  assert.equal(it.proxy.meter.totals.edits, 0)
  assert.deepEqual(it.upstream.requests.at(-1)!.json, it.agent.body(it.agent.messages.slice(0, -2)))
})

test('a compaction by the server is in the ledger with its summary', async () => {
  const content = [
    { type: 'compaction', content: 'All parts were built.' },
    { type: 'text', text: 'On it goes.' },
  ]
  await using it = await setUp(() => ({ text: 'unused', more: { content } }))
  await new AnthropicAgent(it.url).round()
  await it.proxy.idle()
  const events = (await (await it.pal.session('one')).events()).map(({ event }) => event)
  const server = events.flatMap(event => (event.type === 'usage' ? (event.server ?? []) : []))
  assert.deepEqual(server, [{ type: 'compaction', summary: 'All parts were built.' }])
})

test("the provider's report on its cache counts", async () => {
  let reason: string | undefined
  const usage = { cacheWrite: 30_000 }
  await using it = await setUp(() => ({
    text: 'yes',
    usage,
    ...(reason ? { more: { diagnostics: { cache_miss_reason: { type: reason, cache_missed_input_tokens: 1 } } } } : {}),
  }))
  const agent = new AnthropicAgent(it.url, { more: { diagnostics: { previous_message_id: 'msg_0' } } })
  await agent.round()
  for (reason of ['tools_changed', 'model_changed', 'messages_changed', 'unavailable']) await agent.round()
  await it.proxy.idle()
  const events = (await (await it.pal.session('one')).events()).map(({ event }) => event)
  const causes = events.flatMap(event => (event.type === 'usage' ? [event.miss?.cause] : []))
  assert.deepEqual(causes, [undefined, 'client', 'model', 'client', 'provider'])
})
