/**
 * The Anthropic Messages API for the proxy. The server would store message threads, so the proxy refuses them, and the
 * SDK sends the whole history instead. A request with a checksum of itself is passed on unchanged.
 */

import {
  type AnthropicMessage,
  type AnthropicSystem,
  fromAnthropic,
  toAnthropic,
} from '../../formats/adapters/anthropic.ts'
import type { Wire, Written } from '../../formats/adapters/original.ts'
import { isRecord } from '../../model/json.ts'
import type { Message, ServerEdit } from '../../model/types.ts'
import { takeTier } from '../../providers/pricing.ts'
import { takeIterations } from '../../providers/reported.ts'
import { toAnthropicTools } from '../../tools/tool.ts'
import { withMarks } from './cache-marks.ts'
import {
  type Answer,
  addArguments,
  emptyAnswer,
  hasText,
  numberAt,
  type ProxyDialect,
  type Step,
  takeCount,
  type Untouchable,
  withLast,
  withLine,
} from './dialect.ts'

export const anthropic: ProxyDialect = {
  name: 'anthropic',
  upstream: 'anthropic',
  // Vertex names the model in the path.
  path: /^\/v1\/(?:messages|projects\/[^/]+\/locations\/[^/]+\/publishers\/anthropic\/models\/(?!count-tokens:)[^/:]+:(?:rawPredict|streamRawPredict))$/,
  modelIn: path => /\/models\/(?!count-tokens:)([^/:]+):\w+$/.exec(path)?.[1]?.replace('%40', '@'),
  counts:
    /^\/v1\/(?:messages\/count_tokens|projects\/[^/]+\/locations\/[^/]+\/publishers\/anthropic\/models\/count-tokens:rawPredict)$/,
  list: 'messages',
  read,
  write,
  clear,
  addSystem,
  defineTool: tool => ({ ...toAnthropicTools([tool])[0] }),
  untouchable,
  withoutReasoning,
  event,
  whole,
  isOpening: () => false,
  below: {
    isData: ({ output_format: old, output_config: config }) =>
      isRecord(old) || (isRecord(config) && isRecord(config['format'])),
    stream: belowStream,
    whole: belowWhole,
  },
  error: (status, message) => errorBody(status, message),
}

function read({ messages, system }: Wire): Message[] | undefined {
  if (!Array.isArray(messages)) return undefined
  return fromAnthropic(messages, system as AnthropicSystem | undefined)
}

const known: Written<AnthropicMessage> = new WeakMap()

function write(body: Wire, messages: readonly Message[]): Wire {
  const { system, messages: written } = toAnthropic(messages, { written: known })
  const marked = withMarks(body['messages'] as AnthropicMessage[], written)
  const out: Wire = { ...body, messages: marked }
  if (system === undefined) delete out['system']
  else out['system'] = system
  return out
}

/**
 * The server always clears the oldest results, so it is told how many to keep in total. This replaces the client's own
 * setting.
 */
function clear(body: Wire, calls: readonly string[]): Wire {
  const uses = usesIn(body['messages'])
  const wanted = new Set(calls)
  const kept = uses.findIndex(id => !wanted.has(id))
  const edits = serverEditsIn(body)
  const own = edits.find(isClearing)
  const others = edits.filter(edit => edit !== own)
  if (kept <= 0) return own ? withServerEdits(body, others) : body
  const { clear_at_least: _, ...asked } = own ?? ({ type: CLEAR_TOOL_USES } as Wire)
  const keep = { type: 'tool_uses', value: uses.length - kept }
  return withServerEdits(body, [...others, { ...asked, trigger: { type: 'tool_uses', value: 1 }, keep }])
}

function withServerEdits(body: Wire, edits: readonly unknown[]): Wire {
  const { context_management: managed, ...rest } = body
  return edits.length === 0 ? rest : { ...body, context_management: { ...(isRecord(managed) ? managed : {}), edits } }
}

/** The edits of the history that the client asks the server to make. */
function serverEditsIn({ context_management: managed }: Wire): unknown[] {
  return isRecord(managed) && Array.isArray(managed['edits']) ? managed['edits'] : []
}

function isClearing(edit: unknown): edit is Wire {
  return isRecord(edit) && edit['type'] === CLEAR_TOOL_USES
}

