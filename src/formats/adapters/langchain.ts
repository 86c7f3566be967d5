/**
 * LangChain messages ↔ neutral messages.
 *
 * `toLangChain(fromLangChain(messages))` gives messages of the same classes with the same fields: ids, metadata,
 * content as string or blocks. LangChain may hold one call in several places (content, `tool_calls`, chunks,
 * `additional_kwargs`): an edit reaches them all. The only adapter that needs its peer, `@langchain/core`.
 */

import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  HumanMessageChunk,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
} from '@langchain/core/messages'
import { PalimpsestError } from '../../model/errors.ts'
import { isRecord } from '../../model/json.ts'
import type { Message, Part, ToolCallPart, ToolResultPart } from '../../model/types.ts'
import { openAIBlocks } from './openai-blocks.ts'
import {
  argumentsOf,
  besideResults,
  type CallNames,
  type Codec,
  isTaken,
  keep,
  objectInput,
  originalOf,
  outputParts,
  rawPart,
  readContent,
  sameJson,
  TAKEN,
  taken,
  UNKNOWN_TOOL,
  type Wire,
  writeContent,
} from './original.ts'

const DIALECT = 'langchain'
const BLOCKS = openAIBlocks(DIALECT)

/** A message as data: the name of its class and what its constructor takes. */
type Stored = { class: string; fields: Wire }

export function fromLangChain(messages: readonly BaseMessage[]): Message[] {
  const names: CallNames = new Map()
  return messages.map(message => {
    const stored = store(message)
    switch (message.type) {
      case 'system':
      case 'human': {
        const role = message.type === 'human' ? 'user' : 'system'
        return withEnvelope({ role, parts: readContent(stored.fields.content, BLOCKS.read) }, stored)
      }
      case 'ai':
        return withEnvelope({ role: 'assistant', parts: readAnswer(stored.fields, names) }, stored)
      case 'tool':
        return { role: 'tool', parts: [readResult(stored, names)] }
      default: {
        const original = { dialect: DIALECT, value: { class: stored.class } } as const
        return { role: 'user', parts: [rawPart(DIALECT, stored)], original }
      }
    }
  })
}

export function toLangChain(messages: readonly Message[]): BaseMessage[] {
  return writeMessages(messages).map(build)
}

const CLASSES: Record<string, new (fields: never) => BaseMessage> = {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  HumanMessageChunk,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
}

function build({ class: name, fields }: Stored): BaseMessage {
  const Class = CLASSES[name]
  if (!Class) throw new PalimpsestError('INVALID_MESSAGE', `LangChain's ${name} cannot be sent to a model.`, { name })
  return new Class({ ...fields } as never)
}

/** What the constructor was given, with the values that the message has now. */
function store(message: BaseMessage): Stored {
  const given = Object.keys(message.lc_kwargs).filter(key => key !== 'contentBlocks')
  const now = given.map(key => [key, Object.hasOwn(message, key) ? Reflect.get(message, key) : message.lc_kwargs[key]])
  const fields = { ...Object.fromEntries(now), content: message.content }
  return { class: message.lc_id.at(-1) ?? 'HumanMessage', fields }
}

function withEnvelope(message: Message, stored: Stored): Message {
  const { fields } = stored
  if (typeof fields.content === 'string' && sameJson(writeMessages([message]), [stored])) return message
  const places = Object.fromEntries(
    ['content', 'tool_calls', 'tool_call_chunks'].filter(key => key in fields).map(key => [key, placeOf(key, fields)]),
  )
  const value = { class: stored.class, parts: message.parts.length, fields: { ...fields, ...places } }
  return { ...message, original: { dialect: DIALECT, value } }
}

/** Only chunks keep the exact spelling of the arguments. */
function placeOf(key: string, fields: Wire): unknown {
  return key === 'tool_call_chunks' ? fields[key] : taken(fields[key])
}

