import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { gemini } from '../../../src/doors/proxy/gemini.ts'
import type { ProxyOptions } from '../../../src/doors/proxy/proxy.ts'
import { fromGemini } from '../../../src/formats/adapters/gemini.ts'
import { checkView } from '../../../src/view/legality.ts'
import { keyOf } from '../../../src/view/sync.ts'
import { type Content, type GeminiOptions, type GeminiPart, startGemini } from '../../gemini-upstream.ts'
import type { Received, Script, Turn } from '../../upstream.ts'
import { builder, TASK } from './loops.ts'
import { entriesOf, largeOutput, sessionNames, setUp } from './setup.ts'

const ROUNDS = 44
const MODELS = '/v1beta/models'
/** Requested without a prefix: the path tells the provider. */
const VERTEX = '/v1/projects/p/locations/global/publishers/google/models'
const SYSTEM = { parts: [{ text: 'You build software.' }] }
const TOOLS = [{ functionDeclarations: [{ name: 'bash', parametersJsonSchema: { type: 'object' } }] }]

/** A proxy for a scripted Gemini. */
async function between(script: Script, options: Partial<ProxyOptions> & GeminiOptions & { path?: string } = {}) {
  const { ids, counted, path = `/gemini${MODELS}`, ...given } = options
  const provider = await startGemini(script, { ...(ids ? { ids } : {}), ...(counted ? { counted } : {}) })
  const it = await setUp([], { upstreams: { gemini: provider.url }, ...given })
  const dispose = async () => {
    await it[Symbol.asyncDispose]()
    await provider.close()
  }
  return { ...it, provider, url: it.url + path, [Symbol.asyncDispose]: dispose }
}

const METHODS = {
  whole: 'generateContent',
  events: 'streamGenerateContent?alt=sse',
  list: 'streamGenerateContent',
} as const
type Method = keyof typeof METHODS

