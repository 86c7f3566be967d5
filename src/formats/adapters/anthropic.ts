/**
 * Anthropic Messages ↔ neutral messages.
 *
 * `toAnthropic(fromAnthropic(messages, system))` is the same JSON, byte for byte. The system prompt becomes a
 * leading system message; a user message with tool results becomes a `tool` message. Thinking keeps its
 * signature; server tools, documents and everything unknown are `raw`. From other dialects: reasoning is left
 * out, messages of one role in a row are joined, so that all results of a batch follow their calls.
 */

import { PalimpsestError } from '../../model/errors.ts'
import { isRecord } from '../../model/json.ts'
import type {
  ImagePart,
  Message,
  Part,
  ReasoningPart,
  Role,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../../model/types.ts'
import {
  ANY_IMAGE,
  type CallNames,
  type Codec,
  keep,
  objectInput,
  originalOf,
  outputParts,
  type PartWriters,
  rawPart,
  readContent,
  readText,
  sameJson,
  TAKEN,
  taken,
  UNKNOWN_TOOL,
  type Wire,
  type Written,
  wireMessages,
  writeContent,
  writePart,
  writtenOnce,
} from './original.ts'

const DIALECT = 'anthropic'

export type AnthropicMessage = { role: string; content: unknown }
export type AnthropicSystem = string | unknown[]
export type AnthropicPrompt<M = AnthropicMessage, S = AnthropicSystem> = { system?: S; messages: M[] }

export function fromAnthropic(messages: readonly AnthropicMessage[], system?: AnthropicSystem | null): Message[] {
  const names: CallNames = new Map()
  let before: unknown
  const read = wireMessages(messages, 'messages').map((wire, index) => {
    const message = readMessage(wire, index, names)
    const separate = wire.role === before || wire.role === 'system'
    before = wire.role
    return separate || !sameJson(writeMessage(message), wire) ? withEnvelope(message, wire) : message
  })
  return system === undefined || system === null ? read : [readSystem(system), ...read]
}

/** `M` and `S`: the types of a message and of the system prompt in the SDK that the prompt goes to. */
export function toAnthropic<M = AnthropicMessage, S = AnthropicSystem>(
  messages: readonly Message[],
  options: { written?: Written<AnthropicMessage> } = {},
): AnthropicPrompt<M, S> {
  return writePrompt(messages, options.written) as AnthropicPrompt<M, S>
}

function writePrompt(messages: readonly Message[], before?: Written<AnthropicMessage>): AnthropicPrompt {
  const leading = messages.findIndex(message => message.role !== 'system' || isInPlace(message))
  const count = leading < 0 ? messages.length : leading
  const system = writeSystem(messages.slice(0, count))
  const written: AnthropicMessage[] = []
  for (const message of messages.slice(count)) {
    const wire = writtenOnce(message, before, writeMessage)
    if (!wire) continue
    const last = written.at(-1)
    const joins = last?.role === wire.role && !originalOf(message, DIALECT)
    if (last && joins) written[written.length - 1] = join(last, wire)
    else written.push(wire)
  }
  return system === undefined ? { messages: written } : { system, messages: written }
}

function readMessage(wire: Wire, index: number, names: CallNames): Message {
  const role = roleOf(wire, index)
  const parts = readContent(wire.content, block => readBlock(block, role, names))
  return { role: parts.some(part => part.type === 'tool-result') ? 'tool' : role, parts }
}

function roleOf({ role }: Wire, index: number): Role {
  if (role === 'user' || role === 'assistant' || role === 'system') return role
  throw new PalimpsestError('INVALID_MESSAGE', `messages[${index}] has the role ${JSON.stringify(role)}.`, { index })
}

function withEnvelope(message: Message, wire: Wire): Message {
  return { ...message, original: { dialect: DIALECT, value: { ...wire, content: taken(wire.content) } } }
}

function readSystem(system: AnthropicSystem): Message {
  const message: Message = { role: 'system', parts: readContent(system, readPlain) }
  if (sameJson(writeSystem([message]), system)) return message
  return { ...message, original: { dialect: DIALECT, value: { system: taken(system) } } }
}

function readBlock(block: unknown, role: Role, names: CallNames): Part {
  if (!isRecord(block)) return rawPart(DIALECT, block)
  if (role === 'assistant' && block.type === 'tool_use') return readCall(block, names)
  if (role === 'assistant' && block.type === 'thinking') return readThinking(block)
  if (role === 'assistant' && block.type === 'redacted_thinking') return readRedacted(block)
  if (role === 'user' && block.type === 'tool_result') return readResult(block, names)
  return readPlain(block)
}

/** A block that may be in a message of the user, in a result and in the system prompt. */
function readPlain(block: unknown): Part {
  if (isRecord(block) && block.type === 'image' && isRecord(block.source)) return readImage(block, block.source)
  return readText(block, 'text', codec('user')) ?? rawPart(DIALECT, block)
}

function readImage(block: Wire, source: Wire): Part {
  const { type, media_type: mediaType, data, url } = source
  if (type === 'base64' && typeof data === 'string' && typeof mediaType === 'string') {
    const part: ImagePart = { type: 'image', mediaType, data }
    const value = { ...block, source: { ...source, data: TAKEN } }
    return keep(part, block, writeImage(part), { dialect: DIALECT, value })
  }
  if (type === 'url' && typeof url === 'string') {
    const part: ImagePart = { type: 'image', mediaType: ANY_IMAGE, url }
    return keep(part, block, writeImage(part), {
      dialect: DIALECT,
      value: { ...block, source: { ...source, url: TAKEN } },
    })
  }
  return rawPart(DIALECT, block)
}

function readThinking(block: Wire): Part {
  if (typeof block.thinking !== 'string') return rawPart(DIALECT, block)
  const original = { dialect: DIALECT, value: { ...block, thinking: TAKEN } } as const
  return { type: 'reasoning', text: block.thinking, original }
}

/** Reasoning whose text only the provider can read. */
function readRedacted(block: Wire): Part {
  return { type: 'reasoning', text: '', original: { dialect: DIALECT, value: block } }
}

function readCall(block: Wire, names: CallNames): Part {
  const { id, name, input } = block
  if (typeof id !== 'string' || typeof name !== 'string' || input === undefined) return rawPart(DIALECT, block)
  names.set(id, name)
  const part: ToolCallPart = { type: 'tool-call', id, name, input }
  return keep(part, block, writeCall(part), { dialect: DIALECT, value: { ...block, input: TAKEN } })
}

function readResult(block: Wire, names: CallNames): Part {
  const { tool_use_id: id, content } = block
  const readable = content === undefined || content === null || typeof content === 'string' || Array.isArray(content)
  if (typeof id !== 'string' || !readable) return rawPart(DIALECT, block)
  const output = Array.isArray(content) ? content.map(readPlain) : (content ?? '')
  const part: ToolResultPart = { type: 'tool-result', id, name: names.get(id) ?? UNKNOWN_TOOL, output }
  if (block.is_error === true) part.isError = true
  const value = 'content' in block ? { ...block, content: taken(content) } : block
  return keep(part, block, writeResult(part), { dialect: DIALECT, value })
}

/** A system message that is in `messages`, not in `system`. */
function isInPlace(message: Message): boolean {
  return originalOf(message, DIALECT)?.role === 'system'
}

function writeSystem(messages: readonly Message[]): AnthropicSystem | undefined {
  if (messages.length === 0) return undefined
  const own = originalOf(messages[0]!, DIALECT)
  const parts = messages.flatMap(message => message.parts)
  const system = writeContent(parts, own ? own.system : TAKEN, codec('system'))
  return typeof system === 'string' || Array.isArray(system) ? system : undefined
}

function writeMessage(message: Message): (Wire & AnthropicMessage) | undefined {
  const own = originalOf(message, DIALECT)
  const role = message.role === 'assistant' || isInPlace(message) ? message.role : 'user'
  const place = own?.role ? own.content : message.role === 'user' || message.role === 'system' ? TAKEN : [TAKEN]
  const content = writeContent(message.parts, place, codec(message.role))
  if (content === undefined) return undefined
  return own?.role ? { ...own, role, content } : { role, content }
}

function codec(role: Role): Codec {
  return { dialect: DIALECT, write: part => writeBlock(part, role) }
}

const WRITERS: PartWriters = {
  text: writeText,
  reasoning: writeThinking,
  call: writeCall,
  result: writeResult,
  image: writeImage,
}

function writeBlock(part: Part, role: Role = 'user'): unknown[] {
  return writePart(part, role, DIALECT, WRITERS)
}

/** The API refuses a blank text, so only one that the client sent is written. */
function writeText(part: TextPart): unknown[] {
  const own = originalOf(part, DIALECT, 'text')
  if (part.text.trim() === '' && (part.edit !== undefined || !own)) return []
  return own ? [{ ...own, text: part.text }] : [{ type: 'text', text: part.text }]
}

/** A signature is valid only for the unchanged text. */
function writeThinking(part: ReasoningPart): unknown[] {
  const own = originalOf(part, DIALECT)
  if (!own || part.edit !== undefined) return []
  return own.type === 'redacted_thinking' ? [own] : [{ ...own, thinking: part.text }]
}

function writeCall(part: ToolCallPart): Wire {
  const { id, name, input } = part
  const own = originalOf(part, DIALECT, 'tool_use')
  if (own && part.edit === undefined) return { ...own, id, name, input }
  return { ...(own ?? { type: 'tool_use' }), id, name, input: objectInput(input) }
}

function writeResult(part: ToolResultPart): Wire {
  const own = originalOf(part, DIALECT, 'tool_result')
  const content = typeof part.output === 'string' ? part.output : outputParts(part).flatMap(inner => writeBlock(inner))
  if (own) {
    const none = (own.content === undefined || own.content === null) && content === ''
    return none ? { ...own, tool_use_id: part.id } : { ...own, tool_use_id: part.id, content }
  }
  const wire = { type: 'tool_result', tool_use_id: part.id, content }
  return part.isError ? { ...wire, is_error: true } : wire
}

function writeImage(part: ImagePart): Wire {
  const own = originalOf(part, DIALECT, 'image')
  const source =
    part.data === undefined
      ? { type: 'url', url: part.url ?? '' }
      : { type: 'base64', media_type: part.mediaType, data: part.data }
  if (!own || !isRecord(own.source)) return { type: 'image', source }
  const filled = part.data === undefined ? { url: part.url } : { data: part.data }
  return { ...own, source: { ...own.source, ...filled } }
}

function join(first: AnthropicMessage, second: AnthropicMessage): AnthropicMessage {
  return { ...first, content: [...blocksOf(first.content), ...blocksOf(second.content)] }
}

function blocksOf(content: unknown): unknown[] {
  if (content === '') return []
  return Array.isArray(content) ? content : [{ type: 'text', text: content }]
}
