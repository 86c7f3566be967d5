/**
 * Splits a text of consecutive JSON objects and arrays, with or without line breaks inside or between them. Anything
 * else is skipped up to the next line that begins a value, and reported with its line.
 */

import { tryJson } from '../../model/json.ts'
import { endOfValue } from '../../model/json-text.ts'
import type { Problem } from './transcript.ts'

type JsonValue = { value: unknown; line: number }

export function* splitJsonValues(text: string): Generator<JsonValue | { problem: Problem }> {
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
    yield { problem: { line, message: 'This is not valid JSON; reading continues at the next value.' } }
    const next = /\n(?=[{[])/g
    next.lastIndex = start
    if (!next.exec(text)) return
    line += newlines(text, start, next.lastIndex)
    at = next.lastIndex
  }
}

/** Limits the search in a damaged line. */
const MAX_TRIES = 1000

/**
 * The complete objects in a line that a crash joined or cut short: those that end at the end of the line, or where
 * another object begins.
 */
export function valuesInLine(line: string): unknown[] {
  const found: unknown[] = []
  let at = line.indexOf('{"')
  for (let tries = 0; at >= 0 && tries < MAX_TRIES; tries++) {
    const end = endOfValue(line, at)
    const isWhole = end > 0 && /^\s*(?:\{"|$)/.test(line.slice(end, end + 100))
    const value = isWhole ? tryJson(line.slice(at, end)) : undefined
    if (value !== undefined) found.push(value)
    at = line.indexOf('{"', value === undefined ? at + 1 : end)
  }
  return found
}

function nextStart(text: string, from: number): number {
  const at = text.slice(from).search(/[{[]/)
  return at < 0 ? -1 : from + at
}

function newlines(text: string, from: number, to: number): number {
  let found = 0
  for (let at = text.indexOf('\n', from); at >= 0 && at < to; at = text.indexOf('\n', at + 1)) found++
  return found
}
