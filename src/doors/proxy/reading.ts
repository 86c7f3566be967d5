import { sameJson, UNKNOWN_TOOL, type Wire } from '../../formats/adapters/original.ts'
import { isRecord } from '../../model/json.ts'
import type { Message } from '../../model/types.ts'
import { MOST_VALUES, readBody, readObject } from './body-json.ts'
import { chainOf } from './conversation.ts'
import type { ProxyDialect } from './dialect.ts'
import { behindElement, type ListSpan, scanList, scanOn } from './list-bytes.ts'

export type Reading = {
  dialect: ProxyDialect
  bytes: Buffer
  body: Wire
  /** At least the number of values in the body. */
  values: number
  /** The conversation in the body; undefined if there is none. */
  messages: Message[] | undefined
  /** See `chainOf`. */
  chain: string[]
  list: ListSpan | undefined
}

const MOST_BODIES = 128
const MOST_BYTES = 64 * 1024 * 1024
const BYTES_PER_VALUE = 100

export class Readings {
  /** In order of use, the most recent at the end. */
  readonly #known = new Set<Reading>()
  readonly #last = new Map<string, Reading>()
  #bytes = 0

  /**
   * Undefined if the body is not the JSON object that we expect, or too large. `sender`: the sender of the body that this one
   * probably continues.
   */
  read(dialect: ProxyDialect, given: Uint8Array, sender = ''): Reading | undefined {
    const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength)
    const before = this.#like(dialect, bytes, sender)
    const reading = (before && readOn(before.reading, before.shared, bytes)) ?? readWhole(dialect, bytes)
    if (!reading?.list) return reading
    if (before && goesOn(before)) this.#forget(before.reading)
    this.#remember(reading, sender)
    return reading
  }

  /** The body that shares the most elements with this one, and their number. */
  #like(dialect: ProxyDialect, bytes: Buffer, sender: string): Like | undefined {
    const last = this.#last.get(sender)
    let best = last && shared(last, dialect, bytes, 0)
    if (best && goesOn(best)) return best
    for (const reading of [...this.#known].reverse()) {
      best = shared(reading, dialect, bytes, best?.shared ?? 0) ?? best
      if (best && goesOn(best)) break
    }
    return best
  }

  #remember(reading: Reading, sender: string): void {
    this.#known.add(reading)
    this.#bytes += sizeOf(reading)
    if (sender !== '') this.#last.set(sender, reading)
    for (const oldest of this.#known) {
      if (this.#known.size <= MOST_BODIES && (this.#bytes <= MOST_BYTES || this.#known.size === 1)) return
      this.#forget(oldest)
      for (const [name, last] of this.#last) if (last === oldest) this.#last.delete(name)
    }
  }

  #forget(reading: Reading): void {
    if (this.#known.delete(reading)) this.#bytes -= sizeOf(reading)
  }
}

function sizeOf({ bytes, values }: Reading): number {
  return bytes.length + values * BYTES_PER_VALUE
}

type Like = { reading: Reading; shared: number }

/** The number of last messages that a client changes in its next request, by moving its cache marks. */
const FEW = 3

function goesOn({ reading, shared }: Like): boolean {
  return shared >= reading.list!.ends.length - FEW
}

/** Compares a body with a known one, if they share more than `most` elements. */
function shared(reading: Reading, dialect: ProxyDialect, bytes: Buffer, most: number): Like | undefined {
  if (reading.dialect !== dialect || !sharesElement(reading, bytes, most)) return undefined
  return { reading, shared: sharedElements(reading, bytes) }
}

/** Whether the element at an index, and everything before it, is the same in both. */
function sharesElement({ bytes: known, list }: Reading, bytes: Buffer, index: number): boolean {
  const end = list?.ends[index]
  return end !== undefined && end <= bytes.length && known.compare(bytes, 0, end, 0, end) === 0
}

function sharedElements(reading: Reading, bytes: Buffer): number {
  let low = 1
  let high = reading.list!.ends.length
  // Usually nearly all elements are shared: look from the end first.
  for (let i = high; i > Math.max(1, high - FEW); i--) if (sharesElement(reading, bytes, i - 1)) return i
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (sharesElement(reading, bytes, middle - 1)) low = middle
    else high = middle - 1
  }
  return low
}

function readWhole(dialect: ProxyDialect, bytes: Buffer): Reading | undefined {
  const { body, values } = readObject(bytes)
  if (!body) return undefined
  const messages = dialect.read(body)
  const found = messages && scanList(bytes, dialect.list)
  const list = found && isOnly(bytes, dialect, found) ? found : undefined
  return { dialect, bytes, body, values, messages, chain: chainOf(messages ?? []), list }
}

