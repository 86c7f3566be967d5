/** The points of a plot: no more than can be seen, and no peak lost. Pure. */

export type Point = [place: number, value: number]

/** At most one point a pixel: the highest of those that fall on it. */
export function thin(values: readonly (number | null)[], pixels: number): Point[] {
  const points: Point[] = []
  const size = Math.max(1, values.length / Math.max(1, pixels))
  for (let from = 0; from < values.length; from += size) {
    let best: Point | undefined
    for (let i = Math.floor(from); i < Math.min(values.length, Math.floor(from + size)); i++) {
      const value = values[i]
      if (value != null && (best === undefined || value > best[1])) best = [i, value]
    }
    if (best) points.push(best)
  }
  return points
}

export function maxOf(values: readonly (number | null)[]): number {
  let most = 0
  for (const value of values) if (value !== null && value > most) most = value
  return most
}
