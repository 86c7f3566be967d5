/**
 * Adds ids to the end of large tool results, so that a model with the context tool can name them: `[id 1a2b3c4d]`.
 *
 * A result gets its id before it is first sent, when that breaks no cache, and keeps it. The edit only adds text, and
 * later edits of the result nest in it. Results that another policy shortens in the same call get no id, and neither
 * does a result whose id was removed before.
 */

import { leavesOf } from '../model/leaves.ts'
import { contains, isRange } from '../view/edits.ts'
import type { Proposal } from '../view/proposal.ts'
import { partId } from '../view/shown-texts.ts'
import type { Unit } from '../view/units.ts'
import { type PlanContext, type Planner, type PlannerFactory, placeOf } from './policy.ts'
import { isWhole, placesEdited, targetOf } from './reach.ts'

const NAME = 'ids'
/** Results with more characters than this get an id. */
export const IDS_OVER = 2000

/** Wraps a planner so that the results it leaves whole get ids. */
export function withIds(factory: PlannerFactory, over = IDS_OVER): PlannerFactory {
  return {
    name: factory.name,
    start: () => followedByIds(factory.start(), over),
  }
}

function followedByIds(planner: Planner, over: number): Planner {
  let named: Set<string> | undefined
  return {
    plan(context) {
      named ??= placesEdited(context.fold, NAME)
      const plan = planner.plan(context)
      const fresh = context.units.slice(context.fresh).filter(unit => unit.chars > over)
      const ids = fresh
        .filter(unit => !named?.has(placeOf(targetOf(unit))) && isLeftWhole(unit, context, plan.proposals))
        .map(toProposal)
      for (const { target } of ids) named.add(placeOf(target))
      return ids.length === 0 ? plan : { ...plan, proposals: [...plan.proposals, ...ids] }
    },
  }
}

function isLeftWhole(unit: Unit, context: PlanContext, proposals: readonly Proposal[]): boolean {
  if (unit.original.type !== 'tool-result' || leavesOf(unit.original).length === 0) return false
  const taken = new Set(proposals.map(({ target }) => placeOf(target)))
  const folded = proposals.some(({ target }) => isRange(target) && contains(target, unit.entry))
  return !folded && isWhole({ ...context, taken }, unit)
}

function toProposal({ entry, part, original }: Unit): Proposal {
  const leaves = leavesOf(original)
  const end = leaves.at(-1)?.length ?? 0
  return {
    policy: NAME,
    target: { type: 'part', entry, part, leaf: leaves.length - 1, span: [end, end] },
    replacement: `\n[id ${partId(entry, part, original)}]`,
    why: 'an id for the context tool',
    mark: 'id',
  }
}
