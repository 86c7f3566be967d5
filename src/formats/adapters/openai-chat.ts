/**
 * OpenAI Chat Completions ↔ neutral messages.
 *
 * `toOpenAIChat(fromOpenAIChat(messages))` is the same JSON, byte for byte: arguments with odd spacing, null or missing
 * content, unknown fields. One message is one neutral message. Only an assistant message between a call and its result
 * is moved after the result, because the provider refuses it there. `reasoning_content` and similar fields are
 * reasoning. From other dialects: a `tool` message becomes one message per result, the parts beside the results (and
 * images in them) follow as a user message, and reasoning is left out.
 */

import { PalimpsestError } from '../../model/errors.ts'
import { isRecord } from '../../model/json.ts'
import { addAll } from '../../model/lists.ts'
import type { Message, Part, ReasoningPart, ToolCallPart, ToolResultPart } from '../../model/types.ts'
import { openAIBlocks } from './openai-blocks.ts'
import {
  argumentsOf,
  besideResults,
  type CallNames,
  inputOf,
  isRawOf,
  isTaken,
  keep,
  originalOf,
  outputContent,
  outputParts,
  plainText,
  rawPart,
  readContent,
  sameJson,
  TAKEN,
  taken,
  UNKNOWN_TOOL,
  type Wire,
  wireMessages,
  writeContent,
} from './original.ts'

const DIALECT = 'openai-chat'
const BLOCKS = openAIBlocks(DIALECT)

/** The fields in which servers of this dialect return reasoning. */
const REASONING_FIELDS = ['reasoning_content', 'reasoning', 'reasoning_details']

export type OpenAIChatMessage = { role: string; content?: unknown }
type ChatWire = Wire & OpenAIChatMessage

export function fromOpenAIChat(messages: readonly OpenAIChatMessage[]): Message[] {
  const names: CallNames = new Map()
  return wireMessages(messages, 'messages').map((wire, index) => {
    switch (wire.role) {
      case 'system':
      case 'user':
        return withEnvelope({ role: wire.role, parts: readContent(wire.content, BLOCKS.read) }, wire)
      case 'developer':
        return withEnvelope({ role: 'system', parts: readContent(wire.content, BLOCKS.read) }, wire)
      case 'assistant':
        return withEnvelope({ role: 'assistant', parts: readAssistant(wire, names) }, wire)
      case 'tool':
        return { role: 'tool', parts: [readResult(wire, names)] }
    }
    if (typeof wire.role !== 'string') {
      throw new PalimpsestError('INVALID_MESSAGE', `messages[${index}] has no role.`, { index })
    }
    const original = { dialect: DIALECT, value: { role: wire.role } } as const
    return { role: 'user', parts: [rawPart(DIALECT, wire)], original }
  })
}

/** `M`: the message type of the SDK that the messages go to. */
export function toOpenAIChat<M = OpenAIChatMessage>(messages: readonly Message[]): M[] {
  return writeMessages(messages) as M[]
}

function writeMessages(messages: readonly Message[]): ChatWire[] {
  const written: ChatWire[] = []
  let beside: Part[] = []
  for (const message of resultsBesideCalls(messages)) {
    if (message.role !== 'tool') flush()
    if (message.role === 'assistant') addAll(written, writeAssistant(message))
    else if (message.role === 'tool') writeResults(message)
    else addAll(written, writePlain(message))
  }
  flush()
  return written

  function writeResults(message: Message): void {
    for (const part of message.parts) {
      if (part.type !== 'tool-result') continue
      written.push(writeResult(part))
      if (!originalOf(part, DIALECT))
        addAll(
          beside,
          outputParts(part).filter(inner => inner.type === 'image'),
        )
    }
    addAll(
      beside,
      besideResults(message).filter(part => !isOwnRaw(part)),
    )
    for (const part of message.parts) if (isOwnRaw(part)) written.push(part.value)
  }

  function flush(): void {
    if (beside.length > 0) written.push(...writePlain({ role: 'user', parts: beside }))
    beside = []
  }
}

/** The provider refuses messages between a call and its result, so assistant messages after the call follow the result. */
function resultsBesideCalls(messages: readonly Message[]): Message[] {
  const ordered: Message[] = []
  for (let i = 0; i < messages.length; ) {
    const start = i
    while (messages[i]?.role === 'assistant') i++
    const assistants = messages.slice(start, i)
    const answers: Message[] = []
    while (messages[i]?.role === 'tool') answers.push(messages[i++]!)
    if (i === start) ordered.push(messages[i++]!)
    else addAll(ordered, assistants.length > 1 ? besideCalls(assistants, answers) : [...assistants, ...answers])
  }
  return ordered
}

