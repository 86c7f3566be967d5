/**
 * Measures a policy from the messages that it would have sent: their cost, how much of the evidence that the recorded
 * agent then used is in them, and both combined. No model is called.
 *
 * Cost: per call, the prefix shared with the call before at the read price, the rest at the write price, in units of
 * one uncached input token; after a pause longer than the cache lifetime, everything is written; in a price band of long
 * prompts, times its factor. Evidence kept: the share of quotes that the view of that call still shows. Effective cost: the cost, plus a re-fetch of the source of
 * every lost quote (at most once in 20 calls): one more call on the view, and the result written again and read for 20
 * calls. The method and its limits are in docs/benchmarks.md.
 */

import { isReport } from '../../calls/requests.ts'
import { textOf } from '../../model/leaves.ts'
import { type Counter, partTokens } from '../../model/tokens.ts'
import type { Message, Part } from '../../model/types.ts'
import { factorOf, type Model, TYPICAL_OVERHEAD } from '../../providers/models.ts'
import { bandFactor } from '../../providers/pricing.ts'
import { type Evidence, evidenceKey, type Quote, sourceText } from './evidence.ts'

/** What a call costs, as factors of the price of an uncached input token. */
export type Prices = Pick<Model, 'read' | 'write' | 'ttl'> &
  Partial<Pick<Model, 'bands' | 'scale'>> & { output: number }

type MeasureOptions<T extends string = string, E extends string = string> = {
  count: Counter
  prices: Record<T, Prices>
  /** The kinds of evidence by name; effective cost uses the first one. */
  evidence: Record<E, Evidence>
  /** Tokens of the system prompt and tools. */
  overhead?: number
  /** Whether only tool results and tool inputs count as evidence, and inserted texts do not. */
  inPlace?: boolean
}

export type Kept = { kept: number; quotes: number; keptChars: number; quoteChars: number }

export type Cost = {
  cost: number
  effective: number
  refetches: number
  /** Calls whose prefix broke although the cache was warm, and calls that found it cold. */
  busts: number
  cold: number
}

export type Measures<T extends string = string, E extends string = string> = {
  calls: number
  /** Tokens sent over all calls, and the most in one. */
  sent: number
  peak: number
  costs: Record<T, Cost>
  evidence: Record<E, Kept>
  /** Share of the users' words that were in view, over all calls. */
  said: number
  /** Tokens of the running turns' reasoning over all calls, and how many were gone or after a later change. */
  reasoning: { running: number; lost: number }
  perCall: { tokens: number; cost: number; bust: boolean; lost: number }[]
}

const REFETCH_CALLS = 20
const REFETCH_OUTPUT_TOKENS = 150

export function pricesOf({ read, write, ttl, input, output, bands, scale }: Model): Prices {
  return { read, write, ttl, bands, scale, output: factorOf(output, input) }
}

type Lost = { source: number; tokens: number }
type Shown = { sources: Map<string, Part>; inserted: Part[] }

export class Meter<T extends string = string, E extends string = string> {
  readonly #options: MeasureOptions<T, E>
  readonly #moments: Moment[]
  /** Reasoning that is invalid because of a change before it, at providers that bind reasoning. */
  readonly #unbound = new Set<string>()
  readonly #said: ReadonlySet<string>
  readonly #result: Measures<T, E>
  readonly #refetched: Record<string, Map<number, number>> = {}
  readonly #normalized = new WeakMap<Part, Map<Evidence, string>>()
  #previous: readonly Part[] = []
  #answeredAt = Number.NEGATIVE_INFINITY
  #userShown = 0
  #userTotal = 0

