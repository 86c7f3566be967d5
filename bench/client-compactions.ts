/**
 * What clients lose when they compact, and what `thrifty` would have shown instead: the same recorded session, once as
 * the client sent it (each stretch begins with its summary) and once as one conversation with our planner.
 *
 * The usual evidence would favour the client, because the agent could only quote what it still had or had fetched
 * again. So two things are measured across each compaction: passages that the agent had seen before it and used after
 * it (are they still in view, without fetching?), and results fetched after it whose lines had been in view before.
 */
import { textOf } from '../src/model/leaves.ts'
import { type Counter, loadCounter, messageTokens } from '../src/model/tokens.ts'
import type { Message, Part } from '../src/model/types.ts'
import { thrifty } from '../src/planner/thrifty.ts'
import { TYPICAL_OVERHEAD } from '../src/providers/models.ts'
import { type Evidence, evidenceKey, sourceText } from '../src/replay/measure/evidence.ts'
import { type Measures, Meter, pricesOf } from '../src/replay/measure/measure.ts'
import type { Recorded } from '../src/replay/measure/policies.ts'
import { replay } from '../src/replay/replay.ts'
import { type Chain, joinChain } from './chains.ts'
import { modelOf, SMALL, TABLES, tablePrices } from './contenders.ts'
import { oneResultEach, toRecorded } from './recorded.ts'

export type Across = {
  session: string
  calls: number
  compactions: number
  cost: { client: number; thrifty: number; share: number }
  peak: { client: number; thrifty: number }
  /** Passages used after a compaction that had been seen before it, and how many were in view without fetching again. */
  reachBack: { passages: number; client: number; thrifty: number }
  /** Tokens of results fetched after a compaction of which at least half the lines had been seen before it. */
  fetchedAgain: { results: number; tokens: number; stillInThrifty: number }
}

type Border = { at: number; head: Message[] }
type Side = { meter: Meter; kept: number }

const MIN_LINE = 20

export async function compareWithClient(chain: Chain): Promise<Across> {
  const count = await loadCounter()
  const recorded = toRecorded(chain.name, joinChain(chain), ['quotes'])
  const borders = bordersOf(chain, recorded.messages)
  const evidence = recorded.evidence['quotes']!
  const client = sideOf(recorded, count)
  const ours = sideOf(recorded, count)
  const fetched = { results: 0, tokens: 0, stillInThrifty: 0 }
  const lines = new LineBook(recorded.messages, borders)
  let passages = 0
  let call = -1
  for await (const { messages: shown } of replay(recorded.messages, {
    policy: thrifty(),
    ...TABLES[SMALL],
    overhead: TYPICAL_OVERHEAD,
  })) {
    const index = indexOfCall(recorded.messages, ++call)
    const border = borders.findLast(({ at }) => at <= index)
    const theirs = [...(border?.head ?? []), ...recorded.messages.slice(border?.at ?? 0, index)]
    client.meter.add(theirs)
    ours.meter.add(shown)
    if (!border) continue
    for (const quote of evidence.quotes.get(call) ?? []) {
      const old = quote.sources.filter(number => lines.placeOf(evidence.sources[number]!.key) < border.at)
      if (old.length === 0) continue
      passages++
      if (isIn(quote.text, old, evidence, border.head)) client.kept++
      if (isIn(quote.text, old, evidence, shown)) ours.kept++
    }
    const again = lines.fetchedAgain(index, border.at, shown)
    for (const [message, still] of again) {
      const tokens = messageTokens(message, count)
      fetched.results++
      fetched.tokens += tokens
      fetched.stillInThrifty += Math.round(tokens * still)
    }
  }
  const [theirs, own] = [client.meter.result(), ours.meter.result()]
  const paid = costOf(theirs) + summaryCosts(recorded.messages, borders, count)
  return {
    session: chain.name,
    calls: recorded.calls,
    compactions: borders.length,
    cost: { client: Math.round(paid), thrifty: Math.round(costOf(own)), share: round(costOf(own) / paid) },
    peak: { client: theirs.peak, thrifty: own.peak },
    reachBack: {
      passages,
      client: round(client.kept / Math.max(1, passages)),
      thrifty: round(ours.kept / Math.max(1, passages)),
    },
    fetchedAgain: { ...fetched, stillInThrifty: round(fetched.stillInThrifty / Math.max(1, fetched.tokens)) },
  }
}

