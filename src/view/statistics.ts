/**
 * The cost of sessions and the savings of edits, summed from their timelines, the account that every door shows. Used
 * by `stats`, `run`, the terminal and Prometheus. Pure.
 */

import type { CacheMiss, Usage } from '../model/types.ts'
import { wholeUsage } from '../providers/pricing.ts'
import { isScale, promptTokens } from '../providers/token-fit.ts'
import type { Timeline, TimelineCall } from './timeline.ts'

export type Cause = CacheMiss['cause']

export type Statistics = {
  calls: number
  /** Tokens of messages in the provider's count: of everything said up to each call, and of what was sent. */
  tokensIn: number
  tokensSent: number
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
  /** Dollars: the amount paid, and the savings of edits after the cache writes that they caused. */
  cost: number
  saved: number
  /** The negative part of `saved`: from calls that edits made more expensive. */
  rewritten: number
  edits: Record<string, number>
  /** Calls that lost a cached beginning, by cause. */
  busts: Record<Cause, number>
}

export function noStatistics(): Statistics {
  const busts = { edit: 0, pause: 0, client: 0, model: 0, server: 0, provider: 0 }
  const tokens = { tokensIn: 0, tokensSent: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
  return { calls: 0, ...tokens, cost: 0, saved: 0, rewritten: 0, edits: {}, busts }
}

export function statisticsOf(timeline: Timeline): Statistics {
  const { calls, moments, fold } = timeline
  const own = calls.filter(({ inherited }) => !inherited)
  const first = calls.length - own.length
  const statistics = own.map(call => statisticsOfCall(timeline, call)).reduce(addStatistics, noStatistics())
  for (const { edit } of fold.records.values()) {
    const isOwn = edit.by !== 'engine' && (moments.get(edit.id)?.call ?? 0) >= first
    if (isOwn) statistics.edits[edit.by] = (statistics.edits[edit.by] ?? 0) + 1
  }
  return statistics
}

/** The statistics of one call. Later facts never change them, because a counter must not go down. */
export function statisticsOfCall(timeline: Timeline, call: TimelineCall): Statistics {
  const { sent, raw, overhead, paid, reported = {} } = call
  const statistics = noStatistics()
  const lost = timeline.lossOf(call)
  const ratio = promptTokens(reported) / sent.tokens
  const scale = isScale(ratio) ? ratio : timeline.modelOf(call).scale
  const saved = raw.cost - sent.cost
  Object.assign(statistics, {
    calls: 1,
    tokensIn: Math.round((raw.tokens - overhead) * scale),
    tokensSent: Math.round((sent.tokens - overhead) * scale),
    cost: paid.dollars,
    saved,
    rewritten: Math.max(0, -saved),
  })
  const whole = wholeUsage(reported)
  for (const kind of REPORTED) statistics[kind] = whole[kind] ?? 0
  if (lost) statistics.busts[lost.cause] = 1
  return statistics
}

export function addStatistics(one: Statistics, other: Statistics): Statistics {
  const sum = { ...one, edits: { ...one.edits }, busts: { ...one.busts } }
  for (const key of SUMMED) sum[key] += other[key]
  for (const [by, count] of Object.entries(other.edits)) sum.edits[by] = (sum.edits[by] ?? 0) + count
  for (const cause of CAUSES) sum.busts[cause] += other.busts[cause]
  return sum
}

const REPORTED = ['input', 'output', 'cacheRead', 'cacheWrite'] as const satisfies (keyof Usage)[]
const SUMMED = ['calls', 'tokensIn', 'tokensSent', ...REPORTED, 'cost', 'saved', 'rewritten'] as const
const CAUSES: readonly Cause[] = ['edit', 'pause', 'client', 'model', 'server', 'provider']