function readAnswer(fields: Wire, names: CallNames): Part[] {
  const calls = (Array.isArray(fields.tool_calls) ? fields.tool_calls : []).filter(isRecord)
  const inContent = new Set<unknown>()
  const parts = readContent(fields.content, block => {
    const call = isRecord(block) ? calls.find(({ id }) => id !== undefined && id === block.id) : undefined
    if (!call || !isRecord(block)) return readThought(block)
    inContent.add(call)
    return readCall(call, names, block)
  })
  return [...parts, ...calls.filter(call => !inContent.has(call)).map(call => readCall(call, names))]
}

function readThought(block: unknown): Part {
  if (!isRecord(block) || (block.type !== 'thinking' && block.type !== 'reasoning')) return BLOCKS.read(block)
  const field = block.type
  const text = block[field]
  if (typeof text !== 'string') return rawPart(DIALECT, block)
  return { type: 'reasoning', text, original: { dialect: DIALECT, value: { ...block, [field]: TAKEN } } }
}

function readCall(call: Wire, names: CallNames, block?: Wire): Part {
  const id = typeof call.id === 'string' ? call.id : ''
  const name = String(call.name)
  names.set(id, name)
  const part: ToolCallPart = { type: 'tool-call', id, name, input: call.args }
  const own = block
    ? { call: { ...call, args: TAKEN }, block: withoutInput(block, call.args) }
    : { call: { ...call, args: TAKEN } }
  const rebuilt = block ? undefined : writeCall(part)
  return keep(part, call, rebuilt, { dialect: DIALECT, value: own })
}

/** The call as the provider spelled it in the content: under `input`, `args` or `arguments`, at times as a string. */
function withoutInput(block: Wire, input: unknown): Wire {
  const field = ['input', 'args'].find(key => key in block && sameJson(block[key], input))
  return field === undefined ? block : { ...block, [field]: TAKEN }
}

function readResult(stored: Stored, names: CallNames): Part {
  const { fields } = stored
  const { tool_call_id, content, name } = fields
  const id = String(tool_call_id)
  const known = names.get(id) ?? (typeof name === 'string' ? name : UNKNOWN_TOOL)
  const output = typeof content === 'string' ? content : Array.isArray(content) ? content.map(BLOCKS.read) : ''
  const part: ToolResultPart = { type: 'tool-result', id, name: known, output }
  if (fields.status === 'error') part.isError = true
  const value = { class: stored.class, fields: { ...fields, content: taken(content) } }
  return keep(part, stored, writeResult(part), { dialect: DIALECT, value })
}

function writeMessages(messages: readonly Message[]): Stored[] {
  const written: Stored[] = []
  let beside: Part[] = []
  for (const message of messages) {
    if (message.role !== 'tool') flush()
    if (message.role === 'assistant') written.push(...writeAnswer(message))
    else if (message.role !== 'tool') written.push(...writePlain(message))
    else {
      for (const part of message.parts) if (part.type === 'tool-result') written.push(writeResult(part))
      beside.push(...besideResults(message))
    }
  }
  flush()
  return written

  function flush(): void {
    if (beside.length > 0) written.push(...writePlain({ role: 'user', parts: beside }))
    beside = []
  }
}

function writePlain(message: Message): Stored[] {
  const own = envelopeOf(message)
  const [first] = message.parts
  if (own && !own.fields) return first?.type === 'raw' && isStored(first.value) ? [first.value] : []
  const name = own?.class ?? (message.role === 'system' ? 'SystemMessage' : 'HumanMessage')
  const content = writeContent(message.parts, own?.fields ? own.fields.content : TAKEN, BLOCKS)
  if (content === undefined) return []
  return [{ class: name, fields: own?.fields ? { ...own.fields, content } : { content, ...DEFAULTS } }]
}

function writeAnswer(message: Message): Stored[] {
  const own = envelopeOf(message)
  const said = message.parts.filter(part => part.type !== 'tool-call' || isRecord(originalOf(part, DIALECT)?.block))
  const calls = message.parts.filter(part => part.type === 'tool-call')
  const place = own?.fields ? own.fields.content : TAKEN
  const content = writeContent(said, place, ANSWER) ?? (Array.isArray(place) ? [] : '')
  if (content === '' && calls.length === 0 && !own) return []
  const tool_calls = calls.map(writeCall)
  if (!own?.fields)
    return [{ class: 'AIMessage', fields: { content, tool_calls, invalid_tool_calls: [], ...DEFAULTS } }]
  const touched = own.parts !== message.parts.length || message.parts.some(part => part.edit !== undefined)
  const fields = touched ? withoutCopies(own.fields, calls) : own.fields
  const listed = tool_calls.length > 0 || isTaken(fields.tool_calls) ? { tool_calls } : {}
  return [{ class: own.class, fields: { ...fields, ...listed, content } }]
}

