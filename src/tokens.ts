/**
 * Counting tokens: exact o200k counts, loaded on first use and remembered by content.
 *
 * Every BPE tokenizer is quadratic on one long piece (200 KB of one letter, base64, minified code), so a run
 * of 1,024 or more characters without a boundary is sampled and extrapolated: a count always takes time linear
 * in the text. Ordinary text is exact. Images and opaque blocks are estimated, never counted as text.
 */
import { leavesOf } from './leaves.ts'
import type { Message, Part } from './types.ts'

export type Counter = (text: string) => number

const LONG_RUN = 1024
const SAMPLE = 256
const REMEMBERED = 4096
const IMAGE_TOKENS = 1600
const CHARS_PER_RAW_TOKEN = 4

let exact: Counter | undefined

/** Loads the tokenizer (some 200 ms, once) and gives the counter. */
export async function loadCounter(): Promise<Counter> {
  if (!exact) {
    const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
    exact = guarded(text => countTokens(text, { allowedSpecial: 'all' }))
  }
  return exact
}

/** Adds the length guard and the memory to a tokenizer. */
export function guarded(tokenize: Counter): Counter {
  const known = new Map<string, number>()
  return text => {
    const before = known.get(text)
    if (before !== undefined) return before
    const count = text.length < LONG_RUN ? tokenize(text) : countLong(text, tokenize)
    if (known.size >= REMEMBERED) known.clear()
    known.set(text, count)
    return count
  }
}

function countLong(text: string, tokenize: Counter): number {
  let total = 0
  let done = 0
  for (const run of longRuns(text)) {
    total += tokenize(text.slice(done, run.start)) + sampled(text, run, tokenize)
    done = run.end
  }
  return total + tokenize(text.slice(done))
}

type Run = { start: number; end: number }

/** The stretches of text in which a tokenizer might see one very long piece. */
function longRuns(text: string): Run[] {
  const runs: Run[] = []
  for (const match of text.matchAll(/\S{1024,}|\s{1024,}/g)) {
    runs.push({ start: match.index, end: match.index + match[0].length })
  }
  return runs
}

function sampled(text: string, { start, end }: Run, tokenize: Counter): number {
  const length = end - start
  const steps = Math.min(8, Math.floor(length / SAMPLE))
  const stride = length / steps
  let tokens = 0
  for (let i = 0; i < steps; i++) {
    const at = start + Math.floor(i * stride)
    tokens += tokenize(text.slice(at, at + SAMPLE))
  }
  return Math.ceil((tokens / (steps * SAMPLE)) * length)
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

/** Tells the size of a part that was counted before, in this process or another. */
export function rememberPartTokens(part: Part, tokens: number): void {
  sizes.set(part, tokens)
}

/** Roughly what a message weighs on the wire. */
export function messageBytes(message: Message): number {
  return message.parts.reduce((total, part) => total + partBytes(part), 0)
}

function partBytes(part: Part): number {
  if (part.type === 'image') return part.data?.length ?? part.url?.length ?? 0
  if (part.type === 'raw') return JSON.stringify(part.value)?.length ?? 0
  if (part.type === 'tool-result' && typeof part.output !== 'string') {
    return part.output.reduce((total, inner) => total + partBytes(inner), 0)
  }
  return leavesOf(part).reduce((total, text) => total + text.length, 0)
}

function measure(part: Part, count: Counter): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return count(part.text)
    case 'tool-call':
      return count(typeof part.input === 'string' ? part.input : (JSON.stringify(part.input) ?? ''))
    case 'tool-result':
      if (typeof part.output === 'string') return count(part.output)
      return part.output.reduce((sum, inner) => sum + partTokens(inner, count), 0)
    case 'image':
      return IMAGE_TOKENS
    case 'raw':
      return Math.ceil((JSON.stringify(part.value) ?? '').length / CHARS_PER_RAW_TOKEN)
  }
}
