/**
 * The result of a session's edits: the savings, how much of the text that the agent quoted later was still in view, how
 * often the cache was lost, and the worth of each edit. For a recording: the same for edits that a policy would have
 * made. Pure except for the replay itself.
 */

import { loadCounter } from '../model/tokens.ts'
import type { Edit, Event, Message } from '../model/types.ts'
import type { EditWorth, Verdict } from '../view/figures.ts'
import { applyEvent, createFold, peek } from '../view/fold.ts'
import { Timeline } from '../view/timeline.ts'
import { summaryOf } from '../view/totals.ts'
import { assumedPrices } from './account.ts'
import { findQuotes } from './measure/evidence.ts'
import { Meter } from './measure/measure.ts'
import type { Outcome, Recorded } from './measure/policies.ts'
import { billPartsOf } from './why.ts'

type Placed = { seq: number; at: number; event: Event }

export async function verdictOf(timeline: Timeline, events: readonly Placed[]): Promise<Verdict> {
  const { money, calls } = summaryOf(timeline)
  const own = timeline.calls.filter(({ inherited }) => !inherited)
  const cacheLost: Verdict['cacheLost'] = {}
  for (const { cause } of own.flatMap(call => timeline.lossOf(call) ?? [])) {
    cacheLost[cause] = (cacheLost[cause] ?? 0) + 1
  }
  return {
    billed: money.with,
    without: money.without,
    saved: money.saved,
    calls,
    copied: timeline.calls.length - calls,
    estimated: money.estimated,
    assumed: assumedPrices([timeline]),
    ...(await quotesIn(timeline, events)),
    cacheLost,
    parts: billPartsOf(timeline),
    edits: worthOf(timeline),
  }
}

/** Counts the quotes, and those that the view of their call no longer contained. */
async function quotesIn({ fold }: Timeline, events: readonly Placed[]): Promise<{ quotes: number; lost: number }> {
  const messages = events.flatMap(({ event }) => (event.type === 'entry' ? [event.message] : []))
  const evidence = findQuotes(messages)
  if (fold.records.size === 0) return { quotes: [...evidence.quotes.values()].flat().length, lost: 0 }
  const meter = new Meter(messages, { count: await loadCounter(), prices: {}, evidence: { quotes: evidence } })
  const replayed = createFold(fold.count)
  for (const { seq, at, event } of events) {
    if (event.type === 'entry' && event.message.role === 'assistant') meter.add(peek(replayed))
    applyEvent(replayed, event, { seq, at })
  }
  const { kept, quotes } = meter.result().evidence.quotes
  return { quotes, lost: quotes - kept }
}

/**
 * The savings of each edit: its tokens at every call since, at the price of that call. Undone edits count as if active.
 */
function worthOf({ calls, fold, moments, model }: Timeline): EditWorth[] {
  const carried = [0]
  const rewritten = calls.map(({ sent, miss, edits }, i) => {
    const { read, write } = model
    const units = sent.cached * read + sent.written * write
    const rate = units === 0 ? 0 : sent.cost / units
    carried.push(carried[i]! + (sent.cached === 0 ? write : read) * rate)
    return miss?.kind === 'edit' && edits.saved > 0 ? (miss.lost * (write - read) * rate) / edits.saved : 0
  })
  const end = carried.at(-1)!
  return [...fold.records.values()].flatMap(({ edit: { id, saved } }) => {
    const call = moments.get(id)?.call
    if (call === undefined) return []
    const cost = saved > 0 ? saved * (rewritten[call] ?? 0) : 0
    return [{ id, dollars: saved * (end - (carried[call] ?? end)) - cost }]
  })
}

/** A session as a policy would have left it: its parts, and its edits with their worth. */
export async function wouldBe(
  { messages }: Pick<Recorded, 'messages'>,
  outcome: Pick<Outcome, 'made'>,
  { model, scale }: Pick<Timeline, 'model' | 'scale'>,
): Promise<{ timeline: Timeline; edits: (Edit & { call: number; dollars: number })[] }> {
  const timeline = new Timeline({ count: await loadCounter(), model })
  const byCall = new Map(outcome.made.map(({ call, edits }) => [call, edits]))
  let seq = 0
  let call = 0
  const take = (event: Event, { at = 0 }: Pick<Message, 'at'>) => timeline.take({ seq: seq++, at, event })
  for (const message of messages) {
    const edits = message.role === 'assistant' ? byCall.get(call++) : undefined
    if (edits) take({ type: 'edit', edits }, message)
    take({ type: 'entry', message }, message)
  }
  const worth = new Map(worthOf(timeline).map(({ id, dollars }) => [id, dollars * (scale / timeline.scale)]))
  const edits = outcome.made.flatMap(({ call: at, edits: own }) => {
    return own.map(edit => ({ ...edit, call: at + 1, dollars: worth.get(edit.id) ?? 0 }))
  })
  return { timeline, edits }
}
