/**
 * What sessions cost and what edits saved, from the ledger alone: the same numbers after any restart, by anybody.
 *
 * Money is that of the session's timeline, which every door shows: what was paid, and what the edits saved after what
 * they made the provider write again. Tokens are of calls for which the provider told what they used: in are those of
 * all entries at that time, sent those of the view.
 */

import { type Counter, messageTokens } from '../../model/tokens.ts'
import type { CacheMiss, Edit, Event, Usage } from '../../model/types.ts'
import { type Model, modelInfo } from '../../providers/models.ts'
import type { SessionInfo } from '../../session/engine.ts'
import { entriesOf } from '../../view/edits.ts'
import { applyEvent, createFold, type Fold, shownTokens, tokensOf } from '../../view/fold.ts'
import { Timeline } from '../../view/timeline.ts'
import { summaryOf } from '../../view/totals.ts'

export type Cause = CacheMiss['cause']

export type Statistics = {
  calls: number
  tokensIn: number
  tokensSent: number
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
  /** Dollars: what was paid, and what edits saved. */
  cost: number
  saved: number
  edits: Record<string, number>
  /** Calls for which a cached beginning was lost. */
  busts: Record<Cause, number>
}

export function noStatistics(): Statistics {
  const busts = { edit: 0, pause: 0, client: 0, model: 0, server: 0, provider: 0 }
  const tokens = { tokensIn: 0, tokensSent: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
  return { calls: 0, ...tokens, cost: 0, saved: 0, edits: {}, busts }
}

type Placed = { seq: number; at: number; event: Event }

export function statisticsOf(
  events: Iterable<Placed>,
  { model, parent, about }: Pick<SessionInfo, 'model' | 'parent' | 'about'>,
  count: Counter,
): Statistics {
  const reading = new Reading(model, count)
  const inherited = { events: parent?.seq ?? 0, entries: about.carried ?? 0 }
  const timeline = new Timeline({ count, model: modelInfo(model), name: model, inherited })
  for (const placed of events) {
    reading.take(placed)
    timeline.take(placed)
  }
  const { money } = summaryOf(timeline)
  return { ...reading.statistics, cost: money.with, saved: money.without - money.with }
}

export function addStatistics(one: Statistics, other: Statistics): Statistics {
  const sum = { ...one, edits: { ...one.edits }, busts: { ...one.busts } }
  for (const key of SUMMED) sum[key] += other[key]
  for (const [by, count] of Object.entries(other.edits)) sum.edits[by] = (sum.edits[by] ?? 0) + count
  for (const cause of CAUSES) sum.busts[cause] += other.busts[cause]
  return sum
}

const SUMMED = [
  'calls',
  'tokensIn',
  'tokensSent',
  'input',
  'output',
  'cacheRead',
  'cacheWrite',
  'cost',
  'saved',
] as const
export const CAUSES: readonly Cause[] = ['edit', 'pause', 'client', 'model', 'server', 'provider']

/** Follows one session event by event. */
class Reading {
  readonly statistics = noStatistics()
  readonly #fold: Fold
  readonly #model: string
  #tokensIn = 0
  /** Entries that were sent with the last call, when that was, and to which model. */
  #sent = 0
  #lastAt: number | undefined
  #lastModel: string | undefined
  /** What has happened to the cache since then. */
  #rewritten = 0
  #clientChanged = false

  constructor(model: string, count: Counter) {
    this.#model = model
    this.#fold = createFold(count)
  }

  take({ seq, at, event }: Placed): void {
    if (event.type === 'usage') return this.#call(event, at)
    applyEvent(this.#fold, event, { seq, at })
    if (event.type === 'entry') this.#tokensIn += messageTokens(event.message, this.#fold.count)
    if (event.type === 'edit') for (const edit of event.edits) this.#edit(edit)
  }

  #edit({ by, target }: Edit): void {
    const { from } = entriesOf(target)
    if (by === 'engine') {
      this.#clientChanged ||= from < this.#sent
      return
    }
    this.statistics.edits[by] = (this.statistics.edits[by] ?? 0) + 1
    if (from < this.#sent) this.#rewritten = Math.max(this.#rewritten, tokensOf(this.#fold, from, this.#sent - 1))
  }

  #call({ usage, shown, miss }: Extract<Event, { type: 'usage' }>, at: number): void {
    const { statistics } = this
    const name = usage.model ?? this.#model
    const price = modelInfo(name)
    const sent = shown ?? shownTokens(this.#fold)
    const unsent = Math.max(0, this.#tokensIn - sent)
    const cause = miss?.cause ?? (usage.cacheRead === undefined ? this.#cause(price, name, at) : undefined)
    statistics.calls++
    statistics.tokensIn += sent + unsent
    statistics.tokensSent += sent
    for (const kind of REPORTED) statistics[kind] += usage[kind] ?? 0
    if (cause) statistics.busts[cause]++
    this.#sent = this.#fold.entries.length
    this.#lastAt = at
    this.#lastModel = name
    this.#rewritten = 0
    this.#clientChanged = false
  }

  /** Why the provider could not use its cache for this call, as far as we can know; the first reason counts. */
  #cause({ ttl }: Model, name: string, at: number): Cause | undefined {
    if (this.#lastAt === undefined) return undefined
    if (at - this.#lastAt > ttl) return 'pause'
    if (this.#lastModel !== name) return 'model'
    if (this.#clientChanged) return 'client'
    return this.#rewritten > 0 ? 'edit' : undefined
  }
}

const REPORTED = ['input', 'output', 'cacheRead', 'cacheWrite'] as const satisfies (keyof Usage)[]
