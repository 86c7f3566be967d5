/**
 * What an edit would cost right now: the parts in view by cost, what taking some of them out costs once and saves with
 * every call, how often parts like these were quoted later, and whether the cache is cold, when every edit is free.
 */

import { textOf } from '../model/leaves.ts'
import { headOf } from '../model/text.ts'
import { partTokens } from '../model/tokens.ts'
import { classOf, expectedQuotes } from '../planner/classes.ts'
import { QUOTES } from '../planner/tuning.ts'
import { rewrittenFrom } from '../providers/cache.ts'
import { tokensOf } from '../view/fold.ts'
import { partId, shownParts } from '../view/shown-texts.ts'
import type { Timeline } from '../view/timeline.ts'
import type { Unit } from '../view/units.ts'

export type PricedPart = {
  id: string
  entry: number
  kind: string
  tool: string | null
  tokens: number
  /** What it costs with every call that reads it from the cache. */
  perCallUsd: number
  /** How often such parts, this old, were quoted later in recorded sessions; null where nothing was measured. */
  quotes: number | null
  preview: string
}

export type Moment = {
  tokens: number
  window: number
  /** The provider has forgotten the prefix: the next call writes all of it again. */
  isCold: boolean
  /** When it forgets it, if nothing is asked before. */
  coldAt: number | null
  /** What the next call costs for its input. */
  nextUsd: number
  parts: PricedPart[]
}

export type EditPrice = {
  ids: string[]
  tokens: number
  perCallUsd: number
  /** Tokens behind the first of them, which are written again; none on a cold cache. */
  rewritten: number
  onceUsd: number
  /** Calls until it has paid; null where it never does, 0 where it is free. */
  paysAfter: number | null
  quotes: number
}

export function momentOf(timeline: Timeline, now: number): Moment {
  const { model } = timeline
  const { cold, lastCallAt, tokens: cached } = timeline.cacheAt(now)
  const tokens = timeline.overhead + timeline.tokens.shown
  const written = cold ? tokens : Math.max(0, tokens - cached)
  return {
    tokens: Math.round(tokens),
    window: model.window,
    isCold: cold,
    coldAt: lastCallAt === undefined ? null : lastCallAt + model.ttl,
    nextUsd: usd(timeline, written * model.write + (tokens - written) * model.read),
    parts: pricedParts(timeline),
  }
}

function pricedParts(timeline: Timeline): PricedPart[] {
  const { fold, model } = timeline
  const units = new Map(timeline.units.map(unit => [`${unit.entry}.${unit.part}`, unit]))
  const parts = [...shownParts(fold)].map(({ entry, part, shown, original }) => {
    const tokens = partTokens(shown, fold.count)
    const unit = units.get(`${entry}.${part}`)
    return {
      id: partId(entry, part, original),
      entry,
      kind: shown.type,
      tool: unit?.tool ?? null,
      tokens,
      perCallUsd: usd(timeline, tokens * model.read),
      quotes: unit ? quotesOf(unit, tokens, timeline.calls.length) : null,
      preview: headOf(textOf(shown).replaceAll(/\s+/g, ' '), 80),
    }
  })
  return parts.sort((a, b) => b.tokens - a.tokens)
}

function quotesOf(unit: Unit, tokens: number, calls: number): number | null {
  const partClass = classOf(unit)
  if (partClass === undefined) return null
  const age = calls - unit.turn
  return tokens * expectedQuotes(QUOTES, partClass, { age, sinceTouched: age, changes: 0, tokens })
}

/** What it costs to take these parts out before the next call. */
export function priceOf(timeline: Timeline, ids: readonly string[], now: number): EditPrice {
  const { fold, model } = timeline
  const { isCold, parts } = momentOf(timeline, now)
  const chosen = parts.filter(({ id }) => ids.includes(id))
  const tokens = chosen.reduce((sum, part) => sum + part.tokens, 0)
  const first = Math.min(...chosen.map(({ entry }) => entry))
  const whole = timeline.tokens.shown - tokens
  const behind = chosen.length === 0 ? 0 : Math.max(0, tokensOf(fold, first, fold.entries.length - 1) - tokens)
  const calls = timeline.calls.filter(({ entry }) => entry > first).length
  const rewritten = isCold ? 0 : rewrittenFrom(model, { behind, whole, calls })
  const perCallUsd = usd(timeline, tokens * model.read)
  const onceUsd = usd(timeline, rewritten * (model.write - model.read))
  return {
    ids: chosen.map(({ id }) => id),
    tokens,
    perCallUsd,
    rewritten,
    onceUsd,
    paysAfter: onceUsd === 0 ? 0 : perCallUsd > 0 ? Math.ceil(onceUsd / perCallUsd) : null,
    quotes: chosen.reduce((sum, { quotes }) => sum + (quotes ?? 0), 0),
  }
}

function usd({ model }: Timeline, units: number): number {
  return (units * model.input * model.scale) / 1e6
}
