/** The scope of the map: all of it or a stretch of entries, by part or by turn. Pure. */
import type { Bar, ContextMap, Turn } from '../../api-types.ts'
import { groupOf, type KindGroup } from './kinds.ts'

export type Stretch = { from: number; to: number }
export type Band = { group: KindGroup; edited: boolean; raw: number; shown: number }
/** A turn as one bar, with its kinds as bands. */
export type TurnBar = Bar & { bands: Band[] }

/** A stretch of entries on its own scale, without the tokens before it. */
export function zoomTo(map: ContextMap, stretch: Stretch | undefined): ContextMap {
  if (!stretch) return map
  const isIn = ({ entry, to }: Bar) => to >= stretch.from && entry <= stretch.to
  const first = map.bars.findIndex(isIn)
  const bars = map.bars.filter(isIn)
  const before = map.overhead + sumOf(map.bars.slice(0, Math.max(0, first)), 'shown')
  const tokens = { raw: sumOf(bars, 'raw'), shown: sumOf(bars, 'shown') }
  return { ...map, bars, overhead: 0, tokens, cached: Math.max(0, map.cached - before) }
}

/** More columns than this would be too thin to tell apart. */
const MOST_TURNS = 120

export function byTurn(map: ContextMap, turns: readonly Turn[]): ContextMap {
  const each = Math.max(1, Math.ceil(turns.length / MOST_TURNS))
  const columns = turns.filter((_, i) => i % each === 0)
  const bars: TurnBar[] = []
  let place = -1
  for (const bar of map.bars) {
    while (columns[place + 1] && columns[place + 1]!.entry <= bar.entry) {
      place++
      const last = turns[Math.min(turns.length, (place + 1) * each) - 1]!
      bars.push(columnOf(columns[place]!, last, bar))
    }
    const column = bars.at(-1)
    if (column) addTo(column, bar)
  }
  return { ...map, bars: bars.filter(({ parts }) => parts > 0) }
}

function columnOf(first: Turn, last: Turn, like: Bar): TurnBar {
  const name = first.turn === last.turn ? String(first.turn) : `${first.turn}–${last.turn}`
  const { entry, title } = first
  const empty = { raw: 0, shown: 0, parts: 0, edits: [], pinned: false, bands: [] }
  const { tool: _, ...rest } = like
  return { ...rest, ...empty, entry, to: last.to, part: null, type: 'turn', kind: 'user', label: `${name} ${title}` }
}

function addTo(column: TurnBar, { kind, raw, shown, parts, edits, pinned }: Bar): void {
  const group = groupOf(kind)
  const edited = edits.length > 0
  const band = column.bands.find(one => one.group === group && one.edited === edited)
  if (band) {
    band.raw += raw
    band.shown += shown
  } else {
    // Edited parts of a kind are next to the other parts of that kind.
    const same = column.bands.findIndex(one => one.group === group)
    column.bands.splice(same < 0 ? column.bands.length : same, 0, { group, edited, raw, shown })
  }
  column.raw += raw
  column.shown += shown
  column.parts += parts
  column.pinned ||= pinned
  column.edits = [...column.edits, ...edits]
}

/** The number of a turn's column. */
export function turnName({ label }: Bar): string {
  return label.slice(0, label.indexOf(' '))
}

export function bandsOf(bar: Bar): readonly Band[] | undefined {
  return 'bands' in bar ? (bar as TurnBar).bands : undefined
}

/** The bars of single parts, by entry and part. */
export function barsByPart(bars: readonly Bar[] = []): Map<string, Bar> {
  const single = bars.filter(({ part, parts }) => part !== null && parts === 1)
  return new Map(single.map(bar => [`${bar.entry}.${bar.part}`, bar]))
}

function sumOf(bars: readonly Bar[], key: 'raw' | 'shown'): number {
  return bars.reduce((total, bar) => total + bar[key], 0)
}
