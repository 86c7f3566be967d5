/**
 * Finds the elements of one list in the bytes of a JSON object, without parsing them.
 *
 * `scanList` walks the members of the object to the list with that name and gives the ends of its elements. From one of
 * these ends, `scanOn` continues in other bytes that agree up to there. Both expect valid JSON. Both return undefined
 * if the list holds anything but objects: then the caller parses the whole body.
 */
import { endOfString, endOfValue, isBlank, skipBlank } from '../../model/json-text.ts'

export type ListSpan = {
  /** The offset after the opening bracket. */
  open: number
  /** The offset after each element. */
  ends: number[]
  /** The offset of the closing bracket. */
  close: number
}

export function scanList(bytes: Buffer, name: string): ListSpan | undefined {
  const open = findList(bytes.toString('latin1'), JSON.stringify(name))
  return open === undefined ? undefined : scanOn(bytes, open, [])
}

/** The list that opens at `open` and whose first elements are known to end at `ends`. */
export function scanOn(bytes: Buffer, open: number, ends: readonly number[]): ListSpan | undefined {
  const from = ends.at(-1) ?? open
  const text = bytes.toString('latin1', from)
  const found = [...ends]
  let at = skipBlank(text, 0)
  while (text[at] !== ']') {
    if (found.length > 0) {
      if (text[at] !== ',') return undefined
      at = skipBlank(text, at + 1)
    }
    const end = text[at] === '{' ? endOfValue(text, at) : 0
    if (end === 0) return undefined
    found.push(from + end)
    at = skipBlank(text, end)
  }
  return { open, ends: found, close: from + at }
}

/** The offset where the text continues after an element: the next element, or the closing bracket. */
export function behindElement(bytes: Buffer, end: number): number {
  const at = behindBlank(bytes, end)
  return bytes[at] === COMMA ? behindBlank(bytes, at + 1) : at
}

const COMMA = 0x2c

function behindBlank(bytes: Buffer, start: number): number {
  let at = start
  while (isBlank(bytes[at] ?? 0)) at++
  return at
}

function findList(text: string, key: string): number | undefined {
  let at = skipBlank(text, 0)
  if (text[at] !== '{') return undefined
  at = skipBlank(text, at + 1)
  while (text[at] === '"') {
    const keyEnd = endOfString(text, at)
    if (keyEnd === 0) return undefined
    const value = skipBlank(text, skipBlank(text, keyEnd) + 1)
    if (text.slice(at, keyEnd) === key) return text[value] === '[' ? value + 1 : undefined
    const end = endOfValue(text, value)
    if (end === 0) return undefined
    at = skipBlank(text, end)
    if (text[at] === ',') at = skipBlank(text, at + 1)
  }
  return undefined
}
