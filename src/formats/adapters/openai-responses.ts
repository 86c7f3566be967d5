/**
 * OpenAI Responses (`input` and `instructions`) ↔ neutral messages.
 *
 * `toOpenAIResponses(fromOpenAIResponses(input, instructions))` is the same JSON, byte for byte. Items of the
 * assistant in a row (reasoning, message, function call, …) are one message, outputs in a row are one `tool`
 * message, and they go out as the same items. Reasoning keeps its encrypted content; items that the server runs
 * or reads itself (web search, compaction, …) are `raw`. A reference to a call that an output answers is a call of
 * unknown name. Reasoning of other dialects is left out.
 */
import { isRecord } from '../../model/json.ts'
import { addAll } from '../../model/lists.ts'
import type { ImagePart, Message, Part, Role, ToolCallPart, ToolResultPart } from '../../model/types.ts'
import {
  argumentsOf,
  besideResults,
  type CallNames,
  type Codec,
  imageFromUrl,
  inputOf,
  isRawOf,
  keep,
  originalOf,
  outputContent,
  plainText,
  rawNote,
  rawPart,
  readContent,
  readText,
  sameJson,
  TAKEN,
  taken,
  UNKNOWN_TOOL,
  urlOfImage,
  type Wire,
  wireMessages,
  writeContent,
} from './original.ts'

const DIALECT = 'openai-responses'

export type OpenAIResponsesItem = { type?: string; [key: string]: unknown }
export type OpenAIResponsesPrompt<I = OpenAIResponsesItem> = { instructions?: string; input: string | I[] }

export function fromOpenAIResponses(input: string | readonly unknown[], instructions?: string | null): Message[] {
  const leading: Message[] =
    typeof instructions === 'string' ? [{ role: 'system', parts: [{ type: 'text', text: instructions }] }] : []
  if (typeof input === 'string') {
    const parts: Part[] = [{ type: 'text', text: input }]
    return [...leading, { role: 'user', parts, original: { dialect: DIALECT, value: TAKEN } }]
  }
  const names: CallNames = new Map()
  const read: Message[] = []
  const items = wireMessages(input, 'input')
  const referred = referredCalls(items)
  for (const item of items) {
    const call = referred.get(item)
    const message = call ? readReference(item, call) : readItem(item, names)
    const last = read.at(-1)
    const joins = last?.role === message.role && (message.role === 'assistant' || message.role === 'tool')
    if (last && joins) addAll(last.parts, message.parts)
    else read.push(message)
  }
  return [...leading, ...read]
}

/** `I`: the item type of the SDK that the input goes to. */
export function toOpenAIResponses<I = OpenAIResponsesItem>(messages: readonly Message[]): OpenAIResponsesPrompt<I> {
  const rest = messages.findIndex(
    message => message.role !== 'system' || originalOf(message, DIALECT) || isSettings(message),
  )
  const count = rest < 0 ? messages.length : rest
  const instructions = messages.slice(0, count).flatMap(message => message.parts.map(plainText))
  const items = messages.slice(count).flatMap(writeMessage)
  const only = messages.length === count + 1 ? messages[count] : undefined
  const asString = only?.original?.dialect === DIALECT && only.original.value === TAKEN && items[0]?.content
  const input = typeof asString === 'string' ? asString : (items as I[])
  return count === 0 ? { input } : { instructions: instructions.join('\n\n'), input }
}

/**
 * Calls that the server keeps and the client only refers to, with the ids by which their outputs name them: the n-th
 * output of a call that is not in the list belongs to the n-th reference to one.
 */
function referredCalls(items: readonly Wire[]): Map<Wire, string> {
  const made = new Set(items.flatMap(({ type, call_id: id }) => (isOutput(type) ? [] : [id])))
  const asked = items.flatMap(({ type, call_id: id }) => {
    return isOutput(type) && typeof id === 'string' && !made.has(id) ? [id] : []
  })
  if (asked.length === 0) return new Map()
  const references = items.filter(({ type, id }) => type === 'item_reference' && CALL_ID.test(String(id)))
  return new Map(references.slice(0, asked.length).map((item, i) => [item, asked[i]!]))
}

/** The server's ids of calls begin with one of these. */
const CALL_ID = /^(?:fc|ctc)_/

/** The list has only a reference, so the call's name and input are unknown. */
function readReference(item: Wire, id: string): Message {
  const call: Part = { type: 'tool-call', id, name: UNKNOWN_TOOL, input: {} }
  return { role: 'assistant', parts: [{ ...call, original: { dialect: DIALECT, value: { item } } }] }
}

