/** The results of planners in a comparison, and which planner to recommend. Pure. */

import type { KeepLevel } from '../../../../src/planner/tuning.ts'
import type { Costs } from '../../api-types.ts'

/** The share of later quotes that must still be visible. */
export const LIMIT = 0.95

/** The levels of the knob. */
export const KEEPS: readonly KeepLevel[] = ['least', 'less', 'normal', 'more', 'most']

/** A point in the picture of costs. */
export type Point = Pick<Costs, 'policy' | 'keep' | 'dollars' | 'evidence'>

export function nameOf({ policy, keep }: Pick<Costs, 'policy' | 'keep'>): string {
  if (policy === 'none') return 'Send everything'
  return keep === null ? policy : `${policy} · ${keep}`
}

/** The cheapest planner that keeps enough; one that keeps less is never recommended. */
export function bestOf(rows: readonly Costs[]): Costs | undefined {
  const good = rows.filter(({ evidence }) => evidence >= LIMIT)
  return good.reduce<Costs | undefined>((best, row) => (!best || row.dollars < best.dollars ? row : best), undefined)
}

/** Cheapest first; planners that keep too little come last. */
export function inOrder(rows: readonly Costs[]): { good: Costs[]; below: Costs[] } {
  const sorted = rows.toSorted((a, b) => a.dollars - b.dollars)
  return {
    good: sorted.filter(({ evidence }) => evidence >= LIMIT),
    below: sorted.filter(({ evidence }) => evidence < LIMIT),
  }
}
