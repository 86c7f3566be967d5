/** Long conversations over the paths of Azure and Vertex, as their clients ask, streaming and not: they are edited. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI, { AzureOpenAI } from 'openai'
import { startUpstream } from '../../upstream.ts'
import { builder, TASK } from './loops.ts'
import { largeOutput, type Setup, sessionNames, setUp } from './setup.ts'

const ROUNDS = 40
const PARAMETERS = { type: 'object', properties: { command: { type: 'string' } } }
const VERTEX = '/v1/projects/p/locations/europe-west1/publishers/anthropic/models'

type Cloud = {
  name: string
  /** The path at the provider, and the model that the session is about. */
  path: (streams: boolean) => string
  model: string
  run(url: string, streams: boolean): Promise<string>
}

const azure = (url: string) =>
  new AzureOpenAI({ endpoint: url, apiKey: 'k', apiVersion: '2025-03-01-preview', maxRetries: 0 })

const CLOUDS: Cloud[] = [
  {
    name: 'a deployment on Azure',
    path: () => '/openai/deployments/gpt-4.1/chat/completions?api-version=2025-03-01-preview',
    model: 'gpt-4.1',
    run: (url, streams) => chat(azure(url), streams),
  },
  {
    name: 'Responses on Azure, version 1',
    path: () => '/openai/v1/responses',
    model: 'gpt-5',
    run: (url, streams) => responses(new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: 'k', maxRetries: 0 }), streams),
  },
  {
    name: 'Responses on Azure, by api-version',
    path: () => '/openai/responses?api-version=2025-03-01-preview',
    model: 'gpt-5',
    run: (url, streams) => responses(azure(url), streams),
  },
  {
    name: 'Claude on Vertex',
    path: streams => `${VERTEX}/claude-sonnet-4-5@20250929:${streams ? 'streamRawPredict' : 'rawPredict'}`,
    model: 'claude-sonnet-4-5@20250929',
    run: (url, streams) => claude(url, 'claude-sonnet-4-5@20250929', streams),
  },
  {
    name: 'Claude on Vertex, with the model escaped',
    path: streams => `${VERTEX}/claude-sonnet-4-5%4020250929:${streams ? 'streamRawPredict' : 'rawPredict'}`,
    model: 'claude-sonnet-4-5@20250929',
    run: (url, streams) => claude(url, 'claude-sonnet-4-5%4020250929', streams),
  },
]

/** As a user sets it up: the resource of Azure up to `/openai`, Vertex without its version. */
async function between(): Promise<Setup> {
  const upstream = await startUpstream(builder(ROUNDS))
  const upstreams = { anthropic: upstream.url, openai: `${upstream.url}/openai` }
  const it = await setUp([], { policy: 'thrifty', upstreams })
  const dispose = async () => {
    await it[Symbol.asyncDispose]()
    await upstream.close()
  }
  return { ...it, upstream, [Symbol.asyncDispose]: dispose }
}

for (const { name, path, model, run } of CLOUDS) {
  for (const streams of [false, true]) {
    test(`${name}, ${streams ? 'streamed' : 'whole'}: ${ROUNDS} rounds are edited, with an unchanged path`, async () => {
      await using it = await between()
      assert.match(await run(it.url, streams), /all of it works/)
      await it.proxy.idle()
      assert.deepEqual(it.faults, [])
      assert.deepEqual([...new Set(it.upstream.requests.map(request => request.path))], [path(streams)])
      assert.ok(it.proxy.meter.totals.edits > 10, `only ${it.proxy.meter.totals.edits} edits were made`)
      const whole = ROUNDS * largeOutput(0).length
      assert.ok(it.upstream.requests.at(-1)!.body.length < whole * 0.7)
      const [id, ...more] = await sessionNames(it.pal)
      assert.deepEqual(more, [], 'one conversation is one session')
      const session = await it.pal.session(id!, { mustExist: true })
      assert.equal(session.fold.entries.length, 2 * ROUNDS + 2, 'everything that was sent')
      assert.equal(session.options.model.id, model.replace(/@.*/, ''))
    })
  }
}

test('counting tokens on Vertex counts the edited request, and is no turn', async () => {
  await using it = await between()
  const path = `${VERTEX}/count-tokens:rawPredict`
  const body = JSON.stringify({ model: 'claude-sonnet-4-5', messages: [{ role: 'user', content: TASK }] })
  const response = await fetch(it.url + path, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
  assert.ok(((await response.json()) as { input_tokens: number }).input_tokens > 0)
  await it.proxy.idle()
  assert.deepEqual(await sessionNames(it.pal), [])
})

async function chat(client: OpenAI, streams: boolean): Promise<string> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: 'You build software.' },
    { role: 'user', content: TASK },
  ]
  const tools = [{ type: 'function' as const, function: { name: 'bash', parameters: PARAMETERS } }]
  for (let round = 0; ; round++) {
    const asked = { model: 'gpt-4.1', messages, tools }
    const message = streams
      ? await client.chat.completions.stream(asked).finalMessage()
      : (await client.chat.completions.create(asked)).choices[0]!.message
    messages.push(message)
    if (!message.tool_calls?.length) return message.content ?? ''
    for (const { id } of message.tool_calls)
      messages.push({ role: 'tool', tool_call_id: id, content: largeOutput(round) })
  }
}

async function responses(client: OpenAI, streams: boolean): Promise<string> {
  const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: TASK }]
  const tools = [{ type: 'function' as const, name: 'bash', parameters: PARAMETERS, strict: false }]
  for (let round = 0; ; round++) {
    const asked = { model: 'gpt-5', instructions: 'You build software.', input, tools, store: false }
    const answer: OpenAI.Responses.Response = streams
      ? await client.responses.stream(asked).finalResponse()
      : await client.responses.create(asked)
    input.push(...(answer.output as OpenAI.Responses.ResponseInput))
    const calls = answer.output.filter(item => item.type === 'function_call')
    if (calls.length === 0) return answer.output_text
    for (const { call_id } of calls) input.push({ type: 'function_call_output', call_id, output: largeOutput(round) })
  }
}

/** Anthropic's SDK, with requests as its package for Vertex makes them: the model in the path, the version in the body. */
async function claude(url: string, model: string, streams: boolean): Promise<string> {
  const client = new Anthropic({
    baseURL: url,
    apiKey: 'k',
    maxRetries: 0,
    async fetch(_, init) {
      const { model: __, ...body } = JSON.parse(String(init?.body))
      const path = `${VERTEX}/${model}:${body.stream ? 'streamRawPredict' : 'rawPredict'}`
      const headers = { authorization: 'Bearer k', 'content-type': 'application/json' }
      const sent = JSON.stringify({ ...body, anthropic_version: 'vertex-2023-10-16' })
      return fetch(url + path, { method: 'POST', headers, body: sent })
    },
  })
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: TASK }]
  const tools = [{ name: 'bash', input_schema: { ...PARAMETERS, type: 'object' as const } }]
  for (let round = 0; ; round++) {
    const asked = { model, max_tokens: 1000, system: 'You build software.', tools, messages }
    const { content } = streams
      ? await client.messages.stream(asked).finalMessage()
      : await client.messages.create(asked)
    messages.push({ role: 'assistant', content })
    const calls = content.filter(block => block.type === 'tool_use')
    if (calls.length === 0) return content.map(block => (block.type === 'text' ? block.text : '')).join('')
    messages.push({
      role: 'user',
      content: calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: largeOutput(round) })),
    })
  }
}
