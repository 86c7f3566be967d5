/**
 * When an edit pays.
 *
 * Providers charge `read` for a prompt prefix that they have cached and `write` for the rest. So an edit in the middle
 * makes the provider write everything after it again, T·(write − read) once, and saves `read` on each later call.
 * `bestCut` walks over the parts that were sent before, from the tail to the front, and finds how far back it pays to
 * edit. `dueReason` says whether to edit now: the cache is cold (then it is free), the window fills, or the batch has
 * reached its economic order quantity. A batch that is not due waits until more edits join it.
 */
import { amount } from '../model/text.ts'
import type { PlanContext } from '../policies/policy.ts'
import { rewrittenFrom } from '../providers/cache.ts'
import type { Model } from '../providers/models.ts'
import { CALLS_PER_SURE, MOST_SURE_CALLS } from './tuning.ts'

export type Situation = {
  model: Pick<Model, 'read' | 'write' | 'shape'>
  /** The provider has forgotten the prefix: everything is written again anyway. */
  cold: boolean
  /** The number of calls still expected. */
  horizon: number
  /** The cost of losing a passage that will be quoted, in cached tokens. */
  quote: number
  /** Tokens of all messages: all of them are written again when no cached position is left before an edit. */
  whole: number
  /** The cost of losing a token of the running turn's reasoning, in uncached tokens. */
  thought: number
  /** The provider's tokens for one of ours, in which sentences count; 1 by default. */
  scale?: number
}

/** A part that was sent before: its size, its age in calls, and the forms that it could take. */
export type Candidate<P, F> = {
  part: P
  tokens: number
  /** Tokens between this candidate and the one after it, of parts that have no choices. */
  between?: number
  age: number
  choices: readonly Choice<F>[]
  /** Reasoning that an edit before it makes invalid: whether it leaves the view, and whether its turn still runs. */
  bound?: { leaves: boolean; running: boolean }
}

/** One form that a part could take: how many tokens it leaves, and how many later quotes it puts at risk. */
export type Choice<F> = { form: F; tokens: number; lost: number }

export type Chosen<P, F> = { part: P; form: F; saves: number; value: number }

export type Cut<P, F> = {
  picks: Chosen<P, F>[]
  /** Tokens that are freed, and tokens after the first change that must be written again. */
  freed: number
  rewritten: number
  /** Tokens of reasoning that are lost with the cut, and how many of them belong to the running turn. */
  reasoning: number
  running: number
  /** The gain over the horizon in uncached tokens, after paying for the rewriting. */
  net: number
}

export type Horizon = { horizonMin: number; horizonMax: number }

/** The number of calls still expected: as many as have been made, within limits. */
export function horizonOf(calls: number, { horizonMin, horizonMax }: Horizon): number {
  return Math.max(horizonMin, Math.min(calls + 1, horizonMax))
}

/** Whether the cache has expired by now. */
export function isCold({ now, lastCallAt, model }: Pick<PlanContext, 'now' | 'lastCallAt' | 'model'>): boolean {
  return lastCallAt === undefined || now - lastCallAt > model.ttl
}

/** The worth of a form: the tokens it saves now and later, less the quotes that it is expected to lose. */
export function worthOf(saves: number, lost: number, { model, cold, horizon, quote }: Situation): number {
  return saves * perToken({ model, cold, horizon }) - lost * quote * model.read
}

/** The saving for a token that is no longer sent. */
function perToken({ model, cold, horizon }: Pick<Situation, 'model' | 'cold' | 'horizon'>): number {
  return model.read * horizon + (cold ? model.write - model.read : 0)
}

/** The immediate cost of a change: writing the text after it again, and losing reasoning of the running turn. */
export function setupCost(
  { rewritten, running }: { rewritten: number; running: number },
  { model, cold, thought }: Situation,
): number {
  return (cold ? 0 : rewritten * (model.write - model.read)) + running * thought
}

/**
 * Finds the best stretch at the tail to edit. The candidates are parts that were sent before, given last to first, with
 * the forms that each could take. `undefined` when nothing pays. `picked` is updated on the way, for choices that
 * depend on the parts picked after them.
 */
export function bestCut<P, F>(
  parts: Iterable<Candidate<P, F>>,
  situation: Situation,
  { minSave, picked = new Set() }: { minSave: number; picked?: Set<P> },
): Cut<P, F> | undefined {
  const picks: Chosen<P, F>[] = []
  let best: Omit<Cut<P, F>, 'picks'> & { count: number } = { ...NOTHING, count: 0 }
  let [freed, behind, gain, reasoning, running] = [0, 0, 0, 0, 0]
  for (const { part, tokens, between = 0, age, choices, bound } of parts) {
    behind += between
    if (bound) {
      reasoning += tokens
      if (bound.running) running += tokens
      if (bound.leaves) {
        freed += tokens
        gain += tokens * perToken(situation)
      } else behind += tokens
      continue
    }
    const pick = bestChoice(part, tokens, choices, situation, minSave)
    if (!pick) {
      behind += tokens
      continue
    }
    picks.push(pick)
    picked.add(part)
    freed += pick.saves
    gain += pick.value
    behind += tokens - pick.saves
    const rewritten = rewrittenFrom(situation.model, { behind, whole: situation.whole - freed, calls: age })
    const net = gain - setupCost({ rewritten, running }, situation)
    if (net > best.net) best = { net, freed, rewritten, reasoning, running, count: picks.length }
  }
  if (best.count === 0) return undefined
  const { count, ...sums } = best
  return { ...sums, picks: picks.slice(0, count) }
}