function isOutput(type: unknown): boolean {
  return type === 'function_call_output' || type === 'custom_tool_call_output'
}

function readItem(item: Wire, names: CallNames): Message {
  const { type, role } = item
  if (type === undefined || type === 'message') {
    if (role === 'assistant') return { role, parts: readAnswer(item) }
    if (role === 'user' || role === 'system' || role === 'developer') return readMessage(item, role)
  }
  if (type === 'function_call' || type === 'custom_tool_call')
    return { role: 'assistant', parts: [readCall(item, names)] }
  if (isOutput(type)) return { role: 'tool', parts: [readResult(item, names)] }
  if (type === 'reasoning') return { role: 'assistant', parts: [readReasoning(item)] }
  return { role: roleOfRaw(item), parts: [rawPart(DIALECT, item)] }
}

/** Tools and settings in the list of messages come from the client, and are kept like system prompts. */
function roleOfRaw({ type, role }: Wire): Role {
  if (role === 'developer' || role === 'system' || type === 'configuration_update') return 'system'
  return String(type).endsWith('_output') ? 'tool' : 'assistant'
}

function readMessage(item: Wire, role: 'user' | 'system' | 'developer'): Message {
  const message: Message = { role: role === 'user' ? 'user' : 'system', parts: readContent(item.content, readPlain) }
  if (role === 'user' && sameJson(writeMessage(message), [item])) return message
  return { ...message, original: { dialect: DIALECT, value: { ...item, content: taken(item.content) } } }
}

/**
 * A message item of the assistant. As several items share one neutral message, each part carries the item that
 * it was in and its place there.
 */
function readAnswer(item: Wire): Part[] {
  const { content } = item
  if (typeof content === 'string') {
    const part: Part = { type: 'text', text: content }
    const value = { item: { ...item, content: TAKEN } }
    return [keep(part, [item], writeAssistant([part]), { dialect: DIALECT, value })]
  }
  if (!Array.isArray(content) || content.length === 0) return [rawPart(DIALECT, item)]
  const envelope = { ...item, content: [TAKEN] }
  return content.map((block, at) => {
    if (!isRecord(block) || block.type !== 'output_text' || typeof block.text !== 'string') {
      return { ...rawPart(DIALECT, block), original: { dialect: DIALECT, value: { item: envelope, at } } }
    }
    const value = { item: envelope, at, block: { ...block, text: TAKEN } }
    return { type: 'text', text: block.text, original: { dialect: DIALECT, value } }
  })
}

function readReasoning(item: Wire): Part {
  const lists = [item.summary, item.content].filter(Array.isArray)
  const texts = lists.flat().flatMap(block => (isRecord(block) && typeof block.text === 'string' ? [block.text] : []))
  return { type: 'reasoning', text: texts.join('\n'), original: { dialect: DIALECT, value: { item } } }
}

function readCall(item: Wire, names: CallNames): Part {
  const { type, call_id: id, name } = item
  const field = argumentsField(type)
  const text = item[field]
  if (typeof id !== 'string' || typeof name !== 'string' || typeof text !== 'string') return rawPart(DIALECT, item)
  names.set(id, name)
  const input = type === 'custom_tool_call' ? text : inputOf(text)
  const part: ToolCallPart = { type: 'tool-call', id, name, input }
  const place = argumentsOf(input) === text ? TAKEN : text
  return keep(part, item, writeCall(part), { dialect: DIALECT, value: { item: { ...item, [field]: place } } })
}

function readResult(item: Wire, names: CallNames): Part {
  const { call_id: id, output: content } = item
  if (typeof id !== 'string' || !(typeof content === 'string' || Array.isArray(content))) return rawPart(DIALECT, item)
  const output = typeof content === 'string' ? content : content.map(readPlain)
  const part: ToolResultPart = { type: 'tool-result', id, name: names.get(id) ?? UNKNOWN_TOOL, output }
  const value = { item: { ...item, output: taken(content) } }
  return keep(part, item, writeResult(part), { dialect: DIALECT, value })
}

function readPlain(block: unknown): Part {
  if (isRecord(block) && block.type === 'input_image' && typeof block.image_url === 'string') {
    const part: ImagePart = { type: 'image', ...imageFromUrl(block.image_url) }
    return keep(part, block, writeBlock(part)[0], { dialect: DIALECT, value: { ...block, image_url: TAKEN } })
  }
  return readText(block, 'input_text', CODEC) ?? rawPart(DIALECT, block)
}

