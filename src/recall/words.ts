/**
 * Turns text into terms. The index and the query both use this file, so they agree.
 *
 * A word gives its stem. An identifier in camelCase or snake_case gives itself and its parts. A path or a dotted name
 * gives itself and its endings ("src/a/b.ts", "a/b.ts", "b.ts"), so that phrases need no positions. Scripts without
 * spaces (Chinese, Japanese, Thai, …), and Korean, give pairs of characters, and the last character alone, so that one
 * character is found as the beginning of a term. Accents and letter case are ignored.
 */
import { stem } from './stem.ts'

const MAX_WORD_CHARS = 64
/** Shorter texts occur inside too many words to be searched for. */
export const MIN_INSIDE_CHARS = 3
/** How many endings of a path are terms. */
const MAX_ENDINGS = 3
/** The most words whose terms are kept; then the table is emptied. */
const MAX_REMEMBERED = 50_000

const ASCII = /^[\x00-\x7f]*$/
const ASCII_WORDS = /[A-Za-z0-9_]+/g
export const WORDS = /[\p{L}\p{N}\p{M}_]+/gu
const COMPOUNDS = /(?<![A-Za-z0-9_])[A-Za-z0-9_]+(?:[./\\-]+[A-Za-z0-9_]+)+/g
const MARKS = /\p{M}+/gu
/** Scripts without spaces between words, and Korean, which adds endings to words. */
const PAIRED =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}ー'
const RUNS = new RegExp(`[${PAIRED}]+|[^${PAIRED}]+`, 'gu')
const SPACELESS = new RegExp(`^[${PAIRED}]`, 'u')
const HUMPS = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g

type Word = {
  /** Its stem first, then its parts. */
  terms: readonly string[]
  /** The forms by which a text inside the word finds it (inside.ts), and their lines there. */
  written: readonly Written[]
  lines: readonly string[]
}

/** A word in lower case without accents, and the term that finds it. */
export type Written = { word: string; term: string }

const remembered = new Map<string, Word>()

/** The terms of a text, each with its number of occurrences. */
export function countTerms(text: string, counts = new Map<string, number>(), words = countWords(text)) {
  for (const [word, times] of words) for (const term of termsOf(word)) add(counts, term, times)
  for (const [compound] of text.matchAll(COMPOUNDS)) for (const term of compoundTerms(compound)) add(counts, term)
  return counts
}

/** The words of a text, each with its number of occurrences. */
export function countWords(text: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const word of wordsIn(text)) add(counts, word)
  return counts
}

function add(counts: Map<string, number>, key: string, times = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + times)
}

/** The lines for words that can contain another text (inside.ts): a word, and its term if the two differ. */
export function linesFor(words: Iterable<string>): Set<string> {
  const lines = new Set<string>()
  for (const word of words) for (const line of known(word).lines) lines.add(line)
  return lines
}

export function wordsIn(text: string): string[] {
  return text.match(ASCII.test(text) ? ASCII_WORDS : WORDS) ?? []
}

/** The terms of a word: its stem first, then its parts. */
export function termsOf(word: string): readonly string[] {
  return known(word).terms
}

/** The written forms of a word, one for each script with spaces that it has letters of. */
export function writtenIn(word: string): readonly Written[] {
  return known(word).written
}

/** Whether a word is one character of a script without spaces: such a character begins a term wherever it occurs. */
export function isLoneCharacter(word: string): boolean {
  return SPACELESS.test(word) && [...word].length === 1
}

function known(word: string): Word {
  const before = remembered.get(word)
  if (before) return before
  if (remembered.size >= MAX_REMEMBERED) remembered.clear()
  const runs = ASCII.test(word) ? [word] : runsIn(word)
  const terms = [...new Set(runs.flatMap(termsOfRun))]
  const written = runs
    .filter(run => !SPACELESS.test(run))
    .map(run => ({ word: run.slice(0, MAX_WORD_CHARS).toLowerCase(), term: termsOfRun(run)[0]! }))
  const lines = written
    .filter(({ word }) => word.length > MIN_INSIDE_CHARS)
    .map(({ word, term }) => (word === term ? word : `${word} ${term}`))
  const read = { terms, written, lines }
  remembered.set(word, read)
  return read
}

/** A path or dotted name with its endings, longest first. */
export function compoundTerms(compound: string): string[] {
  const whole = compound.toLowerCase().replace(/\\+/g, '/')
  if (!whole.includes('/')) return whole.length <= MAX_WORD_CHARS ? [whole] : []
  const steps = whole.split(/\/+/)
  const terms: string[] = []
  for (let n = Math.min(MAX_ENDINGS, steps.length); n >= 1; n--) {
    const ending = steps.slice(-n).join('/')
    // A last step without a dot or dash is already a word.
    if ((n > 1 || /[.-]/.test(ending)) && ending.length <= 2 * MAX_WORD_CHARS) terms.push(ending)
  }
  return terms
}

export function compoundsIn(text: string): string[] {
  return text.match(COMPOUNDS) ?? []
}

function asciiTerms(word: string): string[] {
  const whole = word.slice(0, MAX_WORD_CHARS).toLowerCase()
  if (/^[a-z]+$/.test(word)) return [stem(whole)]
  const parts = word.length <= MAX_WORD_CHARS ? (word.match(HUMPS) ?? []) : []
  const isPlain = parts.length < 2 || !/_|[a-z][A-Z]|[A-Z]{2}[a-z]/.test(word)
  if (isPlain) return [stemmed(whole)]
  return [whole, ...parts.filter(part => part.length > 1).map(part => stemmed(part.toLowerCase()))]
}

function runsIn(word: string): readonly string[] {
  return word.normalize('NFKD').replace(MARKS, '').normalize('NFKC').toLowerCase().match(RUNS) ?? []
}

function termsOfRun(run: string): string[] {
  if (ASCII.test(run)) return asciiTerms(run)
  return SPACELESS.test(run) ? pairsIn(run) : [[...run].slice(0, MAX_WORD_CHARS).join('')]
}

function pairsIn(run: string): string[] {
  const letters = [...run]
  return letters.map((letter, i) => letter + (letters[i + 1] ?? ''))
}

function stemmed(part: string): string {
  return /^[a-z]+$/.test(part) ? stem(part) : part
}
