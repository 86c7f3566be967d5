/**
 * Runs any composition of policies under a simple planner: edits that break no cache are made at once, the others wait
 * until they pay together. Parts that were never sent are free to change. In the middle, freeing x tokens with T tokens
 * after them costs T·(write − read) once and saves x·read on each later call. Waiting edits are made when they pay over
 * the expected calls, when the cache is cold anyway, or when the window fills.
 */

import { amount, withCommas } from '../model/text.ts'
import {
  everyTurn,
  type Pending,
  type PlanContext,
  type PlannerFactory,
  type Policy,
  placeOf,
  providerTokens,
  savingOf,
} from '../policies/policy.ts'
import { isInEntry } from '../view/edits.ts'
import { isPinned, isVisible, tokensOf } from '../view/fold.ts'
import type { Proposal } from '../view/proposal.ts'
import { type Horizon, horizonOf, isCold } from './planner.ts'
import { THRIFTY } from './tuning.ts'

type HoldOptions = Horizon & {
  /** Share of the window above which no edit waits. */
  pressure: number
}

/** The defaults of `thrifty`. */
const HOLD: HoldOptions = {
  pressure: THRIFTY.may,
  horizonMin: THRIFTY.horizonMin,
  horizonMax: THRIFTY.horizonMax,
}

type Held = { proposal: Proposal; entry: number; saves: number }

export function whenItPays(
  name: string,
  policies: readonly Policy[],
  options: Partial<HoldOptions> = {},
): PlannerFactory {
  const chosen = { ...HOLD, ...options }
  const inner = everyTurn(name, policies)
  return {
    name,
    start() {
      const planner = inner.start()
      const held = new Map<string, Held>()
      return {
        plan(context) {
          const { proposals, pending } = planner.plan(context)
          const firstNew = context.units[context.fresh]?.entry ?? Number.POSITIVE_INFINITY
          const free: Proposal[] = []
          for (const proposal of proposals) {
            const { target } = proposal
            if (!isInEntry(target) || target.entry >= firstNew) free.push(proposal)
            else held.set(placeOf(target), { proposal, entry: target.entry, saves: savingOf(context.fold, proposal) })
          }
          forgetHidden(context, held)
          const due = dueReason(context, held, chosen)
          if (!due.now) return { proposals: free, pending: [...pending, ...waiting(held, due.text)] }
          const made = [...held.values()].map(({ proposal }) => proposal)
          held.clear()
          return { proposals: [...free, ...made], decision: due.text, pending }
        },
      }
    },
  }
}

function forgetHidden({ fold }: PlanContext, held: Map<string, Held>): void {
  for (const [place, { entry, proposal }] of held) {
    const part = proposal.target.type === 'part' ? proposal.target.part : undefined
    if (!isVisible(fold, entry) || isPinned(fold, entry, part)) held.delete(place)
  }
}

/** Decides whether to make the waiting edits now, and gives the calculation as the reason. */
function dueReason(
  context: PlanContext,
  held: ReadonlyMap<string, Held>,
  options: HoldOptions,
): { now: boolean; text: string } {
  if (held.size === 0) return { now: false, text: '' }
  const { fold, model, calls, scale = model.scale } = context
  let saves = 0
  let first = Number.POSITIVE_INFINITY
  for (const item of held.values()) {
    saves += item.saves
    first = Math.min(first, item.entry)
  }
  const what = `${amount(held.size, 'edit')}, ${withCommas(Math.round(saves * scale))} tokens`
  if (isCold(context)) {
    return { now: true, text: `${what}: the cache is cold, so they cost nothing` }
  }
  if (providerTokens(context) > options.pressure * model.window) {
    return { now: true, text: `${what}: the view takes more than ${Math.round(options.pressure * 100)}% of the window` }
  }
  const behind = tokensOf(fold, first, fold.entries.length - 1)
  const cost = behind * (model.write - model.read)
  const after = Math.ceil(cost / Math.max(1, saves * model.read))
  const horizon = horizonOf(calls, options)
  const text = `${what}: rewriting ${withCommas(Math.round(behind * scale))} tokens pays off after ${amount(after, 'call')}, with about ${amount(horizon, 'call')} to come`
  return { now: after <= horizon, text }
}

function waiting(held: ReadonlyMap<string, Held>, reason: string): Pending[] {
  return [...held.values()].map(({ proposal, saves }) => ({ proposal, saves, reason }))
}