  constructor(messages: readonly Message[], options: MeasureOptions<T, E>) {
    this.#options = options
    this.#moments = momentsOf(messages, options.count)
    this.#said = new Set(messages.flatMap(({ parts }) => parts.flatMap(part => (isWords(part) ? [part.text] : []))))
    const names = Object.keys(options.prices) as T[]
    const evidence = Object.keys(options.evidence) as E[]
    for (const name of names) this.#refetched[name] = new Map()
    this.#result = {
      calls: 0,
      sent: 0,
      peak: 0,
      costs: recordOf(names, () => ({ cost: 0, effective: 0, refetches: 0, busts: 0, cold: 0 })),
      evidence: recordOf(evidence, () => ({ kept: 0, quotes: 0, keptChars: 0, quoteChars: 0 })),
      said: 1,
      reasoning: { running: 0, lost: 0 },
      perCall: [],
    }
  }

  /**
   * Adds the messages of the next call. Returns its cost by the first price table, and whether it broke a warm cache.
   */
  add(messages: readonly Message[]): { tokens: number; cost: number; bust: boolean; lost: number } {
    const call = this.#result.calls++
    const moment = this.#moments[call] ?? { at: 0, answered: 0, userTokens: 0, reasoning: [] }
    const parts = messages.flatMap(message => message.parts)
    const { shared, sizes } = this.#sizes(parts)
    const overhead = this.#options.overhead ?? TYPICAL_OVERHEAD
    const tokens = overhead + sizes.shared + sizes.rest
    this.#result.sent += tokens
    this.#result.peak = Math.max(this.#result.peak, tokens)
    const broken = shared < this.#previous.length
    const lost = this.#look(call, parts)
    const own = this.#addCosts({ ...sizes, overhead, broken, lost, gap: moment.at - this.#answeredAt })
    const measured = { tokens, ...own, lost: lost.length }
    this.#result.perCall.push(measured)
    this.#addWords(messages, moment.userTokens)
    if (broken) for (const part of parts.slice(shared)) if (part.type === 'reasoning') this.#unbound.add(part.text)
    this.#addReasoning(parts, moment.reasoning)
    this.#previous = parts
    this.#answeredAt = moment.answered || moment.at
    return measured
  }

  result(): Measures<T, E> {
    return { ...this.#result, said: this.#userTotal === 0 ? 1 : this.#userShown / this.#userTotal }
  }

  #sizes(parts: readonly Part[]): { shared: number; sizes: { shared: number; rest: number } } {
    const previous = this.#previous
    let shared = 0
    while (shared < previous.length && shared < parts.length && isSame(previous[shared]!, parts[shared]!)) shared++
    const sizes = { shared: 0, rest: 0 }
    for (const [i, part] of parts.entries()) {
      sizes[i < shared ? 'shared' : 'rest'] += partTokens(part, this.#options.count)
    }
    return { shared, sizes }
  }

  #addCosts(call: {
    shared: number
    rest: number
    overhead: number
    broken: boolean
    lost: readonly Lost[]
    gap: number
  }): { cost: number; bust: boolean } {
    const { shared, rest, overhead, broken, lost, gap } = call
    let shown: { cost: number; bust: boolean } | undefined
    for (const [name, prices] of Object.entries<Prices>(this.#options.prices)) {
      const sums = this.#result.costs[name as T]
      const cold = gap === Number.POSITIVE_INFINITY || gap > prices.ttl
      const tokens = overhead + shared + rest
      const plain = cold ? tokens * prices.write : (overhead + shared) * prices.read + rest * prices.write
      const cost = plain * bandFactor({ bands: prices.bands ?? [] }, tokens * (prices.scale ?? 1))
      const bust = broken && !cold
      sums.cost += cost
      sums.busts += bust ? 1 : 0
      sums.cold += cold ? 1 : 0
      sums.effective += cost + this.#refetch(name as T, lost, tokens)
      shown ??= { cost, bust }
    }
    return shown ?? { cost: 0, bust: false }
  }

  /** The cost of fetching the lost sources again, each at most once in 20 calls. */
  #refetch(name: T, lost: readonly Lost[], tokens: number): number {
    const { read, write, output } = this.#options.prices[name]
    const refetched = this.#refetched[name]!
    const now = this.#result.calls
    let cost = 0
    for (const { source, tokens: size } of lost) {
      const last = refetched.get(source)
      if (last !== undefined && now - last < REFETCH_CALLS) continue
      refetched.set(source, now)
      this.#result.costs[name].refetches++
      cost += tokens * read + size * write + REFETCH_OUTPUT_TOKENS * output + size * read * REFETCH_CALLS
    }
    return cost
  }

  /**
   * Counts the quotes of this call that are in view; returns the newest source of each quote that the first measure
   * lost.
   */
  #look(call: number, parts: readonly Part[]): Lost[] {
    const lost: Lost[] = []
    let shown: Shown | undefined
    for (const [index, name] of (Object.keys(this.#options.evidence) as E[]).entries()) {
      const evidence = this.#options.evidence[name]
      const quotes = evidence.quotes.get(call)
      if (!quotes) continue
      shown ??= this.#shownIn(parts)
      const sums = this.#result.evidence[name]
      for (const quote of quotes) {
        const kept = this.#isShown(quote, evidence, shown)
        sums.quotes++
        sums.quoteChars += quote.text.length
        if (kept) {
          sums.kept++
          sums.keptChars += quote.text.length
        } else if (index === 0) {
          const source = quote.sources.at(-1)!
          lost.push({ source, tokens: partTokens(evidence.sources[source]!.part, this.#options.count) })
        }
      }
    }
    return lost
  }

  /** The calls and results of a view by their keys, and its texts that neither the user nor the agent wrote. */
  #shownIn(parts: readonly Part[]): Shown {
    const sources = new Map<string, Part>()
    const inserted: Part[] = []
    for (const part of parts) {
      const key = evidenceKey(part)
      if (key !== undefined) sources.set(key, part)
      else if (isWords(part) && !this.#options.inPlace && !this.#said.has(part.text)) inserted.push(part)
    }
    return { sources, inserted }
  }

  #isShown(quote: Quote, evidence: Evidence, shown: Shown): boolean {
    const inSource = quote.sources.some(number => {
      const source = evidence.sources[number]!
      const part = shown.sources.get(source.key)
      if (!part) return false
      return part === source.part || this.#textOf(part, evidence).includes(quote.text)
    })
    return inSource || shown.inserted.some(part => this.#textOf(part, evidence).includes(quote.text))
  }

  #textOf(part: Part, evidence: Evidence): string {
    const known = this.#normalized.get(part) ?? new Map<Evidence, string>()
    this.#normalized.set(part, known)
    let text = known.get(evidence)
    if (text === undefined) {
      const isSource = part.type === 'tool-call' || part.type === 'tool-result'
      text = isSource ? sourceText(part, evidence.normalize) : evidence.normalize(textOf(part))
      known.set(evidence, text)
    }
    return text
  }

  #addReasoning(parts: readonly Part[], running: readonly Part[]): void {
    const shown = new Set(parts.flatMap(part => (part.type === 'reasoning' ? [part.text] : [])))
    const sums = this.#result.reasoning
    for (const part of running) {
      const tokens = partTokens(part, this.#options.count)
      const text = textOf(part)
      sums.running += tokens
      if (!shown.has(text) || this.#unbound.has(text)) sums.lost += tokens
    }
  }

  #addWords(messages: readonly Message[], total: number): void {
    for (const { role, parts } of messages) {
      if (role !== 'user') continue
      for (const part of parts) {
        if (isSaid(part) && this.#said.has(part.text)) this.#userShown += partTokens(part, this.#options.count)
      }
    }
    this.#userTotal += total
  }
}

type Moment = { at: number; answered: number; userTokens: number; reasoning: readonly Part[] }

/**
 * For each call: when it was made, when it was answered, how many tokens the users had said by then, and the reasoning
 * since the user's last message.
 */
function momentsOf(messages: readonly Message[], count: Counter): Moment[] {
  const moments: Moment[] = []
  let userTokens = 0
  let before = 0
  let reasoning: readonly Part[] = []
  for (const { role, at = 0, parts } of messages) {
    if (role === 'assistant') {
      moments.push({ at: before || at, answered: at, userTokens, reasoning })
      const own = parts.filter(part => part.type === 'reasoning' && part.text !== '')
      if (own.length > 0) reasoning = [...reasoning, ...own]
    }
    const said = role === 'user' ? parts.filter(isSaid) : []
    userTokens += said.reduce((sum, part) => sum + partTokens(part, count), 0)
    if (said.some(part => part.text.trim() !== '')) reasoning = []
    before = at
  }
  return moments
}

function isWords(part: Part): part is Extract<Part, { text: string }> {
  return part.type === 'text' || part.type === 'reasoning'
}

/** Whether a part is a user's own words: a client's report in the user's name is not. */
function isSaid(part: Part): part is Extract<Part, { text: string }> {
  return isWords(part) && !isReport(part.text)
}

/** The same block on the wire. */
function isSame(a: Part, b: Part): boolean {
  if (a === b) return true
  if (a.type !== b.type || evidenceKey(a) !== evidenceKey(b)) return false
  if (a.type === 'tool-call' && b.type === 'tool-call') return JSON.stringify(a.input) === JSON.stringify(b.input)
  if (a.type === 'image' || a.type === 'raw') return JSON.stringify(a) === JSON.stringify(b)
  return textOf(a) === textOf(b)
}

function recordOf<K extends string, V>(keys: readonly K[], make: () => V): Record<K, V> {
  return Object.fromEntries(keys.map(key => [key, make()])) as Record<K, V>
}
