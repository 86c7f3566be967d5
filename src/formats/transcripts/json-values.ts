/**
 * Splits a text of consecutive JSON objects and arrays, with or without line breaks inside or between them. Anything
 * else is skipped up to the next line that begins a value, and reported with its line.
 */

import { tryJson } from '../../model/json.ts'
import { endOfValue } from '../../model/json-text.ts'
import type { Problem } from './transcript.ts'

type JsonValue = { value: unknown; line: number }

export function* splitJsonValues(text: string): Generator<JsonValue | { problem: Problem }> {
  let left = mostInVain(text)
  let at = 0
  let line = 1
  while (at < text.length) {
    const start = nextStart(text, at)
    if (start < 0) return
    line += newlines(text, at, start)
    const end = endOfValue(text, start)
    const value = end === 0 ? undefined : tryJson(text.slice(start, end))
    if (value !== undefined) {
      yield { value, line }
      line += newlines(text, start, end)
      at = end
      continue
    }
    left -= (end || text.length) - start
    if (left < 0) return yield { problem: { line, message: 'From here on there is too much that is not valid JSON.' } }
    yield { problem: { line, message: 'This is not valid JSON; reading continues at the next value.' } }
    const next = /\n(?=[{[])/g
    next.lastIndex = start
    if (!next.exec(text)) return
    line += newlines(text, start, next.lastIndex)
    at = next.lastIndex
  }
}

/**
 * How many characters may be read in vain: where each bracket could begin a value and none is closed, the search would
 * take quadratic time.
 */
function mostInVain({ length }: string): number {
  return length + Math.min(100 * length, 200_000_000)
}

/**
 * The complete objects in a line that a crash joined or cut short: those that end at the end of the line, or where
 * another object begins.
 */
export function valuesInLine(line: string): unknown[] {
  const found: unknown[] = []
  let left = mostInVain(line)
  let at = line.indexOf('{"')
  while (at >= 0 && left >= 0) {
    const end = endOfValue(line, at)
    const isWhole = end > 0 && /^\s*(?:\{"|$)/.test(line.slice(end, end + 100))
    const value = isWhole ? tryJson(line.slice(at, end)) : undefined
    if (value === undefined) left -= (end || line.length) - at
    else found.push(value)
    at = line.indexOf('{"', value === undefined ? at + 1 : end)
  }
  return found
}

function nextStart(text: string, from: number): number {
  const at = text.slice(from).search(/[{[]/)
  return at < 0 ? -1 : from + at
}

function newlines(text: string, from: number, to: number): number {
  const part = text.slice(from, to)
  let found = 0
  for (let at = part.indexOf('\n'); at >= 0; at = part.indexOf('\n', at + 1)) found++
  return found
}
