/**
 * A Gemini for tests: a real HTTP server on a loopback port that answers `generateContent` from the same scripts as
 * upstream.ts, whole, as server-sent events or as a list that grows, and remembers every request byte for byte.
 *
 * It refuses what Gemini refuses: contents without parts, parts without data, calls that do not follow a user, a wrong
 * number of responses, and a call of the running turn whose signature is missing or belongs to another call.
 */
import { createHash } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import {
  listening,
  type Received,
  receive,
  type Script,
  type Turn,
  thoughtsOf,
  type Upstream,
  writeUntil,
} from './upstream.ts'

export type GeminiOptions = {
  /** Whether calls have ids. */
  ids?: boolean
  /** Whether no request is kept, for runs of thousands. */
  forgets?: boolean
  /** Gets the requests for token counts, which are no turns of the script. */
  counted?: Received[]
}

export async function startGemini(
  script: Script,
  { ids = false, forgets = false, counted }: GeminiOptions = {},
): Promise<Upstream> {
  const requests: Received[] = []
  let asked = 0
  const server = createServer(async (request, response) => {
    const received = await receive(request)
    const { pathname, searchParams } = new URL(received.path, 'http://x')
    const [, model = '', method = ''] = /\/models\/([^/:]+):(\w+)$/.exec(pathname) ?? []
    if (method === 'countTokens') {
      const complaint = pathname.includes('/publishers/') ? undefined : countComplaint(received.json)
      if (complaint) return fail(response, 400, complaint)
      counted?.push(received)
      return send(response, 200, { totalTokens: Math.ceil(received.body.length / 4) })
    }
    if (!/^(?:stream)?generateContent$/i.test(method)) return fail(response, 404, `no ${pathname} here`)
    const index = asked++
    if (!forgets) requests.push(received)
    const complaint = complaintAbout(received.json.contents)
    if (complaint) return fail(response, 400, complaint)
    const turn = typeof script === 'function' ? script(received, index) : script[index]
    if (!turn) return fail(response, 500, `the script has no turn ${index}`)
    if (turn.error) return send(response, turn.error.status, turn.error.body, turn.error.headers)
    const streams = method !== 'generateContent'
    const parts = partsOf(turn, ids ? `call_${index}` : undefined, streams)
    if (!streams) return send(response, 200, answerOf(turn, model, parts, true))
    const pieces = parts.map((part, at) => answerOf(turn, model, [part], at === parts.length - 1))
    if (searchParams.get('alt') === 'sse') return streamEvents(response, pieces, turn)
    response.writeHead(200, { 'content-type': 'application/json; charset=UTF-8' })
    for (const [at, piece] of pieces.entries()) response.write(`${at === 0 ? '[' : ',\n'}${JSON.stringify(piece)}`)
    response.end(']\n')
  })
  return listening(server, requests)
}

type Wire = Record<string, unknown>
type FunctionCall = { id?: string; name: string; args: unknown }
export type GeminiPart = {
  text?: string
  thought?: boolean
  thoughtSignature?: string
  functionCall?: FunctionCall
  functionResponse?: { id?: string; name: string; response: Wire }
}
export type Content = { role?: string; parts?: GeminiPart[] }

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=UTF-8', ...headers })
  response.end(JSON.stringify(body, null, 2))
}

function fail(response: ServerResponse, code: number, message: string): void {
  send(response, code, { error: { code, message, status: code === 400 ? 'INVALID_ARGUMENT' : 'NOT_FOUND' } })
}

function streamEvents(response: ServerResponse, pieces: readonly Wire[], turn: Turn): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const events = pieces.map(piece => `data: ${JSON.stringify(piece)}\r\n\r\n`)
  writeUntil(response, events, turn)
}

/** Thoughts, text (streamed in two pieces), then the calls; the first call, or else the last text, is signed. */
function partsOf(turn: Turn, id: string | undefined, streams: boolean): GeminiPart[] {
  const { text, calls = [] } = turn
  const [thinking] = thoughtsOf(turn)
  const parts: GeminiPart[] = thinking ? [{ text: thinking.text, thought: true }] : []
  const middle = streams ? Math.ceil((text ?? '').length / 2) : 0
  const said = text === undefined ? [] : [text.slice(0, middle), text.slice(middle)].filter(piece => piece !== '')
  parts.push(...said.map(piece => ({ text: piece })))
  for (const [at, { id: own, name, input }] of calls.entries()) {
    const given = own ?? (id === undefined ? undefined : `${id}_${at}`)
    const functionCall = { ...(given === undefined ? {} : { id: given }), name, args: input }
    parts.push(at === 0 ? { functionCall, thoughtSignature: signatureOf(functionCall) } : { functionCall })
  }
  const last = parts.at(-1)
  if (calls.length === 0 && last) last.thoughtSignature = signatureOf({ name: 'said', args: last.text })
  return parts
}