function besideCalls(assistants: readonly Message[], answers: readonly Message[]): Message[] {
  const maker = new Map<string, number>()
  assistants.forEach(({ parts }, index) => {
    for (const part of parts) if (part.type === 'tool-call') maker.set(part.id, index)
  })
  const last = assistants.length - 1
  const belongsTo = (part: Part) => (part.type === 'tool-result' ? (maker.get(part.id) ?? last) : last)
  return assistants.flatMap((assistant, index) => [
    assistant,
    ...answers.flatMap(message => {
      const parts = message.parts.filter(part => belongsTo(part) === index)
      if (parts.length === message.parts.length) return [message]
      return parts.length > 0 ? [{ ...message, parts }] : []
    }),
  ])
}

function withEnvelope(message: Message, wire: Wire): Message {
  const [rebuilt] = message.role === 'assistant' ? writeAssistant(message) : writePlain(message)
  if (sameJson(rebuilt, wire)) return message
  const value: Wire = { ...wire }
  if ('content' in wire) value.content = taken(wire.content)
  if (message.role === 'assistant') {
    for (const field of ['tool_calls', ...REASONING_FIELDS]) if (field in wire) value[field] = taken(wire[field])
  }
  return { ...message, original: { dialect: DIALECT, value } }
}

function readAssistant(wire: Wire, names: CallNames): Part[] {
  const calls = Array.isArray(wire.tool_calls) ? wire.tool_calls : []
  return [
    ...REASONING_FIELDS.flatMap(field => readReasoning(wire, field)),
    ...readContent(wire.content, BLOCKS.read),
    ...calls.map(call => readCall(call, names)),
    ...(isRecord(wire.function_call) ? [rawFunctionCall(wire.function_call)] : []),
  ]
}

function readReasoning(wire: Wire, field: string): ReasoningPart[] {
  const value = wire[field]
  if (typeof value === 'string') {
    return [{ type: 'reasoning', text: value, original: { dialect: DIALECT, value: { [field]: TAKEN } } }]
  }
  if (!Array.isArray(value) || value.length === 0) return []
  const text = value.map(detail => (isRecord(detail) && typeof detail.text === 'string' ? detail.text : '')).join('')
  return [{ type: 'reasoning', text, original: { dialect: DIALECT, value: { [field]: value } } }]
}

function readCall(call: unknown, names: CallNames): Part {
  if (!isRecord(call) || typeof call.id !== 'string') return rawCall(call)
  const { id, type } = call
  const body = type === 'custom' ? call.custom : call.function
  const text = isRecord(body) ? body[type === 'custom' ? 'input' : 'arguments'] : undefined
  if (!isRecord(body) || typeof body.name !== 'string' || typeof text !== 'string') return rawCall(call)
  names.set(id, body.name)
  if (type === 'custom') {
    const value = { ...call, custom: { ...body, input: TAKEN } }
    return { type: 'tool-call', id, name: body.name, input: text, original: { dialect: DIALECT, value } }
  }
  const input = inputOf(text)
  const part: ToolCallPart = { type: 'tool-call', id, name: body.name, input }
  const place = argumentsOf(input) === text ? TAKEN : text
  const value = { ...call, function: { ...body, arguments: place } }
  return keep(part, call, writeCall(part), { dialect: DIALECT, value })
}

/** An entry of `tool_calls` that we cannot read; the original distinguishes it from an opaque block of the content. */
function rawCall(call: unknown): Part {
  return { ...rawPart(DIALECT, call), original: { dialect: DIALECT, value: { tool_calls: [TAKEN] } } }
}

/** A call in the old form: opaque, and written back with the message around it. */
function rawFunctionCall(call: Wire): Part {
  return { ...rawPart(DIALECT, call), original: { dialect: DIALECT, value: { function_call: TAKEN } } }
}

