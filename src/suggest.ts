/**
 * Finds stretches of shown text that an agent could replace at little loss: stack traces, output of package
 * managers, logs of one shape, large JSON, base64. Each suggestion is a `replace` operation that fits as it is.
 */
import { MIN_MATCH, type ReplaceOperation } from './context-edits.ts'
import { shownTexts } from './shown-texts.ts'
import type { Counter } from './tokens.ts'
import type { Fold } from './view.ts'

export type Suggestion = { operation: ReplaceOperation; reason: string; entry: number; part: number; tokens: number }

type Found = { from: number; to: number; reason: string; replacement: string }

/** Characters under which nothing is worth suggesting. */
const WORTH = 400
const MARK = 48

export function suggestEdits(fold: Fold, count: Counter, most = 20): Suggestion[] {
  const suggestions: Suggestion[] = []
  for (const { entry, part, text, role } of shownTexts(fold)) {
    if (role === 'system' || role === 'user' || text.length < WORTH) continue
    for (const found of findAll(text)) {
      const operation = toOperation(text, found)
      if (!operation) continue
      const tokens = count(text.slice(found.from, found.to)) - count(found.replacement)
      suggestions.push({ operation, reason: found.reason, entry, part, tokens })
    }
  }
  return suggestions.sort((a, b) => b.tokens - a.tokens).slice(0, most)
}

function findAll(text: string): Found[] {
  const found: Found[] = []
  for (const find of [stackTraces, packageOutput, base64, largeJson, repeatedLines]) {
    for (const candidate of find(text)) {
      if (candidate.to - candidate.from < WORTH) continue
      if (found.every(other => candidate.to <= other.from || candidate.from >= other.to)) found.push(candidate)
    }
  }
  return found
}

/** Marks that occur once each and enclose the stretch exactly; `undefined` where there are none. */
function toOperation(text: string, { from, to, replacement }: Found): ReplaceOperation | undefined {
  const start = text.slice(from, Math.min(from + MARK, to))
  const end = text.slice(Math.max(from + start.length, to - MARK), to)
  if (to - from < MIN_MATCH || end === '') return undefined
  const unique = text.indexOf(start) === from && text.indexOf(start, from + 1) < 0
  const closes = text.indexOf(end, from + start.length) + end.length === to
  return unique && closes ? { start, end, replacement } : undefined
}

function* stackTraces(text: string): Generator<Found> {
  const frame = /^[ \t]+(?:at .+|File ".+", line \d+.*|\S+\(\S*:\d+\)|.+\.go:\d+.*)(?:\n[ \t]+.*)*/gm
  for (const match of text.matchAll(frame)) {
    const lines = match[0].split('\n').length
    yield { ...place(match), reason: 'stack trace', replacement: `[stack trace: ${lines} lines]` }
  }
}

function* packageOutput(text: string): Generator<Found> {
  const line =
    '(?:npm (?:warn|notice|http)|added \\d+ packages|Collecting |Downloading |Requirement already|Installing |Get:\\d+|Unpacking |Setting up |Compiling |Downloaded |go: downloading|Fetching |Preparing to unpack|Selecting previously)'
  const block = new RegExp(`^(?:[ \\t]*${line}.*(?:\\n|$)){4,}`, 'gim')
  for (const match of text.matchAll(block)) {
    const lines = match[0].trimEnd().split('\n').length
    yield {
      ...trimmed(match),
      reason: 'package manager output',
      replacement: `[package manager output: ${lines} lines]`,
    }
  }
}

function* base64(text: string): Generator<Found> {
  for (const match of text.matchAll(/[A-Za-z0-9+/]{400,}={0,2}/g)) {
    if (!/[0-9]/.test(match[0]) || !/[A-Z]/.test(match[0])) continue
    yield { ...place(match), reason: 'base64', replacement: `[base64: ${match[0].length} chars]` }
  }
}

function* largeJson(text: string): Generator<Found> {
  const from = text.search(/^[[{]/m)
  if (from < 0 || text.length - from < 2000) return
  const close = text[from] === '{' ? '}' : ']'
  const to = text.lastIndexOf(close) + 1
  const value = parsed(text.slice(from, to))
  if (value === undefined) return
  const shape = Array.isArray(value) ? `array of ${value.length}` : `keys ${Object.keys(value).slice(0, 8).join(', ')}`
  yield { from, to, reason: 'large JSON', replacement: `[JSON: ${shape}; ${to - from} chars]` }
}

/** Ten or more lines in a row that differ only in numbers, times and ids. */
function* repeatedLines(text: string): Generator<Found> {
  const lines = text.split('\n')
  let from = 0
  for (let i = 0; i < lines.length; ) {
    let j = i
    let to = from
    const shape = shapeOf(lines[i]!)
    while (j < lines.length && shapeOf(lines[j]!) === shape) to += lines[j++]!.length + 1
    if (j - i >= 10 && shape.length > 3) {
      const sample = lines[i]!.trim().slice(0, 80)
      yield { from, to: to - 1, reason: 'repeated lines', replacement: `[${j - i} lines like: ${sample}]` }
    }
    from = to
    i = j
  }
}

function shapeOf(line: string): string {
  return line
    .replace(/[0-9a-f]{8,}/gi, '#')
    .replace(/\d+/g, '#')
    .replace(/\s+/g, ' ')
    .slice(0, 60)
}

function place(match: RegExpMatchArray): { from: number; to: number } {
  return { from: match.index ?? 0, to: (match.index ?? 0) + match[0].length }
}

function trimmed(match: RegExpMatchArray): { from: number; to: number } {
  const { from } = place(match)
  return { from, to: from + match[0].trimEnd().length }
}

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === 'object' ? value : undefined
  } catch {
    return undefined
  }
}
