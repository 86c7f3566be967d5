/**
 * Positions of the bars of the context map: two rows on one scale, the original and the view. The difference in length
 * is what the edits save. Pure.
 */
import type { Bar, ContextMap } from '../../api-types.ts'
import { groupOf, type KindGroup } from './kinds.ts'

export type Box = { bar: Bar; group: KindGroup; raw: Span; shown: Span }
export type Span = { x: number; width: number }

export type MapLayout = {
  width: number
  /** Pixels per token. */
  scale: number
  /** Tokens of system prompt and tools, which precede both rows. */
  overhead: number
  boxes: Box[]
  cached: number
  /** The end of the window, if it is inside the drawing. */
  limit: number | undefined
}

export function layoutMap(map: ContextMap, width: number): MapLayout {
  const { bars, overhead, tokens, window } = map
  const total = Math.max(1, overhead + Math.max(tokens.raw, tokens.shown))
  const scale = width / total
  let raw = overhead
  let shown = overhead
  const boxes = bars.map(bar => {
    const box = {
      bar,
      group: groupOf(bar.kind),
      raw: { x: raw * scale, width: bar.raw * scale },
      shown: { x: shown * scale, width: bar.shown * scale },
    }
    raw += bar.raw
    shown += bar.shown
    return box
  })
  return {
    width,
    scale,
    overhead: overhead * scale,
    boxes,
    cached: Math.min(map.cached, overhead + tokens.shown) * scale,
    limit: window < total ? window * scale : undefined,
  }
}

/** The bar at a position of a row, or the nearest one if bars are narrower than a pixel. */
export function boxAt({ boxes }: MapLayout, row: 'raw' | 'shown', x: number): Box | undefined {
  let low = 0
  let high = boxes.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (boxes[middle]![row].x <= x) low = middle
    else high = middle - 1
  }
  const found = boxes[low]
  return found && x >= found[row].x && x <= found[row].x + Math.max(1, found[row].width) ? found : undefined
}

/** The extent of some entries in the upper row. */
export function spanOf({ boxes }: MapLayout, from: number, to: number): Span | undefined {
  const first = boxes.find(({ bar }) => bar.to >= from)
  const last = boxes.findLast(({ bar }) => bar.entry <= to)
  if (!first || !last) return undefined
  const x = first.raw.x
  return { x, width: Math.max(2, last.raw.x + last.raw.width - x) }
}

export type KindTotal = { group: KindGroup; raw: number; shown: number }

/** Tokens by kind, largest first, for the legend and the description in words. */
export function totalsOf(bars: readonly Bar[]): KindTotal[] {
  const totals = new Map<KindGroup, KindTotal>()
  for (const bar of bars) {
    const group = groupOf(bar.kind)
    const total = totals.get(group) ?? { group, raw: 0, shown: 0 }
    total.raw += bar.raw
    total.shown += bar.shown
    totals.set(group, total)
  }
  return [...totals.values()].sort((a, b) => Math.max(b.raw, b.shown) - Math.max(a.raw, a.shown))
}
