import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createProxy } from '../../../src/doors/proxy/proxy.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { NO_SUCH_PART } from '../../../src/session/look.ts'
import { partId } from '../../../src/view/shown-texts.ts'
import type { Turn } from '../../upstream.ts'
import { entriesOf, largeOutput, type Setup, setUp } from './setup.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies and answers of three dialects
type Json = any

/** A client of one dialect: how it makes requests, and how it returns calls and results. */
type Client = {
  name: string
  path: string
  body: (conversation: Json[], tools: string[]) => Json
  user: (text: string) => Json
  /** The messages that the client keeps of an answer. */
  keep: (answer: Json) => Json[]
  calls: (answer: Json) => { id: string; name: string }[]
  results: (results: { id: string; text: string; isError?: boolean }[]) => Json[]
  /** The results of a request, by id, and the names of its tools. */
  shown: (body: Json) => Record<string, { text: string; isError: boolean }>
  toolNames: (body: Json) => string[]
}

const SCHEMA = { type: 'object', properties: { command: { type: 'string' } } }

const CLIENTS: Client[] = [
  {
    name: 'Anthropic Messages',
    path: '/v1/messages',
    body: (messages, tools) => ({
      model: 'claude-sonnet-4-5',
      max_tokens: 100,
      system: [{ type: 'text', text: 'You help.', cache_control: { type: 'ephemeral' } }],
      tools: tools.map(name => ({ name, input_schema: SCHEMA })),
      messages,
    }),
    user: content => ({ role: 'user', content }),
    keep: ({ content }) => [{ role: 'assistant', content }],
    calls: ({ content }) => content.filter(({ type }: Json) => type === 'tool_use'),
    results: list => [
      {
        role: 'user',
        content: list.map(({ id, text, isError }) => ({
          type: 'tool_result',
          tool_use_id: id,
          content: text,
          ...(isError ? { is_error: true } : {}),
        })),
      },
    ],
    shown: ({ messages }) =>
      Object.fromEntries(
        messages
          .flatMap(({ content }: Json) => (Array.isArray(content) ? content : []))
          .filter(({ type }: Json) => type === 'tool_result')
          .map((block: Json) => [block.tool_use_id, { text: block.content, isError: block.is_error === true }]),
      ),
    toolNames: ({ tools }) => tools.map(({ name }: Json) => name),
  },
  {
    name: 'Chat Completions',
    path: '/v1/chat/completions',
    body: (messages, tools) => ({
      model: 'gpt-4.1',
      tools: tools.map(name => ({ type: 'function', function: { name, parameters: SCHEMA } })),
      messages: [{ role: 'system', content: 'You help.' }, ...messages],
    }),
    user: content => ({ role: 'user', content }),
    keep: ({ choices }) => [choices[0].message],
    calls: ({ choices }) =>
      (choices[0].message.tool_calls ?? []).map(({ id, function: call }: Json) => ({ id, name: call.name })),
    results: list => list.map(({ id, text }) => ({ role: 'tool', tool_call_id: id, content: text })),
    shown: ({ messages }) =>
      Object.fromEntries(
        messages
          .filter(({ role }: Json) => role === 'tool')
          .map((message: Json) => [message.tool_call_id, { text: message.content, isError: false }]),
      ),
    toolNames: ({ tools }) => tools.map(({ function: { name } }: Json) => name),
  },
  {
    name: 'Responses',
    path: '/v1/responses',
    body: (input, tools) => ({
      model: 'gpt-5',
      store: false,
      instructions: 'You help.',
      tools: tools.map(name => ({ type: 'function', name, parameters: SCHEMA, strict: false })),
      input,
    }),
    user: content => ({ role: 'user', content }),
    keep: ({ output }) => output,
    calls: ({ output }) =>
      output.flatMap((item: Json) => (item.type === 'function_call' ? [{ id: item.call_id, name: item.name }] : [])),
    results: list => list.map(({ id, text }) => ({ type: 'function_call_output', call_id: id, output: text })),
    shown: ({ input }) =>
      Object.fromEntries(
        input
          .filter(({ type }: Json) => type === 'function_call_output')
          .map((item: Json) => [item.call_id, { text: item.output, isError: false }]),
      ),
    toolNames: ({ tools }) => tools.map(({ name }: Json) => name),
  },
]

const HEADERS = { 'content-type': 'application/json', 'x-palimpsest-session': 'one' }

async function send({ url }: Pick<Setup, 'url'>, { path, body }: Client, conversation: Json[], tools = ['bash']) {
  const text = JSON.stringify(body(conversation, tools))
  const response = await fetch(url + path, { method: 'POST', body: text, headers: HEADERS })
  assert.equal(response.status, 200)
  return { answer: (await response.json()) as Json, text }
}

