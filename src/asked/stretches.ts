/**
 * Finds stretches of a text with little content for their length, each with a line that describes it. Everything is
 * found by lines and in one pass over any text; of lines over 2,000 characters only the beginning is read.
 */

import { tryJson } from '../model/json.ts'
import { endOfValue } from '../model/json-text.ts'
import { headOf } from '../model/text.ts'

export type Stretch = { from: number; to: number; reason: string; replacement: string }

/** Shorter stretches (in characters) are not suggested. */
export const WORTH = 400
const LARGE_JSON_CHARS = 2000
const MAX_LINE_CHARS = 2000
/** The most beginnings of JSON that are tried in one text. */
const MAX_JSON_TRIED = 20

type Line = { from: number; to: number; text: string }

/** The stretches in the order in which they are found; none overlaps another. */
export function stretchesIn(text: string): Stretch[] {
  const lines = linesOf(text)
  const found: Stretch[] = []
  const kinds = [stackTraces(lines), packageOutput(lines), base64(text, lines), largeJson(text), repeatedLines(lines)]
  for (const stretches of kinds) {
    for (const stretch of stretches) {
      if (stretch.to - stretch.from < WORTH) continue
      if (found.every(other => stretch.to <= other.from || stretch.from >= other.to)) found.push(stretch)
    }
  }
  return found
}

function linesOf(text: string): Line[] {
  let from = 0
  return text.split('\n').map(line => {
    const own = { from, to: from + line.length, text: headOf(line, MAX_LINE_CHARS) }
    from = own.to + 1
    return own
  })
}

const FRAME =
  /^\s+at \S|^\s*File "[^"]+", line \d+|^\s+\S+\.(?:go|rs|rb|php|java|kt|scala|ex):\d+|^\s*from \S+:\d+:in |^#\d+ {1,2}\S|^\s+\d+: \S|^\t?\S+\([^()]*\)$/
/** A line of a stack trace that is not a frame: quoted source, a goroutine, "... 12 more". */
const BESIDE_FRAME = /^(?:\s{2,}\S|\t|goroutine \d+|created by |\s*\.\.\. \d+ |Caused by: )/

function* stackTraces(lines: readonly Line[]): Generator<Stretch> {
  for (const run of runs(lines, ({ text }) => FRAME.test(text) || BESIDE_FRAME.test(text))) {
    const first = run.findIndex(({ text }) => FRAME.test(text))
    const last = run.findLastIndex(({ text }) => FRAME.test(text))
    const frames = run.filter(({ text }) => FRAME.test(text)).length
    if (frames < 3 || frames * 3 < last - first + 1) continue
    yield whole(run.slice(first, last + 1), 'stack trace', count => `[stack trace: ${count} lines]`)
  }
}

const PACKAGE_LINE =
  /^\s*(?:npm (?:warn|notice|http|error|info)\b|added \d+ packages|yarn (?:info|warning)|Progress: resolved|Packages: \+|Collecting |Downloading |Downloaded |Using cached |Requirement already|Installing |Building wheel|Preparing metadata|Get:\d+|Hit:\d+|Reading package|Unpacking |Setting up |Compiling |go: (?:downloading|finding|extracting)|Fetching |Preparing to unpack|Selecting previously|Resolving |Updating |Adding |Locking )/i

function* packageOutput(lines: readonly Line[]): Generator<Stretch> {
  for (const run of runs(lines, ({ text }) => PACKAGE_LINE.test(text))) {
    if (run.length < 4) continue
    yield whole(run, 'package manager output', count => `[package manager output: ${count} lines]`)
  }
}

const BEHIND_BASE64 = /[^A-Za-z0-9+/]=?/g

/** One long run, or many lines of equal length, as in mail and certificates. */
function* base64(text: string, lines: readonly Line[]): Generator<Stretch> {
  // Only the beginning is matched: a run of millions of characters would not fit on the stack of a pattern.
  for (const { index } of text.matchAll(/(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{400}/g)) {
    BEHIND_BASE64.lastIndex = index
    const end = BEHIND_BASE64.exec(text)
    const padding = end?.[0].startsWith('=') ? end[0].length : 0
    const to = (end?.index ?? text.length) + padding
    const run = text.slice(index, to)
    if (!/[0-9]/.test(run) || !/[A-Z]/.test(run) || !/[a-z]/.test(run)) continue
    yield { from: index, to, reason: 'base64', replacement: `[base64: ${run.length} chars]` }
  }
  for (const run of runs(lines, line => /^[A-Za-z0-9+/]{60,}={0,2}$/.test(line.text))) {
    if (run.length < 6) continue
    yield whole(run, 'base64', count => `[base64: ${count} lines]`)
  }
}

function* largeJson(text: string): Generator<Stretch> {
  let done = 0
  let tried = 0
  for (const { index } of text.matchAll(/^[[{]/gm)) {
    if (index < done || text.length - index < LARGE_JSON_CHARS) continue
    if (++tried > MAX_JSON_TRIED) return
    const to = endOfValue(text, index)
    const value = to - index < LARGE_JSON_CHARS ? undefined : tryJson(text.slice(index, to))
    if (typeof value !== 'object' || value === null) continue
    done = to
    const shape = Array.isArray(value)
      ? `array of ${value.length}`
      : `keys ${headOf(Object.keys(value).slice(0, 8).join(', '), 120)}`
    yield { from: index, to, reason: 'large JSON', replacement: `[JSON: ${shape}; ${to - index} chars]` }
  }
}

/** Ten or more lines in a row that differ only in numbers, times and ids. */
function* repeatedLines(lines: readonly Line[]): Generator<Stretch> {
  const shapes = lines.map(({ text }) => shapeOf(text))
  for (let i = 0; i < lines.length; ) {
    let j = i + 1
    while (j < lines.length && shapes[j] === shapes[i]) j++
    if (j - i >= 10 && shapes[i]!.length > 3) {
      const sample = headOf(lines[i]!.text.trim(), 80)
      yield whole(lines.slice(i, j), 'repeated lines', count => `[${count} lines like: ${sample}]`)
    }
    i = j
  }
}

function shapeOf(line: string): string {
  return line
    .slice(0, 200)
    .replace(/[0-9a-f]{8,}/gi, '#')
    .replace(/\d+/g, '#')
    .replace(/\s+/g, ' ')
    .slice(0, 60)
}

function* runs(lines: readonly Line[], belongs: (line: Line) => boolean): Generator<Line[]> {
  let run: Line[] = []
  for (const line of lines) {
    if (belongs(line)) run.push(line)
    else if (run.length > 0) {
      yield run
      run = []
    }
  }
  if (run.length > 0) yield run
}

function whole(run: readonly Line[], reason: string, describe: (lines: number) => string): Stretch {
  return { from: run[0]!.from, to: run.at(-1)!.to, reason, replacement: describe(run.length) }
}
