/**
 * The demo model as a provider: an OpenAI-compatible server on a free loopback port that answers from the script, so
 * that the demo uses the same path as every other model. It counts tokens like a provider: the prefix that a request
 * shares with an earlier one is cached.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { fromOpenAIChat } from '../formats/adapters/openai-chat.ts'
import { type DemoTurn, demoTurn } from './demo-script.ts'

export const DEMO_MODEL = 'palimpsest-demo'

type DemoServer = { url: string; close(): Promise<void> }

/** `pace`: milliseconds between two words. */
export async function startDemoModel({ pace = 0 }: { pace?: number } = {}): Promise<DemoServer> {
  const before: string[] = []
  let answers = 0
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST' || !request.url?.endsWith('/chat/completions')) {
      return send(response, 404, { error: { message: 'The demo model answers POST /v1/chat/completions.' } })
    }
    const body = await text(request)
    const { messages, stream }: { messages: Parameters<typeof fromOpenAIChat>[0]; stream?: boolean } = JSON.parse(body)
    const turn = demoTurn(fromOpenAIChat(messages))
    const said = JSON.stringify(messages)
    const usage = usageOf(said, Math.max(0, ...before.map(other => sharedPrefix(other, said))), turn)
    before.unshift(said)
    before.length = Math.min(before.length, MAX_KNOWN_REQUESTS)
    const answer = { id: `demo-${++answers}`, turn, usage }
    if (!stream) return send(response, 200, whole(answer))
    await play(response, answer, pace)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

type Answer = { id: string; turn: DemoTurn; usage: object }

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function play(response: ServerResponse, { id, turn, usage }: Answer, pace: number): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  const base = { id, object: 'chat.completion.chunk', created: 0, model: DEMO_MODEL }
  const event = (delta: object, finish_reason: string | null = null) =>
    response.write(`data: ${JSON.stringify({ ...base, choices: [{ index: 0, delta, finish_reason }] })}\n\n`)
  for (const content of turn.text.match(/\S+\s*|\s+/g) ?? []) {
    if (response.destroyed) return
    event({ content })
    if (pace > 0) await delay(pace)
  }
  const calls = callsOf({ id, turn, usage })
  for (const [index, call] of calls.entries()) event({ tool_calls: [{ index, ...call }] })
  event({}, calls.length > 0 ? 'tool_calls' : 'stop')
  response.write(`data: ${JSON.stringify({ ...base, choices: [], usage })}\n\n`)
  response.end('data: [DONE]\n\n')
}

function whole(answer: Answer): object {
  const calls = callsOf(answer)
  const message = { role: 'assistant', content: answer.turn.text, ...(calls.length > 0 ? { tool_calls: calls } : {}) }
  const choices = [{ index: 0, message, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }]
  return { id: answer.id, object: 'chat.completion', created: 0, model: DEMO_MODEL, choices, usage: answer.usage }
}

/** Ids that are unique among runs of the demo, so that a session can be continued. */
function callsOf({ turn }: Answer) {
  return (turn.calls ?? []).map(({ name, input }) => ({
    id: `call_${crypto.randomUUID().slice(0, 8)}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }))
}

/** The number of requests whose prefixes count as cached. */
const MAX_KNOWN_REQUESTS = 8
const CHARS_PER_TOKEN = 4

function usageOf(said: string, shared: number, turn: DemoTurn): object {
  const tokens = (chars: number) => Math.ceil(chars / CHARS_PER_TOKEN)
  const output = tokens(turn.text.length + JSON.stringify(turn.calls ?? []).length)
  return {
    prompt_tokens: tokens(said.length),
    completion_tokens: output,
    total_tokens: tokens(said.length) + output,
    prompt_tokens_details: { cached_tokens: tokens(shared) },
  }
}

function sharedPrefix(a: string, b: string): number {
  const most = Math.min(a.length, b.length)
  let same = 0
  while (same < most && a[same] === b[same]) same++
  return same
}
