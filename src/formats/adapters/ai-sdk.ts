/**
 * AI SDK messages ↔ neutral messages: both `ModelMessage` and the prompt that a `LanguageModelV4` is called with.
 *
 * `toAiSdk(fromAiSdk(messages))` is the same JSON, byte for byte; bytes of files come back as base64, which the
 * SDK sends alike. Provider options (signatures, cache marks) stay with their part. Tools that the provider runs
 * itself, approvals and files that are no images are `raw`.
 */
import type { ModelMessage } from 'ai'
import { PalimpsestError } from '../../model/errors.ts'
import { isRecord, parseJson } from '../../model/json.ts'
import type { ImagePart, Message, Part, Role, ToolCallPart, ToolResultPart } from '../../model/types.ts'
import {
  ANY_IMAGE,
  besideResults,
  type Codec,
  type ImageSource,
  isRawOf,
  keep,
  originalOf,
  outputParts,
  plainText,
  rawNote,
  rawPart,
  readContent,
  readText,
  sameJson,
  TAKEN,
  taken,
  type Wire,
  wireMessages,
  writeContent,
} from './original.ts'

const DIALECT = 'ai-sdk'

export type AiSdkMessage = { role: string; content: unknown }

export function fromAiSdk(messages: readonly AiSdkMessage[]): Message[] {
  return wireMessages(messages, 'messages').map((wire, index) => {
    const role = roleOf(wire, index)
    const message: Message = { role, parts: readContent(wire.content, block => readBlock(block, role)) }
    if (sameJson(writeMessage(message), [wire])) return message
    return { ...message, original: { dialect: DIALECT, value: { ...wire, content: taken(wire.content) } } }
  })
}

/** `M`: `ModelMessage`, or a message of a `LanguageModelV4Prompt`. */
export function toAiSdk<M = ModelMessage>(messages: readonly Message[]): M[] {
  return messages.flatMap(writeMessage) as M[]
}

function roleOf({ role }: Wire, index: number): Role {
  if (role === 'system' || role === 'user' || role === 'assistant' || role === 'tool') return role
  throw new PalimpsestError('INVALID_MESSAGE', `messages[${index}] has the role ${JSON.stringify(role)}.`, { index })
}

function readBlock(value: unknown, role: Role): Part {
  const block = storable(value)
  if (!isRecord(block)) return rawPart(DIALECT, block)
  if (role === 'assistant' && block.type === 'tool-call') return readCall(block)
  if (role === 'assistant' && block.type === 'reasoning' && typeof block.text === 'string') {
    return { type: 'reasoning', text: block.text, original: { dialect: DIALECT, value: { ...block, text: TAKEN } } }
  }
  if (role === 'tool' && block.type === 'tool-result') return readResult(block)
  return readPlain(block)
}

function readPlain(value: unknown): Part {
  const block = storable(value)
  if (!isRecord(block)) return rawPart(DIALECT, block)
  const said = readText(block, 'text', codec('user'))
  if (said) return said
  const found = imageIn(block)
  if (!found) return rawPart(DIALECT, block)
  const part: ImagePart = { type: 'image', ...found.source }
  return keep(part, block, writeBlock(part)[0], { dialect: DIALECT, value: found.place })
}

function readCall(block: Wire): Part {
  const { toolCallId: id, toolName: name, input } = block
  const ours = typeof id === 'string' && typeof name === 'string' && block.providerExecuted !== true
  if (!ours) return rawPart(DIALECT, block)
  const part: ToolCallPart = { type: 'tool-call', id, name, input }
  return keep(part, block, writeCall(part), { dialect: DIALECT, value: { ...block, input: TAKEN } })
}

function readResult(block: Wire): Part {
  const { toolCallId: id, toolName: name, output: wire } = block
  if (typeof id !== 'string' || typeof name !== 'string' || !isRecord(wire)) return rawPart(DIALECT, block)
  const found = readOutput(wire)
  if (!found) return rawPart(DIALECT, block)
  const part: ToolResultPart = { type: 'tool-result', id, name, output: found.output }
  if (found.isError) part.isError = true
  const value = { ...block, output: { ...wire, ...found.place } }
  return keep(part, block, writeResult(part), { dialect: DIALECT, value })
}

type Output = { output: string | Part[]; isError?: boolean; place: Wire }

function readOutput(wire: Wire): Output | undefined {
  const { type, value } = wire
  const isError = type === 'error-text' || type === 'error-json'
  if ((type === 'text' || type === 'error-text') && typeof value === 'string') {
    return { output: value, isError, place: { value: TAKEN } }
  }
  if ((type === 'json' || type === 'error-json') && value !== undefined) {
    return { output: JSON.stringify(value), isError, place: { value: TAKEN } }
  }
  if (type === 'content' && Array.isArray(value))
    return { output: value.map(readPlain), place: { value: taken(value) } }
  if (type === 'execution-denied') {
    return { output: typeof wire.reason === 'string' ? wire.reason : '', isError: true, place: {} }
  }
  return undefined
}

/** The image in a block, in any of the SDK's spellings, and the block without it. */
function imageIn(block: Wire): { source: ImageSource; place: Wire } | undefined {
  const { type, image, data, url } = block
  const mediaType = typeof block.mediaType === 'string' ? block.mediaType : ANY_IMAGE
  if (type === 'image' && typeof image === 'string') {
    return { source: looseSource(image, mediaType), place: { ...block, image: TAKEN } }
  }
  if (type === 'image-data' && typeof data === 'string') {
    return { source: { mediaType, data }, place: { ...block, data: TAKEN } }
  }
  if (type === 'image-url' && typeof url === 'string') {
    return { source: { mediaType, url }, place: { ...block, url: TAKEN } }
  }
  return type === 'file' && /^image(\/|$)/.test(mediaType) ? imageInFile(block, mediaType) : undefined
}

