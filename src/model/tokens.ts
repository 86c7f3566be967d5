/**
 * Counting tokens: exact o200k counts, loaded on first use and remembered by content.
 *
 * A text is cut into pieces as o200k does, and each distinct piece is tokenized once. Every BPE tokenizer is
 * quadratic on one long piece, so a piece over 256 characters (200 KB of one letter) is counted in stretches, and
 * a run of 32,768 characters without a blank (base64) is sampled: a count always takes time linear in the text,
 * and depends on nothing but the text. Ordinary text is exact. Images and opaque blocks are estimated.
 */

import { BytePairs } from './byte-pairs.ts'
import { bytesOfImage, charsIn } from './leaves.ts'
import { PieceCounts } from './piece-counts.ts'
import { Pieces } from './pieces.ts'
import { characterStart } from './text.ts'
import type { Message, Part } from './types.ts'

export type Counter = (text: string) => number

const LONG_PIECE_CHARS = 256
const ANY_BLANK = /\s/g
const SAMPLE_CHARS = 1024
const SAMPLES = 32
/** Texts are cut into blocks of about this length, so that the list of pieces stays short. */
const BLOCK_CHARS = 262_144
const REMEMBERED_CHARS = 8_000_000
/** Counting a shorter text is as fast as looking it up. */
const MIN_REMEMBERED_CHARS = 64
const IMAGE_TOKENS = 1600
const CHARS_PER_RAW_TOKEN = 4

let exact: Counter | undefined

/** Loads the tokenizer (some 20 ms, once) and gives the counter. */
export async function loadCounter(): Promise<Counter> {
  if (!exact) {
    const { default: packed } = await import('./o200k.json', { with: { type: 'json' } })
    const pairs = new BytePairs(packed)
    exact = guarded(text => pairs.count(text))
  }
  return exact
}

/** Adds a cache and a bound on time to a tokenizer of short texts. */
export function guarded(tokenize: Counter): Counter {
  const countPieces = remembering(tokenize)
  const texts = new Map<string, number>()
  let remembered = 0
  return text => {
    if (text.length < MIN_REMEMBERED_CHARS) return countText(text, countPieces)
    const before = texts.get(text)
    if (before !== undefined) return before
    const count = countText(text, countPieces)
    remembered += text.length
    if (remembered > REMEMBERED_CHARS) {
      texts.clear()
      remembered = text.length
    }
    texts.set(text, count)
    return count
  }
}

/** Tokenizes each distinct piece once. */
function remembering(tokenize: Counter): Counter {
  const pieces = new Pieces(BLOCK_CHARS)
  const counts = new PieceCounts(pieces.codes, tokenize)
  return text => {
    pieces.read(text)
    let total = 0
    for (let from = 0; from < text.length; ) {
      const end = pieces.end(from)
      total +=
        end - from > LONG_PIECE_CHARS
          ? inStretches(text.slice(from, end), LONG_PIECE_CHARS, tokenize)
          : counts.countOf(text, from, end)
      from = end
    }
    return total
  }
}

function countText(text: string, countPieces: Counter): number {
  if (text.length < SAMPLE_CHARS * SAMPLES) return countPieces(text)
  if (!mayBeDense(text)) return countBlocks(text, countPieces)
  let total = 0
  let done = 0
  for (const { from, to } of denseRuns(text)) {
    total += countBlocks(text.slice(done, from), countPieces) + sampled(text.slice(from, to), countPieces)
    done = to
  }
  return total + countBlocks(text.slice(done), countPieces)
}

/** The long runs without a blank. A pattern for such a run would need the stack for each of its characters. */
function* denseRuns(text: string): Generator<{ from: number; to: number }> {
  for (let from = 0; from < text.length; ) {
    ANY_BLANK.lastIndex = from
    const to = ANY_BLANK.exec(text)?.index ?? text.length
    if (to - from >= SAMPLE_CHARS * SAMPLES) yield { from, to }
    from = to + 1
  }
}

/** Whether a long stretch is without a blank: a dense run has at least one whole such stretch. */
function mayBeDense(text: string): boolean {
  const length = (SAMPLE_CHARS * SAMPLES) / 2
  for (let from = 0; from + length <= text.length; from += length) {
    ANY_BLANK.lastIndex = from
    const blank = ANY_BLANK.exec(text)
    if (!blank || blank.index >= from + length) return true
  }
  return false
}

