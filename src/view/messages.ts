/**
 * Checks messages before they enter a ledger: their shape, and that their ids fit together.
 *
 * `checkMessage` checks one message by itself. `Calls` follows the tool calls of a session and says how each new
 * message changes them. A transcript that already breaks the rules must first go through `heal` (doctor.ts).
 */
import { PalimpsestError } from '../model/errors.ts'
import type { Message, Part, ToolResultPart } from '../model/types.ts'
import { callsIn } from './legality.ts'

/** Characters of one part. Larger content belongs in a file, with its path in the conversation. */
export const MAX_PART = 32 * 1024 * 1024
/** Deeper than any real input, and far below the depth at which JSON itself fails. */
const MAX_DEPTH = 500

const ROLES = new Set(['system', 'user', 'assistant', 'tool'])

export function checkMessage(message: Message): void {
  if (!message || !ROLES.has(message.role))
    fail(`role must be system, user, assistant or tool`, { role: message?.role })
  if (!Array.isArray(message.parts)) fail('parts must be an array', {})
  if (message.at !== undefined && !Number.isFinite(message.at)) fail('at must be a number of milliseconds', {})
  for (let i = 0; i < message.parts.length; i++) checkPart(message.parts[i]!, i, message.role)
}

/** The number of messages at the front that are the same objects. */
export function commonLength(a: readonly Message[], b: readonly Message[]): number {
  let i = 0
  while (i < a.length && a[i] === b[i]) i++
  return i
}

/** The number of system messages at the front. */
export function leadingSystem(messages: readonly Pick<Message, 'role'>[]): number {
  const first = messages.findIndex(({ role }) => role !== 'system')
  return first < 0 ? messages.length : first
}

/** A copy, as JSON would return it. It shares only strings with the caller, who may change the original objects. */
export function copyOf(message: Message): Message {
  return copyJson(message) as Message
}

function copyJson(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(copyJson)
  if ('toJSON' in value && typeof value.toJSON === 'function') return copyJson(value.toJSON())
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    const inner: unknown = value[key as keyof typeof value]
    if (inner === undefined) continue
    // A plain assignment to `__proto__` would create no key.
    if (key === '__proto__') Object.defineProperty(copy, key, { ...PLAIN, value: copyJson(inner) })
    else copy[key] = copyJson(inner)
  }
  return copy
}

const PLAIN = { configurable: true, enumerable: true, writable: true }

function checkPart(part: Part, index: number, role: Message['role']): void {
  switch (part?.type) {
    case 'text':
    case 'reasoning':
      return checkText(part.text, index)
    case 'tool-call':
      if (role !== 'assistant') fail('a tool call belongs to an assistant message', { part: index })
      if (!part.id || !part.name) fail('a tool call needs an id and a name', { part: index })
      checkJson(part.input, index, checkText)
      return
    case 'tool-result':
      if (role !== 'tool') fail('a tool result belongs to a message of role tool', { part: index })
      return checkResult(part, index)
    case 'image':
      return checkText(part.data ?? part.url ?? '', index)
    case 'raw':
      checkJson(part.value, index, checkSize)
      return
    default:
      fail('the type of a part is text, reasoning, tool-call, tool-result, image or raw', { part: index })
  }
}

function checkResult({ id, output }: ToolResultPart, index: number): void {
  if (!id) fail('a tool result needs the id of its call', { part: index })
  if (typeof output === 'string') return checkText(output, index)
  if (!Array.isArray(output)) fail('the output of a tool result is a string or an array of parts', { part: index })
  for (const inner of output) checkPart(inner, index, 'user')
}

/** Checks that a value can be written as JSON, and checks each text in it; returns the characters of all texts. */
function checkJson(value: unknown, part: number, check: (text: string, part: number) => void, depth = 0): number {
  if (typeof value === 'string') {
    check(value, part)
    return value.length
  }
  if (typeof value === 'bigint') fail('a bigint cannot be written as JSON', { part })
  if (value === null || typeof value !== 'object') return 0
  if (depth > MAX_DEPTH) fail(`a value is nested more than ${MAX_DEPTH} levels deep, or inside itself`, { part })
  let size = 0
  for (const inner of Object.values(value)) {
    size += checkJson(inner, part, check, depth + 1)
    if (size > MAX_PART) throw tooLarge(size, part)
  }
  return size
}

function checkText(text: unknown, part: number): void {
  if (typeof text !== 'string') fail('the text of a part must be a string', { part })
  checkSize(text, part)
  if (!text.isWellFormed()) {
    throw new PalimpsestError(
      'INVALID_UNICODE',
      `Part ${part} is not valid Unicode (a lone surrogate). Repair it with String.prototype.toWellFormed().`,
      { part },
    )
  }
}

