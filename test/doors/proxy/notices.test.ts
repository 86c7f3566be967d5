/** The line below an answer about waiting proposals: who sees it, how often, and who does not. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { setImmediate as nextRound } from 'node:timers/promises'
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { anthropic } from '../../../src/doors/proxy/anthropic.ts'
import { serveProxy } from '../../../src/doors/proxy/front.ts'
import { AnswerWithNotice, Notices, withoutNotices } from '../../../src/doors/proxy/notices.ts'
import { createProxy } from '../../../src/doors/proxy/proxy.ts'
import { BodyReader, MOST_WHOLE } from '../../../src/doors/proxy/stream.ts'
import { openServerStore } from '../../../src/doors/server/server-store.ts'
import { DecisionLinks, plainNoticeOf } from '../../../src/memory/decision-links.ts'
import { openMemory } from '../../../src/memory/open.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { startGemini } from '../../gemini-upstream.ts'
import * as fc from '../../property.ts'
import { startUpstream, type Turn } from '../../upstream.ts'

const PUBLIC = 'https://memory.example.org'
const THOUGHT = { text: 'Hm, let me see.', signature: 'c2lnbmF0dXJlIG9mIHRoaXMgdGhvdWdodA==' }
/** A call, the end of a turn, and another one. */
const SCRIPT: Turn[] = [
  { thinking: THOUGHT, text: 'I look first.', calls: [{ id: 'toolu_1', name: 'bash', input: { command: 'ls' } }] },
  { thinking: THOUGHT, text: 'There are "three" files: größer, kleiner, gleich.' },
  { text: 'You are welcome, and there is nothing else to say about it.' },
  { text: 'Goodbye, and come back whenever there is something to do.' },
]
const SCHEMA = { type: 'object' as const, properties: { command: { type: 'string' as const } } }

type Given = { on?: boolean; dialect?: 'gemini'; role?: string }

async function start({ on = true, dialect, role }: Given = {}) {
  const upstream = await (dialect === 'gemini' ? startGemini(SCRIPT) : startUpstream(SCRIPT))
  const memory = await openMemory({ home: ':memory:' })
  const links = LINKS
  const pal = await openPalimpsest({ home: ':memory:' })
  const told = await openServerStore(':memory:')
  const notices = new Notices({ memory, links, told, users: ['ann'], publicUrl: PUBLIC })
  const upstreams = { anthropic: upstream.url, openai: `${upstream.url}/v1`, gemini: upstream.url }
  const faults: string[] = []
  const log = (line: string) => void faults.push(line)
  const proxy = createProxy({ pal, upstreams, log, ...(on ? { notices } : {}) })
  const front = await serveProxy(request => proxy(request, role === undefined ? {} : { role }))
  await propose(memory, 'goals')
  return {
    url: front.url,
    upstream,
    memory,
    links,
    faults,
    pal,
    idle: () => proxy.idle(),
    async [Symbol.asyncDispose]() {
      await front.close()
      await proxy.idle()
      await upstream.close()
      await pal.close()
      await memory.close()
    },
  }
}

async function propose(memory: Awaited<ReturnType<typeof openMemory>>, label: string): Promise<void> {
  await memory.propose('ann', label, { kind: 'new', body: 'x', agentId: 'a', reasoning: 'because' })
}

type Talk = (url: string, stream: boolean, said: (text: string) => Promise<void>) => Promise<void>

