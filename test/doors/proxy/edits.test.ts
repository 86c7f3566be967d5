import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Target } from '../../../src/model/types.ts'
import { everyTurn } from '../../../src/policies/policy.ts'
import { warn } from '../../../src/policies/warn.ts'
import { type Setup, setUp } from './setup.ts'

const MARK = { type: 'ephemeral' }
const HEADERS = { 'x-palimpsest-session': 'one', 'content-type': 'application/json' }

/** A body with spacing that no SDK would use, and with everything that must come back unchanged. */
const ANTHROPIC = `{ "model": "claude-sonnet-4-5", "max_tokens": 1e3, "stream": false,
  "system": [ { "type": "text", "text": "Be brief.", "cache_control": {"type":"ephemeral","ttl":"1h"} } ],
  "tools": [ { "name": "bash", "input_schema": { "type": "object" }, "defer_loading": true } ],
  "messages": [
    { "role": "user", "content": "start \\u00e4" },
    { "role": "assistant", "content": [
      { "signature": "c2ln", "type": "thinking", "thinking": "hm" }, { "type": "text", "text": "I look." },
      { "type": "tool_use", "id": "t1", "name": "bash", "input": { "command": "ls", "n": 1.0 } } ] },
    { "role": "user", "content": [
      { "type": "tool_result", "tool_use_id": "t1", "is_error": false, "content": "OLD OUTPUT", "cache_control": {"type":"ephemeral"} },
      { "type": "tool_result", "tool_use_id": "t2", "content": [ { "type": "tool_reference", "tool_name": "x" } ] } ] },
    { "role": "assistant", "content": "so" },
    { "role": "user", "content": [ { "type": "text", "text": "go on", "cache_control": {"type":"ephemeral"} } ] }
  ] }`.replace(
  '"name": "bash", "input": { "command": "ls", "n": 1.0 } } ]',
  '"name": "bash", "input": { "command": "ls", "n": 1.0 } }, { "type": "tool_use", "id": "t2", "name": "find", "input": {} } ]',
)

const CHAT = `{"model":"gpt-4.1", "messages":[ {"role":"developer","content":"x"}, {"role":"user","content":"go", "name":"me"},
 {"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"bash","arguments":"{ \\"a\\" : 1 }"}}]},
 {"role":"tool","tool_call_id":"t1","content":"OLD OUTPUT"}, {"role":"assistant","content":"so"}, {"role":"user","content":"go on"} ]}`

const RESPONSES = `{"model":"gpt-5", "store":false, "input":[ {"role":"developer","content":"x"}, {"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]},
 {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"abc"}, {"type":"function_call","id":"fc","call_id":"t1","name":"bash","arguments":"{ }"},
 {"type":"function_call_output","call_id":"t1","output":"OLD OUTPUT"}, {"role":"assistant","content":"so"}, {"role":"user","content":"go on"} ], "include":["reasoning.encrypted_content"]}`

const CASES = [
  { path: '/v1/messages?beta=true', body: ANTHROPIC, target: { type: 'part' as const, entry: 3, part: 0 } },
  { path: '/v1/chat/completions', body: CHAT, target: { type: 'part' as const, entry: 3, part: 0 } },
  { path: '/v1/responses', body: RESPONSES, target: { type: 'part' as const, entry: 3, part: 0 } },
  // Azure and Vertex.
  {
    path: '/openai/deployments/gpt-4.1/chat/completions?api-version=2025-03-01',
    body: CHAT,
    target: { type: 'part' as const, entry: 3, part: 0 },
  },
  {
    path: '/openai/responses?api-version=2025-03-01',
    body: RESPONSES,
    target: { type: 'part' as const, entry: 3, part: 0 },
  },
  {
    path: '/anthropic/v1/projects/p/locations/global/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict',
    body: ANTHROPIC,
    target: { type: 'part' as const, entry: 3, part: 0 },
  },
]

async function send({ url }: Setup, path: string, body: string): Promise<void> {
  const response = await fetch(url + path, { method: 'POST', body, headers: HEADERS })
  assert.equal(response.status, 200, await response.text())
}

async function edited(it: Setup, target: Target, text: string): Promise<void> {
  await it.proxy.idle()
  const session = await it.pal.session('one', { mustExist: true })
  const replacement =
    target.type === 'range' ? { messages: [{ role: 'user' as const, parts: [{ type: 'text' as const, text }] }] } : text
  await session.apply([{ target, replacement, why: 'test' }])
}

/** The body with one more answer and question at its end. */
function goOn(body: string, question: string): string {
  const more = ` , {"role": "assistant","content":"yes"},\n{"role":"user", "content":"${question}"}`
  const before = body.includes('"include"') ? body.indexOf('"include"') : body.length
  const end = body.lastIndexOf('}', body.lastIndexOf(']', before)) + 1
  return body.slice(0, end) + more + body.slice(end)
}

for (const { path, body, target } of CASES) {
  test(`on ${path} an edit changes its own characters and nothing else`, async () => {
    await using it = await setUp(() => ({ text: 'yes' }), { policy: 'none' })
    await send(it, path, body)
    assert.equal(it.upstream.requests[0]!.body, body)
    await edited(it, target, 'cleared')
    const next = goOn(body, 'next')
    await send(it, path, next)
    await send(it, path, goOn(next, 'last'))
    assert.deepEqual(it.faults, [])
    assert.equal(it.upstream.requests[1]!.body, next.replace('OLD OUTPUT', 'cleared'))
    assert.equal(it.upstream.requests[2]!.body, goOn(next, 'last').replace('OLD OUTPUT', 'cleared'))
  })
}

