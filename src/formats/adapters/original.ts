/**
 * Shared by the adapters: when to keep a provider's original, and how to fill it again.
 *
 * An original is the provider's block or message without the content that the neutral form holds: a `…` marks each
 * place. Writing fills the places from the neutral part, so an edited part keeps the other fields of its block, and
 * no content is stored twice. It is kept only if the block could not be rebuilt without it.
 */
import { PalimpsestError } from '../../model/errors.ts'
import { isRecord, tryJson } from '../../model/json.ts'
import type {
  Dialect,
  ImagePart,
  Message,
  Original,
  Part,
  RawPart,
  ReasoningPart,
  Role,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../../model/types.ts'

/** An object as a provider sends it; its fields are unknown until they are checked. */
export type Wire = Record<string, unknown>

/** The mark for removed content: alone for a string, in a list for a list. */
export const TAKEN = '…'

/** The mark for some content. Empty lists, null and missing values stay as they are. */
export function taken(content: unknown): unknown {
  if (typeof content === 'string') return TAKEN
  return Array.isArray(content) && content.length > 0 ? [TAKEN] : content
}

export function isTaken(place: unknown): boolean {
  return place === TAKEN || (Array.isArray(place) && place[0] === TAKEN)
}

/** The original, if it is of this dialect and (if given) of this type. */
export function originalOf(holder: { original?: Original }, dialect: Dialect, type?: string): Wire | undefined {
  const { original } = holder
  if (original?.dialect !== dialect || !isRecord(original.value)) return undefined
  return type === undefined || original.value.type === type ? original.value : undefined
}

/** How a dialect writes each kind of part. A text or reasoning may be left out. */
export type PartWriters = {
  text(part: TextPart): unknown[]
  reasoning(part: ReasoningPart): unknown[]
  call(part: ToolCallPart): unknown
  result(part: ToolResultPart): unknown
  image(part: ImagePart): unknown
}

/** Zero blocks or one. A block that only another provider understands is described in words, except in an answer. */
export function writePart(part: Part, role: Role, dialect: Dialect, write: PartWriters): unknown[] {
  switch (part.type) {
    case 'text':
      return write.text(part)
    case 'reasoning':
      return write.reasoning(part)
    case 'tool-call':
      return [write.call(part)]
    case 'tool-result':
      return [write.result(part)]
    case 'image':
      return [write.image(part)]
    case 'raw':
      if (part.provider === dialect) return [part.value]
      return role === 'assistant' ? [] : write.text({ type: 'text', text: rawNote(part) })
  }
}

/** The output for messages that were written before; for callers that never change a message. */
export type Written<T> = WeakMap<Message, T>

/** The output of `write` for a message, computed once. */
export function writtenOnce<T>(
  message: Message,
  before: Written<T> | undefined,
  write: (message: Message) => T | undefined,
) {
  const known = before?.get(message)
  if (known !== undefined) return known
  const wire = write(message)
  if (wire !== undefined) before?.set(message, wire)
  return wire
}

/** The part alone if `rebuilt` equals `block`; otherwise with its original. */
export function keep<P extends Part>(part: P, block: unknown, rebuilt: unknown, original: Original): P {
  return sameJson(rebuilt, block) ? part : { ...part, original }
}

/** Whether two values have the same JSON, including key order. Shared strings make it cheap. */
export function sameJson(one: unknown, other: unknown): boolean {
  const a = jsonValue(one)
  const b = jsonValue(other)
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => sameJson(item, b[i]))
  }
  if (!isRecord(a) || !isRecord(b)) return false
  const left = Object.keys(a).filter(key => a[key] !== undefined)
  const right = Object.keys(b).filter(key => b[key] !== undefined)
  return left.length === right.length && left.every((key, i) => key === right[i] && sameJson(a[key], b[key]))
}

function jsonValue(value: unknown): unknown {
  return isRecord(value) && typeof value.toJSON === 'function' ? value.toJSON() : value
}

/** Content as parts: a string is one text; each block of a list is a part; no content gives no part. */
export function readContent(content: unknown, read: (block: unknown) => Part): Part[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return Array.isArray(content) ? content.map(read) : []
}

