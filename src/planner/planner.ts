/**
 * When an edit pays.
 *
 * Providers charge `read` for a prompt prefix that they have cached and `write` for the rest, so an edit in the
 * middle makes everything behind it be written again: T·(write − read), once; and it saves read on each later
 * call. `bestCut` walks from the tail to the front over what was sent before, and finds how far back it pays to go.
 * `isDue` says whether to do it now: the cache is cold (then it is free), the window fills, or the batch has reached
 * its economic order quantity. What is not due waits, and collects company.
 */
import type { Model } from '../providers/models.ts'

export type Situation = {
  model: Pick<Model, 'read' | 'write'>
  /** The provider has forgotten the prefix: everything is written again anyway. */
  cold: boolean
  /** Calls that are still to be expected. */
  horizon: number
  /** What losing a passage that will be quoted costs, in cached tokens. */
  quote: number
}

/** One form that a part could take: how many tokens it leaves, and how many later quotes it puts at risk. */
export type Choice<F> = { form: F; tokens: number; lost: number }

export type Chosen<P, F> = { part: P; form: F; saves: number; value: number }

export type Cut<P, F> = {
  picks: Chosen<P, F>[]
  /** Tokens that go, and tokens behind the first change that must be written again. */
  freed: number
  rewritten: number
  /** What it brings over the horizon, in uncached tokens, the rewriting paid. */
  net: number
}

/** What a form is worth: tokens saved now and later, less the quotes that it is expected to lose. */
export function worthOf(saves: number, lost: number, { model, cold, horizon, quote }: Situation): number {
  const perToken = model.read * horizon + (cold ? model.write - model.read : 0)
  return saves * perToken - lost * quote * model.read
}

/**
 * The best stretch at the tail to edit, of the parts that were sent before, given last to first with the forms that
 * each could take. `undefined` when nothing pays. `picked` is kept up to date on the way, for choices that depend on
 * what was picked behind them.
 */
export function bestCut<P, F>(
  parts: Iterable<{ part: P; tokens: number; choices: Choice<F>[] }>,
  situation: Situation,
  { minSave, picked = new Set() }: { minSave: number; picked?: Set<P> },
): Cut<P, F> | undefined {
  const { read, write } = situation.model
  const picks: Chosen<P, F>[] = []
  let best: Omit<Cut<P, F>, 'picks'> & { count: number } = { net: 0, freed: 0, rewritten: 0, count: 0 }
  let [freed, rewritten, gain] = [0, 0, 0]
  for (const { part, tokens, choices } of parts) {
    const pick = bestChoice(part, tokens, choices, situation, minSave)
    if (!pick) {
      rewritten += tokens
      continue
    }
    picks.push(pick)
    picked.add(part)
    freed += pick.saves
    gain += pick.value
    rewritten += tokens - pick.saves
    const net = gain - (situation.cold ? 0 : rewritten * (write - read))
    if (net > best.net) best = { net, freed, rewritten, count: picks.length }
  }
  if (best.count === 0) return undefined
  const { count, ...sums } = best
  return { ...sums, picks: picks.slice(0, count) }
}

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

/** The batch size at which setting it up (writing T again) and holding what waits cost the same. */
export function orderQuantity(rewritten: number, growth: number, { read, write }: Situation['model']): number {
  return Math.sqrt(2 * ((write - read) / read) * rewritten * growth)
}

export type Due = 'cold' | 'pressure' | 'batch' | undefined

export function dueReason(
  cut: Cut<unknown, unknown>,
  situation: Situation,
  { pressure, growth, batch }: { pressure: boolean; growth: number; batch: number },
): Due {
  if (situation.cold) return 'cold'
  if (pressure) return 'pressure'
  return cut.freed >= batch * orderQuantity(cut.rewritten, growth, situation.model) ? 'batch' : undefined
}

/** The decision in words, with its sum. */
export function explain(cut: Cut<unknown, unknown>, due: Due, { model, horizon }: Situation): string {
  const what = `${cut.picks.length} parts, ${thousands(cut.freed)} tokens`
  const cost = cut.rewritten * (model.write - model.read)
  const perCall = cut.freed * model.read
  switch (due) {
    case 'cold':
      return `shortened ${what}: the cache is cold, so it costs nothing`
    case 'pressure':
      return `shortened ${what}: the window is filling, and it pays back after ${calls(cost, perCall)}`
    case 'batch':
      return `shortened ${what}: writing ${thousands(cut.rewritten)} tokens again costs ${thousands(cost)} once and saves ${thousands(perCall)} on each of some ${horizon} calls to come`
    default:
      return `waiting: ${thousands(cut.freed)} tokens would pay back after ${calls(cost, perCall)}; a larger batch costs less for each token`
  }
}

/** The same for steps that become lines of a log. */
export function explainFold(
  { freed, rewritten }: Pick<Cut<never, never>, 'freed' | 'rewritten'>,
  { model, horizon, cold }: Situation,
): string {
  const cost = cold ? 'nothing, the cache being cold' : thousands(rewritten * (model.write - model.read))
  return `folded old steps, ${thousands(freed)} tokens: that costs ${cost} and saves ${thousands(freed * model.read)} on each of some ${horizon} calls to come`
}

function calls(cost: number, perCall: number): string {
  const count = Math.ceil(cost / perCall)
  return `${count} ${count === 1 ? 'call' : 'calls'}`
}

export function thousands(tokens: number): string {
  return tokens < 1000 ? `${Math.round(tokens)}` : `${(tokens / 1000).toFixed(1)}k`
}