function readResult(wire: Wire, names: CallNames): Part {
  const { tool_call_id: id, content } = wire
  const readable = content === undefined || content === null || typeof content === 'string' || Array.isArray(content)
  if (typeof id !== 'string' || !readable) return rawPart(DIALECT, wire)
  const own = typeof wire.name === 'string' ? wire.name : UNKNOWN_TOOL
  const output = Array.isArray(content) ? content.map(BLOCKS.read) : (content ?? '')
  const part: ToolResultPart = { type: 'tool-result', id, name: names.get(id) ?? own, output }
  const value = 'content' in wire ? { ...wire, content: taken(content) } : wire
  return keep(part, wire, writeResult(part), { dialect: DIALECT, value })
}

function writePlain(message: Message): ChatWire[] {
  const own = originalOf(message, DIALECT)
  if (own && !['system', 'developer', 'user'].includes(String(own.role))) {
    return message.parts.flatMap(part => (isOwnRaw(part) ? [part.value] : []))
  }
  const content = writeContent(message.parts, own ? own.content : TAKEN, BLOCKS)
  if (own) return content === undefined && 'content' in own ? [] : [filled(own, { content })]
  return content === undefined ? [] : [{ role: message.role, content }]
}

function writeAssistant(message: Message): ChatWire[] {
  const own = originalOf(message, DIALECT)
  const calls = message.parts.flatMap(part => (part.type === 'tool-call' ? [writeCall(part)] : rawCallIn(part)))
  const said = message.parts.filter(part => part.type === 'text' || (isOwnRaw(part) && !part.original))
  const thought = message.parts.flatMap(part => (part.type === 'reasoning' ? [writeReasoning(part)] : []))
  const reasoning = Object.assign({}, ...thought)
  const content = writeContent(said, own ? own.content : TAKEN, BLOCKS)
  if (own) {
    return [filled(own, { ...reasoning, content, tool_calls: calls.length > 0 ? calls : undefined })]
  }
  if (content === undefined && calls.length === 0) return []
  const wire = { role: 'assistant', content: content ?? null }
  return calls.length > 0 ? [{ ...wire, tool_calls: calls }] : [wire]
}

/** The envelope with its places filled. A place without content is removed, but `content` becomes null. */
function filled(own: Wire, fields: Wire): ChatWire {
  const kept = Object.entries(own).flatMap(([key, place]) => {
    if (!isTaken(place) || fields[key] !== undefined) return [[key, place]]
    return key === 'content' ? [[key, null]] : []
  })
  const known = Object.entries(fields).filter(([, value]) => value !== undefined)
  return { ...Object.fromEntries(kept), ...Object.fromEntries(known), role: String(own.role) }
}

function writeReasoning(part: ReasoningPart): Wire {
  const own = originalOf(part, DIALECT)
  if (!own) return {}
  return Object.fromEntries(
    Object.entries(own).flatMap(([field, place]) => {
      if (place === TAKEN) return [[field, part.text]]
      return part.edit === undefined ? [[field, place]] : []
    }),
  )
}

function writeCall(part: ToolCallPart): Wire {
  const { id, name, input } = part
  const own = originalOf(part, DIALECT)
  if (own && isRecord(own.custom)) return { ...own, id, custom: { ...own.custom, name, input: argumentsOf(input) } }
  if (!own || !isRecord(own.function))
    return { id, type: 'function', function: { name, arguments: argumentsOf(input) } }
  const verbatim = part.edit === undefined && own.function.arguments !== TAKEN
  const text = verbatim ? own.function.arguments : argumentsOf(input)
  return { ...own, id, function: { ...own.function, name, arguments: text } }
}

function writeResult(part: ToolResultPart): ChatWire {
  const own = originalOf(part, DIALECT)
  const { id, output } = part
  if (!own) return { role: 'tool', tool_call_id: id, content: typeof output === 'string' ? output : textOf(part) }
  const content = typeof output === 'string' ? output : outputContent(part, BLOCKS.write)
  const none = (own.content === undefined || own.content === null) && content === ''
  return none ? { ...own, role: 'tool', tool_call_id: id } : { ...own, role: 'tool', tool_call_id: id, content }
}

function textOf(part: ToolResultPart): string {
  return outputParts(part)
    .filter(({ type }) => type === 'text' || type === 'raw')
    .map(plainText)
    .join('\n')
}

function rawCallIn(part: Part): unknown[] {
  return isOwnRaw(part) && originalOf(part, DIALECT)?.tool_calls ? [part.value] : []
}

const isOwnRaw = (part: Part) => isRawOf<ChatWire>(part, DIALECT)
