import assert from 'node:assert/strict'
import { test } from 'node:test'
import { thinkingModel } from '../doors/proxy/anthropic-agent.ts'
import { ResponsesAgent } from '../doors/proxy/responses-agent.ts'
import { setUp } from '../doors/proxy/setup.ts'
import { startUpstream } from '../upstream.ts'
import { checkingOpenAI } from './checking-openai.ts'

async function begun(model = 'gpt-6.1-sol') {
  const clock = { now: 0 }
  const provider = checkingOpenAI(thinkingModel(), { clock: () => clock.now })
  const upstream = await startUpstream(provider.script)
  const agent = new ResponsesAgent(upstream.url, { model })
  for (let i = 0; i < 5; i++) await agent.round()
  return { provider, agent, clock, [Symbol.asyncDispose]: upstream.close }
}

test('a continued conversation reads the written cache, to the end of the last message', async () => {
  await using it = await begun()
  const { input_tokens, input_tokens_details: details } = it.agent.last.usage
  assert.ok(details.cached_tokens > details.cache_write_tokens)
  assert.equal(details.cached_tokens + details.cache_write_tokens, input_tokens)
  assert.equal(it.agent.last.prompt_cache_diagnostics.type, 'cache_hit')
  assert.equal(it.provider.dropped, 0)
})

for (const [model, dropped] of [
  ['gpt-6.1-sol', true],
  ['gpt-5.1-codex', false],
] as const) {
  test(`on ${model} reasoning after a change is ${dropped ? 'dropped silently' : 'kept'}`, async () => {
    await using it = await begun(model)
    const before = it.agent.last.usage.input_tokens_details.cached_tokens
    it.agent.input.find(({ type }) => type === 'function_call_output').output = 'short'
    await it.agent.round()
    assert.equal(it.provider.dropped > 0, dropped)
    assert.ok(it.agent.last.usage.input_tokens_details.cached_tokens < before / 2)
    assert.equal(it.agent.last.prompt_cache_diagnostics.reason, 'input_changed')
  })
}

test('reasoning without its following item is refused, and so is an output without its call', async () => {
  await using it = await begun()
  const at = it.agent.input.findIndex(({ type }) => type === 'reasoning')
  const [gone] = it.agent.input.splice(at + 1, 1)
  await assert.rejects(it.agent.round(), /No tool call found|without its required/)
  it.agent.input.splice(at + 1, 0, gone)
  it.agent.input.push(it.agent.input[at])
  await assert.rejects(it.agent.round(), /required following item/)
})

test('after the lifetime nothing is read, and a large prompt costs twice as much', async () => {
  await using it = await begun()
  it.clock.now = 31 * 60_000
  await it.agent.round()
  assert.equal(it.agent.last.usage.input_tokens_details.cached_tokens, 0)
  const before = it.provider.bill.dollars
  it.agent.input.push({ type: 'message', role: 'user', content: 'x'.repeat(272_000 * 4) })
  await it.agent.round()
  const { input_tokens_details: details } = it.agent.last.usage
  const cost = it.provider.bill.dollars - before
  assert.ok(cost > (2 * details.cache_write_tokens * 2.5) / 1e6, `${cost}`)
})

test('tools in the list of messages stay in place, whatever is folded', async () => {
  const clock = { now: Date.parse('2026-11-17T00:00:00Z') }
  const provider = checkingOpenAI(thinkingModel(), { clock: () => clock.now })
  await using it = await setUp(provider.script, { clock: () => clock.now })
  const agent = new ResponsesAgent(it.url)
  for (let round = 0; round < 90; round++) {
    clock.now += round % 12 === 0 ? 40 * 60_000 : 20_000
    await agent.round()
    await it.proxy.idle()
  }
  assert.deepEqual([...it.faults, ...provider.refusals], [])
  const last = it.upstream.requests.at(-1)!
  assert.ok(last.json.input.length < agent.input.length / 2, 'nothing was folded')
  for (const { json } of it.upstream.requests) assert.deepEqual(json.input.slice(0, 2), agent.input.slice(0, 2))
})
