/**
 * The value of knowing the future: planners that know which passages will be quoted and how long the session is.
 *
 * `floor` is a lower bound: everything is shown once and removed after its last quote, and edits cost no cache.
 * `oracle` has the same cache, the same batches (planner.ts) and the same stubs as `thrifty`, but knows what is needed.
 * The difference between `thrifty` and the oracle is what better prediction could bring; the difference between oracle
 * and floor is what better timing could bring.
 */

import { loadCounter, partTokens } from '../src/model/tokens.ts'
import type { Message, Part } from '../src/model/types.ts'
import { bestCut, dueReason, type Situation } from '../src/planner/planner.ts'
import { TYPICAL_OVERHEAD } from '../src/providers/models.ts'
import { type Measures, Meter, type Prices, pricesOf } from '../src/replay/measure/measure.ts'
import type { Recorded } from '../src/replay/measure/policies.ts'
import { type Contender, modelOf, TABLE_NAMES, tablePrices } from './contenders.ts'

type Item = {
  message: number
  part: number
  original: Part
  tokens: number
  /** The call with which it is first sent, and the last one that quotes it (or -1). */
  born: number
  needed: number
  /** The text shown in its place after it is removed. */
  stub: Part | undefined
  stubTokens: number
  gone: boolean
}

const MIN_SAVE = 40

export const oracle: Contender = {
  name: 'oracle',
  setting: 'knows what will be quoted',
  kind: 'bound',
  source: 'palimpsest',
  tables: TABLE_NAMES,
  async run(session, table) {
    const count = await loadCounter()
    const meter = new Meter(session.messages, {
      count,
      prices: tablePrices(),
      evidence: session.evidence,
      overhead: TYPICAL_OVERHEAD,
    })
    const items = await itemsOf(session)
    const prices = pricesOf(modelOf(table))
    let lastAnswer = Number.NEGATIVE_INFINITY
    let call = 0
    for (const [i, message] of session.messages.entries()) {
      if (message.role !== 'assistant') continue
      const at = session.messages[i - 1]?.at || message.at || 0
      plan(items, { call, calls: session.calls, prices, cold: at - lastAnswer > prices.ttl })
      meter.add(show(session.messages.slice(0, i), items))
      lastAnswer = message.at || at
      call++
    }
    return meter.result()
  },
}

/** The cost if edits were free: only a sum, not a view that can be sent. */
export const floor: Contender = {
  name: 'floor',
  setting: 'edits cost no cache',
  kind: 'bound',
  source: 'palimpsest',
  tables: TABLE_NAMES,
  async run(session, table) {
    const items = await itemsOf(session)
    const prices = pricesOf(modelOf(table))
    const { evidence, ...base } = (await oracle.run(session, table)) satisfies Measures
    const cost = floorCost(session, items, prices)
    const costs = Object.fromEntries(
      Object.entries(base.costs).map(([name, sums]) => [
        name,
        { ...sums, cost, effective: cost, refetches: 0, busts: 0 },
      ]),
    )
    const whole = Object.fromEntries(
      Object.entries(evidence).map(([name, kept]) => [
        name,
        { ...kept, kept: kept.quotes, keptChars: kept.quoteChars },
      ]),
    )
    return { ...base, costs, evidence: whole }
  },
}

type Moment = { call: number; calls: number; prices: Prices; cold: boolean }

function plan(items: readonly Item[], { call, calls, prices, cold }: Moment): void {
  const sent = items.filter(item => item.born < call)
  const model = { ...prices, shape: 'prefix' as const }
  const situation: Situation = { model, cold, horizon: calls - call, quote: 0, whole: 0, thought: 0 }
  const choices = function* () {
    for (const item of sent.toReversed()) {
      const tokens = item.gone ? item.stubTokens : item.tokens
      const useful = !item.gone && item.needed < call && item.tokens - item.stubTokens >= MIN_SAVE
      yield {
        part: item,
        tokens,
        age: call - item.born,
        choices: useful ? [{ form: 'stub', tokens: item.stubTokens, lost: 0 }] : [],
      }
    }
  }
  const cut = bestCut(choices(), situation, { minSave: MIN_SAVE })
  if (!cut) return
  const tokens = sent.reduce((sum, item) => sum + (item.gone ? item.stubTokens : item.tokens), 0)
  const due = dueReason(cut, situation, { pressure: false, growth: Math.max(200, tokens / (call + 1)), batch: 1 })
  const last = calls - call
  const payback = (cut.rewritten * (prices.write - prices.read)) / Math.max(1, cut.freed * prices.read)
  if (due || payback * 4 < last) for (const { part } of cut.picks) part.gone = true
}

function show(messages: readonly Message[], items: readonly Item[]): Message[] {
  const shown = [...messages]
  for (const { message, part, stub, gone } of items) {
    if (!gone || message >= shown.length) continue
    const parts = [...shown[message]!.parts]
    parts[part] = stub ?? { type: 'text', text: '' }
    shown[message] = { ...shown[message]!, parts }
  }
  return shown
}

/** Results and inputs, with the last call that needs each: of several copies the newest is the one that is needed. */
async function itemsOf({ messages, evidence }: Recorded): Promise<Item[]> {
  const count = await loadCounter()
  const quotes = evidence['quotes']!
  const neededBy = new Map<string, number>()
  for (const [call, found] of quotes.quotes) {
    for (const { sources } of found) neededBy.set(quotes.sources[sources.at(-1)!]!.key, call)
  }
  const items: Item[] = []
  let call = 0
  for (const [message, { role, parts }] of messages.entries()) {
    if (role === 'assistant') call++
    for (const [part, original] of parts.entries()) {
      const stub = stubOf(original)
      const key =
        original.type === 'tool-call'
          ? `call ${original.id}`
          : original.type === 'tool-result'
            ? `result ${original.id}`
            : ''
      const tokens = partTokens(original, count)
      items.push({
        message,
        part,
        original,
        tokens,
        born: call,
        needed: stub ? (neededBy.get(key) ?? -1) : Number.POSITIVE_INFINITY,
        stub,
        stubTokens: stub ? partTokens(stub, count) : tokens,
        gone: false,
      })
    }
  }
  return items
}

function stubOf(part: Part): Part | undefined {
  if (part.type === 'tool-result') return { ...part, output: '[cleared by context manager]' }
  if (part.type === 'tool-call') return { ...part, input: { cut: '…' } }
  return part.type === 'reasoning' ? { type: 'reasoning', text: '…' } : undefined
}

function floorCost({ messages, calls }: Recorded, items: readonly Item[], { read, write, ttl }: Prices): number {
  let cost = 0
  let lastAnswer = Number.NEGATIVE_INFINITY
  let call = 0
  for (const [i, message] of messages.entries()) {
    if (message.role !== 'assistant' || call >= calls) continue
    const at = messages[i - 1]?.at || message.at || 0
    const cold = at - lastAnswer > ttl
    let [old, fresh] = [TYPICAL_OVERHEAD, 0]
    for (const item of items) {
      if (item.message >= i) break
      const tokens = item.born >= call || item.needed >= call ? item.tokens : Math.min(item.tokens, item.stubTokens)
      if (item.born >= call) fresh += tokens
      else old += tokens
    }
    cost += (cold ? old * write : old * read) + fresh * write
    lastAnswer = message.at || at
    call++
  }
  return cost
}
