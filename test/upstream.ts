/**
 * A provider for tests: a real HTTP server on a loopback port that answers Anthropic Messages, OpenAI Chat and
 * OpenAI Responses from a script, streaming or not, and remembers every request byte for byte.
 *
 * A script is a list of turns, one per generation request, or a function of the request. The same turn is
 * answered in whichever dialect it is asked for.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Usage } from '../src/model/types.ts'

/** `redacted`: only its signature is sent, as the data of a redacted block. */
export type Thought = { text: string; signature: string; redacted?: boolean }

export type Turn = {
  text?: string
  /** Sent as a thinking block, as `reasoning_content`, or as a reasoning item with `encrypted_content`. */
  thinking?: Thought | Thought[]
  /** `arguments`: the model's own spelling, if it matters; `custom`: of a tool of Responses with plain text. */
  calls?: { id?: string; name: string; input: unknown; arguments?: string; custom?: { namespace?: string } }[]
  usage?: Omit<Usage, 'model' | 'tier'>
  /** More fields of the answer, with the provider's names. */
  more?: Record<string, unknown>
  /** Sent instead of an answer. */
  error?: { status: number; body: unknown; headers?: Record<string, string> }
  /** The connection breaks after this many events of a stream. */
  cutAfter?: number
  /** Nothing is sent after this many events of a stream, and the connection stays open. */
  stallAfter?: number
}

export type Received = {
  method: string
  path: string
  headers: IncomingMessage['headers']
  body: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of many shapes
  json: any
}

export type Upstream = {
  /** Without `/v1`. */
  url: string
  /** Generation requests, in the order of arrival. */
  requests: Received[]
  close: () => Promise<void>
  [Symbol.asyncDispose]: () => Promise<void>
}

export type Script = readonly Turn[] | ((request: Received, index: number) => Turn)

/** `count` answers requests for token counts. With `forgets` no request is kept, for runs of thousands. */
export type UpstreamOptions = { count?: (request: Received) => { status: number; body: unknown }; forgets?: boolean }

/** The environment of an agent that uses this provider as its model, with its workspace in `folder`. */
export function modelEnv({ url }: Upstream, folder: string) {
  return {
    PATH: process.env['PATH'],
    OPENAI_API_KEY: 'k',
    OPENAI_BASE_URL: `${url}/v1`,
    PALIMPSEST_MODEL: 'gpt-4.1',
    PALIMPSEST_USER: 'owner',
    PALIMPSEST_WORKSPACE: join(folder, 'workspace'),
  }
}

export async function startUpstream(
  script: Script,
  { count = roughCount, forgets = false }: UpstreamOptions = {},
): Promise<Upstream> {
  const requests: Received[] = []
  let asked = 0
  const server = createServer(async (request, response) => {
    const received = await receive(request)
    const path = plainPath(received.path)
    if (path === '/v1/models') return send(response, 200, { object: 'list', data: [] })
    if (path === '/v1/messages/count_tokens' || path === '/v1/responses/input_tokens') {
      const { status, body } = count(received)
      return send(response, status, body)
    }
    const dialect = DIALECTS[path]
    if (!dialect || request.method !== 'POST') return send(response, 404, { error: { message: `no ${path} here` } })
    const index = asked++
    if (!forgets) requests.push(received)
    const turn = typeof script === 'function' ? script(received, index) : script[index]
    if (!turn) return send(response, 500, { error: { message: `the script has no turn ${index}` } })
    if (turn.error) return send(response, turn.error.status, turn.error.body, turn.error.headers)
    const answer = { turn, index, model: String(received.json.model), request: received.json }
    if (received.json.stream !== true) return send(response, 200, dialect.whole(answer))
    stream(response, [...dialect.events(answer)], turn)
  })
  return listening(server, requests)
}

