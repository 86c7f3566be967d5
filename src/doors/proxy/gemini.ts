/**
 * Gemini's `generateContent` for the proxy, streamed or not, at the Gemini API and under the longer paths of Vertex AI.
 * The model is in the path. Calls may have no ids, so a conversation is recognized by its beginning and read as a
 * whole. With `cachedContent` the server has the earlier messages: such a request is passed on unchanged.
 */

import { fromGemini, toGemini } from '../../formats/adapters/gemini.ts'
import type { Wire, Written } from '../../formats/adapters/original.ts'
import { isRecord } from '../../model/json.ts'
import type { Message } from '../../model/types.ts'
import { type Tool, toJsonSchema } from '../../tools/tool.ts'
import {
  type Answer,
  hasText,
  numberAt,
  type ProxyDialect,
  type Step,
  takeCount,
  withLast,
  withLine,
} from './dialect.ts'

const PATH =
  /^\/v\d+(?:(?:alpha|beta)\d*)?\/(?:projects\/.+\/)?(?:models|tunedModels|endpoints)\/[^/:]+:(?:generateContent|streamGenerateContent)$/
const COUNTS = /^\/v\d+(?:(?:alpha|beta)\d*)?\/(?:projects\/.+\/)?(?:models|tunedModels|endpoints)\/[^/:]+:countTokens$/

export const gemini: ProxyDialect = {
  name: 'gemini',
  upstream: 'gemini',
  path: PATH,
  counts: COUNTS,
  counted: { in: requestCounted, as: countOf },
  modelIn: path => /\/([^/:]+):[^/:]+$/.exec(path)?.[1],
  list: 'contents',
  readsWhole: true,
  read,
  write,
  addSystem,
  defineTool,
  addTools,
  untouchable: body => (body['cachedContent'] || body['cached_content'] ? 'pass' : undefined),
  event,
  whole: event,
  isOpening: () => false,
  below: {
    isData: asksForData,
    stream: belowStream,
    whole: (answer, line) => {
      const step = belowStream(line)(answer)
      return typeof step === 'string' ? undefined : step[0]
    },
  },
  error: errorBody,
}

const REQUEST = ['generateContentRequest', 'generate_content_request']

/** The Gemini API counts a request under a separate key, or contents alone; Vertex AI counts an unchanged request. */
function requestCounted(count: Wire): Wire {
  return REQUEST.map(key => count[key]).find(isRecord) ?? count
}

/** Nothing is added to contents alone: the Gemini API refuses it, and the client asked only about the contents. */
function countOf(count: Wire, request: Wire): Wire {
  const key = REQUEST.find(name => isRecord(count[name]))
  if (key !== undefined) return { ...count, [key]: request }
  const isAlone = count[systemKey(count)] === undefined && count['tools'] === undefined
  return isAlone ? { ...count, contents: request['contents'] } : request
}

/** The JSON form of protocol buffers allows both spellings. */
function systemKey(body: Wire): string {
  return 'system_instruction' in body ? 'system_instruction' : 'systemInstruction'
}

function read(body: Wire): Message[] | undefined {
  const { contents } = body
  return Array.isArray(contents) ? fromGemini(contents, body[systemKey(body)]) : undefined
}

const known: Written<Wire> = new WeakMap()

function write(body: Wire, messages: readonly Message[]): Wire {
  const { systemInstruction, contents } = toGemini(messages, { written: known })
  const key = systemKey(body)
  const out: Wire = { ...body, contents }
  if (systemInstruction === undefined) delete out[key]
  else out[key] = systemInstruction
  return out
}

function addSystem(body: Wire, text: string): Wire {
  const key = systemKey(body)
  const before = body[key]
  const part = { text }
  if (typeof before === 'string') return { ...body, [key]: { parts: [{ text: before }, part] } }
  const { parts } = isRecord(before) ? before : {}
  return {
    ...body,
    [key]: { ...(isRecord(before) ? before : {}), parts: [...(Array.isArray(parts) ? parts : []), part] },
  }
}

function defineTool(tool: Tool<never>): Wire {
  return { name: tool.name, description: tool.description, parametersJsonSchema: toJsonSchema(tool) }
}

const DECLARATIONS = ['functionDeclarations', 'function_declarations']

