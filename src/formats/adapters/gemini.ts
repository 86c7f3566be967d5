/**
 * Gemini `contents` and `systemInstruction` ↔ neutral messages.
 *
 * `toGemini(fromGemini(contents, systemInstruction))` is the same JSON, byte for byte. A content with function
 * responses becomes a `tool` message. Most calls have no id: they get one by their place in the conversation, which is
 * never written, and a response belongs to the call with its id or else to the first open one of its name. A
 * `thoughtSignature` stays with its part and goes when that part is changed. Code execution, files other than images
 * and everything unknown are `raw`. From other dialects: reasoning is left out, messages of one role in a row are
 * joined, and the parts beside results follow as a content of their own.
 */
import { PalimpsestError } from '../../model/errors.ts'
import { isRecord, parseJson } from '../../model/json.ts'
import { addAll } from '../../model/lists.ts'
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
  besideResults,
  isRawOf,
  isTaken,
  keep,
  objectInput,
  originalOf,
  outputParts,
  type PartWriters,
  rawNote,
  rawPart,
  sameJson,
  TAKEN,
  taken,
  type Wire,
  type Written,
  wireMessages,
  writePart,
  writtenOnce,
} from './original.ts'

const DIALECT = 'gemini'

export type GeminiContent = { role?: string; parts?: unknown[] }
export type GeminiPrompt<C = GeminiContent, S = unknown> = { systemInstruction?: S; contents: C[] }

export function fromGemini(contents: readonly GeminiContent[], systemInstruction?: unknown): Message[] {
  const calls: Calls = { made: 0, ids: new Set(), named: new Map(), open: [] }
  let before: Role | undefined
  const read = wireMessages(contents, 'contents').map((wire, index) => {
    if (wire.role === 'model' && before !== 'assistant') calls.open = []
    const message = readMessage(wire, index, calls)
    const apart = message.role === before || isMixed(message)
    before = message.role
    return apart || !sameJson(writeMessage(message), wire) ? withEnvelope(message, wire) : message
  })
  const none = systemInstruction === undefined || systemInstruction === null
  return none ? read : [readSystem(systemInstruction), ...read]
}

/** `C` and `S`: the types of a content and of the system instruction in the SDK that the prompt goes to. */
export function toGemini<C = GeminiContent, S = unknown>(
  messages: readonly Message[],
  options: { written?: Written<Wire> } = {},
): GeminiPrompt<C, S> {
  return writePrompt(messages, options.written) as GeminiPrompt<C, S>
}

function writePrompt(messages: readonly Message[], before?: Written<Wire>): GeminiPrompt {
  const first = messages.findIndex(({ role }) => role !== 'system')
  const count = first < 0 ? messages.length : first
  const system = writeSystem(messages.slice(0, count))
  const contents: Wire[] = []
  let last: Role | undefined
  for (const message of responsesFirst(messages.slice(count))) {
    const wire = writtenOnce(message, before, writeMessage)
    if (!wire) continue
    const joins = last === message.role && !originalOf(message, DIALECT)
    if (joins) contents.push(join(contents.pop()!, wire))
    else contents.push(wire)
    last = message.role
  }
  return system === undefined ? { contents } : { systemInstruction: system, contents }
}

/** A content with function responses has nothing else in it, unless Gemini's own client sent it that way. */
function* responsesFirst(messages: readonly Message[]): Generator<Message> {
  let beside: Part[] = []
  for (const message of messages) {
    if (message.role !== 'tool' && beside.length > 0) {
      yield { role: 'user', parts: beside }
      beside = []
    }
    if (!isMixed(message) || originalOf(message, DIALECT)) yield message
    else {
      addAll(beside, besideResults(message))
      yield { ...message, parts: message.parts.filter(part => part.type === 'tool-result') }
    }
  }
  if (beside.length > 0) yield { role: 'user', parts: beside }
}

function isMixed({ role, parts }: Message): boolean {
  return role === 'tool' && parts.some(part => part.type !== 'tool-result')
}

function join(one: Wire, other: Wire): Wire {
  const listOf = ({ parts }: Wire) => (Array.isArray(parts) ? parts : [])
  return { ...one, parts: [...listOf(one), ...listOf(other)] }
}

type Call = { id: string; name: string; own: unknown }

/** The calls so far: how many, all ids, the calls that the client gave an id, and the calls without a response. */
type Calls = { made: number; ids: Set<string>; named: Map<string, Call>; open: Call[] }

/** The prefix of ids that we make. */
const OURS = 'gemini-call-'