const NOTHING = { net: 0, freed: 0, rewritten: 0, reasoning: 0, running: 0 }

function bestChoice<P, F>(
  part: P,
  tokens: number,
  choices: readonly Choice<F>[],
  situation: Situation,
  minSave: number,
): Chosen<P, F> | undefined {
  let best: Chosen<P, F> | undefined
  for (const { form, tokens: left, lost } of choices) {
    const saves = tokens - left
    if (saves < minSave && left > 0) continue
    const value = worthOf(saves, lost, situation)
    if (value > (best?.value ?? 0)) best = { part, form, saves, value }
  }
  return best
}

/** The batch size at which the cost of making the batch equals the cost of keeping the waiting tokens. */
export function orderQuantity(setup: number, growth: number, { read }: Pick<Model, 'read'>): number {
  return Math.sqrt((2 * setup * growth) / read)
}

type Due = 'cold' | 'pressure' | 'band' | 'batch' | undefined

export type Timing = {
  /** The window is filling. */
  pressure: boolean
  /** Tokens above the limit of a price band: freeing that many makes the whole request cheaper. */
  overBand?: number
  growth: number
  /** How many order quantities a batch must free. */
  batch: number
  /** Calls of the running turn. If a cut loses reasoning of that turn, the savings of these calls must pay for it. */
  callsOfTurn?: number
  /** The most that an edit may cost at once. */
  budget?: number
}

export function dueReason(
  cut: Pick<Cut<unknown, unknown>, 'freed' | 'rewritten' | 'running'>,
  situation: Situation,
  { pressure, overBand = 0, growth, batch, callsOfTurn, budget = Number.POSITIVE_INFINITY }: Timing,
): Due {
  if (situation.cold && cut.running === 0) return 'cold'
  if (pressure) return 'pressure'
  if (overBand > 0 && cut.freed >= overBand) return 'band'
  const setup = setupCost(cut, situation)
  const { read } = situation.model
  // Savings of the next calls count as made: nearly every session goes on for a few calls, and a long turn for more.
  // Lost reasoning appears on no bill.
  const sure = Math.min(MOST_SURE_CALLS, 1 + (callsOfTurn ?? 0) / CALLS_PER_SURE)
  const billed = setupCost({ ...cut, running: 0 }, situation)
  if (billed - sure * cut.freed * read > budget) return undefined
  if (cut.running > 0 && cut.freed * read * (callsOfTurn ?? 0) < setup) return undefined
  return cut.freed >= batch * orderQuantity(setup, growth, situation.model) ? 'batch' : undefined
}

/** The decision in words, with its calculation in the provider's tokens. */
export function explain(cut: Cut<unknown, unknown>, due: Due, situation: Situation, did = 'shortened'): string {
  const { model, horizon, scale = 1 } = situation
  const said = (tokens: number) => thousands(tokens * scale)
  const what = `${amount(cut.picks.length, 'part')}, ${said(cut.freed)} tokens`
  const cost = setupCost(cut, { ...situation, cold: false })
  const perCall = cut.freed * model.read
  const lost = lostWords(cut, scale)
  switch (due) {
    case 'cold':
      return `${did} ${what}: the cache is cold, so it costs nothing${lost}`
    case 'pressure':
      return `${did} ${what}: the window is filling up, and it pays off after ${calls(cost, perCall)}${lost}`
    case 'band':
      return `${did} ${what}: the request falls into a lower price band, which pays off at once${lost}`
    case 'batch':
      return `${did} ${what}: writing ${said(cut.rewritten)} tokens again costs ${said(cost)} once and saves ${said(perCall)} on ${toCome(horizon)}${lost}`
    default:
      return `waiting: ${said(cut.freed)} tokens would pay off after ${calls(cost, perCall)}; a larger batch costs less per token`
  }
}

/** The same for steps that become lines of a log. */
export function explainLog(fold: Omit<Cut<never, never>, 'picks'>, situation: Situation): string {
  const { model, horizon, cold, scale = 1 } = situation
  const setup = setupCost(fold, situation)
  const cost = cold && setup === 0 ? 'nothing, as the cache is cold,' : thousands(setup * scale)
  return `logged old steps, about ${thousands(fold.freed * scale)} tokens: that costs ${cost} and saves ${thousands(fold.freed * model.read * scale)} on ${toCome(horizon)}${lostWords(fold, scale)}`
}

function toCome(calls: number): string {
  return calls === 1 ? 'the one expected call' : `each of about ${calls} expected calls`
}

/** The words for lost reasoning that was bound to the text before it. */
function lostWords({ reasoning, running }: Pick<Cut<never, never>, 'reasoning' | 'running'>, scale: number): string {
  if (reasoning === 0) return ''
  const turn = running > 0 ? `${thousands(running * scale)} of them from this turn` : 'all from past turns'
  return `; ${thousands(reasoning * scale)} tokens of reasoning after the first change are lost, ${turn}`
}

function calls(cost: number, perCall: number): string {
  const count = Math.ceil(cost / perCall)
  return `${count} ${count === 1 ? 'call' : 'calls'}`
}

export function thousands(tokens: number): string {
  return tokens < 1000 ? `${Math.round(tokens)}` : `${(tokens / 1000).toFixed(1)}k`
}
