/**
 * What the proxy must know of a provider's API: where a request has its conversation, how an answer reports its usage
 * and its calls, and how the provider reports an error.
 *
 * A new dialect is one file that gives such an object, a line in proxy.ts, and cases in test/doors/proxy/loops.ts and
 * edits.test.ts.
 */

import type { Wire } from '../../formats/adapters/original.ts'
import { isRecord } from '../../model/json.ts'
import type { Message, ServerEdit, Usage } from '../../model/types.ts'
import { tokensIn } from '../../providers/reported.ts'
import type { Tool } from '../../tools/tool.ts'
import type { UpstreamName } from './upstream.ts'

/** A tool call as the model makes it; the arguments are JSON text, or an object if they came in one piece. */
export type CallMade = { id: string; name: string; input: unknown }

/** The parts of an answer that have arrived so far. */
export type Answer = {
  calls: CallMade[]
  text: string
  usage: Usage
  /** The provider's own reason for a cache miss, if it was asked for one. */
  diagnosis?: string
  /** Edits of the history that the server made by itself. */
  serverEdits: ServerEdit[]
  /** Blocks of reasoning that the server says it left out. */
  dropped: number
  /**
   * Whether the output counted so far is that of the beginning: the provider reports the rest at the end of the stream.
   */
  isPartial?: boolean
  /** The provider's error, if one came in the middle of a stream. */
  error?: string
}

/** What to do with a request that cannot be edited: pass it on, or answer it. */
export type Untouchable = 'pass' | { status: number; body: Wire }

/**
 * What happens to an event: it is passed on, it waits for the next one, or these events replace it and all waiting
 * ones.
 */
export type Step = 'pass' | 'hold' | readonly Wire[]

/** Adds a line below the text of an answer that ends a turn (notices.ts). Other answers pass unchanged. */
export type Below = {
  /** Whether the request asks for an answer that a program reads. */
  isData(request: Wire): boolean
  /** Handles the events of one stream. */
  stream(line: string): (data: Wire) => Step
  whole(answer: Wire, line: string): Wire | undefined
}

export type ProxyDialect = {
  name: 'anthropic' | 'openai-chat' | 'openai-responses' | 'gemini'
  /** The upstream that speaks this dialect. */
  upstream: UpstreamName
  /** The paths of generation requests. */
  path: RegExp
  /** The path of requests that only count tokens. They get the same body as the generation request they ask about. */
  counts?: RegExp
  /**
   * For counting requests with a separate form: the generation request in them, and the counting request for another
   * one.
   */
  counted?: { in(count: Wire): Wire; as(count: Wire, request: Wire): Wire }
  /** The path of requests that ask the server to compact a conversation. */
  compacts?: RegExp
  /** The model that a path names, if the body does not. */
  modelIn?(path: string): string | undefined
  /** The list in a request that holds the conversation. */
  list: string
  /** Whether messages can be read only together with all that came before them. */
  readsWhole?: true
  /** The conversation that a request carries; undefined if it carries none. */
  read(body: Wire): Message[] | undefined
  /** The request with these messages in place of its own. */
  write(body: Wire, messages: readonly Message[]): Wire
  /** The request with an instruction to the server to clear the results of these calls, which are the oldest. */
  clear?(body: Wire, calls: readonly string[]): Wire
  /** The request with a text after its system prompt. */
  addSystem(body: Wire, text: string): Wire
  defineTool(tool: Tool<never>): Wire
  /** Adds to a request's tools, for dialects in which appending to the list would not do. */
  addTools?(tools: readonly unknown[], more: readonly Wire[]): unknown[]
  /** For a request that holds only a part of its conversation, or must not be changed for another reason. */
  untouchable(body: Wire): Untouchable | undefined
  /** The request without any reasoning in its history, for providers that may refuse reasoning after a change. */
  withoutReasoning?(body: Wire): Wire
  /** Processes one event of a stream. */
  event(answer: Answer, data: Wire): void
  /** Processes an answer that came in one piece. */
  whole(answer: Answer, body: Wire): void
  /** Whether a stream may still turn out to be an error after this event: then it is not passed on yet. */
  isOpening(data: Wire): boolean
  below: Below
  /** An error of the proxy itself, in the provider's shape. */
  error(status: number, message: string): Wire
}