function addCall(calls: Calls, name: string, own: unknown): Call {
  let id = typeof own === 'string' && own !== '' && !calls.ids.has(own) ? own : `${OURS}${calls.made}`
  while (calls.ids.has(id)) id += '+'
  const call = { id, name, own }
  calls.made++
  calls.ids.add(id)
  if (typeof own === 'string') calls.named.set(own, call)
  calls.open.push(call)
  return call
}

/** The call that a response answers. Clients also give responses an id of their own where the call had none. */
function takeCall(calls: Calls, name: string, own: unknown): Call {
  const byId = typeof own === 'string' ? calls.open.find(call => call.own === own) : undefined
  const answered = typeof own === 'string' ? calls.named.get(own) : undefined
  const found = byId ?? answered ?? calls.open.find(call => call.name === name)
  calls.open = calls.open.filter(call => call !== found)
  return found ?? { id: `${OURS}none-${calls.made}`, name, own }
}

function readMessage(wire: Wire, index: number, calls: Calls): Message {
  const role = roleOf(wire, index)
  const parts = Array.isArray(wire.parts) ? wire.parts.map(part => readPart(part, role, calls)) : []
  return { role: parts.some(part => part.type === 'tool-result') ? 'tool' : role, parts }
}

function roleOf({ role }: Wire, index: number): 'user' | 'assistant' {
  if (role === 'model') return 'assistant'
  if (role === 'user' || role === 'function' || role === undefined || role === null) return 'user'
  throw new PalimpsestError('INVALID_MESSAGE', `contents[${index}] has the role ${JSON.stringify(role)}.`, { index })
}

function withEnvelope(message: Message, wire: Wire): Message {
  const content = 'parts' in wire ? { ...wire, parts: taken(wire.parts) } : wire
  return { ...message, original: { dialect: DIALECT, value: { content } } }
}

function readSystem(system: unknown): Message {
  const list = isRecord(system) && Array.isArray(system.parts) && system.parts.length > 0 ? system.parts : undefined
  const parts: Part[] = list
    ? list.map(readPlain)
    : [typeof system === 'string' ? { type: 'text', text: system } : rawPart(DIALECT, system)]
  const message: Message = { role: 'system', parts }
  if (sameJson(writeSystem([message]), system)) return message
  const place = list ? { ...(system as Wire), parts: [TAKEN] } : TAKEN
  return { ...message, original: { dialect: DIALECT, value: { system: place } } }
}

function readPart(given: unknown, role: Role, calls: Calls): Part {
  return readSpelled(given, part => readCamel(part, role, calls))
}

function readCamel(part: Wire, role: Role, calls: Calls): Part {
  if (role === 'assistant' && isRecord(part.functionCall)) return readCall(part, part.functionCall, calls)
  if (role === 'assistant' && part.thought === true) return readThought(part)
  if (role === 'user' && isRecord(part.functionResponse)) return readResult(part, part.functionResponse, calls)
  return readPlainCamel(part)
}

/** JSON of protocol buffers allows two spellings of a field name; Python clients send the second. */
const SPELLINGS = new Map([
  ['function_call', 'functionCall'],
  ['function_response', 'functionResponse'],
  ['inline_data', 'inlineData'],
  ['file_data', 'fileData'],
  ['mime_type', 'mimeType'],
  ['file_uri', 'fileUri'],
  ['thought_signature', 'thoughtSignature'],
])
const BACK = new Map([...SPELLINGS].map(([snake, camel]) => [camel, snake]))

/** A part with some of its fields, and those of its data, under other names. */
function renamed(part: Wire, nameOf: (key: string) => string | undefined): Wire {
  const fields = Object.entries(part).map(([key, value]) => {
    const other = nameOf(key)
    const name = other === undefined || other in part ? key : other
    const isData = /^(?:inline|file)_?data$/i.test(key) && isRecord(value)
    return [name, isData ? renamed(value, nameOf) : value] as const
  })
  return Object.fromEntries(fields)
}

/** Reads a part in the first spelling. The names of fields in the second are kept, so that writing restores them. */
function readSpelled(part: unknown, read: (part: Wire) => Part): Part {
  if (!isRecord(part)) return rawPart(DIALECT, part)
  const snake: string[] = []
  const camel = renamed(part, key => {
    if (SPELLINGS.has(key)) snake.push(key)
    return SPELLINGS.get(key)
  })
  if (snake.length === 0) return read(part)
  const made = read(camel)
  if (made.type === 'raw') return rawPart(DIALECT, part)
  return { ...made, original: { dialect: DIALECT, value: { ...originalOf(made, DIALECT), snake } } }
}

/** A part that may be in a message of the user, in the system instruction and in an answer. */
function readPlain(given: unknown): Part {
  return readSpelled(given, readPlainCamel)
}