/** Without the query, and in the form of OpenAI and Anthropic if Azure or Vertex have longer paths. */
function plainPath(path: string): string {
  const [plain = ''] = path.split('?')
  if (plain.endsWith('/count-tokens:rawPredict')) return '/v1/messages/count_tokens'
  if (/RawPredict$|:rawPredict$/.test(plain)) return '/v1/messages'
  return plain.replace(/^\/openai(?=\/)/, '').replace(/^(?:\/v1)?(?:\/deployments\/[^/]+)?\//, '/v1/')
}

function roughCount({ body }: Received) {
  return { status: 200, body: { input_tokens: Math.ceil(body.length / 4) } }
}

export async function listening(server: Server, requests: Received[]): Promise<Upstream> {
  // A slow client must not find its kept connection closed when it sends the next request.
  server.keepAliveTimeout = 0
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const close = () =>
    new Promise<void>(resolve => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, requests, close, [Symbol.asyncDispose]: close }
}

export async function receive(request: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks).toString('utf8')
  const { method = '', url: path = '', headers } = request
  return { method, path, headers, body, json: body === '' ? undefined : JSON.parse(body) }
}

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

function stream(response: ServerResponse, events: SseEvent[], turn: Turn): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  const lines = events.map(({ event, data }) => {
    const line = typeof data === 'string' ? data : JSON.stringify(data)
    return `${event ? `event: ${event}\n` : ''}data: ${line}\n\n`
  })
  writeUntil(response, lines, turn)
}

/** Writes the events as far as the turn allows, and ends, breaks or stalls. */
export function writeUntil(response: ServerResponse, events: readonly string[], { cutAfter, stallAfter }: Turn): void {
  for (const event of events.slice(0, stallAfter ?? cutAfter ?? events.length)) response.write(event)
  if (stallAfter !== undefined) return
  if (cutAfter !== undefined && events.length > cutAfter) setImmediate(() => response.destroy())
  else response.end()
}

type SseEvent = { event?: string; data: unknown }
type Answer = { turn: Turn; index: number; model: string; request: { stream_options?: { include_usage?: boolean } } }
type Wire = Record<string, unknown>
type ProviderDialect = { whole: (answer: Answer) => unknown; events: (answer: Answer) => Iterable<SseEvent> }

const DIALECTS: Record<string, ProviderDialect> = {
  '/v1/messages': { whole: anthropicMessage, events: anthropicEvents },
  '/v1/chat/completions': { whole: chatCompletion, events: chatEvents },
  '/v1/responses': { whole: responseObject, events: responseEvents },
}

function callsOf({ turn, index }: Answer) {
  return (turn.calls ?? []).map(({ id, arguments: text, ...call }, i) => ({
    ...call,
    id: id ?? `call_${index}_${i}`,
    text: text ?? JSON.stringify(call.input),
  }))
}

export function thoughtsOf({ thinking }: Turn): Thought[] {
  return thinking === undefined ? [] : [thinking].flat()
}

/** Two pieces or more, so that clients have to join them. */
function pieces(text: string): string[] {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)].filter(piece => piece !== '')
}