/** A block with its text under `text`; undefined if the block has another type. */
export function readText(block: unknown, type: string, { dialect, write }: Codec): Part | undefined {
  if (!isRecord(block) || block.type !== type || typeof block.text !== 'string') return undefined
  const part: Part = { type: 'text', text: block.text }
  return keep(part, block, write(part)[0], { dialect, value: { ...block, text: TAKEN } })
}

export type Codec = { dialect: Dialect; write: (part: Part) => unknown[] }

/**
 * Parts as content: a string if `place` is one and a string can hold them, otherwise a list of blocks. Undefined if
 * nothing is left of the content.
 */
export function writeContent(parts: readonly Part[], place: unknown, { dialect, write }: Codec): unknown {
  const [first] = parts
  if (place === TAKEN && parts.length === 1 && first?.type === 'text' && !originalOf(first, dialect)) {
    return first.text === '' && first.edit !== undefined ? undefined : first.text
  }
  const blocks = parts.flatMap(write)
  if (blocks.length > 0) return blocks
  return isTaken(place) ? undefined : place
}

/** The parts of an edited result also count as edited. */
export function outputParts(part: { output: string | Part[]; edit?: string }): Part[] {
  const parts: Part[] = typeof part.output === 'string' ? [{ type: 'text', text: part.output }] : part.output
  return part.edit === undefined ? parts : parts.map(inner => ({ ...inner, edit: part.edit }))
}

/** The blocks of a result; an empty text if an edit has left none: OpenAI refuses an empty list. */
export function outputContent(part: { output: string | Part[]; edit?: string }, write: Codec['write']): unknown {
  const blocks = outputParts(part).flatMap(write)
  return blocks.length === 0 && part.edit !== undefined ? '' : blocks
}

export function rawPart(provider: Dialect, value: unknown): RawPart {
  return { type: 'raw', provider, value }
}

export function isRawOf<V = unknown>(part: Part, dialect: Dialect): part is RawPart & { value: V } {
  return part.type === 'raw' && part.provider === dialect
}

/** The text of a part, for places that take nothing else. */
export function plainText(part: Part): string {
  return part.type === 'text' ? part.text : part.type === 'raw' ? rawNote(part) : ''
}

/** The text that replaces an opaque block of another dialect. */
export function rawNote({ value, provider }: RawPart): string {
  const type = isRecord(value) && typeof value.type === 'string' ? value.type : 'block'
  return `[${type} left out: only ${provider} can carry it]`
}

/** Parses a call's arguments as the model wrote them. Invalid JSON stays a string. */
export function inputOf(text: string): unknown {
  if (text === '') return {}
  const input = tryJson(text)
  return input === undefined ? text : input
}

export function argumentsOf(input: unknown): string {
  return typeof input === 'string' ? input : JSON.stringify(input ?? {})
}

/** Input as an object, for dialects that accept nothing else. */
export function objectInput(input: unknown): Wire {
  return isRecord(input) ? input : { input }
}

export type ImageSource = { mediaType: string; data?: string; url?: string }

/** For an image whose type is unknown until its address is fetched. */
export const ANY_IMAGE = 'image/*'

export function imageFromUrl(url: string): ImageSource {
  const match = /^data:([^;,]+);base64,/.exec(url)
  return match ? { mediaType: match[1]!, data: url.slice(match[0].length) } : { mediaType: ANY_IMAGE, url }
}

export function urlOfImage({ mediaType, data, url }: ImageSource): string {
  return data === undefined ? (url ?? '') : `data:${mediaType};base64,${data}`
}

/** The messages of a request, each an object with a role; throws otherwise. */
export function wireMessages(messages: unknown, what: string): Wire[] {
  if (!Array.isArray(messages)) throw new PalimpsestError('INVALID_MESSAGE', `${what} must be a list.`)
  messages.forEach((message, index) => {
    if (!isRecord(message)) {
      throw new PalimpsestError('INVALID_MESSAGE', `${what}[${index}] must be an object.`, { index })
    }
  })
  return messages
}

/** Names of calls by id, filled while reading: most results do not name their tool. */
export type CallNames = Map<string, string>

export const UNKNOWN_TOOL = 'unknown'

/** Text and images beside results. Some dialects cannot put them there: they follow as a user message. */
export function besideResults(message: Message): Part[] {
  return message.parts.filter(part => part.type !== 'tool-result')
}
