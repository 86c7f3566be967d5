/** What a comparison says of one planner, and which of them to recommend. Pure. */

export type Costs = {
  policy: string
  /** The setting of its knob, where it has one. */
  keep: string | null
  calls: number
  tokens: number
  peak: number
  costShare: number
  effectiveDollars: number
  evidence: number
  busts: number
  edits: number
  dollars: number
  saved: number
  series: { tokens: number[]; cost: number[] }
  decisions: { call: number; edits: number; saved: number; text: string }[]
}

/** The share of later quotes that must still be visible. */
export const LIMIT = 0.95

const KNOB: Record<string, string> = { least: 'Bare', less: 'Saver', normal: 'Balanced', more: 'Careful', most: 'Most' }
export const KEEPS = Object.keys(KNOB)

export function nameOf({ policy, keep }: Pick<Costs, 'policy' | 'keep'>): string {
  if (policy === 'none') return 'Send everything'
  return keep === null ? policy : `${policy} · ${KNOB[keep] ?? keep}`
}

/** The cheapest that keeps enough; what keeps less is never recommended. */
export function bestOf(rows: readonly Costs[]): Costs | undefined {
  const good = rows.filter(({ evidence }) => evidence >= LIMIT)
  return good.reduce<Costs | undefined>((best, row) => (!best || row.dollars < best.dollars ? row : best), undefined)
}

/** The cheapest first; those that keep too little last. */
export function inOrder(rows: readonly Costs[]): { good: Costs[]; below: Costs[] } {
  const sorted = rows.toSorted((a, b) => a.dollars - b.dollars)
  return {
    good: sorted.filter(({ evidence }) => evidence >= LIMIT),
    below: sorted.filter(({ evidence }) => evidence < LIMIT),
  }
}
