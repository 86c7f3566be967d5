/**
 * The whole session as a narrow strip. A drag over it, or its two handles with the arrow keys, selects what the map
 * shows.
 */
import { type KeyboardEvent, type PointerEvent, useMemo, useState } from 'react'
import type { ContextMap } from '../../api-types.ts'
import { groupOf } from './kinds.ts'
import type { Stretch } from './map-scope.ts'

export type ZoomProps = { map: ContextMap; zoom: Stretch | undefined; onZoom(zoom: Stretch | undefined): void }

/** A shorter drag is a click. */
const SMALLEST = 0.01

export function ZoomStrip({ map, zoom, onZoom }: ZoomProps) {
  const { starts, total } = useMemo(() => startsOf(map), [map])
  const [drag, setDrag] = useState<[from: number, to: number]>()
  const entryAt = (share: number) => {
    const place = starts.findLastIndex(start => start <= share * total)
    return map.bars[Math.max(0, place)]?.entry ?? 0
  }
  const shareOf = (entry: number, end: boolean) => {
    const place = map.bars.findIndex(bar => (end ? bar.entry > entry : bar.to >= entry))
    return place < 0 ? 1 : (starts[place] ?? 0) / Math.max(1, total)
  }
  const from = drag ? Math.min(...drag) : zoom ? shareOf(zoom.from, false) : 0
  const to = drag ? Math.max(...drag) : zoom ? shareOf(zoom.to, true) : 1
  const choose = (low: number, high: number) => {
    if (high - low < SMALLEST) return
    if (low <= 0.001 && high >= 0.999) onZoom(undefined)
    else onZoom({ from: entryAt(low), to: entryAt(Math.min(high, 0.9999)) })
  }
  const shareAt = (event: PointerEvent<HTMLElement>) => {
    const box = event.currentTarget.getBoundingClientRect()
    return Math.min(1, Math.max(0, (event.clientX - box.left) / Math.max(1, box.width)))
  }
  const move = (event: KeyboardEvent, side: 'from' | 'to') => {
    const step = event.key === 'ArrowRight' ? 0.02 : event.key === 'ArrowLeft' ? -0.02 : 0
    if (step === 0) return
    event.preventDefault()
    event.stopPropagation()
    if (side === 'from') choose(Math.max(0, from + step), to)
    else choose(from, Math.min(1, to + step))
  }
  return (
    <>
      <span className="zoom-name" aria-hidden="true">
        drag to zoom
      </span>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a drag is for the pointer; keys have the two sliders in it */}
      <div
        className="zoom"
        data-testid="zoom"
        onPointerDown={event => {
          event.currentTarget.setPointerCapture(event.pointerId)
          const side = event.target instanceof HTMLElement && event.target.dataset['side']
          // A handle moves one end; a drag on the strip starts a new selection.
          setDrag([side === 'from' ? to : side === 'to' ? from : shareAt(event), shareAt(event)])
        }}
        onPointerMove={event => drag && setDrag([drag[0], shareAt(event)])}
        onPointerUp={() => {
          if (drag) choose(from, to)
          setDrag(undefined)
        }}
        onDoubleClick={() => onZoom(undefined)}
      >
        <div className="zoom-all" style={{ background: gradientOf(map, starts, total) }} />
        <div className="zoom-chosen" style={{ left: `${from * 100}%`, right: `${(1 - to) * 100}%` }} />
        {(['from', 'to'] as const).map(side => (
          <div
            key={side}
            role="slider"
            tabIndex={0}
            className="zoom-handle"
            data-side={side}
            style={{ left: `${(side === 'from' ? from : to) * 100}%` }}
            aria-label={side === 'from' ? 'Zoom: beginning' : 'Zoom: end'}
            aria-valuemin={0}
            aria-valuemax={100}
            aria-valuenow={Math.round((side === 'from' ? from : to) * 100)}
            onKeyDown={event => move(event, side)}
          />
        ))}
      </div>
    </>
  )
}

function startsOf({ bars }: ContextMap): { starts: number[]; total: number } {
  let total = 0
  const starts = bars.map(bar => {
    const start = total
    total += Math.max(bar.raw, bar.shown)
    return start
  })
  return { starts, total }
}

const STOPS = 240

/** The kinds as stripes; for a long session, the kind at a sample of places. */
function gradientOf({ bars }: ContextMap, starts: readonly number[], total: number): string {
  const each = Math.max(1, Math.ceil(bars.length / STOPS))
  const stops: string[] = []
  for (let i = 0; i < bars.length; i += each) {
    const end = i + each < bars.length ? starts[i + each]! : total
    const at = (value: number) => `${((value / Math.max(1, total)) * 100).toFixed(2)}%`
    stops.push(`var(--kind-${groupOf(bars[i]!.kind)}) ${at(starts[i]!)} ${at(end)}`)
  }
  return stops.length === 0 ? 'none' : `linear-gradient(90deg, ${stops.join(', ')})`
}