/** Adds to the client's list of functions: not every server accepts a second list. */
function addTools(tools: readonly unknown[], more: readonly Wire[]): unknown[] {
  for (const key of DECLARATIONS) {
    const at = tools.findIndex(tool => isRecord(tool) && Array.isArray(tool[key]))
    const tool = tools[at]
    if (isRecord(tool)) return tools.with(at, { ...tool, [key]: [...(tool[key] as unknown[]), ...more] })
  }
  return [...tools]
}

/** Pieces of a stream and whole answers have the same shape. */
function event(answer: Answer, data: Wire): void {
  const { candidates, usageMetadata, modelVersion, error } = data
  if (typeof modelVersion === 'string') answer.usage.model = modelVersion
  if (isRecord(usageMetadata)) takeUsage(answer, usageMetadata)
  if (isRecord(error)) answer.error = JSON.stringify(error)
  const first: unknown = Array.isArray(candidates) ? candidates[0] : undefined
  const content = isRecord(first) ? first['content'] : undefined
  const parts = isRecord(content) ? content['parts'] : undefined
  if (!Array.isArray(parts)) return
  for (const part of parts) if (isRecord(part) && part['thought'] !== true) takePart(answer, part)
}

/** A call without an id cannot identify its conversation: its place is known only when the client sends it back. */
function takePart(answer: Answer, { text, functionCall: call }: Wire): void {
  if (typeof text === 'string') answer.text += text
  if (!isRecord(call) || typeof call['id'] !== 'string' || call['id'] === '') return
  answer.calls.push({ id: call['id'], name: String(call['name']), input: call['args'] })
}

/**
 * The prompt's tokens include the cached ones, but not those of the provider's own tools; the answer's do not include
 * those of thoughts.
 */
function takeUsage(answer: Answer, usage: Wire): void {
  const total = numberAt(usage, 'promptTokenCount')
  const cacheRead = Math.min(numberAt(usage, 'cachedContentTokenCount') ?? 0, total ?? 0)
  const byTools = numberAt(usage, 'toolUsePromptTokenCount') ?? 0
  if (total !== undefined) Object.assign(answer.usage, { input: total + byTools - cacheRead, cacheRead })
  const said = numberAt(usage, 'candidatesTokenCount')
  const thought = numberAt(usage, 'thoughtsTokenCount')
  if (said !== undefined || thought !== undefined) answer.usage.output = (said ?? 0) + (thought ?? 0)
  takeCount(answer.usage, 'reasoning', thought)
}

const STATUS: Record<number, string> = { 400: 'INVALID_ARGUMENT', 401: 'UNAUTHENTICATED', 426: 'FAILED_PRECONDITION' }

function errorBody(code: number, message: string): Wire {
  return { error: { code, message, status: STATUS[code] ?? (code < 500 ? 'INVALID_ARGUMENT' : 'UNAVAILABLE') } }
}

function asksForData(body: Wire): boolean {
  const config = body['generationConfig'] ?? body['generation_config']
  if (!isRecord(config)) return false
  const type = config['responseMimeType'] ?? config['response_mime_type'] ?? 'text/plain'
  return type !== 'text/plain' || (typeof config['candidateCount'] === 'number' && config['candidateCount'] > 1)
}

/** The last piece of a stream may have text, only a signature, or nothing; a whole answer is a stream of one piece. */
function belowStream(line: string): (data: Wire) => Step {
  let isText = false
  let calls = false
  return data => {
    const candidate: unknown = Array.isArray(data['candidates']) ? data['candidates'][0] : undefined
    if (!isRecord(candidate)) return 'pass'
    const content = isRecord(candidate['content']) ? candidate['content'] : { role: 'model' }
    const parts: unknown[] = Array.isArray(content['parts']) ? content['parts'] : []
    calls ||= parts.some(part => isRecord(part) && isRecord(part['functionCall']))
    isText ||= parts.some(part => hasText(part) && part['thought'] !== true)
    if (candidate['finishReason'] !== 'STOP' || calls || !isText) return 'pass'
    const last = parts.at(-1)
    const joins = hasText(last) && last['thought'] !== true
    const told = joins ? withLast(parts, part => withLine(part, line)) : [...parts, { text: line }]
    return [{ ...data, candidates: [{ ...candidate, content: { ...content, parts: told } }] }]
  }
}
