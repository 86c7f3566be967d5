/**
 * Compares policies: replays a recorded session under each and measures what they would have sent. A session is
 * prepared once (healed, its quotes found) and can be replayed any number of times; sums over sessions are relative to
 * the policy that sends everything.
 */

import { heal } from '../../formats/doctor.ts'
import { DEFAULT_MODEL } from '../../model/defaults.ts'
import { loadCounter } from '../../model/tokens.ts'
import type { Edit, Message } from '../../model/types.ts'
import type { PlannerFactory } from '../../policies/policy.ts'
import { type ModelTable, modelInfo } from '../../providers/models.ts'
import type { Violation } from '../../view/legality.ts'
import { replay } from '../replay.ts'
import { type Evidence, findQuotes } from './evidence.ts'
import { type Measures, Meter, type Prices, pricesOf } from './measure.ts'

export type Recorded = {
  name: string
  messages: Message[]
  calls: number
  evidence: Record<string, Evidence>
}

/** Edits that were made for a call, and the sentence with the calculation behind them. */
export type Decision = { call: number; edits: number; saved: number; text: string }

export type Outcome = {
  policy: string
  measures: Measures
  decisions: Decision[]
  /** The edits themselves, by the call that they were made for, counted from 0. */
  made: { call: number; edits: Edit[] }[]
  /** Calls whose prefix broke on a warm cache without a recorded decision. */
  unexplained: number[]
  violations: Violation[]
}

export type CompareOptions = {
  model?: string
  cacheTtl?: string
  models?: ModelTable
  overhead?: number
  /** Further price tables to measure the same views by; the model's own comes first. */
  prices?: Record<string, Prices>
}

/** The name of the price table of the model itself. */
export const OWN = 'own'

export function prepareSession(name: string, messages: readonly Message[]): Recorded {
  const { messages: healed } = heal(messages)
  const calls = healed.filter(({ role }) => role === 'assistant').length
  return { name, messages: healed, calls, evidence: { quotes: findQuotes(healed) } }
}

export async function tryPolicy(
  session: Recorded,
  policy: string | PlannerFactory,
  { model = DEFAULT_MODEL, cacheTtl, models = {}, overhead, prices = {} }: CompareOptions = {},
): Promise<Outcome> {
  const lifetime = cacheTtl === undefined ? {} : { cacheTtl }
  const meter = new Meter(session.messages, {
    count: await loadCounter(),
    prices: { [OWN]: pricesOf(modelInfo(model, models, lifetime)), ...prices },
    evidence: session.evidence,
    ...(overhead === undefined ? {} : { overhead }),
  })
  const decisions: Decision[] = []
  const made: Outcome['made'] = []
  const unexplained: number[] = []
  const violations: Violation[] = []
  const options = { policy, model, models, ...lifetime, ...(overhead === undefined ? {} : { overhead }) }
  for await (const { turn, messages, edits, decision, report } of replay(session.messages, options)) {
    const { bust } = meter.add(messages)
    // Lets a server answer other requests in between.
    await new Promise(resolve => setImmediate(resolve))
    const saved = edits.reduce((total, edit) => total + edit.saved, 0)
    const done = decision?.startsWith('waiting') ? undefined : decision
    if (bust && (edits.length === 0 || !done)) unexplained.push(turn)
    if (edits.length > 0) {
      made.push({ call: turn, edits })
      decisions.push({ call: turn, edits: edits.length, saved, text: done ?? whyOf(edits) })
    }
    violations.push(...report)
  }
  const name = typeof policy === 'string' ? policy : policy.name
  return { policy: name, measures: meter.result(), decisions, made, unexplained, violations }
}

/** Measures over several sessions, as shares of the base. */
export type Row = {
  policy: string
  sessions: number
  calls: number
  /** Tokens sent, and their cost in uncached input tokens. */
  tokens: number
  cost: number
  effective: number
  /** The same as shares of the base. */
  sentShare: number
  costShare: number
  effectiveShare: number
  evidence: number
  /** The highest effective share of one session. */
  worst: number
  busts: number
  refetches: number
  peak: number
  said: number
  /** Share of the running turns' reasoning that was gone, or after a change, over all calls. */
  reasoningLost: number
}

export function sumUp(
  policy: string,
  pairs: readonly { measures: Measures; base: Measures }[],
  { prices = OWN, evidence = 'quotes' }: { prices?: string; evidence?: string } = {},
): Row {
  const total = (pick: (measures: Measures) => number, of: 'measures' | 'base' = 'measures') =>
    pairs.reduce((sum, pair) => sum + pick(pair[of]), 0)
  const costOf = ({ costs }: Measures) => costs[prices]!
  const share = (pick: (measures: Measures) => number) => ratio(total(pick), total(pick, 'base'))
  const calls = total(({ calls }) => calls)
  return {
    policy,
    sessions: pairs.length,
    calls,
    tokens: total(({ sent }) => sent),
    cost: total(measures => costOf(measures).cost),
    effective: total(measures => costOf(measures).effective),
    sentShare: share(({ sent }) => sent),
    costShare: share(measures => costOf(measures).cost),
    effectiveShare: share(measures => costOf(measures).effective),
    evidence: ratio(
      total(measures => measures.evidence[evidence]!.kept),
      total(measures => measures.evidence[evidence]!.quotes),
    ),
    worst: Math.max(0, ...pairs.map(({ measures, base }) => ratio(costOf(measures).effective, costOf(base).effective))),
    busts: total(measures => costOf(measures).busts),
    refetches: total(measures => costOf(measures).refetches),
    peak: Math.max(0, ...pairs.map(({ measures }) => measures.peak)),
    said: ratio(
      total(({ said, calls: own }) => said * own),
      calls,
    ),
    reasoningLost:
      total(({ reasoning }) => reasoning.lost) /
      Math.max(
        1,
        total(({ reasoning }) => reasoning.running),
      ),
  }
}

function ratio(part: number, whole: number): number {
  return whole === 0 ? 1 : part / whole
}

/** The reasons of edits that no planner explained. */
function whyOf(edits: readonly { why: string }[]): string {
  return [...new Set(edits.map(({ why }) => why))].slice(0, 3).join('; ')
}