/** Whether the client asks the server to clear the oldest results, of all tools alike. */
export function clearsOldest(body: Wire): boolean {
  const own = serverEditsIn(body).find(isClearing)
  return own !== undefined && own['exclude_tools'] === undefined
}

export const CLEAR_TOOL_USES = 'clear_tool_uses_20250919'

function usesIn(messages: unknown): string[] {
  if (!Array.isArray(messages)) return []
  return messages.flatMap(message => {
    const content: unknown = isRecord(message) ? message['content'] : undefined
    if (!Array.isArray(content)) return []
    return content.flatMap(block => (isRecord(block) && block['type'] === 'tool_use' ? [String(block['id'])] : []))
  })
}

/** Adds a separate block, so that the client's blocks and their cache marks do not change. */
function addSystem(body: Wire, text: string): Wire {
  const { system } = body
  if (Array.isArray(system)) return { ...body, system: [...system, { type: 'text', text }] }
  return { ...body, system: typeof system === 'string' && system !== '' ? `${system}\n\n${text}` : text }
}

function untouchable(body: Wire): Untouchable | undefined {
  if (isSealed(body)) return 'pass'
  const { thread } = body
  if (!isRecord(thread)) return undefined
  const goesOn = thread['type'] === 'continue'
  const details = goesOn
    ? { error_code: 'thread_not_found' }
    : { error_code: 'thread_unsupported_request', unsupported: ['thread'] }
  const message = 'Message threads are not supported. Send the whole conversation.'
  const type = goesOn ? 'not_found_error' : 'invalid_request_error'
  return { status: goesOn ? 404 : 400, body: { type: 'error', error: { type, message, details } } }
}

/** Claude Code can put a checksum of the request into the request: then the request must not be changed. */
function isSealed({ system }: Wire): boolean {
  const first: unknown = Array.isArray(system) ? system[0] : undefined
  const text = isRecord(first) ? first['text'] : undefined
  return typeof text === 'string' && /^x-anthropic-billing-header:.*\bcch=/.test(text)
}

/** A message that is empty without its reasoning is left out: Anthropic joins the user's messages around it. */
function withoutReasoning(body: Wire): Wire {
  const messages: unknown[] = Array.isArray(body['messages']) ? body['messages'] : []
  const kept = messages.flatMap(message => {
    if (!isRecord(message) || !Array.isArray(message['content'])) return [message]
    const content = message['content'].filter(block => !isRecord(block) || !REASONING.has(String(block['type'])))
    return content.length > 0 ? [{ ...message, content }] : []
  })
  return { ...body, messages: kept }
}

const REASONING = new Set(['thinking', 'redacted_thinking'])

function event(answer: Answer, data: Wire): void {
  const { type, message, content_block: block, delta } = data
  if (type === 'message_start' && isRecord(message)) {
    takeUsage(answer, message)
    answer.isPartial = true
  }
  if (type === 'message_delta') {
    takeUsage(answer, data)
    answer.isPartial = false
  }
  if (type === 'content_block_start' && isRecord(block)) takeBlock(answer, block)
  if (type === 'content_block_delta' && isRecord(delta)) {
    if (typeof delta['text'] === 'string') answer.text += delta['text']
    addArguments(answer.calls.at(-1), delta['partial_json'])
    if (delta['type'] === 'compaction_delta') Object.assign(answer.serverEdits.at(-1) ?? {}, summaryIn(delta))
  }
  if (type === 'error') answer.error = JSON.stringify(data['error'])
}

function whole(answer: Answer, body: Wire): void {
  takeUsage(answer, body)
  if (!Array.isArray(body['content'])) return
  for (const block of body['content']) if (isRecord(block)) takeBlock(answer, block)
}

function takeBlock(answer: Answer, block: Wire): void {
  const { type, id, name, input } = block
  if (type === 'tool_use' && typeof id === 'string') answer.calls.push({ id, name: String(name), input })
  if (type === 'compaction') answer.serverEdits.push({ type, ...summaryIn(block) })
  if (block['type'] === 'text' && typeof block['text'] === 'string') answer.text += block['text']
}