function imageInFile(block: Wire, mediaType: string): ReturnType<typeof imageIn> {
  const { data } = block
  if (typeof data === 'string') return { source: looseSource(data, mediaType), place: { ...block, data: TAKEN } }
  if (!isRecord(data)) return undefined
  if (data.type === 'data' && typeof data.data === 'string') {
    return { source: { mediaType, data: data.data }, place: { ...block, data: { ...data, data: TAKEN } } }
  }
  if (data.type === 'url' && typeof data.url === 'string') {
    return { source: { mediaType, url: data.url }, place: { ...block, data: { ...data, url: TAKEN } } }
  }
  return undefined
}

/** A string that may be an address or base64. */
function looseSource(text: string, mediaType: string): ImageSource {
  return /^(https?|data):/.test(text) ? { mediaType, url: text } : { mediaType, data: text }
}

function writeMessage(message: Message): AiSdkMessage[] {
  const own = originalOf(message, DIALECT)
  if (message.role === 'system' && !own) {
    return [{ role: 'system', content: message.parts.map(plainText).join('\n') }]
  }
  const beside: Part[] = message.role === 'tool' ? besideResults(message).filter(part => !isRawOf(part, DIALECT)) : []
  const parts = beside.length === 0 ? message.parts : message.parts.filter(part => !beside.includes(part))
  const content = writeContent(parts, own ? own.content : [TAKEN], codec(message.role))
  const after = beside.length === 0 ? [] : writeMessage({ role: 'user', parts: beside })
  if (content === undefined) return after
  const { role } = message
  return [own ? { ...own, role, content } : { role, content }, ...after]
}

function codec(role: Role): Codec {
  return { dialect: DIALECT, write: part => writeBlock(part, role) }
}

function writeBlock(part: Part, role: Role = 'user'): unknown[] {
  const own = originalOf(part, DIALECT)
  switch (part.type) {
    case 'text':
      if (part.text === '' && (part.edit !== undefined || !own)) return []
      return [{ ...(own ?? { type: 'text' }), text: part.text }]
    case 'reasoning':
      return own && part.edit === undefined ? [{ ...own, text: part.text }] : []
    case 'tool-call':
      return [writeCall(part)]
    case 'tool-result':
      return [writeResult(part)]
    case 'image':
      return [writeImage(part, own)]
    case 'raw':
      if (isRawOf(part, DIALECT)) return [alive(part.value)]
      return role === 'assistant' ? [] : [{ type: 'text', text: rawNote(part) }]
  }
}

function writeCall(part: ToolCallPart): Wire {
  const own = originalOf(part, DIALECT) ?? { type: 'tool-call' }
  return { ...own, toolCallId: part.id, toolName: part.name, input: part.input }
}

function writeResult(part: ToolResultPart): Wire {
  const own = originalOf(part, DIALECT) ?? { type: 'tool-result' }
  return { ...own, toolCallId: part.id, toolName: part.name, output: writeOutput(part, own.output) }
}

function writeOutput(part: ToolResultPart, own: unknown): Wire {
  const place = isRecord(own) ? own : {}
  if (typeof part.output !== 'string') {
    return { ...place, type: 'content', value: outputParts(part).flatMap(inner => writeBlock(inner)) }
  }
  if (part.edit === undefined && place.type === 'execution-denied') return place
  if (part.edit === undefined && (place.type === 'json' || place.type === 'error-json')) {
    return { ...place, value: parseJson(part.output) }
  }
  return { ...place, type: part.isError ? 'error-text' : 'text', value: part.output }
}

function writeImage(part: ImagePart, own: Wire | undefined): Wire {
  const { mediaType, data, url } = part
  if (!own) {
    const source = data === undefined ? { type: 'url', url } : { type: 'data', data }
    return alive({ type: 'file', data: source, mediaType })
  }
  const text = data ?? url
  if (own.image === TAKEN) return { ...own, image: text }
  if (own.url === TAKEN) return { ...own, url: text }
  if (!isRecord(own.data)) return { ...own, data: text }
  return alive({ ...own, data: { ...own.data, ...(data === undefined ? { url } : { data }) } })
}

/** The block as JSON can hold it: bytes as base64, addresses as strings. */
function storable(block: unknown): unknown {
  if (!isRecord(block)) return block
  const { image, data } = block
  if (isBinary(image) || image instanceof URL) return { ...block, image: textOf(image) }
  if (isBinary(data) || data instanceof URL) return { ...block, data: textOf(data) }
  if (!isRecord(data)) return block
  if (isBinary(data.data)) return { ...block, data: { ...data, data: textOf(data.data) } }
  return data.url instanceof URL ? { ...block, data: { ...data, url: textOf(data.url) } } : block
}

/** A tagged address as providers want it: a `URL`, unless that would change how it is written. */
function alive<T>(block: T): T {
  if (!isRecord(block) || !isRecord(block.data) || block.data.type !== 'url') return block
  const { url } = block.data
  if (typeof url !== 'string' || !URL.canParse(url)) return block
  const parsed = new URL(url)
  return parsed.href === url ? { ...block, data: { ...block.data, url: parsed } } : block
}

function isBinary(value: unknown): value is Uint8Array | ArrayBuffer {
  return value instanceof Uint8Array || value instanceof ArrayBuffer
}

function textOf(value: Uint8Array | ArrayBuffer | URL): string {
  if (value instanceof URL) return value.href
  const bytes = value instanceof Uint8Array ? value : new Uint8Array(value)
  let binary = ''
  for (let i = 0; i < bytes.length; i += 8192) binary += String.fromCharCode(...bytes.subarray(i, i + 8192))
  return btoa(binary)
}