for (const { path, body, target } of CASES) {
  test(`on ${path} a restarted proxy sends the same bytes as one that kept running`, async () => {
    await using it = await setUp(() => ({ text: 'yes' }), { policy: 'none' })
    await send(it, path, body)
    const later: Target[] = [target, { type: 'part', entry: 4, part: 0 }]
    let last = body
    for (let turn = 0; turn < 6; turn++) {
      // Edits come in between; in most turns none is new.
      if (turn % 3 === 0) await edited(it, later[turn / 3]!, 'cleared')
      last = goOn(last, `question ${turn}`)
      await send(it, path, last)
      await it.proxy.idle()
      await using other = await setUp(() => ({ text: 'yes' }), { policy: 'none', pal: it.pal })
      await send(other, path, last)
      assert.notEqual(other.upstream.requests[0]!.body, last)
      assert.equal(it.upstream.requests.at(-1)!.body, other.upstream.requests[0]!.body)
      assert.deepEqual([...it.faults, ...other.faults], [])
    }
  })
}

test('a cache mark whose block is edited away moves to the block before it', async () => {
  await using it = await setUp(() => ({ text: 'yes' }), { policy: 'none' })
  const text = (role: string, said: string, mark?: object) => ({
    role,
    content: [{ type: 'text', text: said, ...(mark ? { cache_control: mark } : {}) }],
  })
  const messages = [
    text('user', 'one'),
    text('assistant', 'two'),
    text('user', 'three'),
    text('assistant', 'four', { ...MARK, ttl: '1h' }),
    text('user', 'five', MARK),
  ]
  const body = (...more: object[]) => JSON.stringify({ model: 'claude', messages: [...messages, ...more] })
  await send(it, '/v1/messages', body())
  await edited(it, { type: 'range', from: 2, to: 3 }, 'folded')
  await send(it, '/v1/messages', body(text('assistant', 'six'), text('user', 'eight', MARK)))
  const sent: { content: { text: string; cache_control?: { ttl?: string } }[] }[] =
    it.upstream.requests[1]!.json.messages
  const blocks = sent.flatMap(({ content }) => content)
  assert.deepEqual(
    blocks.flatMap(block => (block.cache_control ? [[block.text, block.cache_control.ttl]] : [])),
    [
      ['two', '1h'],
      ['five', undefined],
      ['eight', undefined],
    ],
  )
})

test('an old cache mark does not come back with an undone edit', async () => {
  await using it = await setUp(() => ({ text: 'yes' }), { policy: 'none' })
  const said = (role: string, words: string, mark?: object) => ({
    role,
    content: [{ type: 'text', text: words, ...(mark ? { cache_control: mark } : {}) }],
  })
  const body = (...messages: object[]) => JSON.stringify({ model: 'claude', messages })
  await send(it, '/v1/messages', body(said('user', 'one', MARK)))
  const session = await it.pal.session('one')
  const [first] = (await session.view({ plan: false })).messages
  const answered = [said('user', 'one'), said('assistant', 'two'), said('user', 'three', MARK)]
  await send(it, '/v1/messages', body(...answered))
  await it.proxy.idle()
  const replacement = { messages: [first!] }
  await session.apply([{ target: { type: 'range', from: 0, to: 1 }, replacement, why: 'shows it as recorded' }])
  await send(
    it,
    '/v1/messages',
    body(...answered.slice(0, 2), said('user', 'three'), said('assistant', 'four'), said('user', 'five', MARK)),
  )
  assert.deepEqual(it.faults, [])
  const { body: last } = it.upstream.requests.at(-1)!
  assert.ok(!last.includes('two'))
  assert.equal(last.split('cache_control').length - 1, 1)
  assert.match(last, /five","cache_control"/)
})

test('an edit that the user undoes is gone from the next request', async () => {
  await using it = await setUp(() => ({ text: 'yes' }), { policy: 'none' })
  await send(it, '/v1/chat/completions', CHAT)
  await edited(it, { type: 'part', entry: 3, part: 0 }, 'cleared')
  await send(it, '/v1/chat/completions', goOn(CHAT, 'next'))
  assert.ok(it.upstream.requests[1]!.body.includes('cleared'))
  await it.proxy.idle()
  const session = await it.pal.session('one')
  await session.undo(session.edits()[0]!.edit.id)
  const last = goOn(goOn(CHAT, 'next'), 'last')
  await send(it, '/v1/chat/completions', last)
  assert.equal(it.upstream.requests[2]!.body, last)
})

test('a warning names a tool with which the client can save, and none that it lacks', async () => {
  const warned = async (tool: string) => {
    await using it = await setUp([{ text: 'ok' }], { policy: everyTurn('w', [warn({ limit: 10 })]) })
    await send(
      it,
      '/v1/messages',
      ANTHROPIC.replace('"name": "bash", "input_schema"', `"name": "${tool}", "input_schema"`),
    )
    return /Save any critical information (.*) now\./.exec(it.upstream.requests[0]!.body)?.[1]
  }
  assert.equal(await warned('bash'), 'in your answer')
  assert.equal(await warned('memory'), 'with memory')
  assert.equal(await warned('mcp__palimpsest__workspace_save_fact'), 'with mcp__palimpsest__workspace_save_fact')
  assert.equal(await warned('mcp__other__memory'), 'in your answer')
})