function checkSize(text: string, part: number): void {
  if (text.length > MAX_PART) throw tooLarge(text.length, part)
}

function tooLarge(length: number, part: number): PalimpsestError {
  return new PalimpsestError(
    'TOO_LARGE',
    `Part ${part} has ${length} characters or more; the limit is ${MAX_PART}. Put it in a file and name its path.`,
    { part, length },
  )
}

function fail(message: string, data: Record<string, unknown>): never {
  throw new PalimpsestError('INVALID_MESSAGE', `Invalid message: ${message}.`, data)
}

type Call = { id: string; name: string }

type CallState = { name: string; state: 'open' | 'answered' | 'interrupted' }

/** A result that came after its call was marked as interrupted. */
export type Late = { part: number; id: string; name: string }

/** The tool calls of a session. `check` only reads, `add` changes; a `draft` can be discarded. */
export class Calls {
  readonly #base: Calls | undefined
  readonly #calls = new Map<string, CallState>()
  /** Calls of the last step that have no result yet. */
  #open: Set<string>
  /** Whether results of the last step have begun to arrive. */
  #answering: boolean
  /** Messages of the last step: assistant messages in a row, and the results after them. */
  #stepLength: number

  constructor(base?: Calls) {
    this.#base = base
    this.#open = new Set(base?.open)
    this.#answering = base ? base.#answering : false
    this.#stepLength = base ? base.#stepLength : 0
  }

  /** A copy to try messages on. */
  draft(): Calls {
    return new Calls(this)
  }

  get open(): string[] {
    return [...this.#open]
  }

  get stepLength(): number {
    return this.#stepLength
  }

  nameOf(id: string): string | undefined {
    return this.#find(id)?.name
  }

  /** Throws if a message does not fit the messages before it; returns the calls that it leaves without a result. */
  check(message: Message): { interrupted: string[]; late: Late[] } {
    if (message.role === 'tool') return { interrupted: [], late: this.#checkResults(message) }
    this.#checkCalls(message)
    const goesOn = message.role === 'assistant' && !this.#answering
    return { interrupted: goesOn ? [] : this.open, late: [] }
  }

  add({ role, parts }: Message): void {
    this.#noteRole(role)
    for (const part of parts) {
      if (part.type === 'tool-call') this.#noteCall(part)
      else if (part.type === 'tool-result') this.#noteResult(part.id)
    }
  }

  /** The same, from the known facts of an entry whose content is not loaded. */
  note(role: Message['role'], calls: readonly Call[], results: readonly string[]): void {
    this.#noteRole(role)
    for (const call of calls) this.#noteCall(call)
    for (const id of results) this.#noteResult(id)
  }

  #noteRole(role: Message['role']): void {
    const goesOn = role === 'tool' || (role === 'assistant' && !this.#answering)
    if (!goesOn) this.#giveUp()
    this.#stepLength = goesOn ? this.#stepLength + 1 : role === 'assistant' ? 1 : 0
    this.#answering = role === 'tool'
  }

  #noteCall({ id, name }: Call): void {
    this.#calls.set(id, { name, state: 'open' })
    this.#open.add(id)
  }

  #noteResult(id: string): void {
    const call = this.#find(id)
    if (call) this.#calls.set(id, { name: call.name, state: 'answered' })
    this.#open.delete(id)
  }

  #checkCalls(message: Message): void {
    const ids = new Set<string>()
    for (const { id } of callsIn(message)) {
      if (this.#find(id) || ids.has(id))
        fail(`the tool call id ${id} is already used; ids must be unique in a session`, { id })
      ids.add(id)
    }
  }

  #checkResults(message: Message): Late[] {
    const late: Late[] = []
    const ids = new Set<string>()
    for (let part = 0; part < message.parts.length; part++) {
      const result = message.parts[part]!
      if (result.type !== 'tool-result') continue
      const { id } = result
      const call = this.#find(id)
      if (!call) fail(`there is no tool call ${id} before this result`, { id })
      if (call.state === 'answered' || ids.has(id)) fail(`the tool call ${id} already has a result`, { id })
      if (call.state === 'interrupted') late.push({ part, id, name: call.name })
      ids.add(id)
    }
    return late
  }

  #find(id: string): CallState | undefined {
    return this.#calls.get(id) ?? (this.#base ? this.#base.#find(id) : undefined)
  }

  #giveUp(): void {
    for (const id of this.#open) this.#calls.set(id, { name: this.nameOf(id)!, state: 'interrupted' })
    this.#open = new Set()
  }
}