/** Undefined if this body must be read as a whole. */
function readOn(before: Reading, shared: number, bytes: Buffer): Reading | undefined {
  const { dialect } = before
  const { open, ends } = before.list!
  const list = scanOn(bytes, open, ends.slice(0, shared))
  if (!list || !isOnly(bytes, dialect, list)) return undefined
  const { body, values: added } = parseOn(before, list, shared, bytes)
  const values = before.values + added
  if (values > MOST_VALUES) return undefined
  const fresh = body?.[dialect.list]
  const old = before.body[dialect.list]
  if (!Array.isArray(old) || !Array.isArray(fresh) || fresh.length !== list.ends.length - shared) return undefined
  const elements: unknown[] = [...old.slice(0, shared), ...fresh]
  const whole = { ...body, [dialect.list]: elements }
  const read = readTail(before, { body: whole, old, elements, shared }) ?? dialect.read(whole)
  if (!read) return undefined
  const known = before.messages ?? []
  const messages = read.map((message, i) => (known[i] && isSame(known[i], message) ? known[i] : message))
  const chain = chainOf(messages, { messages: known, chain: before.chain })
  return { dialect, bytes, body: whole, values, messages, chain, list }
}

/** Parses the body with only the elements that are not shared; the rest of the body is mostly unchanged. */
function parseOn(before: Reading, list: ListSpan, shared: number, bytes: Buffer) {
  const start = behindElement(bytes, list.ends[shared - 1]!)
  const around = before.bytes.subarray(before.list!.close)
  if (!around.equals(bytes.subarray(list.close))) {
    return readObject(Buffer.concat([bytes.subarray(0, list.open), bytes.subarray(start)]))
  }
  const { value: fresh, values } = readBody(bytes.subarray(start, list.close), text => `[${text}]`)
  return { body: { ...before.body, [before.dialect.list]: fresh }, values }
}

/** Whether no second list of that name can follow this one: in JSON the last one would count. */
function isOnly(bytes: Buffer, dialect: ProxyDialect, { close }: ListSpan): boolean {
  return bytes.indexOf(JSON.stringify(dialect.list), close) < 0
}

type Tail = { body: Wire; old: readonly unknown[]; elements: readonly unknown[]; shared: number }

/**
 * The messages, without reading their shared beginning again. That beginning ends before a turn of the assistant,
 * because no dialect joins anything across that place, and the calls of new results come after it.
 */
function readTail(before: Reading, { body, old, elements, shared }: Tail): Message[] | undefined {
  const { dialect, messages } = before
  if (dialect.readsWhole) return undefined
  const from = turnBefore(dialect, elements, shared)
  if (!messages || from === undefined) return undefined
  const part = (list: readonly unknown[]) => dialect.read({ [dialect.list]: list }) ?? []
  const tail = part(elements.slice(from))
  const isStray = tail.some(({ parts }) => parts.some(one => one.type === 'tool-result' && one.name === UNKNOWN_TOOL))
  if (isStray) return undefined
  const leading = (of: Wire) => dialect.read({ ...of, [dialect.list]: [] }) ?? []
  const behind = messages.slice(0, messages.length - part(old.slice(from)).length)
  if (sameFrame(dialect, before.body, body)) return [...behind, ...tail]
  return [...leading(body), ...behind.slice(leading(before.body).length), ...tail]
}

/** Whether all fields around the list are the same objects as before. */
function sameFrame({ list }: ProxyDialect, before: Wire, body: Wire): boolean {
  const keys = Object.keys(body)
  return keys.length === Object.keys(before).length && keys.every(key => key === list || before[key] === body[key])
}

const LOOK_BACK = 32

function turnBefore(dialect: ProxyDialect, elements: readonly unknown[], shared: number): number | undefined {
  for (let at = shared - 1; at > Math.max(0, shared - LOOK_BACK); at--) {
    if (isAssistant(dialect, elements[at]) && !isAssistant(dialect, elements[at - 1])) return at
  }
  return undefined
}

const assistants = new WeakMap<object, boolean>()

function isAssistant(dialect: ProxyDialect, element: unknown): boolean {
  if (!isRecord(element)) return false
  // If an element names its role, nothing else needs checking.
  if (typeof element['role'] === 'string') return element['role'] === 'assistant'
  const known = assistants.get(element)
  if (known !== undefined) return known
  const is = dialect.read({ [dialect.list]: [element] })?.[0]?.role === 'assistant'
  assistants.set(element, is)
  return is
}

function isSame(one: Message, other: Message): boolean {
  if (one === other) return true
  return one.role === other.role && sameJson(one.parts, other.parts) && sameJson(one.original, other.original)
}