/** Continues a conversation: a tool that the client has is answered, any other tool is an error. */
async function loop(it: Setup, client: Client, conversation: Json[], tools = ['bash']): Promise<void> {
  for (;;) {
    const { answer } = await send(it, client, conversation, tools)
    conversation.push(...client.keep(answer))
    const calls = client.calls(answer)
    if (calls.length === 0) return
    const results = calls.map(({ id, name }, i) =>
      tools.includes(name)
        ? { id, text: largeOutput(i, 4000) }
        : { id, text: `Error: No such tool available: ${name}`, isError: true },
    )
    conversation.push(...client.results(results))
  }
}

const RECALL: Turn[] = [
  { text: 'I look around.', calls: [{ id: 'c1', name: 'bash', input: { command: 'make' } }] },
  { text: 'What was it?', calls: [{ id: 'c2', name: 'recall', input: { query: 'heliotrope' } }] },
  { text: 'It was heliotrope.' },
]

for (const client of CLIENTS) {
  test(`over ${client.name} the model gets our answer to a call of a tool that the client lacks`, async () => {
    await using it = await setUp(RECALL, { policy: 'none', inject: { tools: true } })
    const conversation = [client.user('The secret word is heliotrope. Remember it.')]
    await loop(it, client, conversation)
    await it.proxy.idle()
    assert.deepEqual(it.faults, [])
    const sent = it.upstream.requests.map(({ json }) => json)
    for (const body of sent) assert.deepEqual(client.toolNames(body), ['bash', 'context', 'recall'])
    const { c1, c2 } = client.shown(sent[2])
    assert.match(c1!.text, /compiled module/)
    assert.match(c2!.text, /^1 hit, .*heliotrope/s)
    assert.equal(c2!.isError, false)
    const said = JSON.stringify((await entriesOf(it.pal, 'one')).map(({ parts }) => parts))
    assert.match(said, /No such tool available: recall/)
    const session = await it.pal.session('one')
    const answers = session.edits().filter(({ edit }) => edit.mark === 'late-tool')
    assert.equal(answers.length, 1)
    assert.match(answers[0]!.edit.why, /recall, a tool that the client does not have/)
    assert.deepEqual((await session.verify()).violations, [])
  })

  test(`over ${client.name} our answer is the same bytes in later turns, on a retry, and after a restart`, async () => {
    await using it = await setUp([...RECALL, { text: 'a' }, { text: 'b' }, { text: 'c' }], {
      policy: 'none',
      inject: { tools: true },
    })
    const conversation = [client.user('The secret word is heliotrope. Remember it.')]
    await loop(it, client, conversation)
    conversation.push(client.user('Sure?'))
    await send(it, client, conversation)
    await send(it, client, conversation)
    await it.proxy.idle()
    const upstreams = { anthropic: it.upstream.url, openai: `${it.upstream.url}/v1` }
    const faults: string[] = []
    // The second process has other options, but the conversation keeps its first ones.
    const later = createProxy({ pal: it.pal, policy: 'none', upstreams, log: line => faults.push(line) })
    const body = JSON.stringify(client.body(conversation, ['bash']))
    const url = `http://x${client.path}`
    await (await later(new Request(url, { method: 'POST', body, headers: HEADERS }))).text()
    await later.idle()
    assert.deepEqual([...it.faults, ...faults], [])
    const [first, again, restarted] = it.upstream.requests.slice(3).map(request => request.body)
    assert.equal(again, first)
    assert.equal(restarted, first)
    const prefix = commonPrefix(it.upstream.requests[2]!.body, first!)
    assert.ok(prefix > it.upstream.requests[2]!.body.indexOf('heliotrope'), `only ${prefix} bytes are shared`)
    assert.match(client.shown(JSON.parse(first!))['c2']!.text, /^1 hit/)
  })

  test(`over ${client.name} the context tool can discard a result`, async () => {
    const turns: Turn[] = [
      { text: 'First.', calls: [{ id: 'c1', name: 'bash', input: { command: 'make' } }] },
      { text: 'Then.', calls: [{ id: 'c2', name: 'context', input: { action: 'list' } }] },
    ]
    let id = ''
    await using it = await setUp(
      (_, index): Turn => {
        if (index < 2) return turns[index]!
        if (index === 2)
          return { calls: [{ id: 'c3', name: 'context', input: { action: 'discard', targets: [[id]] } }] }
        return { text: 'Done.' }
      },
      { policy: 'none', inject: { tools: true } },
    )
    const conversation = [client.user('Build it.')]
    for (const results of [[{ id: 'c1', text: largeOutput(1) }], [{ id: 'c2', text: 'unsupported call: context' }]]) {
      conversation.push(...client.keep((await send(it, client, conversation)).answer), ...client.results(results))
    }
    const session = await it.pal.session('one')
    id = (await session.parts()).find(({ tool }) => tool === 'bash')!.hash
    await loop(it, client, conversation)
    await it.proxy.idle()
    assert.deepEqual(it.faults, [])
    const { c1, c2, c3 } = client.shown(it.upstream.requests.at(-1)!.json)
    assert.match(c2!.text, /tokens in view/)
    assert.match(c3!.text, /^Done: .* tokens saved/)
    assert.doesNotMatch(c1!.text, /compiled module/)
  })

  test(`over ${client.name} our tools get names that the client does not use`, async () => {
    const turns: Turn[] = [
      { calls: [{ id: 'c1', name: 'recall', input: { command: 'x' } }] },
      { text: 'a' },
      { text: 'b' },
    ]
    await using it = await setUp(turns, { policy: 'none', inject: { tools: true } })
    const conversation = [client.user('Go.')]
    await loop(it, client, conversation, ['recall', 'bash'])
    conversation.push(client.user('More.'))
    await send(it, client, conversation, ['recall', 'bash', 'context'])
    await it.proxy.idle()
    const [first, second, third] = it.upstream.requests.map(({ json }) => json)
    assert.deepEqual(client.toolNames(first), ['recall', 'bash', 'context', 'palimpsest_recall'])
    assert.match(client.shown(second)['c1']!.text, /compiled module/)
    assert.deepEqual(client.toolNames(third), ['recall', 'bash', 'context', 'palimpsest_recall'])
    assert.deepEqual(it.faults, [])
  })
}