/** Each client keeps its history as its SDK gives it, and reports what the user saw at each end of a turn. */
const CLIENTS: Record<string, Talk> = {
  'Anthropic Messages': async (url, stream, said) => {
    const client = new Anthropic({ baseURL: url, apiKey: 'k', maxRetries: 0 })
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Which files are there?' }]
    for (let turns = 0; turns < 3; ) {
      const asked = {
        model: 'claude-sonnet-5',
        max_tokens: 100,
        messages,
        tools: [{ name: 'bash', input_schema: SCHEMA }],
      }
      const { content } = stream
        ? await client.messages.stream(asked).finalMessage()
        : await client.messages.create(asked)
      messages.push({ role: 'assistant', content })
      const calls = content.filter(block => block.type === 'tool_use')
      const results = calls.map(({ id }) => ({ type: 'tool_result' as const, tool_use_id: id, content: 'a b c' }))
      messages.push({ role: 'user', content: calls.length > 0 ? results : 'Thanks!' })
      if (calls.length > 0) assert.doesNotMatch(JSON.stringify(content), /Memory:/)
      else {
        await said(content.map(block => (block.type === 'text' ? block.text : '')).join(''))
        turns++
      }
    }
  },
  'OpenAI Chat': async (url, stream, said) => {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'k', maxRetries: 0 })
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Which files are there?' }]
    const tools = [{ type: 'function' as const, function: { name: 'bash', parameters: SCHEMA } }]
    for (let turns = 0; turns < 3; ) {
      const asked = { model: 'gpt-4.1', messages, tools }
      const completion = stream
        ? await client.chat.completions.stream(asked).finalChatCompletion()
        : await client.chat.completions.create(asked)
      const { content, tool_calls: calls = [] } = completion.choices[0]!.message
      messages.push({ role: 'assistant', content, ...(calls.length > 0 ? { tool_calls: calls } : {}) })
      for (const { id } of calls) messages.push({ role: 'tool', tool_call_id: id, content: 'a b c' })
      if (calls.length > 0) continue
      messages.push({ role: 'user', content: 'Thanks!' })
      await said(content ?? '')
      turns++
    }
  },
  'OpenAI Responses': async (url, stream, said) => {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'k', maxRetries: 0 })
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: 'Which files are there?' }]
    const tools = [{ type: 'function' as const, name: 'bash', parameters: SCHEMA, strict: false }]
    for (let turns = 0; turns < 3; ) {
      const asked = { model: 'gpt-5', input, tools, store: false }
      const { output, output_text: text } = stream
        ? await client.responses.stream(asked).finalResponse()
        : await client.responses.create(asked)
      input.push(...(output as OpenAI.Responses.ResponseInputItem[]))
      const calls = output.flatMap(item => (item.type === 'function_call' ? [item] : []))
      for (const { call_id } of calls) input.push({ type: 'function_call_output', call_id, output: 'a b c' })
      if (calls.length > 0) continue
      input.push({ role: 'user', content: 'Thanks!' })
      await said(text)
      turns++
    }
  },
  /** Every piece of a stream stays a message of its own, as in Google's SDK. */
  Gemini: async (url, stream, said) => {
    const tools = [{ functionDeclarations: [{ name: 'bash', parametersJsonSchema: SCHEMA }] }]
    const contents: object[] = [{ role: 'user', parts: [{ text: 'Which files are there?' }] }]
    const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
    for (let turns = 0; turns < 3; ) {
      const answered = await fetch(`${url}/gemini/v1beta/models/gemini-2.5-pro:${method}`, {
        method: 'POST',
        headers: { 'x-palimpsest-session': 'one' },
        body: JSON.stringify({ contents, tools }),
      })
      const body = await answered.text()
      assert.equal(answered.status, 200, body)
      const pieces = stream ? body.split(/\r?\n\r?\n/).filter(Boolean) : [`data: ${body}`]
      const given = pieces.map(piece => JSON.parse(piece.slice('data: '.length)).candidates[0].content)
      contents.push(...given)
      const parts = given.flatMap(content => content.parts)
      const calls = parts.filter(({ functionCall }) => functionCall)
      const results = calls.map(({ functionCall: { name } }) => ({
        functionResponse: { name, response: { output: 'a b c' } },
      }))
      contents.push({ role: 'user', parts: calls.length > 0 ? results : [{ text: 'Thanks!' }] })
      if (calls.length > 0) continue
      await said(parts.map(({ thought, text = '' }) => (thought ? '' : text)).join(''))
      turns++
    }
  },
}

const LINE =
  /\n\n---\nMemory: (\d+) changes? waits? for your decision: (https:\/\/memory\.example\.org\/decide\/(\S+))$/

for (const [name, talk] of Object.entries(CLIENTS)) {
  for (const stream of [true, false]) {
    const dialect = name === 'Gemini' ? { dialect: 'gemini' as const } : {}
    test(`${name}, ${stream ? 'streamed' : 'whole'}: a new proposal is shown once, and the provider does not see the line`, async () => {
      await using plain = await start({ on: false, ...dialect })
      await talk(plain.url, stream, async text => assert.doesNotMatch(text, /Memory:/))
      await using it = await start(dialect)
      const seen: string[] = []
      await talk(it.url, stream, async text => {
        seen.push(text)
        if (seen.length === 2) await propose(it.memory, 'habits')
      })
      const [first, second, third] = seen
      assert.equal(LINE.exec(first!)?.[1], '1')
      assert.equal(first!.replace(LINE, ''), SCRIPT[1]!.text)
      assert.equal(second, SCRIPT[2]!.text)
      const [, count, , token] = LINE.exec(third!)!
      assert.equal(count, '2')
      const open = await it.memory.proposals('ann', { state: 'open' })
      assert.deepEqual(it.links.read(token!), { user: 'ann', ids: open.map(({ id }) => id) })
      assert.deepEqual(
        it.upstream.requests.map(({ body }) => body),
        plain.upstream.requests.map(({ body }) => body),
      )
      assert.deepEqual(it.faults, [])
    })
  }
}