/**
 * LangChain keeps a second copy of a message in some fields; they are updated to match the parts. The items of OpenAI's
 * Responses would be sent in place of the message, so they are removed, and LangChain builds them again.
 */
function withoutCopies(fields: Wire, calls: readonly ToolCallPart[]): Wire {
  const next: Wire = { ...fields }
  const byId = new Map(calls.map(call => [call.id, call]))
  if (Array.isArray(fields.tool_call_chunks)) {
    next.tool_call_chunks = fields.tool_call_chunks.filter(isRecord).flatMap(chunk => {
      const call = byId.get(String(chunk.id))
      if (!call) return []
      return [call.edit === undefined ? chunk : { ...chunk, args: argumentsOf(call.input) }]
    })
  }
  if (isRecord(fields.additional_kwargs)) {
    const { tool_calls: _calls, ...kwargs } = fields.additional_kwargs
    next.additional_kwargs = kwargs
  }
  if (isRecord(fields.response_metadata)) {
    const { output: _output, ...metadata } = fields.response_metadata
    next.response_metadata = metadata
  }
  return next
}

const DEFAULTS = { additional_kwargs: {}, response_metadata: {} }

const ANSWER: Codec = { dialect: DIALECT, write: writeSaid }

function writeSaid(part: Part): unknown[] {
  const own = originalOf(part, DIALECT)
  if (part.type === 'tool-call') return isRecord(own?.block) ? [writeCallBlock(part, own.block)] : []
  if (part.type === 'reasoning') {
    if (!own || part.edit !== undefined) return []
    return [{ ...own, [String(own.type)]: part.text }]
  }
  if (part.type === 'image' || (part.type === 'raw' && part.provider !== DIALECT)) return []
  return BLOCKS.write(part)
}

function writeCall(part: ToolCallPart): Wire {
  const own = originalOf(part, DIALECT)
  const call = isRecord(own?.call) ? own.call : undefined
  if (call && part.edit === undefined) return { ...call, args: part.input }
  const args = objectInput(part.input)
  return call ? { ...call, args } : { name: part.name, args, id: part.id, type: 'tool_call' }
}

function writeCallBlock(part: ToolCallPart, block: Wire): Wire {
  return Object.fromEntries(
    Object.entries(block).map(([key, place]) => {
      if (place === TAKEN) return [key, part.input]
      if (part.edit === undefined) return [key, place]
      if (key === 'arguments') return [key, argumentsOf(part.input)]
      return [key, key === 'input' || key === 'args' ? objectInput(part.input) : place]
    }),
  )
}

function writeResult(part: ToolResultPart): Stored {
  const own = envelopeOf(part)
  const content = typeof part.output === 'string' ? part.output : outputParts(part).flatMap(BLOCKS.write)
  if (own?.fields) return { class: own.class, fields: { ...own.fields, tool_call_id: part.id, content } }
  const fields = { content, tool_call_id: part.id, name: part.name, ...DEFAULTS }
  return { class: 'ToolMessage', fields: part.isError ? { ...fields, status: 'error' } : fields }
}

function envelopeOf(holder: Message | Part): { class: string; fields?: Wire; parts?: number } | undefined {
  const own = originalOf(holder, DIALECT)
  if (!own || typeof own.class !== 'string') return undefined
  const parts = typeof own.parts === 'number' ? own.parts : undefined
  return { class: own.class, parts, ...(isRecord(own.fields) && { fields: own.fields }) }
}

function isStored(value: unknown): value is Stored {
  return isRecord(value) && typeof value.class === 'string' && isRecord(value.fields)
}
