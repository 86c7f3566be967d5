/**
 * The evidence that a recorded agent used: for each of its messages, the passages that it took from earlier tool
 * results and tool inputs, and that occur in no text of the user or the agent before.
 *
 * `findQuotes` looks for verbatim spans, as long as possible, of at least `span` characters; with `near` it first drops
 * line numbers and blanks. `gather` is the walk that other kinds of evidence share (bench/). All return the same shape,
 * so one meter (measure.ts) can tell how much of each a view still shows.
 */

import { stripLineNumbers } from '../../calls/tool-output.ts'
import { leavesOf, stringsIn, textOf } from '../../model/leaves.ts'
import type { Message, Part, ToolCallPart, ToolResultPart } from '../../model/types.ts'
import { GramIndex } from './grams.ts'

/** A tool result or a tool input: a text that can be quoted. */
export type Source = {
  /** Names the part in any view: `result` or `call`, and the id of the call. */
  key: string
  part: ToolResultPart | ToolCallPart
  /** The number of model calls made before it existed. */
  born: number
  text: string
}

/** A passage, and the sources (by number) that contain all of it, oldest first. */
export type Quote = { text: string; sources: number[] }

export type Evidence = {
  sources: Source[]
  /** The quotes by the number of the call, from 0. */
  quotes: Map<number, Quote[]>
  /** How texts are compared: applied to sources and to what a view shows of them. */
  normalize: (text: string) => string
}

type QuoteOptions = {
  /** The fewest characters of a quote. */
  span?: number
  /** Whether to ignore blanks and line numbers of every form. */
  near?: boolean
  /**
   * Whether to remember the last place of a passage that has more places than are kept: an endless session reads a file
   * many times.
   */
  newest?: boolean
}

const MIN_QUOTE_CHARS = 40

export function findQuotes(
  messages: readonly Message[],
  { span = MIN_QUOTE_CHARS, near = false, newest = false }: QuoteOptions = {},
): Evidence {
  const normalize = near ? withoutLayout : withoutNumbers
  const heard = new GramIndex(span)
  const index = new GramIndex(span, { newest })
  const hear = (text: string) => heard.add(near ? normalize(text) : text)
  const collect = (message: Message): Quote[] => {
    const quotes: Quote[] = []
    for (const text of writtenTexts(message)) {
      const written = near ? normalize(text) : text
      index.scan(written, (at, hash) => {
        if (!index.has(written, at, hash) || heard.has(written, at, hash)) return at + 1
        const quote = longest(index, written, at, hash)
        quotes.push(quote)
        return at + quote.text.length
      })
    }
    return quotes
  }
  return gather(messages, { normalize, hear, collect, learn: source => index.add(source.text) })
}

/** The longest passage from this position that one source contains, and all sources that contain it. */
function longest(index: GramIndex, written: string, at: number, hash: number): Quote {
  const places = index.find(written, at, hash)
  let length = index.length
  for (const { text: number, at: start } of places) {
    const source = index.text(number)
    let same = index.length
    while (
      at + same < written.length &&
      start + same < source.length &&
      written.charCodeAt(at + same) === source.charCodeAt(start + same)
    )
      same++
    length = Math.max(length, same)
  }
  const text = written.slice(at, at + length)
  return { text, sources: places.map(place => place.text).filter(number => index.text(number).includes(text)) }
}

type Gathering = {
  normalize: (text: string) => string
  /** Called for each text that the user or the agent said. */
  hear: (text: string) => unknown
  /** Called for each source, in the order of their numbers. */
  learn: (source: Source) => unknown
  /** Returns the passages that an assistant message takes from the sources so far. */
  collect: (message: Message) => Quote[]
}

/** Walks through a conversation once, and separates tool texts from spoken texts. */
export function gather(messages: readonly Message[], { normalize, hear, learn, collect }: Gathering): Evidence {
  const sources: Source[] = []
  const quotes = new Map<number, Quote[]>()
  let call = 0
  for (const message of messages) {
    if (message.role === 'assistant') quotes.set(call++, collect(message))
    for (const part of message.parts) {
      if (part.type === 'text' || part.type === 'reasoning') hear(part.text)
      if (part.type !== 'tool-call' && part.type !== 'tool-result') continue
      const source = { key: evidenceKey(part)!, part, born: call, text: sourceText(part, normalize) }
      sources.push(source)
      learn(source)
    }
  }
  return { sources, quotes: new Map([...quotes].filter(([, found]) => found.length > 0)), normalize }
}

/** The key of a call or a result, in the transcript and in any view of it. */
export function evidenceKey(part: Part): string | undefined {
  if (part.type === 'tool-call') return `call ${part.id}`
  return part.type === 'tool-result' ? `result ${part.id}` : undefined
}

/** The text of a call or result as it is compared: inputs by their strings, results without line numbers. */
export function sourceText(part: ToolResultPart | ToolCallPart, normalize: (text: string) => string): string {
  if (part.type === 'tool-call') return normalize === withoutNumbers ? textOf(part) : normalize(textOf(part))
  return normalize(leavesOf(part).join('\n'))
}

/** The texts that an assistant message writes: its words, and the strings in its calls. */
export function writtenTexts(message: Message): string[] {
  return message.parts.flatMap(part => {
    if (part.type === 'text') return [part.text]
    return part.type === 'tool-call' ? stringsIn(part.input) : []
  })
}

/** Without the numbers that read tools put before each line. */
function withoutNumbers(text: string): string {
  return text.replace(/^ *\d+(?:→|\t)/gm, '')
}

/** Without line numbers of any form, and with every run of blanks as one. */
export function withoutLayout(text: string): string {
  return stripLineNumbers(withoutNumbers(text)).replace(/\s+/g, ' ').trim()
}
