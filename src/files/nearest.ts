/**
 * Explains to a model why its old_string is not in the file: the usual reasons first (whitespace, copied line numbers,
 * Unicode forms, line endings), then the most similar lines. Pure, and bounded.
 */

import { has, placeOf } from '../model/search.ts'
import { boundedTo } from '../model/text.ts'
import { lineNumberAt, splitLines } from './text.ts'

const SHOWN_LINES = 3
const SHOWN_WIDTH = 160
const COMPARED_WIDTH = 300
const COMPARED_LINES = 20_000
const LEAST_LIKENESS = 0.4

/** Lines for an error message; empty if no explanation is found. */
export function explainMiss(text: string, wanted: string): string[] {
  const reason = reasonFor(text, wanted)
  return [...(reason ? [reason] : []), ...nearestLines(text, wanted)]
}

function reasonFor(text: string, wanted: string): string | undefined {
  const composed = text.normalize('NFC')
  const at = placeOf(composed, wanted.normalize('NFC'))
  if (at !== -1 && !has(text, wanted)) {
    const line = lineNumberAt(composed, at)
    return `Line ${line} has it in another Unicode normalization (NFC/NFD): copy the text from read_file.`
  }
  if (wanted.includes('\r') && has(text.replaceAll('\r\n', '\n'), wanted.replaceAll('\r\n', '\n'))) {
    return 'It is there with other line endings: leave the carriage returns (\\r) out of old_string.'
  }
  const unnumbered = wanted.replace(/^ *\d+(?:\t|: ?)/gm, '')
  if (unnumbered !== wanted && unnumbered.trim() !== '' && has(text, unnumbered)) {
    return 'It is there without the line numbers: leave them out of old_string.'
  }
  const unescaped = wanted.replaceAll('\\n', '\n').replaceAll('\\t', '\t').replaceAll('\\"', '"')
  if (unescaped !== wanted && has(text, unescaped)) {
    return 'It is there once \\n, \\t or \\" are real characters: old_string is escaped once too often.'
  }
  const line = lineWithOtherWhitespace(text, wanted)
  return line === undefined ? undefined : `Line ${line} has it with other whitespace.`
}

function lineWithOtherWhitespace(text: string, wanted: string): number | undefined {
  const words = wanted.match(/\S+/g)
  if (!words || text.length > 2_000_000) return undefined
  const offsets: number[] = []
  const squeezed = text.replace(/\S+\s*/g, (run, offset: number) => {
    const word = run.trimEnd()
    for (let i = 0; i <= word.length; i++) offsets.push(offset + i)
    return `${word} `
  })
  const lead = /^\s*/.exec(text)?.[0].length ?? 0
  const at = placeOf(squeezed, words.join(' '), lead)
  return at === -1 ? undefined : lineNumberAt(text, offsets[at - lead] ?? 0)
}

function nearestLines(text: string, wanted: string): string[] {
  const probe = splitLines(wanted)
    .map(line => line.trim())
    .reduce((longest, line) => (line.length > longest.length ? line : longest), '')
  if (probe === '') return []
  const target = pairsOf(probe)
  const ranked = splitLines(text)
    .slice(0, COMPARED_LINES)
    .map((line, index) => ({ line, number: index + 1, likeness: likeness(target, pairsOf(line.trim())) }))
    .filter(({ likeness }) => likeness >= LEAST_LIKENESS)
    .sort((a, b) => b.likeness - a.likeness || a.number - b.number)
    .slice(0, SHOWN_LINES)
  if (ranked.length === 0) return []
  return ['Nearest lines:', ...ranked.map(({ line, number }) => `${number}: ${boundedTo(line, SHOWN_WIDTH)}`)]
}

/** How often each pair of neighbouring characters occurs. */
function pairsOf(line: string): Map<string, number> {
  const text = line.slice(0, COMPARED_WIDTH).toLowerCase()
  const pairs = new Map<string, number>()
  for (let i = 0; i < Math.max(1, text.length - 1); i++) {
    const pair = text.slice(i, i + 2)
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1)
  }
  return pairs
}

/** Dice's coefficient: 1 for the same pairs, 0 for none in common. */
function likeness(a: Map<string, number>, b: Map<string, number>): number {
  let common = 0
  for (const [pair, count] of a) common += Math.min(count, b.get(pair) ?? 0)
  return (2 * common) / (total(a) + total(b))
}

function total(pairs: Map<string, number>): number {
  let sum = 0
  for (const count of pairs.values()) sum += count
  return sum
}
