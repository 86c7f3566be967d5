/**
 * Finds texts similar to a given one, to suggest when a literal match fails. Lines are compared by their pairs of
 * characters (Dice's coefficient). Of a line much longer than the pattern, the stretches of the pattern's length that
 * share most pairs are compared. The search reads a bounded amount of text in one pass, and suggests only close
 * matches, verbatim.
 */
import { cut, headOf } from '../model/text.ts'

const MAX_CHARS = 1_000_000
const MAX_LENGTH = 200
const MIN_CLOSENESS = 0.5
const MOST_SIMILAR = 3

export function similarTexts(texts: Iterable<string>, pattern: string): string[] {
  const wanted = firstLine(pattern)
  const pairs = pairsOf(wanted)
  if (pairs.size === 0) return []
  const found = new Map<string, number>()
  for (const line of linesOf(texts)) {
    for (const candidate of candidatesIn(line.trim(), wanted.length, pairs)) {
      if (candidate.length < 4 || found.has(candidate)) continue
      const score = closeness(pairs, pairsOf(candidate))
      if (score >= MIN_CLOSENESS) found.set(candidate, score)
    }
  }
  return [...found]
    .sort((a, b) => b[1] - a[1])
    .slice(0, MOST_SIMILAR)
    .map(([text]) => text)
}

function* linesOf(texts: Iterable<string>): Generator<string> {
  let seen = 0
  for (const text of texts) {
    if ((seen += text.length) > MAX_CHARS) return
    yield* text.split('\n')
  }
}

/** The line itself; of a long line, the stretches that contain the most wanted pairs. */
function* candidatesIn(line: string, length: number, wanted: ReadonlySet<string>): Generator<string> {
  if (line.length <= 2 * length) {
    yield headOf(line, MAX_LENGTH)
    return
  }
  const lower = line.toLowerCase()
  const isWanted = (at: number) => (wanted.has(lower.slice(at, at + 2)) ? 1 : 0)
  let hits = 0
  let best = { at: 0, hits: 0 }
  for (let end = 0; end < line.length; end++) {
    const from = end - length
    hits += isWanted(end) - (from > 0 ? isWanted(from - 1) : 0)
    if (hits > best.hits) best = { at: Math.max(0, from), hits }
    if (best.hits < MIN_CLOSENESS * length || end - best.at < 2 * length) continue
    yield cut(line, best.at, best.at + length).trim()
    best = { at: from, hits: 0 }
  }
  if (best.hits >= MIN_CLOSENESS * length) yield cut(line, best.at, best.at + length).trim()
}

function firstLine(text: string): string {
  return headOf((text.split('\n').find(line => line.trim() !== '') ?? '').trim(), MAX_LENGTH)
}

function pairsOf(text: string): Set<string> {
  const lower = text.toLowerCase()
  const pairs = new Set<string>()
  for (let i = 0; i + 2 <= lower.length; i++) pairs.add(lower.slice(i, i + 2))
  return pairs
}

function closeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let common = 0
  for (const pair of a) if (b.has(pair)) common++
  return (2 * common) / (a.size + b.size)
}