const [anthropic, chat] = CLIENTS

test('a call that the client returns with another name is shown to the model as the model made it', async () => {
  await using it = await setUp(RECALL.slice(1), { policy: 'none', inject: { tools: true } })
  const conversation: Json[] = [chat!.user('The secret word is heliotrope.')]
  const { answer } = await send(it, chat!, conversation)
  const [message] = chat!.keep(answer)
  const spoiled = { name: 'invalid', arguments: JSON.stringify({ tool: 'recall', error: 'unavailable tool' }) }
  message.tool_calls[0].function = spoiled
  conversation.push(message, ...chat!.results([{ id: 'c2', text: 'The arguments provided to the tool are invalid' }]))
  await send(it, chat!, conversation)
  await it.proxy.idle()
  assert.deepEqual(it.faults, [])
  const { messages } = it.upstream.requests[1]!.json
  assert.deepEqual(messages[2].tool_calls[0].function, { name: 'recall', arguments: '{"query":"heliotrope"}' })
  assert.match(messages[3].content, /^1 hit/)
})

/** Changes calls as clients do with an unknown tool: another name, and the error as input. */
function spoil(kept: Json[]): void {
  const input = { tool: 'recall', error: 'unavailable tool' }
  const text = JSON.stringify(input)
  for (const item of kept) {
    for (const call of item.tool_calls ?? []) call.function = { name: 'invalid', arguments: text }
    if (item.type === 'function_call') Object.assign(item, { name: 'invalid', arguments: text })
    for (const block of item.content ?? [])
      if (block.type === 'tool_use') Object.assign(block, { name: 'invalid', input })
  }
}

for (const client of CLIENTS) {
  test(`over ${client.name} a restored call keeps the reasoning before it`, async () => {
    const thinking = { text: 'What was the word?', signature: 'c2lnbmVk' }
    const turns = [{ ...RECALL[1]!, thinking }, { text: 'It was heliotrope.' }, { text: 'Yes.' }]
    await using it = await setUp(turns, { policy: 'none', inject: { tools: true } })
    const conversation: Json[] = [client.user('The secret word is heliotrope.')]
    const made = client.keep((await send(it, client, conversation)).answer)
    const kept = structuredClone(made)
    spoil(kept)
    conversation.push(...kept, ...client.results([{ id: 'c2', text: 'The arguments are invalid' }]))
    conversation.push(...client.keep((await send(it, client, conversation)).answer), client.user('Sure?'))
    await send(it, client, conversation)
    await it.proxy.idle()
    assert.deepEqual(it.faults, [])
    for (const { json } of it.upstream.requests.slice(1)) {
      const list: Json[] = json.messages ?? json.input
      const from = list.findIndex(item => JSON.stringify(item).includes(thinking.text))
      assert.deepEqual(list.slice(from, from + made.length), made)
      assert.match(client.shown(json)['c2']!.text, /^1 hit/)
    }
  })
}