const tools = [{ name: 'bash', input_schema: SCHEMA }]
const asked = { model: 'claude-sonnet-5', max_tokens: 100, messages: [{ role: 'user', content: 'Hello there.' }] }

async function answer(url: string, body: object, headers: Record<string, string> = {}): Promise<string> {
  const answered = await fetch(`${url}/v1/messages`, { method: 'POST', body: JSON.stringify(body), headers })
  return answered.text()
}

const QUIET: [what: string, body: object, headers?: Record<string, string>][] = [
  ['a request without tools', asked],
  ['JSON that was asked for', { ...asked, tools, output_config: { format: { type: 'json_schema', schema: {} } } }],
  ['the answer of a subagent', { ...asked, tools }, { 'x-claude-code-session-id': 's', 'x-claude-code-agent-id': 'a' }],
  [
    'a compaction',
    {
      ...asked,
      tools,
      messages: [{ role: 'user', content: 'Your task is to create a detailed summary of the conversation.' }],
    },
  ],
]

for (const [what, body, headers] of QUIET) {
  test(`nothing is added to ${what}`, async () => {
    const upstream = await startUpstream(() => ({ text: 'It is all done.' }))
    await using it = await start()
    const proxied = createProxy({
      pal: await openPalimpsest({ home: ':memory:' }),
      upstreams: { anthropic: upstream.url },
      notices: new Notices({
        memory: it.memory,
        links: it.links,
        told: await openServerStore(':memory:'),
        users: ['ann'],
        publicUrl: PUBLIC,
      }),
    })
    const front = await serveProxy(proxied)
    try {
      assert.doesNotMatch(await answer(front.url, body, headers), /Memory:/)
      assert.match(await answer(front.url, { ...asked, tools }), /Memory: 1 change waits/)
    } finally {
      await front.close()
      await proxied.idle()
      await upstream.close()
    }
  })
}

test('an agent with its own token gets a link to the sign-in page', async () => {
  await using it = await start({ role: 'agent' })
  await answer(it.url, { ...asked, tools })
  const text = await answer(it.url, { ...asked, tools })
  assert.match(text, /for your decision: https:\/\/memory\.example\.org\/#\/memory"/)
})

test('a proposal is not shown again after a restart', async () => {
  const home = await mkdtemp(join(tmpdir(), 'palimpsest-notices-'))
  try {
    const memory = await openMemory({ home: ':memory:' })
    await propose(memory, 'goals')
    const told: boolean[] = []
    for (let round = 0; round < 2; round++) {
      const upstream = await startUpstream(() => ({ text: 'It is all done.' }))
      const pal = await openPalimpsest({ home: ':memory:' })
      const store = await openServerStore(home)
      const notices = new Notices({ memory, links: LINKS, told: store, users: ['ann'], publicUrl: PUBLIC })
      const proxy = createProxy({ pal, upstreams: { anthropic: upstream.url }, notices })
      const front = await serveProxy(proxy)
      told.push((await answer(front.url, { ...asked, tools })).includes('Memory:'))
      await front.close()
      await proxy.idle()
      await upstream.close()
      await pal.close()
    }
    assert.deepEqual(told, [true, false])
    await memory.close()
  } finally {
    await rm(home, { recursive: true })
  }
})

const LINKS = new DecisionLinks(randomBytes(32))

test('requests reach the provider as if the line had not been added', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string({ unit: 'binary', minLength: 1 }), fc.boolean())), texts => {
      const line = plainNoticeOf(2, `https://x.org${LINKS.path('ann', ['1'])}`)
      const body = (tell: boolean) => ({
        messages: texts.map(([text, told]) => ({ role: 'assistant', content: text + (tell && told ? line : '') })),
      })
      const sent = withoutNotices(Buffer.from(JSON.stringify(body(true))))
      assert.equal(sent.toString(), JSON.stringify(body(false)))
    }),
  )
})