export function emptyAnswer(): Answer {
  return { calls: [], text: '', usage: {}, serverEdits: [], dropped: 0 }
}

export function addArguments(call: CallMade | undefined, piece: unknown): void {
  if (call && typeof piece === 'string') call.input = (typeof call.input === 'string' ? call.input : '') + piece
}

/** Messages of providers, and of servers that imitate them, that a request does not fit the window. */
const OVERFLOW =
  /prompt is too long|context_length_exceeded|context length|context window|maximum context|input length and `?max_tokens`? exceed|too many tokens|request_too_large|exceeds? the (?:model'?s )?(?:maximum|limit).{0,40}tokens/i

export function isOverflow(status: number, text: string): boolean {
  return (status === 400 || status === 413 || status === 422) && OVERFLOW.test(text)
}

export function isOverflowText(text: string): boolean {
  return OVERFLOW.test(text)
}

/**
 * Anthropic's messages that reasoning does not fit the text before it, was changed, or cannot be read. There is no code
 * for it. The same body can never succeed; one without the reasoning can.
 */
const REASONING_REFUSED =
  /Invalid `?signature`? in `?thinking`? block|bound to a different conversation|`?thinking`? or `?redacted_thinking`? blocks in the latest assistant message cannot be modified/

export function refusesReasoning(status: number, text: string): boolean {
  return status === 400 && REASONING_REFUSED.test(text)
}

/** Messages of Anthropic, and of servers that imitate it, that they do not edit the history as asked. */
const CLEARING_REFUSED = /context_management|clear_tool_uses|context-management-/

export function refusesClearing(status: number, text: string): boolean {
  return status === 400 && CLEARING_REFUSED.test(text)
}

export function numberAt(value: Wire, key: string): number | undefined {
  return tokensIn(value[key])
}

/** Keeps a count above zero: absent and zero mean the same. */
export function takeCount(
  usage: Usage,
  key: 'cacheWrite' | 'cacheWriteLong' | 'reasoning' | 'searches',
  count?: number,
): void {
  if (count) usage[key] = count
}

/** OpenAI's total includes the tokens read from the cache and those written to it. */
export function takeOpenAIUsage(usage: Usage, input: unknown, output: unknown, total: number | undefined): void {
  const reads = isRecord(input) ? input : {}
  const cacheRead = Math.min(numberAt(reads, 'cached_tokens') ?? 0, total ?? 0)
  const written = Math.min(numberAt(reads, 'cache_write_tokens') ?? 0, (total ?? 0) - cacheRead)
  if (total !== undefined) Object.assign(usage, { input: total - cacheRead - written, cacheRead })
  takeCount(usage, 'cacheWrite', written)
  const lifetimes = reads['cache_write_tokens_details']
  if (isRecord(lifetimes)) takeCount(usage, 'cacheWriteLong', numberAt(lifetimes, 'ttl_12h_tokens'))
  if (isRecord(output)) takeCount(usage, 'reasoning', numberAt(output, 'reasoning_tokens'))
}

/** A list of objects with its last element changed. */
export function withLast(list: readonly unknown[], change: (last: Wire) => Wire): unknown[] {
  const last = list.at(-1)
  return isRecord(last) ? list.with(-1, change(last)) : [...list]
}

/** A part, block or item with a line below its text. */
export function withLine(part: Wire, line: string): Wire {
  return { ...part, text: String(part['text']) + line }
}

export function hasText(part: unknown): part is Wire {
  return isRecord(part) && typeof part['text'] === 'string' && part['text'].trim() !== ''
}

/** The list under a key; empty if there is none. */
export function listIn(holder: Wire, key: string): unknown[] {
  const list = holder[key]
  return Array.isArray(list) ? list : []
}