async function post(url: string, body: string, method: Method = 'events', headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/gemini-3-pro-preview:${METHODS[method]}`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', 'x-goog-api-key': 'k-secret', ...headers },
  })
  return { status: response.status, text: await response.text() }
}

type Piece = { candidates: { content: { parts: GeminiPart[] } }[] }

function partsIn(text: string, method: Method): GeminiPart[] {
  const pieces: Piece[] =
    method === 'events'
      ? text.split('\r\n\r\n').flatMap(event => (event === '' ? [] : [JSON.parse(event.slice('data: '.length))]))
      : [JSON.parse(text)].flat()
  return pieces.flatMap(({ candidates }) => candidates[0]!.content.parts)
}

/** An agent that follows the script: it keeps all parts unchanged, and answers every call. */
async function agent(url: string, method: Method, headers: Record<string, string> = {}): Promise<string> {
  const contents: Content[] = [{ role: 'user', parts: [{ text: TASK }] }]
  for (let round = 0; ; round++) {
    const body = JSON.stringify({ contents, systemInstruction: SYSTEM, tools: TOOLS, generationConfig: {} })
    const { status, text } = await post(url, body, method, headers)
    assert.equal(status, 200, text)
    const parts = partsIn(text, method)
    contents.push({ role: 'model', parts })
    const calls = parts.flatMap(part => part.functionCall ?? [])
    if (calls.length === 0) return parts.map(part => (part.thought ? '' : part.text)).join('')
    const results = calls.map(({ id, name }) => ({
      functionResponse: { ...(id === undefined ? {} : { id }), name, response: { output: largeOutput(round) } },
    }))
    contents.push({ role: 'user', parts: results })
  }
}

/** As `builder`, with thoughts, and two calls of the same tool in every third round. */
function thinker(rounds: number) {
  const build = builder(rounds)
  return (...given: Parameters<typeof build>): Turn => {
    const turn = build(...given)
    const [, index] = given
    const thinking = { text: `Round ${index} needs thought.`, signature: '' }
    const more = index % 3 === 0 ? [{ name: 'bash', input: { command: `npm run lint -- part-${index}` } }] : []
    return turn.calls ? { ...turn, thinking, calls: [...turn.calls, ...more] } : turn
  }
}

const LOOPS: [Method, ids: boolean, path?: string][] = [
  ['events', false],
  ['events', true],
  ['list', false],
  ['whole', false],
  ['events', false, VERTEX],
  ['whole', false, VERTEX],
]

for (const [method, ids, path] of LOOPS) {
  const name = `${path === VERTEX ? 'Vertex, ' : ''}${METHODS[method]}, calls with${ids ? '' : 'out'} ids`
  const given = path === undefined ? {} : { path }

  test(`${name}: ${ROUNDS} rounds with edits, signatures intact, and the ledger holds what was sent`, async () => {
    await using direct = await startGemini(thinker(ROUNDS), { ids })
    await agent(direct.url + (path ?? MODELS), method)
    await using it = await between(thinker(ROUNDS), { policy: 'thrifty', ids, ...given })
    // The provider refuses a view that breaks its rules, and then the agent fails.
    assert.match(await agent(it.url, method), /all of it works/)
    await it.proxy.idle()
    assert.deepEqual(it.faults, [])
    assert.equal(it.provider.requests.length, ROUNDS + 1)
    assert.ok(it.proxy.meter.totals.edits > 10, `only ${it.proxy.meter.totals.edits} edits were made`)
    assert.deepEqual(
      it.provider.requests.map(request => request.path),
      direct.requests.map(request => request.path),
    )
    const last = it.provider.requests.at(-1)!
    const whole = direct.requests.at(-1)!
    assert.ok(last.body.length < whole.body.length * 0.7, `the last request had ${last.body.length} bytes`)
    const shown = it.provider.requests.map(({ json }) => fromGemini(json.contents, json.systemInstruction))
    for (const messages of shown) assert.deepEqual(checkView(messages, { dialect: 'gemini' }), [])
    const signatures = last.body.match(/"thoughtSignature"/g)?.length ?? 0
    const calls = last.json.contents.filter(({ parts }: Content) => parts?.some(part => part.functionCall)).length
    assert.ok(calls > 0 && signatures === calls, `${signatures} signatures for ${calls} steps`)

    const [session, ...more] = await sessionNames(it.pal)
    assert.deepEqual(more, [], 'one conversation is one session')
    const sent = fromGemini(whole.json.contents, whole.json.systemInstruction)
    assert.deepEqual((await entriesOf(it.pal, session!)).map(keyOf), sent.map(keyOf))
    const totals = await it.proxy.totals()
    assert.equal(totals.calls, ROUNDS + 1)
    assert.ok(totals.tokensSent < totals.tokensIn * 0.9 && totals.input > 0)
  })

  test(`${name}: requests pass byte for byte if there is nothing to edit`, async () => {
    await using direct = await startGemini(thinker(3), { ids })
    await agent(direct.url + (path ?? MODELS), method)
    for (const policy of ['none', 'thrifty']) {
      await using it = await between(thinker(3), { policy, ids, ...given })
      await agent(it.url, method)
      assert.deepEqual(
        it.provider.requests.map(({ body }) => body),
        direct.requests.map(({ body }) => body),
      )
      assert.equal(it.provider.requests[0]!.headers['x-goog-api-key'], 'k-secret')
    }
  })
}

/** A body with unusual spacing, and with parts that must come back unchanged. */
const BODY = `{ "system_instruction": { "parts": [ { "text": "Be brief." } ] }, "contents": [
  { "role": "user", "parts": [ { "text": "start \\u00e4" }, { "fileData": {"fileUri":"gs://x", "mimeType":"text/plain"} } ] },
  { "parts": [ { "text": "hm", "thought": true }, { "thoughtSignature": "PLACE", "functionCall": { "args": { "n": 1.0 }, "name": "bash" } },
      { "functionCall": { "name": "find", "args": {} } } ], "role": "model" },
  { "role": "user", "parts": [ { "functionResponse": { "name": "bash", "response": { "output": "OLD OUTPUT", "exit": 0 } } },
      { "functionResponse": { "name": "find", "response": { "rows": [ 1.0, 2 ] } } } ] },
  { "role": "model", "parts": [ { "text": "so" } ] },
  { "role": "user", "parts": [ { "text": "go on" } ] } ] , "generationConfig": { "temperature": 1e0 } }`

describe('an edit by the user', () => {
  const ONE = { 'x-palimpsest-session': 'one' }
  const body = BODY.replace('"thoughtSignature": "PLACE", ', '')

  test('changes only the characters of its part', async () => {
    await using it = await between(() => ({ text: 'yes' }), { policy: 'none' })
    await post(it.url, body, 'events', ONE)
    assert.equal(it.provider.requests[0]!.body, body)
    await it.proxy.idle()
    const session = await it.pal.session('one', { mustExist: true })
    await session.apply([{ target: { type: 'part', entry: 3, part: 0 }, replacement: 'cleared', why: 'test' }])
    const next = body.replace(
      '{ "text": "go on" } ] } ]',
      '{ "text": "go on" } ] }, {"role":"model", "parts":[{"text":"yes"}]},\n{"role":"user","parts":[{"text":"next"}]} ]',
    )
    await post(it.url, next, 'events', ONE)
    assert.deepEqual(it.faults, [])
    assert.equal(it.provider.requests[1]!.body, next.replace('OLD OUTPUT', 'cleared'))
  })

  test('of a signed call is refused', async () => {
    await using it = await between(() => ({ text: 'yes' }), { policy: 'none' })
    await post(it.url, BODY, 'events', ONE)
    await it.proxy.idle()
    const session = await it.pal.session('one', { mustExist: true })
    const edit = (part: number) =>
      session.apply([{ target: { type: 'part', entry: 2, part }, replacement: { input: { n: 2 } }, why: 'test' }])
    await assert.rejects(edit(1), /signed-altered/)
    await edit(2)
  })
})

describe('requests that cannot be edited', () => {
  test('a request with cached content is passed on and not recorded', async () => {
    await using it = await between(() => ({ text: 'yes' }))
    const body = '{"contents":[{"role":"user","parts":[{"text":"hi"}]}] ,"cachedContent":"cachedContents/1"}'
    assert.equal((await post(it.url, body, 'whole')).status, 200)
    assert.equal(it.provider.requests[0]!.body, body)
    assert.deepEqual(await sessionNames(it.pal), [])
  })

  test("a provider that cannot be reached gives an error in Gemini's form", async () => {
    await using it = await between([], { upstreams: { gemini: 'http://127.0.0.1:1' } })
    const { status, text } = await post(it.url, '{"contents":[{"parts":[{"text":"hi"}]}]}')
    assert.equal(status, 502)
    const { error } = JSON.parse(text)
    assert.deepEqual([error.code, error.status], [502, 'UNAVAILABLE'])
    assert.match(error.message, /cannot reach 127\.0\.0\.1:1/)
  })
})

async function count(url: string, body: object) {
  const given = { method: 'POST', body: JSON.stringify(body) }
  const response = await fetch(`${url}/gemini-3-pro-preview:countTokens`, given)
  return { status: response.status, text: await response.text() }
}

describe('countTokens', () => {
  const inject = { tools: true, system: async () => 'The user likes tea.' }

  test('of an unknown conversation is passed on, and nothing is recorded', async () => {
    const counted: Received[] = []
    await using it = await between(() => ({ text: 'yes' }), { counted, inject })
    const contents = [{ role: 'user', parts: [{ text: 'hi' }] }]
    assert.match((await count(it.url, { contents })).text, /"totalTokens": \d/)
    assert.deepEqual(counted[0]!.json, { contents })
    assert.deepEqual(await sessionNames(it.pal), [])
    assert.equal(it.proxy.meter.totals.passed, 1)
  })

  test('counts what was sent to the provider, for each form of the request', async () => {
    const counted: Received[] = []
    await using direct = await startGemini(thinker(ROUNDS))
    await agent(direct.url + MODELS, 'whole')
    await using it = await between(thinker(ROUNDS), { policy: 'thrifty', counted, inject })
    await agent(it.url, 'whole')
    await it.proxy.idle()
    const { json: own } = direct.requests.at(-1)!
    const { json: sent } = it.provider.requests.at(-1)!
    assert.notDeepEqual(sent.contents, own.contents)

    const vertex = new URL(VERTEX, it.url).href
    const model = 'models/gemini-3-pro-preview'
    for (const [url, body] of [
      [it.url, { generateContentRequest: { model, ...own } }],
      [it.url, { contents: own.contents }],
      [vertex, own],
      [vertex, { contents: own.contents }],
    ] as const) {
      const { status, text } = await count(url, body)
      assert.equal(status, 200, text)
    }
    assert.deepEqual(it.faults, [])
    assert.deepEqual(
      counted.map(({ json }) => json),
      [{ generateContentRequest: { model, ...sent } }, { contents: sent.contents }, sent, { contents: sent.contents }],
    )
  })

  test('of a request with cached content is passed on unchanged', async () => {
    const counted: Received[] = []
    await using it = await between(() => ({ text: 'yes' }), { counted, policy: 'none', inject })
    const contents = [{ role: 'user', parts: [{ text: 'hi' }] }]
    await post(it.url, JSON.stringify({ contents }), 'whole')
    const body = { generateContentRequest: { contents, cachedContent: 'cachedContents/1' } }
    await count(it.url, body)
    await count(it.url, { generateContentRequest: { contents } })
    const [cached, plain] = counted.map(({ json }) => json)
    assert.deepEqual(cached, body)
    assert.match(JSON.stringify(plain), /likes tea/, 'and only for that reason')
  })
})

test('a request that the provider finds too long is shortened and sent again', async () => {
  const message = 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'
  const error = { status: 400, body: { error: { code: 400, message, status: 'INVALID_ARGUMENT' } } }
  let asked = 0
  let refused = 0
  await using it = await between(received => {
    if (received.body.length > 90_000) {
      refused++
      return { error }
    }
    return thinker(12)(received, asked++)
  })
  assert.match(await agent(it.url, 'events'), /all of it works/)
  assert.ok(refused > 0)
  assert.deepEqual(it.faults, [])
})

test('an empty stream also ends for the client', async () => {
  await using it = await between(() => ({}))
  const { status, text } = await post(it.url, '{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}')
  assert.deepEqual({ status, text }, { status: 200, text: '' })
})

test('usage includes cached and thought tokens, and the model is read from the answer', async () => {
  for (const method of ['whole', 'events', 'list'] as const) {
    await using it = await between(() => ({ text: 'yes', usage: { input: 70, cacheRead: 30, output: 9 } }))
    await post(it.url, '{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}', method)
    await it.proxy.idle()
    const [session] = await sessionNames(it.pal)
    const events = await (await it.pal.session(session!, { mustExist: true })).events()
    const usage = events.flatMap(({ event }) => (event.type === 'usage' ? [event.usage] : []))
    assert.deepEqual(
      usage,
      [{ input: 70, cacheRead: 30, output: 9, reasoning: 2, model: 'gemini-3-pro-preview' }],
      method,
    )
  }
})

test("our tools are added to the client's functions, and our text after its system instruction", async () => {
  const script = (_: unknown, index: number): Turn =>
    index === 1
      ? { calls: [{ name: 'recall', input: { query: 'compiled' } }] }
      : builder(1)({ json: 0 } as never, index)
  await using it = await between(script, { inject: { tools: true, system: async () => 'The user likes tea.' } })
  await agent(it.url, 'events')
  assert.deepEqual(it.faults, [])
  for (const { json } of it.provider.requests) {
    assert.equal(json.tools.length, 1)
    const names = json.tools[0].functionDeclarations.map(({ name }: { name: string }) => name)
    assert.deepEqual(names, ['bash', 'context', 'recall'])
    assert.deepEqual(json.systemInstruction, { parts: [...SYSTEM.parts, { text: 'The user likes tea.' }] })
  }
  assert.match(it.provider.requests.at(-1)!.body, /\d hits?, \d+ of them not in view/)
})

test('a call that the client returns with another name is sent as the model made it, with its signature', async () => {
  const call = { name: 'recall', input: { query: 'compiled' } }
  const script = (_: unknown, index: number): Turn => (index === 0 ? { calls: [call] } : { text: 'yes' })
  await using it = await between(script, { ids: true, policy: 'none', inject: { tools: true } })
  const contents: Content[] = [{ role: 'user', parts: [{ text: TASK }] }]
  const send = () => post(it.url, JSON.stringify({ contents, tools: TOOLS }), 'whole')
  const [made] = partsIn((await send()).text, 'whole')
  const spoiled = { ...made!.functionCall!, name: 'invalid', args: { tool: 'recall', error: 'unavailable tool' } }
  const { args: _, ...named } = spoiled
  contents.push({ role: 'model', parts: [{ ...made, functionCall: spoiled }] })
  contents.push({ role: 'user', parts: [{ functionResponse: { ...named, response: { output: 'no such tool' } } }] })
  const { status, text } = await send()
  assert.equal(status, 200, text)
  await it.proxy.idle()
  assert.deepEqual(it.faults, [])
  assert.deepEqual(it.provider.requests[1]!.json.contents[1].parts, [made])
})

test("the Gemini CLI's check for loops is a side call", async () => {
  await using it = await between(() => ({ text: 'yes' }))
  const asked = (text: string) => [{ role: 'user', parts: [{ text }] }]
  await post(it.url, JSON.stringify({ contents: asked(TASK), tools: TOOLS }))
  const role = 'You are a diagnostic agent that determines whether a conversational AI assistant is stuck in a loop.'
  await post(it.url, JSON.stringify({ contents: asked('Is it?'), systemInstruction: { parts: [{ text: role }] } }))
  await it.proxy.idle()
  const names = await sessionNames(it.pal)
  assert.deepEqual(
    names.map(name => name.replace(/-[0-9a-f]+$/, '')),
    ['chat', 'side.check'],
  )
})

test('paths of generation requests are recognised, with their model', () => {
  const paths = {
    '/v1beta/models/gemini-2.5-pro:generateContent': 'gemini-2.5-pro',
    '/v1/models/gemini-3-flash:streamGenerateContent': 'gemini-3-flash',
    '/v1alpha/tunedModels/mine:generateContent': 'mine',
    '/v1beta1/projects/p/locations/global/publishers/google/models/gemini-3-pro:streamGenerateContent': 'gemini-3-pro',
  }
  for (const [path, model] of Object.entries(paths)) {
    assert.match(path, gemini.path)
    assert.equal(gemini.modelIn?.(path), model)
  }
  for (const path of ['/v1beta/models/gemini-2.5-pro:countTokens', '/v1beta/models', '/v1beta/cachedContents']) {
    assert.doesNotMatch(path, gemini.path)
  }
})
