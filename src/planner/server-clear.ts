/**
 * Chooses the results that the provider should clear itself (view/server-clears.ts), by their price. The provider
 * clears the oldest results one after the other and skips none. The text after the first cleared result is written
 * again, and no reasoning is lost. So the only choice is the number of results.
 */
import type { PlanContext } from '../policies/policy.ts'
import { rewrittenFrom } from '../providers/cache.ts'
import { CLEARED, SERVER } from '../view/server-clears.ts'
import type { Form } from './forms.ts'
import { densityOf, type Item, type Items } from './items.ts'
import { type Chosen, type Cut, type Situation, setupCost, worthOf } from './planner.ts'
import { type PartClass, type Quotes, SERVER_KEEPS } from './tuning.ts'

/** The best run of results for the provider to clear; `undefined` when none pays. */
export function bestClear(
  items: Items,
  context: PlanContext,
  { situation, quotes }: { situation: Situation; quotes: Quotes },
): Cut<Item, Form> | undefined {
  const { units, fresh, calls, fold } = context
  const firstFresh = units[fresh]
  const end = firstFresh && items.firstFrom(firstFresh)
  const form: Form = { mark: SERVER, replacement: CLEARED, tokens: fold.count(CLEARED), loses: undefined, share: 1 }
  const picks: Chosen<Item, Form>[] = []
  /** Later results that point to lines of the cleared results. */
  const pointing = new Set<Item>()
  let [freed, gain] = [0, 0]
  let best = { net: 0, freed: 0, rewritten: 0, count: 0 }
  for (const { part, partClass } of clearable(items.all, calls)) {
    const saves = part.tokens - form.tokens
    const value = worthOf(saves, densityOf(part, partClass, calls, quotes) * Math.max(0, saves), situation)
    picks.push({ part, form, saves, value })
    freed += saves
    gain += value
    pointing.delete(part)
    for (const pointer of part.pointers ?? []) if (pointer.mark === 'same' && !pointer.gone) pointing.add(pointer)
    if (pointing.size > 0) continue
    const first = picks[0]!.part
    const behind = items.tokensFrom(first, end) - freed
    const place = { behind, whole: situation.whole - freed, calls: calls - first.born }
    const rewritten = rewrittenFrom(situation.model, place)
    const net = gain - setupCost({ rewritten, running: 0 }, situation)
    if (net > best.net) best = { net, freed, rewritten, count: picks.length }
  }
  const { count, ...sums } = best
  return count === 0 ? undefined : { ...sums, reasoning: 0, running: 0, picks: picks.slice(0, count) }
}

/**
 * The results that were sent a while ago, oldest first, up to the first one that must stay. Cleared results are
 * skipped.
 */
function* clearable(all: readonly Item[], calls: number): Generator<{ part: Item; partClass: PartClass }> {
  for (const part of all) {
    const { unit, partClass, mark, frozen, born } = part
    if (unit.original.type !== 'tool-result' || mark === SERVER) continue
    if (frozen || !partClass || calls - born < SERVER_KEEPS) return
    yield { part, partClass }
  }
}