test('a link that was copied anywhere else is of no use to whoever reads the request, and nothing else is changed', () => {
  const path = LINKS.path('ann', ['1'])
  const line = plainNoticeOf(2, `https://x.org${path}`)
  const usable = (text: string) => text.replaceAll('\\/', '/').includes(path)
  for (const text of [
    `${line}\n`,
    `${line} `,
    line.replaceAll('\n', '\r\n'),
    `what is https://x.org${path} for?`,
    path,
  ]) {
    const body = JSON.stringify({ messages: [{ role: 'user', content: `é ${text} \ud83d\ude00` }] })
    for (const written of [body, body.replaceAll('/', '\\/')]) {
      const sent = withoutNotices(Buffer.from(written)).toString()
      assert.ok(usable(written) && !usable(sent), written)
      const [before, after] = [written, sent].map(one => JSON.parse(one).messages[0].content)
      assert.equal(after, before.replace(path.slice('/decide/'.length), '...'))
    }
  }
})

test('Gemini parts that are our line are removed, with a message that has no other part; other parts stay', () => {
  const line = plainNoticeOf(1, `${PUBLIC}/#/memory`)
  const told = { role: 'model', parts: [{ text: 'Done.' }, { text: line }] }
  const behind = { role: 'model', parts: [{ text: `Done.${line}` }, { text: line }, { functionCall: { name: 'ls' } }] }
  const alone = { role: 'model', parts: [{ text: line }] }
  const others = [{ role: 'user', parts: [{ text: 'go' }] }, { role: 'model', parts: [] }, { role: 'user' }, 'odd']
  const sent = (body: unknown) => JSON.parse(withoutNotices(Buffer.from(JSON.stringify(body))).toString())
  assert.deepEqual(sent({ model: 'm', contents: [...others, told, behind, alone] }), {
    model: 'm',
    contents: [
      ...others,
      { role: 'model', parts: [{ text: 'Done.' }] },
      { role: 'model', parts: [{ text: 'Done.' }, { functionCall: { name: 'ls' } }] },
    ],
  })
  const elsewhere = { messages: [{ content: line }] }
  assert.deepEqual(sent(elsewhere), elsewhere, 'a string of another dialect that is our line alone is somebody else’s')
})

test('a compressed request is read: its links are made unusable, and it is recorded', async () => {
  const path = LINKS.path('ann', ['p1'])
  const plain = JSON.stringify({
    model: 'claude-sonnet-5',
    max_tokens: 9,
    messages: [{ role: 'user', content: `what is ${PUBLIC}${path} for?` }],
  })
  const forms = { gzip: gzipSync(plain), br: brotliCompressSync(plain), zstd: zstdCompressSync(plain) }
  await using proxied = await start({ on: false })
  for (const [i, [encoding, body]] of Object.entries(forms).entries()) {
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding, 'x-api-key': 'k' }
    for (const at of ['/v1/messages/count_tokens', '/v1/messages']) {
      const answer = await fetch(`${proxied.url}${at}`, { method: 'POST', headers, body })
      assert.equal(answer.status, 200, encoding)
      await answer.text()
    }
    const { body: sent, headers: got } = proxied.upstream.requests[i]!
    assert.equal(sent, plain.replace(path, '/decide/...'))
    assert.deepEqual([got['content-encoding'], got['content-length']], [undefined, String(sent.length)])
  }
  await proxied.idle()
  assert.ok((await proxied.pal.sessions()).length > 0)
})

test('a request that names our page without a link stays the same bytes', () => {
  const bytes = Buffer.from(JSON.stringify({ messages: [{ role: 'user', content: 'what is /decide for?' }] }))
  assert.equal(withoutNotices(bytes), bytes)
})

test('a whole answer that is called a stream gets no line', async () => {
  const reader = new BodyReader(anthropic, new Headers({ 'content-type': 'text/event-stream' }), () => {})
  const answer = new AnswerWithNotice(reader, { line: '!', claim: async () => true })
  const text = JSON.stringify({ stop_reason: 'end_turn', content: [{ type: 'text', text: 'so' }] })
  answer.end(text)
  assert.equal((await buffer(answer)).toString(), text)
})

test('an answer that is too large for a line is passed on as it comes', async () => {
  const reader = new BodyReader(anthropic, new Headers({ 'content-type': 'application/json' }), () => {})
  const answer = new AnswerWithNotice(reader, { line: '!', claim: async () => assert.fail('there is no line') })
  let passed = 0
  answer.on('data', (chunk: Buffer) => (passed += chunk.length))
  const write = (bytes: Uint8Array) => new Promise(done => answer.write(bytes, done))
  for (const size of [MOST_WHOLE, 1, 5]) await write(Buffer.alloc(size, ' '))
  await nextRound()
  assert.equal(passed, MOST_WHOLE + 6, 'nothing waits for the end')
  answer.end()
})