function readPlainCamel(part: Wire): Part {
  if (part.thought === true) return rawPart(DIALECT, part)
  if (typeof part.text !== 'string') return readImage(part)
  const read: Part = { type: 'text', text: part.text }
  return keep(read, part, writeText(read)[0], { dialect: DIALECT, value: { ...part, text: TAKEN } })
}

/** A signed image is opaque: an edit that shortens an image would drop it. */
function readImage(part: Wire): Part {
  if ((part.thoughtSignature ?? part.thought_signature) !== undefined) return rawPart(DIALECT, part)
  const { inlineData, fileData } = part
  if (isRecord(inlineData) && isImageType(inlineData.mimeType) && typeof inlineData.data === 'string') {
    const read: ImagePart = { type: 'image', mediaType: inlineData.mimeType, data: inlineData.data }
    const value = { ...part, inlineData: { ...inlineData, data: TAKEN } }
    return keep(read, part, writeImage(read), { dialect: DIALECT, value })
  }
  if (isRecord(fileData) && isImageType(fileData.mimeType) && typeof fileData.fileUri === 'string') {
    const read: ImagePart = { type: 'image', mediaType: fileData.mimeType, url: fileData.fileUri }
    const value = { ...part, fileData: { ...fileData, fileUri: TAKEN } }
    return keep(read, part, writeImage(read), { dialect: DIALECT, value })
  }
  return rawPart(DIALECT, part)
}

function isImageType(type: unknown): type is string {
  return typeof type === 'string' && type.startsWith('image/')
}

function readThought(part: Wire): Part {
  const { text } = part
  if (text !== undefined && typeof text !== 'string') return rawPart(DIALECT, part)
  const value = text === undefined ? part : { ...part, text: TAKEN }
  return { type: 'reasoning', text: text ?? '', original: { dialect: DIALECT, value } }
}

function readCall(part: Wire, call: Wire, calls: Calls): Part {
  const { name, args, id } = call
  const readable = isRecord(args) || args === undefined || args === null
  if (typeof name !== 'string' || !readable) return rawPart(DIALECT, part)
  const read: ToolCallPart = { type: 'tool-call', id: addCall(calls, name, id).id, name, input: args ?? {} }
  const functionCall = isRecord(args) ? { ...call, args: TAKEN } : call
  return keep(read, part, writeCall(read), { dialect: DIALECT, value: { ...part, functionCall } })
}

/**
 * The text of a response is the string under one of the usual names, if only numbers and the like are beside it; else
 * the JSON of the whole.
 */
function readResult(part: Wire, given: Wire, calls: Calls): Part {
  const { response, parts } = given
  if (typeof given.name !== 'string') return rawPart(DIALECT, part)
  const { id, name } = takeCall(calls, given.name, given.id)
  const key = textKey(response)
  const text = key && isRecord(response) ? String(response[key]) : (JSON.stringify(response) ?? '')
  const media = Array.isArray(parts) && parts.length > 0 ? parts.map(one => readSpelled(one, readImage)) : undefined
  const read: ToolResultPart = {
    type: 'tool-result',
    id,
    name,
    output: media ? [{ type: 'text', text }, ...media] : text,
  }
  if (isRecord(response) && response.error !== undefined && response.error !== null) read.isError = true
  const functionResponse: Wire = { ...given }
  if (response !== undefined) functionResponse.response = key ? { ...(response as Wire), [key]: TAKEN } : TAKEN
  if (media) functionResponse.parts = [TAKEN]
  return keep(read, part, writeResult(read), { dialect: DIALECT, value: { ...part, functionResponse } })
}

const TEXT_KEYS = ['output', 'result', 'content', 'error']

function textKey(response: unknown): string | undefined {
  if (!isRecord(response)) return undefined
  const isSmall = (value: unknown) => value === null || typeof value === 'number' || typeof value === 'boolean'
  return TEXT_KEYS.find(
    key =>
      typeof response[key] === 'string' &&
      Object.keys(response).every(other => other === key || isSmall(response[other])),
  )
}

function writeSystem(messages: readonly Message[]): unknown {
  if (messages.length === 0) return undefined
  const place = originalOf(messages[0]!, DIALECT)?.system
  const parts = messages.flatMap(message => message.parts)
  const [only] = parts
  if (place === TAKEN && parts.length === 1) {
    if (only?.type === 'text') return only.text
    if (only?.type === 'raw' && only.provider === DIALECT) return only.value
  }
  const written = parts.flatMap(part => writeBlock(part, 'system'))
  if (written.length === 0) return undefined
  return isRecord(place) ? { ...place, parts: written } : { parts: written }
}

