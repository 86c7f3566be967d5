import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startUpstream } from '../upstream.ts'
import { type Account, checkingAnthropic } from './checking-anthropic.ts'

// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
type Json = any

const CONTROLS = 'thinking-binding-controls-2026-08-01'
const MARK = { type: 'ephemeral' }

/** A provider with a conversation of two tool calls, each with two thinking blocks before it. */
async function begun(account: Account = {}, model = 'claude-opus-5-5') {
  let calls = 0
  const provider = checkingAnthropic(
    () => ({
      thinking: [
        { text: 'first', signature: '' },
        { text: 'second', signature: '', redacted: true },
      ],
      calls: [{ id: `c${++calls}`, name: 'bash', input: {} }],
    }),
    account,
  )
  const upstream = await startUpstream(provider.script, provider)
  const ask = async (
    messages: Json[],
    more: Json = {},
    headers: Record<string, string> = {},
    path = '/v1/messages',
  ) => {
    const body = JSON.stringify({ model, messages, ...more })
    const answer = await fetch(upstream.url + path, { method: 'POST', body, headers })
    return { status: answer.status, json: (await answer.json()) as Json }
  }
  const messages: Json[] = [{ role: 'user', content: 'go' }]
  for (let i = 0; i < 2; i++) {
    const { json } = await ask(messages)
    messages.push({ role: 'assistant', content: json.content })
    const id = json.content.at(-1).id
    messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: `result ${i}` }] })
  }
  return { provider, ask, messages, [Symbol.asyncDispose]: upstream.close }
}

const changed = (messages: Json[]) => {
  const copy = structuredClone(messages)
  copy[2].content[0].content = 'short'
  return copy
}
const without = (messages: Json[], ...gone: [number, number][]) =>
  messages.map((message, i) => ({
    ...message,
    content: Array.isArray(message.content)
      ? message.content.filter((_: Json, j: number) => !gone.some(([a, b]) => a === i && b === j))
      : message.content,
  }))

test('history that only grows is accepted, even with other cache marks and spellings', async () => {
  await using it = await begun()
  const marked = structuredClone(it.messages)
  marked[2].content = [{ ...marked[2].content[0], content: [{ type: 'text', text: 'result 0' }], cache_control: MARK }]
  assert.equal((await it.ask(marked)).status, 200)
})

const NEW = { age: 'new' } as const
const OLD = { age: 'old' } as const
const EDITED: [string, Account, string, number][] = [
  ['a new account', NEW, 'claude-opus-5-5', 400],
  ['an old account', OLD, 'claude-opus-5-5', 200],
  ['an old account on Fable 5.2', OLD, 'claude-fable-5-2', 400],
  ['a model that binds nothing', NEW, 'claude-opus-5', 200],
]
for (const [name, account, model, status] of EDITED) {
  test(`an edit before thinking on ${name} gives ${status}, and so does a count`, async () => {
    await using it = await begun(account, model)
    const { json, ...answer } = await it.ask(changed(it.messages))
    assert.equal(answer.status, status)
    if (status === 400)
      assert.match(json.error.message, /^messages\.3\.content\.0: Invalid `signature`.*different conv/)
    assert.equal((await it.ask(changed(it.messages), {}, {}, '/v1/messages/count_tokens')).status, status)
  })
}

test('thinking may be missing at the end or the beginning, but not in between, and may not be put back', async () => {
  await using it = await begun()
  const tail = without(changed(it.messages), [3, 0], [3, 1])
  assert.equal((await it.ask(tail)).status, 200)
  assert.equal((await it.ask(without(it.messages, [1, 0], [1, 1]))).status, 200)
  assert.equal((await it.ask(without(it.messages, [1, 1]))).status, 400)
  const { json } = await it.ask(tail)
  const next = (messages: Json[]) => [
    ...messages,
    { role: 'assistant', content: json.content },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: json.content.at(-1).id, content: 'more' }] },
  ]
  assert.equal((await it.ask(next(tail))).status, 200)
  assert.equal((await it.ask(next(changed(it.messages)))).status, 400)
})

test('a part of the newest run of thinking may not be missing', async () => {
  await using it = await begun(NEW, 'claude-opus-5')
  const { status, json } = await it.ask(without(it.messages, [3, 0]))
  assert.equal(status, 400)
  assert.match(json.error.message, /latest assistant message cannot be modified/)
})

test('drop_block needs its header, and reports what it dropped', async () => {
  await using it = await begun()
  const thinking = { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } }
  assert.match((await it.ask(changed(it.messages), { thinking })).json.error.message, /Extra inputs are not permitted$/)
  const { status, json } = await it.ask(changed(it.messages), { thinking }, { 'anthropic-beta': CONTROLS })
  assert.equal(status, 200)
  assert.deepEqual(
    json.input_transformations.map(({ path }: Json) => path),
    ['messages.3.content.0', 'messages.3.content.1'],
  )
})

test('a platform refuses unknown betas', async () => {
  await using it = await begun({ betas: ['known'] })
  const { status, json } = await it.ask(it.messages, {}, { 'anthropic-beta': `known, ${CONTROLS}` })
  assert.equal(status, 400)
  assert.match(json.error.message, /Unexpected value/)
})

test('a cache mark writes at its own position, and is found within 20 blocks', async () => {
  let now = 0
  const provider = checkingAnthropic(() => ({ text: 'ok' }), { clock: () => now })
  await using upstream = await startUpstream(provider.script)
  const text = (i: number) => ({ type: 'text', text: `${i} ${'word '.repeat(600)}` })
  const ask = async (blocks: Json[]) => {
    const messages = [{ role: 'user', content: blocks }]
    const body = JSON.stringify({ model: 'claude-opus-5-5', messages })
    const answer = await fetch(`${upstream.url}/v1/messages`, { method: 'POST', body })
    return ((await answer.json()) as Json).usage
  }
  const long = { ...MARK, ttl: '1h' }
  const first = await ask([{ ...text(0), cache_control: long }, { ...text(1), cache_control: MARK }, text(2)])
  assert.equal(first.cache_read_input_tokens, 0)
  assert.equal(first.cache_creation.ephemeral_1h_input_tokens, first.cache_creation.ephemeral_5m_input_tokens)
  const near = Array.from({ length: 21 }, (_, i) => text(i))
  near[20] = { ...text(20), cache_control: MARK } as Json
  assert.equal((await ask(near)).cache_read_input_tokens, first.cache_creation_input_tokens)
  const far = [...Array.from({ length: 41 }, (_, i) => text(i)), { ...text(41), cache_control: MARK }]
  assert.equal((await ask(far)).cache_read_input_tokens, 0)
  now = 6 * 60_000
  const later = await ask([text(0), { ...text(1), cache_control: MARK }])
  assert.equal(later.cache_read_input_tokens, first.cache_creation.ephemeral_1h_input_tokens)
})

test('the bill depends on the size of the whole prompt', async () => {
  const provider = checkingAnthropic(() => ({ text: 'ok' }))
  await using upstream = await startUpstream(provider.script)
  const costs: number[] = []
  for (const size of [390_000, 410_000]) {
    const before = provider.bill.dollars
    const messages = [{ role: 'user', content: 'x'.repeat(size) }]
    await fetch(`${upstream.url}/v1/messages`, {
      method: 'POST',
      body: JSON.stringify({ model: 'claude-haiku-5-5', messages }),
    })
    costs.push(provider.bill.dollars - before)
  }
  assert.ok(costs[1]! > 5 * costs[0]!, costs.join())
})
