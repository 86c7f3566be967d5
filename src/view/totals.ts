/**
 * A session in a few numbers, for lists: how long it is, what of it is shown, and what it cost with our edits and
 * without them. Pure; the numbers are those of its timeline.
 */
import { boundedTo, onOneLine } from '../model/text.ts'
import type { Timeline } from './timeline.ts'

export type Summary = {
  /** The first thing that was asked for. */
  title: string
  entries: number
  /** Requests of the user, and calls of the model. */
  turns: number
  calls: number
  edits: number
  /** Of the next call: everything that happened, and what is shown of it. */
  tokens: { raw: number; shown: number; window: number }
  /** Over all calls. */
  sent: { raw: number; shown: number }
  /** In dollars, of input: the same calls, the same caching by the provider, without our edits and with them. */
  money: { without: number; with: number }
  /** What the provider reported, in dollars with answers; null where it reported nothing. */
  reported: { calls: number; cost: number } | null
  /** Tokens sent, call by call, in at most 40 steps: the largest of each. */
  series: { raw: number[]; shown: number[] }
}

const TITLE = 120
const STEPS = 40

export function summaryOf(timeline: Timeline): Summary {
  const { calls, fold, model, overhead } = timeline
  const total = (pick: (call: (typeof calls)[number]) => number) => calls.reduce((sum, call) => sum + pick(call), 0)
  const { raw, shown } = timeline.tokens
  const reports = calls.flatMap(({ reported }) => reported ?? [])
  const { count: turns, first = '' } = timeline.requests
  return {
    title: boundedTo(onOneLine(first.slice(0, TITLE * 4)), TITLE),
    entries: fold.entries.length,
    turns,
    calls: calls.length,
    edits: [...fold.records.values()].filter(({ active }) => active).length,
    tokens: { raw: raw + overhead, shown: shown + overhead, window: model.window },
    sent: { raw: total(call => call.raw.tokens), shown: total(call => call.sent.tokens) },
    money: { without: total(call => call.raw.cost), with: total(call => call.sent.cost) },
    reported:
      reports.length > 0 ? { calls: reports.length, cost: reports.reduce((sum, { cost }) => sum + cost, 0) } : null,
    series: {
      raw: inSteps(
        calls.map(call => call.raw.tokens),
        STEPS,
      ),
      shown: inSteps(
        calls.map(call => call.sent.tokens),
        STEPS,
      ),
    },
  }
}

/** A long series as a short one: the largest of each stretch. */
export function inSteps(values: readonly number[], most: number): number[] {
  if (values.length <= most) return [...values]
  return Array.from({ length: most }, (_, i) => {
    const from = Math.floor((i * values.length) / most)
    return Math.max(...values.slice(from, Math.floor(((i + 1) * values.length) / most)))
  })
}