function takeUsage(answer: Answer, data: Wire): void {
  const { usage, model } = data
  if (typeof model === 'string') answer.usage.model = model
  takeReports(answer, data)
  if (!isRecord(usage)) return
  answer.usage.input = numberAt(usage, 'input_tokens') ?? answer.usage.input
  answer.usage.cacheRead = numberAt(usage, 'cache_read_input_tokens') ?? answer.usage.cacheRead
  answer.usage.cacheWrite = numberAt(usage, 'cache_creation_input_tokens') ?? answer.usage.cacheWrite
  answer.usage.output = numberAt(usage, 'output_tokens') ?? answer.usage.output
  const {
    cache_creation: writes,
    output_tokens_details: details,
    service_tier: tier,
    speed,
    inference_geo: region,
    server_tool_use: tools,
  } = usage
  if (isRecord(writes)) takeCount(answer.usage, 'cacheWriteLong', numberAt(writes, 'ephemeral_1h_input_tokens'))
  if (isRecord(details)) takeCount(answer.usage, 'reasoning', numberAt(details, 'thinking_tokens'))
  if (isRecord(tools)) takeCount(answer.usage, 'searches', numberAt(tools, 'web_search_requests'))
  takeTier(answer.usage, tier, speed, region)
  if (usage['iterations'] !== undefined) takeIterations(answer.usage, usage['iterations'])
}

function summaryIn({ content }: Wire): { summary?: string } {
  return typeof content === 'string' && content !== '' ? { summary: content } : {}
}

/** Reads the edits of the history that the server reports, and its reason for a cache miss. */
function takeReports(answer: Answer, data: Wire): void {
  const { context_management: managed, input_transformations: transformed, diagnostics } = data
  const reason = isRecord(diagnostics) ? diagnostics['cache_miss_reason'] : undefined
  if (isRecord(reason)) answer.diagnosis = String(reason['type'])
  if (Array.isArray(transformed)) {
    answer.dropped = transformed.filter(one => isRecord(one) && one['type'] === 'thinking_dropped').length
  }
  const applied: unknown[] =
    isRecord(managed) && Array.isArray(managed['applied_edits']) ? managed['applied_edits'] : []
  for (const edit of applied) if (isRecord(edit)) answer.serverEdits.push(appliedEdit(edit))
}

function appliedEdit(edit: Wire): ServerEdit {
  const tokens = numberAt(edit, 'cleared_input_tokens')
  const toolUses = numberAt(edit, 'cleared_tool_uses')
  const thinkingTurns = numberAt(edit, 'cleared_thinking_turns')
  return {
    type: String(edit['type']),
    ...(tokens === undefined ? {} : { tokens }),
    ...(toolUses === undefined ? {} : { toolUses }),
    ...(thinkingTurns === undefined ? {} : { thinkingTurns }),
  }
}

function errorBody(status: number, message: string): Wire {
  const type = status === 401 ? 'authentication_error' : status < 500 ? 'invalid_request_error' : 'api_error'
  return { type: 'error', error: { type, message } }
}

/** A text block ends before the stream says whether the turn ends, so the end of the block is held until then. */
function belowStream(line: string): (data: Wire) => Step {
  const answer = emptyAnswer()
  let from = 0
  let held: Wire | undefined
  return data => {
    const { type } = data
    if (type === 'ping') return held ? 'hold' : 'pass'
    if (held && endsTurn(data)) {
      const { index } = held
      return [{ type: 'content_block_delta', index, delta: { type: 'text_delta', text: line } }, held, data]
    }
    if (type === 'content_block_start') from = answer.text.length
    event(answer, data)
    const isText = answer.text.slice(from).trim() !== ''
    held = type === 'content_block_stop' && isText && answer.calls.length === 0 ? data : undefined
    return held ? 'hold' : 'pass'
  }
}

function endsTurn({ type, delta }: Wire): boolean {
  return type === 'message_delta' && isRecord(delta) && delta['stop_reason'] === 'end_turn'
}

function belowWhole(answer: Wire, line: string): Wire | undefined {
  const { content, stop_reason: reason } = answer
  if (reason !== 'end_turn' || !Array.isArray(content) || !hasText(content.at(-1))) return undefined
  if (content.some(block => isRecord(block) && block['type'] === 'tool_use')) return undefined
  return { ...answer, content: withLast(content, block => withLine(block, line)) }
}