function anthropicMessage(answer: Answer): Wire {
  const { turn, index, model } = answer
  const { text, calls } = turn
  return {
    id: `msg_${index}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [
      ...thoughtsOf(turn).map(({ text, signature, redacted }) =>
        redacted ? { type: 'redacted_thinking', data: signature } : { type: 'thinking', thinking: text, signature },
      ),
      ...(text === undefined ? [] : [{ type: 'text', text }]),
      ...callsOf(answer).map(({ id, name, input }) => ({ type: 'tool_use', id, name, input })),
    ],
    stop_reason: calls ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: anthropicUsage(turn),
    ...turn.more,
  }
}

function anthropicUsage({ usage = {} }: Turn): Wire {
  const { input = 10, cacheRead = 0, cacheWrite = 0, cacheWriteLong = 0, output = 5, reasoning = 0 } = usage
  return {
    input_tokens: input,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    cache_creation: {
      ephemeral_5m_input_tokens: cacheWrite - cacheWriteLong,
      ephemeral_1h_input_tokens: cacheWriteLong,
    },
    output_tokens: output,
    output_tokens_details: { thinking_tokens: reasoning },
  }
}

function* anthropicEvents(answer: Answer): Generator<SseEvent> {
  const { content, stop_reason, usage, ...message } = anthropicMessage(answer)
  const event = (data: Wire & { type: string }) => ({ event: data.type, data })
  yield event({
    type: 'message_start',
    message: {
      ...message,
      content: [],
      stop_reason: null,
      usage: { ...anthropicUsage(answer.turn), output_tokens: 0 },
    },
  })
  for (const [index, block] of (content as Wire[]).entries()) {
    const { empty, deltas } = anthropicDeltas(block, answer)
    yield event({ type: 'content_block_start', index, content_block: empty })
    for (const delta of deltas) yield event({ type: 'content_block_delta', index, delta })
    yield event({ type: 'content_block_stop', index })
  }
  const { output_tokens, output_tokens_details } = usage as Wire
  yield event({
    type: 'message_delta',
    delta: { stop_reason, stop_sequence: null },
    usage: { output_tokens, output_tokens_details },
    ...(answer.turn.more?.['context_management'] ? { context_management: answer.turn.more['context_management'] } : {}),
  })
  yield event({ type: 'message_stop' })
}

function anthropicDeltas(block: Wire, answer: Answer): { empty: Wire; deltas: Wire[] } {
  if (block.type === 'text') {
    const deltas = pieces(String(block.text)).map(text => ({ type: 'text_delta', text }))
    return { empty: { ...block, text: '' }, deltas }
  }
  if (block.type === 'redacted_thinking') return { empty: block, deltas: [] }
  if (block.type === 'thinking') {
    const deltas = pieces(String(block.thinking)).map(thinking => ({ type: 'thinking_delta', thinking }))
    const signature = { type: 'signature_delta', signature: block.signature }
    return { empty: { ...block, thinking: '', signature: '' }, deltas: [...deltas, signature] }
  }
  const spelled = callsOf(answer).find(({ id }) => id === block.id)?.text ?? '{}'
  const deltas = pieces(spelled).map(partial_json => ({ type: 'input_json_delta', partial_json }))
  return { empty: { ...block, input: {} }, deltas }
}

function chatCompletion(answer: Answer): Wire {
  const { turn, index, model } = answer
  const calls = callsOf(answer).map(({ id, name, text }) => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  }))
  const message = {
    role: 'assistant',
    content: turn.text ?? null,
    refusal: null,
    ...(turn.thinking && { reasoning_content: thoughtsOf(turn)[0]?.text }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
  const finish_reason = calls.length > 0 ? 'tool_calls' : 'stop'
  const choices = [{ index: 0, message, logprobs: null, finish_reason }]
  return { id: `chatcmpl_${index}`, object: 'chat.completion', created: 1, model, choices, usage: chatUsage(turn) }
}

function chatUsage({ usage = {} }: Turn): Wire {
  const { total, read, output, written } = openaiUsage(usage)
  return {
    prompt_tokens: total,
    completion_tokens: output,
    total_tokens: total + output,
    prompt_tokens_details: read,
    completion_tokens_details: written,
  }
}

/** OpenAI counts reads and writes within the input; writes are listed only if there are any. */
function openaiUsage(usage: NonNullable<Turn['usage']>) {
  const { input = 10, cacheRead = 0, cacheWrite = 0, cacheWriteLong = 0, output = 5, reasoning = 0 } = usage
  const lifetimes = { ttl_30m_tokens: cacheWrite - cacheWriteLong, ttl_12h_tokens: cacheWriteLong }
  const writes = { cache_write_tokens: cacheWrite, cache_write_tokens_details: lifetimes }
  return {
    total: input + cacheRead + cacheWrite,
    read: { cached_tokens: cacheRead, ...(cacheWrite > 0 ? writes : {}) },
    output,
    written: { reasoning_tokens: reasoning },
  }
}

function* chatEvents(answer: Answer): Generator<SseEvent> {
  const { turn, index, model, request } = answer
  const base = { id: `chatcmpl_${index}`, object: 'chat.completion.chunk', created: 1, model }
  const chunk = (delta: Wire, finish_reason: string | null = null) => ({
    data: { ...base, choices: [{ index: 0, delta, logprobs: null, finish_reason }] },
  })
  yield chunk({ role: 'assistant', content: turn.text === undefined ? null : '' })
  for (const piece of pieces(thoughtsOf(turn)[0]?.text ?? '')) yield chunk({ reasoning_content: piece })
  for (const content of pieces(turn.text ?? '')) yield chunk({ content })
  for (const [at, { id, name, text }] of callsOf(answer).entries()) {
    yield chunk({ tool_calls: [{ index: at, id, type: 'function', function: { name, arguments: '' } }] })
    for (const piece of pieces(text)) yield chunk({ tool_calls: [{ index: at, function: { arguments: piece } }] })
  }
  yield chunk({}, turn.calls ? 'tool_calls' : 'stop')
  if (request.stream_options?.include_usage) yield { data: { ...base, choices: [], usage: chatUsage(turn) } }
  yield { data: '[DONE]' }
}

function responseItems(answer: Answer): Wire[] {
  const { turn, index } = answer
  const { text } = turn
  const [thinking] = thoughtsOf(turn)
  const reasoning = {
    id: `rs_${index}`,
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: thinking?.text }],
    encrypted_content: thinking?.signature,
  }
  const message = {
    id: `msg_${index}`,
    type: 'message',
    status: 'completed',
    content: [{ type: 'output_text', annotations: [], logprobs: [], text }],
    role: 'assistant',
  }
  const calls = callsOf(answer).map(({ id, name, text: spelled, input, custom }) =>
    custom
      ? {
          id: `ctc_${id}`,
          type: 'custom_tool_call',
          status: 'completed',
          call_id: id,
          name,
          ...custom,
          input,
        }
      : {
          id: `fc_${id}`,
          type: 'function_call',
          status: 'completed',
          arguments: spelled,
          call_id: id,
          name,
        },
  )
  return [...(thinking ? [reasoning] : []), ...(text === undefined ? [] : [message]), ...calls]
}

function responseObject(answer: Answer): Wire {
  const { total, read, output, written } = openaiUsage(answer.turn.usage ?? {})
  return {
    id: `resp_${answer.index}`,
    object: 'response',
    created_at: 1,
    status: 'completed',
    error: null,
    incomplete_details: null,
    instructions: null,
    model: answer.model,
    output: responseItems(answer),
    parallel_tool_calls: true,
    tools: [],
    usage: {
      input_tokens: total,
      input_tokens_details: read,
      output_tokens: output,
      output_tokens_details: written,
      total_tokens: total + output,
    },
    ...answer.turn.more,
  }
}

function* responseEvents(answer: Answer): Generator<SseEvent> {
  const response = responseObject(answer)
  let sequence_number = 0
  const event = (type: string, data: Wire) => ({
    event: type,
    data: { type, sequence_number: sequence_number++, ...data },
  })
  yield event('response.created', { response: { ...response, status: 'in_progress', output: [], usage: null } })
  for (const [output_index, item] of responseItems(answer).entries()) {
    const place = { item_id: item.id, output_index }
    yield event('response.output_item.added', { output_index, item: emptyItem(item) })
    for (const [type, data] of itemEvents(item)) yield event(`response.${type}`, { ...place, ...data })
    yield event('response.output_item.done', { output_index, item })
  }
  yield event('response.completed', { response })
}

function emptyItem(item: Wire): Wire {
  if (item.type === 'message') return { ...item, status: 'in_progress', content: [] }
  if (item.type === 'reasoning') return { ...item, summary: [], encrypted_content: '' }
  return { ...item, status: 'in_progress', ...(item.type === 'function_call' ? { arguments: '' } : { input: '' }) }
}

function* itemEvents(item: Wire): Generator<[string, Wire]> {
  if (item.type === 'function_call') {
    for (const delta of pieces(String(item.arguments))) yield ['function_call_arguments.delta', { delta }]
    yield ['function_call_arguments.done', { name: item.name, arguments: item.arguments }]
    return
  }
  if (item.type === 'custom_tool_call') {
    for (const delta of pieces(String(item.input))) yield ['custom_tool_call_input.delta', { delta }]
    yield ['custom_tool_call_input.done', { input: item.input }]
    return
  }
  const summary = item.type === 'reasoning'
  const [part] = (summary ? item.summary : item.content) as [Wire]
  const at = summary ? { summary_index: 0 } : { content_index: 0 }
  const name = summary ? 'reasoning_summary_part' : 'content_part'
  const text = summary ? 'reasoning_summary_text' : 'output_text'
  yield [`${name}.added`, { ...at, part: { ...part, text: '' } }]
  for (const delta of pieces(String(part.text))) yield [`${text}.delta`, { ...at, delta, logprobs: [] }]
  yield [`${text}.done`, { ...at, text: part.text, logprobs: [] }]
  yield [`${name}.done`, { ...at, part }]
}
