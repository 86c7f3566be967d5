/** The name that the user probably meant: the nearest one, if it differs in at most a third of its letters. */
export function nearestTo(typed: string, names: readonly string[]): string | undefined {
  const [best] = names.map(name => ({ name, away: distance(typed, name) })).sort((a, b) => a.away - b.away)
  return best && best.away <= Math.ceil(best.name.length / 3) ? best.name : undefined
}

/** The number of letters to add, drop, change, or swap with the next. */
function distance(a: string, b: string): number {
  const rows = Array.from({ length: a.length + 1 }, (_, i) => Array.from({ length: b.length + 1 }, (__, j) => i + j))
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const change = rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swap = isSwap ? rows[i - 2]![j - 2]! + 1 : Number.POSITIVE_INFINITY
      rows[i]![j] = Math.min(change, swap, rows[i - 1]![j]! + 1, rows[i]![j - 1]! + 1)
    }
  }
  return rows[a.length]![b.length]!
}
