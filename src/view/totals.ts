/**
 * A session in a few numbers, for lists: its length, the shown part, and the cost with our edits and without them.
 * Pure; the numbers come from its timeline.
 */
import { boundedTo, headOf, localDay, onOneLine } from '../model/text.ts'
import { wholeUsage } from '../providers/pricing.ts'
import type { Timeline } from './timeline.ts'

export type Summary = {
  /** The first request. */
  title: string
  entries: number
  /** Requests of the user, and calls of the model. */
  turns: number
  calls: number
  /** Messages at the beginning that are shared with another session, which has paid for their calls. */
  carried: number
  edits: number
  /** Tokens in the provider's count, for the next call: the whole original conversation, and the messages shown. */
  tokens: { raw: number; shown: number; window: number }
  /** The same, summed over all calls. */
  sent: { raw: number; shown: number }
  /**
   * In dollars, answers included. `with` is the amount paid: as the provider reported it, and by the cost model for the
   * `estimated` calls without a report. `without` adds what our edits `saved`. `modelled` is the estimate of the cost
   * model for all calls. Calls that a parent session has paid are left out. `could`: what thrifty would have saved of a
   * recording; not known without a replay.
   */
  money: { without: number; with: number; saved: number; modelled: number; estimated: number; could?: number }
  /** Tokens sent, call by call, in at most 40 steps: the largest of each. */
  series: { raw: number[]; shown: number[] }
  /** The same money by the day of each call, with the input tokens and how many of them came from the cache. */
  days: Day[]
}

export type Day = {
  day: string
  calls: number
  billed: number
  saved: number
  could?: number
  input: number
  cacheRead: number
}

const TITLE = 120
const STEPS = 40

/** `could`: what a replay would have saved of each call. */
export function summaryOf(timeline: Timeline, could?: readonly number[]): Summary {
  const { calls, fold, model, overhead } = timeline
  const own = calls.filter(({ inherited }) => !inherited)
  const total = (pick: (call: (typeof calls)[number]) => number) => own.reduce((sum, call) => sum + pick(call), 0)
  const paid = total(call => call.paid.dollars)
  const saved = total(call => call.raw.cost - call.sent.cost)
  const theirs = (tokens: number) => timeline.theirs(tokens)
  const { raw, shown } = timeline.tokens
  const { count: turns, goesOn, first = goesOn ? 'Continues an earlier session' : '' } = timeline.requests
  return {
    title: boundedTo(onOneLine(headOf(first, TITLE * 4)), TITLE),
    entries: fold.entries.length,
    turns,
    calls: own.length,
    carried: timeline.inherited.entries,
    edits: [...fold.records.values()].filter(({ active }) => active).length,
    tokens: { raw: theirs(raw + overhead), shown: theirs(shown + overhead), window: model.window },
    sent: { raw: theirs(total(call => call.raw.tokens)), shown: theirs(total(call => call.sent.tokens)) },
    money: {
      without: paid + saved,
      with: paid,
      saved,
      modelled: total(call => call.modelled),
      estimated: own.filter(call => call.paid.estimated).length,
      ...(could ? { could: could.reduce((sum, dollars) => sum + dollars, 0) } : {}),
    },
    series: {
      raw: inSteps(
        calls.map(call => theirs(call.raw.tokens)),
        STEPS,
      ),
      shown: inSteps(
        calls.map(call => theirs(call.sent.tokens)),
        STEPS,
      ),
    },
    days: daysOf(timeline, could),
  }
}

function daysOf({ calls, scale }: Timeline, could: readonly number[] | undefined): Day[] {
  const days = new Map<string, Day>()
  for (const [i, { at, paid, raw, sent, reported, inherited }] of calls.entries()) {
    if (inherited) continue
    const day = dayOf(at)
    const sum = days.get(day) ?? { day, calls: 0, billed: 0, saved: 0, input: 0, cacheRead: 0 }
    const {
      input = 0,
      cacheRead = 0,
      cacheWrite = 0,
    } = paid.estimated
      ? { input: (sent.tokens - sent.cached) * scale, cacheRead: sent.cached * scale }
      : wholeUsage(reported ?? {})
    sum.calls++
    sum.billed += paid.dollars
    sum.saved += raw.cost - sent.cost
    if (could) sum.could = (sum.could ?? 0) + (could[i] ?? 0)
    sum.input += Math.round(input + cacheRead + cacheWrite)
    sum.cacheRead += Math.round(cacheRead)
    days.set(day, sum)
  }
  return [...days.values()]
}

/** The day in the user's time zone. */
export function dayOf(at: number): string {
  return at === 0 ? 'unknown' : localDay(at)
}

/** Shortens a long series: keeps the largest value of each section. */
export function inSteps(values: readonly number[], most: number): number[] {
  if (values.length <= most) return [...values]
  return Array.from({ length: most }, (_, i) => {
    const from = Math.floor((i * values.length) / most)
    return Math.max(...values.slice(from, Math.floor(((i + 1) * values.length) / most)))
  })
}