test('results of the client in the same batch do not change', async () => {
  const both: Turn = {
    calls: [
      { id: 'c1', name: 'bash', input: { command: 'make' } },
      { id: 'c2', name: 'recall', input: { query: 'heliotrope' } },
    ],
  }
  await using it = await setUp([both, { text: 'yes' }], { policy: 'none', inject: { tools: true } })
  await loop(it, anthropic!, [anthropic!.user('The secret word is heliotrope.')])
  const { content } = it.upstream.requests[1]!.json.messages[2]
  assert.deepEqual(Object.keys(content[0]), ['type', 'tool_use_id', 'content'])
  assert.match(content[0].content.replace(largeOutput(0, 4000), ''), /^\n\[id \w{8}\]$/)
  assert.match(content[1].content, /^1 hit/)
})

test('our tools can read other sessions of the user, like our MCP server', async () => {
  const id = partId(1, 0, { type: 'tool-result' })
  const session = 'mcp-outputs-2026-11-18'
  const script: Turn[] = [
    { calls: [{ id: 'c1', name: 'recall', input: { query: 'heliotrope', sessions: 'all' } }] },
    { calls: [{ id: 'c2', name: 'recall', input: { text: id, session } }] },
    { text: 'I see.' },
  ]
  await using it = await setUp(script, { policy: 'none', inject: { tools: true } })
  const other = await it.pal.session(session)
  await other.append(
    { role: 'assistant', parts: [{ type: 'tool-call', id: 'r', name: 'run_command', input: { command: 'ls' } }] },
    { role: 'tool', parts: [{ type: 'tool-result', id: 'r', name: 'run_command', output: 'heliotrope.txt' }] },
  )
  await loop(it, anthropic!, [anthropic!.user('Where is it?')])
  const { c1, c2 } = anthropic!.shown(it.upstream.requests.at(-1)!.json)
  assert.match(c1!.text, new RegExp(`${id}: result of run_command \\(session "${session}"`))
  assert.equal(c2!.text, `[${id}, entry 1]\nheliotrope.txt`)
})

test('tools are not added to a conversation without tools, a conversation that has begun, or a holdout', async () => {
  await using it = await setUp(() => ({ text: 'yes' }), { policy: 'none', inject: { tools: true }, holdout: 1 })
  const { text } = await send(it, chat!, [chat!.user('hi')])
  assert.equal(it.upstream.requests[0]!.body, text)
  const late = createProxy({
    pal: it.pal,
    policy: 'none',
    inject: { tools: true },
    upstreams: { openai: it.upstream.url },
  })
  const bare = JSON.stringify({ model: 'gpt-4.1', messages: [chat!.user('no tools here')] })
  await (await late(new Request('http://x/v1/chat/completions', { method: 'POST', body: bare }))).text()
  assert.equal(it.upstream.requests[1]!.body, bare)
  const more = JSON.stringify(
    chat!.body([chat!.user('hi'), { role: 'assistant', content: 'yes' }, chat!.user('so?')], ['bash']),
  )
  await (
    await late(new Request('http://x/v1/chat/completions', { method: 'POST', body: more, headers: HEADERS }))
  ).text()
  assert.equal(it.upstream.requests[2]!.body, more)
})

function commonPrefix(one: string, other: string): number {
  let at = 0
  while (at < one.length && one[at] === other[at]) at++
  return at
}

/** Plays a conversation of many large results, which the planner shortens; gives the placeholders of the last request. */
async function shownStubs(tools: string[], options: Parameters<typeof setUp>[1]): Promise<string[]> {
  const [client] = CLIENTS
  const rounds = 12
  const script = Array.from({ length: rounds }, (_, i): Turn => {
    return { text: `Step ${i}.`, calls: [{ id: `c${i}`, name: 'read_file', input: { path: `src/part-${i}.ts` } }] }
  })
  await using it = await setUp([...script, { text: 'Done.' }], options)
  const conversation = [client!.user('Look at all parts.')]
  for (let i = 0; i <= rounds; i++) {
    const { answer } = await send(it, client!, conversation, tools)
    const results = client!.calls(answer).map(({ id }) => ({ id, text: largeOutput(i, 60_000) }))
    conversation.push(...client!.keep(answer), ...client!.results(results))
  }
  const stubs = it.upstream.requests.at(-1)!.body.match(/\[(?:cleared by context manager|Earlier steps)[^\]]*\]/g) ?? []
  assert.ok(stubs.length > 0)
  return stubs
}