/** The content of a signature, so that one on another call, or on a changed one, is detected. */
function signatureOf({ name, args }: FunctionCall): string {
  return createHash('sha256')
    .update(JSON.stringify([name, args]))
    .digest('base64')
}

function answerOf({ usage = {}, calls }: Turn, model: string, parts: GeminiPart[], isLast: boolean): Wire {
  const { input = 10, cacheRead = 0, output = 5 } = usage
  const usageMetadata = {
    promptTokenCount: input + cacheRead,
    ...(cacheRead > 0 ? { cachedContentTokenCount: cacheRead } : {}),
    ...(isLast ? { candidatesTokenCount: output - 2, thoughtsTokenCount: 2 } : {}),
    totalTokenCount: input + cacheRead + (isLast ? output : 0),
  }
  const content = { parts, role: 'model' }
  const candidates = [{ content, ...(isLast ? { finishReason: 'STOP' } : {}), index: 0 }]
  return { candidates, usageMetadata, modelVersion: model, responseId: `resp_${calls?.length ?? 0}` }
}

/** The Gemini API counts contents or a whole request, and accepts no other field (Vertex AI does). */
function countComplaint(count: Wire): string | undefined {
  const other = Object.keys(count).find(key => key !== 'contents' && key !== 'generateContentRequest')
  if (other !== undefined) return `Invalid JSON payload received. Unknown name "${other}": Cannot find field.`
  return Object.keys(count).length === 1 ? undefined : 'Only one of contents and generate_content_request can be set.'
}

/** Gemini's error for contents that it refuses. */
export function complaintAbout(contents: readonly Content[] | undefined): string | undefined {
  if (!contents || contents.length === 0) return '* GenerateContentRequest.contents: contents is not specified'
  for (const [at, { parts = [] }] of contents.entries()) {
    const place = `* GenerateContentRequest.contents[${at}].parts`
    if (parts.length === 0) return `${place}: contents.parts must not be empty.`
    const empty = parts.findIndex(part => !DATA.some(key => key in part))
    if (empty >= 0) return `${place}[${empty}].data: required oneof field 'data' must have one initialized field`
  }
  const turns = turnsOf(contents)
  return turnComplaint(turns) ?? signatureComplaint(turns)
}

/** Consecutive contents of the model are one turn: Google's SDK sends one for every piece of a stream. */
function turnsOf(contents: readonly Content[]): Content[] {
  const turns: Content[] = []
  for (const { role, parts = [] } of contents) {
    const last = turns.at(-1)
    if (role === 'model' && last?.role === 'model') last.parts = [...(last.parts ?? []), ...parts]
    else turns.push({ ...(role === undefined ? {} : { role }), parts })
  }
  return turns
}

const DATA = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse', 'executableCode']

function turnComplaint(contents: readonly Content[]): string | undefined {
  for (const [at, content] of contents.entries()) {
    const before = contents[at - 1]
    const calls = callsIn(content).length
    if (calls > 0 && (!before || before.role === 'model')) {
      return 'Please ensure that function call turn comes immediately after a user turn or after a function response turn.'
    }
    const responses = (content.parts ?? []).filter(part => part.functionResponse).length
    if (responses > 0 && (!before || callsIn(before).length === 0)) {
      return 'Please ensure that function response turn comes immediately after a function call turn.'
    }
    if (before && callsIn(before).length > 0 && callsIn(before).length !== responses) {
      return 'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.'
    }
  }
  return undefined
}

function signatureComplaint(contents: readonly Content[]): string | undefined {
  const running = contents.findLastIndex(
    ({ role, parts = [] }) => role !== 'model' && parts.some(part => part.text !== undefined),
  )
  for (const [at, content] of contents.entries()) {
    const [first] = callsIn(content)
    if (first && at > running && first.thoughtSignature === undefined) {
      return `Function call is missing a thought_signature in functionCall parts. Position ${at}.`
    }
    for (const { functionCall, thoughtSignature } of callsIn(content)) {
      if (thoughtSignature !== undefined && thoughtSignature !== signatureOf(functionCall!)) {
        return 'Corrupted thought signature.'
      }
    }
  }
  return undefined
}

function callsIn({ parts = [] }: Content): GeminiPart[] {
  return parts.filter(part => part.functionCall)
}
