/** The points of a plot: as many as can be seen, with all peaks. Pure. */

export type Point = [place: number, value: number]

/** At most one point per pixel: the highest of those that fall on it. */
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

/** Round values from 0 that cover a range: 1, 2, 2.5 or 5 times a power of ten apart. */
export function ticksTo(highest: number, about = 3): number[] {
  if (!(highest > 0)) return [0]
  const rough = highest / about
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 2.5, 5, 10].map(times => times * power).find(one => one >= rough) ?? rough
  return Array.from({ length: Math.floor(highest / step + 1e-9) + 1 }, (_, i) => i * step)
}

export type Tick = { value: number; name: string }

/** Ticks with their labels, all as short as possible: whole dollars without cents. */
export function namedTicks(highest: number, about: number, format: (value: number) => string): Tick[] {
  const ticks = ticksTo(highest, about).map(value => ({ value, name: format(value).replace(/(\.\d\d)0+$/, '$1') }))
  if (!ticks.every(({ value }) => Number.isInteger(value))) return ticks
  return ticks.map(({ value, name }) => ({ value, name: name.replace(/\.00$/, '') }))
}