/** Cuts between lines, where a piece ends in any case, and elsewhere only if there is no such place. */
function countBlocks(text: string, countPieces: Counter): number {
  let total = 0
  let done = 0
  while (text.length - done > BLOCK_CHARS) {
    const most = done + BLOCK_CHARS
    const from = most - 8192
    const next = text.slice(from, most).search(/\n[A-Za-z0-9]/)
    const end = next < 0 ? characterStart(text, most) : from + next + 1
    total += countPieces(text.slice(done, end))
    done = end
  }
  return total + countPieces(text.slice(done))
}

function inStretches(text: string, length: number, count: Counter): number {
  let total = 0
  for (let done = 0; done < text.length; ) {
    const end = characterStart(text, done + length)
    total += count(text.slice(done, end))
    done = end
  }
  return total
}

function sampled(run: string, countPieces: Counter): number {
  const stride = run.length / SAMPLES
  let tokens = 0
  let seen = 0
  for (let i = 0; i < SAMPLES; i++) {
    const from = characterStart(run, Math.floor(i * stride))
    const sample = run.slice(from, characterStart(run, from + SAMPLE_CHARS))
    tokens += countPieces(sample)
    seen += sample.length
  }
  return Math.ceil((tokens / seen) * run.length)
}

/** The tokens of a part as the model reads it; remembered on the part object itself. */
const sizes = new WeakMap<Part, number>()

export function partTokens(part: Part, count: Counter): number {
  let tokens = sizes.get(part)
  if (tokens === undefined) {
    tokens = measure(part, count)
    sizes.set(part, tokens)
  }
  return tokens
}

export function messageTokens(message: Message, count: Counter): number {
  let total = 0
  for (const part of message.parts) total += partTokens(part, count)
  return total
}

export function messagesTokens(messages: readonly Message[], count: Counter): number {
  let total = 0
  for (const message of messages) total += messageTokens(message, count)
  return total
}

/** The approximate size of a message in a request, in bytes. */
export function messageBytes({ parts }: Message): number {
  let total = 0
  for (const part of parts) total += partBytes(part)
  return total
}

function partBytes(part: Part): number {
  if (part.type === 'image') return bytesOfImage(part)
  if (part.type === 'raw') return JSON.stringify(part.value)?.length ?? 0
  if (part.type === 'tool-result' && typeof part.output !== 'string') {
    return part.output.reduce((total, inner) => total + partBytes(inner), 0)
  }
  return charsIn(part)
}

function measure(part: Part, count: Counter): number {
  switch (part.type) {
    case 'text':
      return count(part.text)
    case 'reasoning':
      // A provider may withhold the text: then its signature gives a rough length.
      return part.text === '' && part.original ? rawTokens(part.original.value) : count(part.text)
    case 'tool-call':
      return count(typeof part.input === 'string' ? part.input : (JSON.stringify(part.input) ?? ''))
    case 'tool-result':
      if (typeof part.output === 'string') return count(part.output)
      return part.output.reduce((sum, inner) => sum + partTokens(inner, count), 0)
    case 'image':
      return IMAGE_TOKENS
    case 'raw':
      return rawTokens(part.value)
  }
}

/** Opaque blocks are estimated by their length; a file in base64 (an image, a PDF) like an image. */
function rawTokens(value: unknown): number {
  let files = 0
  const text = JSON.stringify(value, function (this: object, key, inner: unknown) {
    if (typeof inner !== 'string' || inner.length < LONG_PIECE_CHARS || !isFile(this, key, inner)) return inner
    files++
    return ''
  })
  return files * IMAGE_TOKENS + Math.ceil((text ?? '').length / CHARS_PER_RAW_TOKEN)
}

/** Providers give a file's bytes beside its media type, or in a data URL. */
function isFile(holder: object, key: string, text: string): boolean {
  if (text.startsWith('data:')) return true
  return (
    /^(?:data|bytes|file_data)$/.test(key) && Object.keys(holder).some(name => /^(?:media|mime)_?type$/i.test(name))
  )
}