test('a placeholder names the recall tool that the client has, or no tool', async () => {
  for (const stub of await shownStubs(['bash'], {})) assert.doesNotMatch(stub, /recall/)
  for (const stub of await shownStubs(['bash', 'mcp__palimpsest__recall'], {})) {
    assert.match(stub, / mcp__palimpsest__recall (?:[0-9a-f]{8}|finds the originals)\]$/)
  }
  for (const stub of await shownStubs(['bash'], { inject: { tools: true } })) {
    assert.match(stub, / recall (?:[0-9a-f]{8}|finds the originals)\]$/)
  }
})

test('the proxy answers a call to our MCP server if its id is of this conversation', async () => {
  const [client] = CLIENTS
  const [name, editor] = ['mcp__palimpsest__recall', 'mcp__palimpsest__context']
  const id = partId(3, 0, { type: 'tool-result' })
  const script: Turn[] = [
    { text: 'I run it.', calls: [{ id: 'c1', name: 'bash', input: { command: 'make' } }] },
    { text: 'What was it?', calls: [{ id: 'c2', name, input: { text: id } }] },
    { text: 'And what else?', calls: [{ id: 'c3', name, input: { query: 'x' } }] },
    { text: 'What does it cost?', calls: [{ id: 'c4', name: editor, input: { action: 'price', targets: [[id]] } }] },
    { text: 'I see.' },
  ]
  await using it = await setUp(script)
  const texts = [
    'the heliotrope is in the cellar',
    `EDIT_NOT_FOUND: ${NO_SUCH_PART} ${id} in this session.`,
    'Nothing.',
    `EDIT_NOT_FOUND: ${NO_SUCH_PART} ${id} in this session.`,
  ]
  const conversation = [client!.user('Where is it?')]
  for (const text of texts) {
    const { answer } = await send(it, client!, conversation, ['bash', name, editor])
    conversation.push(...client!.keep(answer))
    conversation.push(...client!.results(client!.calls(answer).map(call => ({ id: call.id, text, isError: true }))))
  }
  await send(it, client!, conversation, ['bash', name, editor])
  const { c2, c3, c4 } = client!.shown(it.upstream.requests.at(-1)!.json)
  assert.match(c2!.text, /the heliotrope is in the cellar/)
  assert.equal(c2!.isError, false)
  assert.equal(c3!.text, 'Nothing.')
  assert.match(c4!.text, /\d+ tokens/, 'each tool by its own name')
  assert.deepEqual(it.faults, [])
})

test('a moved result names only ways to read it that the client has', async () => {
  const home = await mkdtemp(join(tmpdir(), 'palimpsest-moved-'))
  const pal = await openPalimpsest({ home })
  await using it = await setUp(() => ({ text: 'I see.' }), { pal, policy: 'stale-output' })
  const [client] = CLIENTS
  const call = { type: 'tool_use', id: 'c1', name: 'look', input: {} }
  const text = largeOutput(1, 5000)
  const sent = async (tools: string[], who?: { id: string }) => {
    const conversation = [client!.user(`Look, ${tools}.`), { role: 'assistant', content: [call] }]
    conversation.push(...client!.results([{ id: 'c1', text }]))
    const body = JSON.stringify(client!.body(conversation, tools))
    const request = new Request(`${it.url}/v1/messages`, { method: 'POST', body, headers: HEADERS })
    await (await it.proxy(request, who)).text()
    const { c1 } = client!.shown(it.upstream.requests.at(-1)!.json)
    return c1!.text
  }
  const inFile = /\[4,\d+ chars in total, all of them in (\/.+\.txt); read it in parts, with offset and limit or sed -n/
  for (const tool of ['bash', 'Read', 'str_replace_based_edit_tool', 'exec_command']) {
    const path = inFile.exec(await sent(['look', tool]))?.[1]
    assert.equal(await readFile(path!, 'utf8'), text)
  }
  const recall = 'mcp__palimpsest__recall'
  assert.match(
    await sent(['bash', recall]),
    new RegExp(`${inFile.source}; or ${recall}\\(text="\\w+"\\) gives them\\]$`),
  )
  assert.match(
    await sent(['look', recall]),
    /\[4,\d+ chars in total, mcp__palimpsest__recall\(text="\w+"\) gives them\]$/,
  )
  assert.match(
    await sent(['Bash', recall], { id: 'a-token' }),
    /total, mcp__palimpsest__recall\(text="\w+"\) gives them\]$/,
  )
  assert.equal(await sent(['look']), text)
  assert.equal(await sent(['look', 'memory']), text)
  assert.equal(await sent(['shell'], { id: 'a-token' }), text)
  await it.proxy.idle()
  await pal.close()
  await rm(home, { recursive: true })
})