function writeMessage(message: Message): Wire | undefined {
  const own = originalOf(message, DIALECT)?.content
  const parts = message.parts.flatMap(part => writeBlock(part, message.role))
  if (!isRecord(own)) {
    return parts.length === 0 ? undefined : { role: message.role === 'assistant' ? 'model' : 'user', parts }
  }
  if (parts.length > 0) return { ...own, parts }
  return isTaken(own.parts) ? undefined : own
}

const WRITERS: PartWriters = {
  text: writeText,
  reasoning: writeThought,
  call: writeCall,
  result: writeResult,
  image: writeImage,
}

function writeBlock(part: Part, role: Role): unknown[] {
  const own = originalOf(part, DIALECT)
  if (!Array.isArray(own?.snake)) return writePart(part, role, DIALECT, WRITERS)
  const { snake, ...value } = own as Wire & { snake: unknown[] }
  const { original: _, ...bare } = part
  const kept: Part = Object.keys(value).length === 0 ? bare : { ...bare, original: { dialect: DIALECT, value } }
  const spell = (key: string) => (snake.includes(BACK.get(key)) ? BACK.get(key) : undefined)
  return writePart(kept, role, DIALECT, WRITERS).map(wire => (isRecord(wire) ? renamed(wire, spell) : wire))
}

/** Not every model accepts an empty text, so only one that the client sent is written. */
function writeText(part: TextPart): unknown[] {
  const own = originalOf(part, DIALECT)
  if (part.text.trim() === '' && (part.edit !== undefined || !own)) return []
  if (!own) return [{ text: part.text }]
  return [{ ...(part.edit === undefined ? own : unsigned(own)), text: part.text }]
}

function writeThought(part: ReasoningPart): unknown[] {
  const own = originalOf(part, DIALECT)
  if (!own || part.edit !== undefined) return []
  return ['text' in own ? { ...own, text: part.text } : own]
}

function writeCall(part: ToolCallPart): Wire {
  const { id, name, input } = part
  const own = originalOf(part, DIALECT)
  const call = own?.functionCall
  if (!own || !isRecord(call)) return { functionCall: { ...idFor(id), name, args: objectInput(input) } }
  if (part.edit !== undefined) return { ...unsigned(own), functionCall: { ...call, args: objectInput(input) } }
  return { ...own, functionCall: call.args === TAKEN ? { ...call, args: input } : call }
}

function writeResult(part: ToolResultPart): Wire {
  const { id, name } = part
  const own = originalOf(part, DIALECT)
  const given = own?.functionResponse
  const inner = outputParts(part)
  const text = inner.flatMap(textIn).join('\n')
  const parts = inner
    .filter(one => one.type === 'image' || isRawOf(one, DIALECT))
    .flatMap(one => writeBlock(one, 'tool'))
  const media = parts.length > 0 ? { parts } : {}
  if (!own || !isRecord(given)) {
    const response = { [part.isError ? 'error' : 'output']: text }
    return { functionResponse: { ...idFor(id), name, response, ...media } }
  }
  const functionResponse: Wire = { ...given, ...media }
  if (isTaken(given.parts) && parts.length === 0) delete functionResponse.parts
  if ('response' in given || part.edit !== undefined) functionResponse.response = fill(given.response, text, part)
  return { ...own, functionResponse }
}

/** The response with its text in its place. */
function fill(place: unknown, text: string, { edit, isError }: ToolResultPart): unknown {
  if (place === TAKEN && edit === undefined) return parseJson(text)
  const name = isError ? 'error' : 'output'
  if (!isRecord(place)) return { [name]: text }
  const entries = Object.entries(place)
  const now = (key: string) => (key === 'error' && !isError ? name : key)
  return Object.fromEntries(entries.map(([key, value]) => (value === TAKEN ? [now(key), text] : [key, value])))
}

function textIn(part: Part): string[] {
  if (part.type === 'text') return [part.text]
  return part.type === 'raw' && part.provider !== DIALECT ? [rawNote(part)] : []
}

function idFor(id: string): { id?: string } {
  return id.startsWith(OURS) ? {} : { id }
}

function writeImage(part: ImagePart): Wire {
  const own = originalOf(part, DIALECT)
  const { mediaType, data, url = '' } = part
  if (data !== undefined) {
    const inlineData = isRecord(own?.inlineData) ? { ...own.inlineData, data } : { mimeType: mediaType, data }
    return { ...own, inlineData }
  }
  const plain = mediaType === ANY_IMAGE ? { fileUri: url } : { mimeType: mediaType, fileUri: url }
  return { ...own, fileData: isRecord(own?.fileData) ? { ...own.fileData, fileUri: url } : plain }
}

/** A signature is valid only for the unchanged part. */
function unsigned({ thoughtSignature: _, thought_signature: __, ...part }: Wire): Wire {
  return part
}
