/**
 * What an edit would cost right now: the parts in view by cost, the one-time cost of removing some of them and the
 * saving with every later call, how often similar parts were quoted later, and whether the cache is cold. On a cold
 * cache every edit is free.
 */

import { PalimpsestError } from '../model/errors.ts'
import { textOf } from '../model/leaves.ts'
import { headOf } from '../model/text.ts'
import { partTokens } from '../model/tokens.ts'
import { classOf, expectedQuotes } from '../planner/classes.ts'
import { FREE_EDIT, QUOTES } from '../planner/tuning.ts'
import { rewrittenFrom } from '../providers/cache.ts'
import { bandFactor } from '../providers/pricing.ts'
import type { EditPrice, Moment, PricedPart } from '../view/figures.ts'
import { isPinned, tokensOf } from '../view/fold.ts'
import { partId, shownParts } from '../view/shown-texts.ts'
import type { Timeline } from '../view/timeline.ts'
import type { Unit } from '../view/units.ts'

export function momentOf(timeline: Timeline, now: number): Moment {
  const { model } = timeline
  const { cold, lastCallAt, tokens: cached } = timeline.cacheAt(now)
  const tokens = timeline.overhead + timeline.tokens.shown
  const written = cold ? tokens : Math.max(0, tokens - cached)
  return {
    tokens: timeline.theirs(tokens),
    window: model.window,
    isCold: cold,
    coldAt: lastCallAt === undefined ? null : lastCallAt + model.ttl,
    nextUsd: usd(timeline, written * model.write + (tokens - written) * model.read),
    ...withFree(timeline, pricedParts(timeline), cold),
  }
}

function inTheirs(timeline: Timeline, parts: readonly PricedPart[]): PricedPart[] {
  return parts.map(part => ({ ...part, tokens: timeline.theirs(part.tokens) }))
}

/** On a cold cache, lists the parts that could be removed now: large old results of a kind that is seldom quoted. */
function withFree(timeline: Timeline, parts: PricedPart[], isCold: boolean): Pick<Moment, 'parts' | 'free'> {
  const seldom = ({ entry, part, quotes, tokens }: PricedPart) =>
    quotes !== null && quotes < FREE_EDIT.quotes && tokens >= FREE_EDIT.tokens && !isPinned(timeline.fold, entry, part)
  const free = isCold ? parts.filter(seldom).map(({ id }) => id) : []
  return { parts: inTheirs(timeline, parts), free: free.slice(0, FREE_EDIT.parts) }
}

/** Tokens are by our own count. */
function pricedParts(timeline: Timeline): PricedPart[] {
  const { fold, model } = timeline
  const units = new Map(timeline.units.map(unit => [`${unit.entry}.${unit.part}`, unit]))
  const parts = [...shownParts(fold)].map(({ entry, part, shown, original }) => {
    const tokens = partTokens(shown, fold.count)
    const unit = units.get(`${entry}.${part}`)
    return {
      id: partId(entry, part, original),
      entry,
      part,
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

/** The cost of removing these parts before the next call. */
export function priceOf(timeline: Timeline, ids: readonly string[], now: number): EditPrice {
  const { fold, model } = timeline
  const { cold: isCold } = timeline.cacheAt(now)
  const parts = pricedParts(timeline)
  const unknown = ids.find(id => !parts.some(part => part.id === id))
  if (unknown !== undefined) {
    throw new PalimpsestError(
      'ENTRY_NOT_FOUND',
      `Nothing in view has the id ${unknown}. List the parts in view to see their ids.`,
      { id: unknown },
    )
  }
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
    tokens: timeline.theirs(tokens),
    perCallUsd,
    rewritten: timeline.theirs(rewritten),
    onceUsd,
    paysAfter: onceUsd === 0 ? 0 : perCallUsd > 0 ? Math.ceil(onceUsd / perCallUsd) : null,
    quotes: chosen.reduce((sum, { quotes }) => sum + (quotes ?? 0), 0),
  }
}

/** At the price of a request of the present size. */
function usd(timeline: Timeline, units: number): number {
  const { model, scale, overhead } = timeline
  const price = model.input * bandFactor(model, timeline.theirs(overhead + timeline.tokens.shown))
  return (units * price * scale) / 1e6
}
