/**
 * Where the elements of one list stand in the bytes of a JSON object, found without parsing them.
 *
 * `scanList` walks the members of the object to the list with that name and gives its elements' ends; from one of
 * these ends, `scanOn` goes on in other bytes that agree up to there. Both expect valid JSON, and give nothing
 * where the list holds anything but objects: then the whole is parsed, as if this file did not exist.
 */

export type ListSpan = {
  /** The place behind the opening bracket. */
  open: number
  /** The place behind each element. */
  ends: number[]
  /** The place of the closing bracket. */
  close: number
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d

export function scanList(bytes: Buffer, name: string): ListSpan | undefined {
  const open = findList(bytes, Buffer.from(JSON.stringify(name)))
  return open === undefined ? undefined : scanOn(bytes, open, [])
}

/** The list that opens at `open` and whose first elements are known to end at `ends`. */
export function scanOn(bytes: Buffer, open: number, ends: readonly number[]): ListSpan | undefined {
  const found = [...ends]
  let at = skipBlank(bytes, found.at(-1) ?? open)
  while (bytes[at] !== CLOSE_LIST) {
    if (found.length > 0) {
      if (bytes[at] !== COMMA) return undefined
      at = skipBlank(bytes, at + 1)
    }
    if (bytes[at] !== OPEN_OBJECT) return undefined
    const end = endOfValue(bytes, at)
    if (end === undefined) return undefined
    found.push(end)
    at = skipBlank(bytes, end)
  }
  return { open, ends: found, close: at }
}

/** Where the text goes on behind an element: at the next one, or at the closing bracket. */
export function behindElement(bytes: Buffer, end: number): number {
  const at = skipBlank(bytes, end)
  return bytes[at] === COMMA ? skipBlank(bytes, at + 1) : at
}

function findList(bytes: Buffer, key: Buffer): number | undefined {
  let at = skipBlank(bytes, 0)
  if (bytes[at] !== OPEN_OBJECT) return undefined
  at = skipBlank(bytes, at + 1)
  while (bytes[at] === QUOTE) {
    const keyEnd = endOfString(bytes, at)
    if (keyEnd === undefined) return undefined
    const value = skipBlank(bytes, skipBlank(bytes, keyEnd) + 1)
    if (bytes.subarray(at, keyEnd).equals(key)) return bytes[value] === OPEN_LIST ? value + 1 : undefined
    const end = endOfValue(bytes, value)
    if (end === undefined) return undefined
    at = skipBlank(bytes, end)
    if (bytes[at] === COMMA) at = skipBlank(bytes, at + 1)
  }
  return undefined
}

const DEPTHS = new Map([
  [OPEN_OBJECT, 1],
  [OPEN_LIST, 1],
  [CLOSE_OBJECT, -1],
  [CLOSE_LIST, -1],
])

function endOfValue(bytes: Buffer, start: number): number | undefined {
  let depth = 0
  let at = start
  do {
    const byte = bytes[at]
    if (byte === undefined) return undefined
    if (byte === QUOTE) {
      const end = endOfString(bytes, at)
      if (end === undefined) return undefined
      at = end
      continue
    }
    const step = DEPTHS.get(byte)
    if (depth === 0 && step === undefined) return endOfWord(bytes, at)
    depth += step ?? 0
    at++
  } while (depth > 0)
  return at
}

function endOfString(bytes: Buffer, start: number): number | undefined {
  let quote = bytes.indexOf(QUOTE, start + 1)
  while (quote >= 0 && isEscaped(bytes, quote)) quote = bytes.indexOf(QUOTE, quote + 1)
  return quote < 0 ? undefined : quote + 1
}

function isEscaped(bytes: Buffer, quote: number): boolean {
  let at = quote - 1
  while (bytes[at] === BACKSLASH) at--
  return (quote - at) % 2 === 0
}

/** A number, true, false or null. */
function endOfWord(bytes: Buffer, start: number): number {
  let at = start
  while (at < bytes.length && !isBlank(bytes[at]) && !ENDS.has(bytes[at]!)) at++
  return at
}

const ENDS = new Set([COMMA, CLOSE_OBJECT, CLOSE_LIST])

function skipBlank(bytes: Buffer, start: number): number {
  let at = start
  while (isBlank(bytes[at])) at++
  return at
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}