/** Where each later stretch begins among the joined messages, and the client's text at its beginning. */
function bordersOf({ stretches }: Chain, messages: readonly Message[]): Border[] {
  return stretches.slice(1).flatMap(({ head, messages: own }) => {
    const start = own.find(({ at }) => at !== undefined)?.at
    const at = messages.findIndex(message => start !== undefined && (message.at ?? 0) >= start)
    return at < 0 ? [] : [{ at, head: oneResultEach(head) }]
  })
}

function sideOf(recorded: Recorded, count: Counter): Side {
  const options = { count, prices: tablePrices(), evidence: recorded.evidence, overhead: TYPICAL_OVERHEAD }
  return { meter: new Meter(recorded.messages, options), kept: 0 }
}

function costOf(measures: Measures): number {
  return measures.costs[SMALL]!.cost
}

/** The call that writes the summary: everything read once more, and the summary as output. */
function summaryCosts(messages: readonly Message[], borders: readonly Border[], count: Counter): number {
  const { read, output } = pricesOf(modelOf(SMALL))
  const size = (list: readonly Message[]) => list.reduce((sum, message) => sum + messageTokens(message, count), 0)
  const known = new Set(messages.flatMap(({ parts }) => parts.map(textOf)))
  return borders.reduce((sum, { at, head }, number) => {
    const before = borders[number - 1]
    const view = [...(before?.head ?? []), ...messages.slice(before?.at ?? 0, at)]
    const summary = head.filter(({ parts }) => !parts.some(part => part.type === 'raw' || known.has(textOf(part))))
    return sum + (TYPICAL_OVERHEAD + size(view)) * read + size(summary) * output
  }, 0)
}

/** Whether a passage is shown by one of its old sources, or by a text that replaced it. */
function isIn(text: string, old: readonly number[], evidence: Evidence, shown: readonly Message[]): boolean {
  const keys = new Set(old.map(number => evidence.sources[number]!.key))
  return shown.some(({ parts }) =>
    parts.some(part => {
      if (part.type === 'text') return evidence.normalize(textOf(part)).includes(text)
      if (part.type !== 'tool-call' && part.type !== 'tool-result') return false
      return keys.has(evidenceKey(part) ?? '') && sourceText(part, evidence.normalize).includes(text)
    }),
  )
}

function indexOfCall(messages: readonly Message[], call: number): number {
  let seen = -1
  return messages.findIndex(({ role }) => role === 'assistant' && ++seen === call)
}

/** The lines of results, by where they were first seen. */
class LineBook {
  readonly #messages: readonly Message[]
  readonly #first = new Map<string, number>()
  readonly #places = new Map<string, number>()
  #done: number

  constructor(messages: readonly Message[], borders: readonly Border[]) {
    this.#messages = messages
    this.#done = borders[0]?.at ?? messages.length
    for (const [index, { parts }] of messages.entries()) {
      for (const part of parts) {
        const key = evidenceKey(part)
        if (key !== undefined) this.#places.set(key, index)
        for (const line of linesOf(part)) if (!this.#first.has(line)) this.#first.set(line, index)
      }
    }
  }

  placeOf(key: string): number {
    return this.#places.get(key) ?? Number.POSITIVE_INFINITY
  }

  /** Results that came since the last call and were known before the border, with the share that our view still has. */
  *fetchedAgain(until: number, border: number, shown: readonly Message[]): Generator<[Message, number]> {
    const fresh = this.#messages.slice(Math.max(this.#done, border), until)
    const from = Math.max(this.#done, border)
    this.#done = Math.max(this.#done, until)
    let view: Set<string> | undefined
    for (const [offset, message] of fresh.entries()) {
      const lines = message.role === 'tool' ? message.parts.flatMap(linesOf) : []
      const known = lines.filter(line => (this.#first.get(line) ?? from + offset) < border)
      if (lines.length < 4 || known.length * 2 < lines.length) continue
      view ??= new Set(shownBefore(shown, this.#messages[border - 1]?.at ?? 0))
      yield [message, known.filter(line => view!.has(line)).length / known.length]
    }
  }
}

/** Lines in view that were there before a moment. */
function shownBefore(shown: readonly Message[], until: number): string[] {
  return shown.filter(({ at }) => (at ?? 0) <= until).flatMap(({ parts }) => parts.flatMap(linesOf))
}

function linesOf(part: Part): string[] {
  if (part.type !== 'tool-result' && part.type !== 'tool-call' && part.type !== 'text') return []
  const text = part.type === 'tool-call' ? JSON.stringify(part.input).replaceAll('\\n', '\n') : textOf(part)
  return text.split('\n').flatMap(line => {
    const plain = line.replace(/^\s*\d+[→\t:]/, '').trim()
    return plain.length >= MIN_LINE ? [plain] : []
  })
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000
}