function writeMessage(message: Message): Wire[] {
  if (message.role === 'assistant') return writeAssistant(message.parts)
  if (message.role === 'tool') {
    const beside = besideResults(message).filter(part => !isOwnRaw(part))
    const items = message.parts.flatMap(part => {
      if (part.type === 'tool-result') return [writeResult(part)]
      return isOwnRaw(part) ? [part.value] : []
    })
    return beside.length === 0 ? items : [...items, ...writePlain({ role: 'user', parts: beside })]
  }
  if (isSettings(message)) return message.parts.filter(isOwnRaw).map(({ value }) => value)
  return writePlain(message)
}

function writePlain(message: Message): Wire[] {
  const own = originalOf(message, DIALECT)
  const content = writeContent(message.parts, own ? own.content : TAKEN, CODEC)
  if (content === undefined) return []
  return [own ? { ...own, content } : { role: message.role === 'system' ? 'developer' : message.role, content }]
}

/** The parts of the assistant as items; parts that were in one message item go back into one. */
function writeAssistant(parts: readonly Part[]): Wire[] {
  const items: Wire[] = []
  let open: { own: Wire; content: unknown[] } | undefined
  for (const part of parts) {
    const own = originalOf(part, DIALECT)
    if (!own || own.at === undefined) {
      open = undefined
      addAll(items, writeAlone(part, own))
      continue
    }
    const blocks = writeAnswer(part, own)
    if (blocks.length === 0) continue
    if (open && isBehind(own, open.own)) addAll(open.content, blocks)
    else {
      open = { own, content: blocks }
      items.push({ ...(isRecord(own.item) ? own.item : {}), content: blocks })
    }
    open.own = own
  }
  return items
}

function isBehind(own: Wire, before: Wire): boolean {
  return Number(own.at) > Number(before.at) && sameJson(own.item, before.item)
}

function writeAnswer(part: Part, own: Wire): unknown[] {
  if (part.type === 'raw') return [part.value]
  if (part.type !== 'text' || (part.text === '' && part.edit !== undefined)) return []
  return [{ ...(isRecord(own.block) ? own.block : { type: 'output_text' }), text: part.text }]
}

function writeAlone(part: Part, own: Wire | undefined): Wire[] {
  switch (part.type) {
    case 'text':
      if (part.text === '' && (part.edit !== undefined || !own)) return []
      return [
        own && isRecord(own.item) ? { ...own.item, content: part.text } : { role: 'assistant', content: part.text },
      ]
    case 'reasoning':
      return own && isRecord(own.item) && part.edit === undefined ? [own.item] : []
    case 'tool-call':
      return [writeCall(part)]
    case 'raw':
      return isOwnRaw(part) ? [part.value] : []
    default:
      return []
  }
}

function writeCall(part: ToolCallPart): Wire {
  const { id, name, input } = part
  const item = originalOf(part, DIALECT)?.item
  const isReference = isRecord(item) && item.type === 'item_reference'
  if (isReference && part.edit === undefined) return item
  if (!isRecord(item) || isReference) {
    return { type: 'function_call', call_id: id, name, arguments: argumentsOf(input) }
  }
  const field = argumentsField(item.type)
  const verbatim = part.edit === undefined && item[field] !== TAKEN
  return { ...item, call_id: id, name, [field]: verbatim ? item[field] : argumentsOf(input) }
}

function argumentsField(type: unknown): 'input' | 'arguments' {
  return type === 'custom_tool_call' ? 'input' : 'arguments'
}

function writeResult(part: ToolResultPart): Wire {
  const item = originalOf(part, DIALECT)?.item
  const output = typeof part.output === 'string' ? part.output : outputContent(part, writeBlock)
  return isRecord(item)
    ? { ...item, call_id: part.id, output }
    : { type: 'function_call_output', call_id: part.id, output }
}

const CODEC: Codec = { dialect: DIALECT, write: writeBlock }

function writeBlock(part: Part): unknown[] {
  const own = originalOf(part, DIALECT)
  switch (part.type) {
    case 'text':
      if (part.text === '' && (part.edit !== undefined || !own)) return []
      return [{ ...(own ?? { type: 'input_text' }), text: part.text }]
    case 'image':
      return [{ ...(own ?? { type: 'input_image' }), image_url: urlOfImage(part) }]
    case 'raw':
      return [part.provider === DIALECT ? part.value : { type: 'input_text', text: rawNote(part) }]
    default:
      return []
  }
}

/** An item of its own that holds tools or settings. */
function isSettings(message: Message): boolean {
  const { role, parts } = message
  return role === 'system' && parts.length > 0 && !originalOf(message, DIALECT) && parts.every(isOwnRaw)
}

const isOwnRaw = (part: Part) => isRawOf<Wire>(part, DIALECT)
