/**
 * The context map: every part of the conversation as a bar, in order. The width is its tokens, the colour its kind; the
 * upper row is the original, the lower row the view. A click, or the arrow keys and Enter, lead to the part.
 */
import { type KeyboardEvent, type PointerEvent, useEffect, useLayoutEffect, useMemo, useState } from 'react'
import type { Bar, ContextMap as MapData, Turn } from '../../api-types.ts'
import { Button } from '../../ui/button.tsx'
import { count, percent, plural, tokens } from '../../ui/format.ts'
import { useHeight, useWidth } from '../../ui/size.ts'
import { InlineText } from '../../ui/text.tsx'
import { kindStyle } from '../../ui/tone.ts'
import { KIND_NAMES, type KindGroup } from './kinds.ts'
import { drawMap, GAP, HEIGHT, ROW, readPalette, TOP } from './map-drawing.ts'
import { type Box, boxAt, type KindTotal, layoutMap, type MapLayout, spanOf, totalsOf } from './map-layout.ts'
import { byTurn, type Stretch, zoomTo } from './map-scope.ts'
import { ZoomStrip } from './zoom-strip.tsx'
import './context-map.css'

export type ContextMapProps = {
  map: MapData
  /** The entries on the screen. */
  visible?: { from: number; to: number } | undefined
  onChoose?: (bar: Bar) => void
  /** The turns of the session. With them, the map can show turns instead of parts, and can be zoomed. */
  turns?: readonly Turn[] | undefined
  /**
   * What a policy would have shown of a recording; it replaces the lower row, which would be the same as the upper one.
   */
  ghost?: { name: string; bars: Bar[]; shown: number } | undefined
}

export function ContextMap({ map: whole, visible, onChoose, turns, ghost }: ContextMapProps) {
  const { ref, width } = useWidth<HTMLDivElement>()
  const [zoom, setZoom] = useState<Stretch>()
  const [unit, setUnit] = useState<'turn' | 'part'>()
  const mostParts = turns && turns.length > 1 && whole.bars.length > width / 3
  const isByTurn = turns !== undefined && (unit ?? (mostParts && !zoom ? 'turn' : 'part')) === 'turn'
  const all = useMemo(() => withGhost(whole, ghost), [whole, ghost])
  const map = useMemo(() => {
    const part = zoomTo(all, zoom)
    return isByTurn ? byTurn(part, turns) : part
  }, [all, zoom, isByTurn, turns])
  const layout = useMemo(() => layoutMap(map, width), [map, width])
  const [place, setPlace] = useState<number>()
  const [pointed, setPointed] = useState<{ box: Box; x: number }>()
  const [only, setOnly] = useState<KindGroup>()
  const chosen = place === undefined ? undefined : layout.boxes[Math.min(place, layout.boxes.length - 1)]
  const choose = (box: Box | undefined) => {
    if (!box) return
    setPlace(layout.boxes.indexOf(box))
    onChoose?.(box.bar)
  }
  const move = (event: KeyboardEvent) => {
    const last = layout.boxes.length - 1
    const next = nextPlace(event.key, place ?? -1, last)
    if (next !== undefined) {
      event.preventDefault()
      setPlace(next)
    } else if (event.key === 'Enter') choose(chosen)
  }
  const point = (event: PointerEvent<HTMLElement>) => {
    const { box, x } = found(event, layout)
    setPointed(box && { box, x })
  }
  return (
    <div className="map">
      {turns && (
        <Scope {...{ whole, turns, isByTurn }} onUnit={setUnit} part={zoom && map} onAll={() => setZoom(undefined)} />
      )}
      <div className="map-rows" aria-hidden="true">
        <span>
          as it happened <b>{tokens(whole.overhead + whole.tokens.raw)}</b>
        </span>
        <span>
          {ghost ? `${ghost.name} would show` : 'as shown'}{' '}
          <b>{tokens(whole.overhead + (ghost ?? whole.tokens).shown)}</b>
        </span>
      </div>
      <div
        ref={ref}
        className="map-area"
        role="slider"
        tabIndex={0}
        aria-label="Context map: parts in order"
        aria-valuemin={0}
        aria-valuemax={Math.max(0, layout.boxes.length - 1)}
        aria-valuenow={place ?? 0}
        aria-valuetext={chosen ? inWords(chosen.bar) : summaryOf(whole)}
        data-testid="context-map"
        onKeyDown={move}
        onPointerMove={point}
        onPointerLeave={() => setPointed(undefined)}
        onClick={event => choose(found(event, layout).box)}
      >
        <MapCanvas layout={layout} only={only} chosen={chosen} cold={map.cold} isGhost={ghost !== undefined} />
        <Visible layout={layout} visible={visible} />
        {pointed && <Tip box={pointed.box} x={pointed.x} width={width} />}
      </div>
      {turns && <ZoomStrip map={whole} zoom={zoom} onZoom={setZoom} />}
      <Gauge map={whole} />
      <Legend map={all} only={only} onOnly={setOnly} />
      <p className="visually-hidden">
        {summaryOf(whole)}
        {ghost && ` ${ghost.name} would show ${count(ghost.shown)} tokens.`}
      </p>
    </div>
  )
}

type ScopeProps = {
  whole: MapData
  turns: readonly Turn[]
  isByTurn: boolean
  onUnit(unit: 'turn' | 'part'): void
  /** The zoomed stretch; undefined if the map shows everything. */
  part: MapData | undefined
  onAll(): void
}

/** Chooses whether a bar is a turn or a part, and shows how much of the session is drawn. */
function Scope({ whole, turns, isByTurn, onUnit, part, onAll }: ScopeProps) {
  return (
    <div className="map-unit">
      {turns.length > 1 && (
        <fieldset className="faces" aria-label="What a bar of the map is">
          <button type="button" aria-pressed={isByTurn} onClick={() => onUnit('turn')}>
            By turn
          </button>
          <button type="button" aria-pressed={!isByTurn} onClick={() => onUnit('part')}>
            By part
          </button>
        </fieldset>
      )}
      {part && (
        <>
          <span className="dim">
            {tokens(part.tokens.raw)} of {tokens(whole.tokens.raw)} tokens
          </span>
          <Button small kind="quiet" onClick={onAll}>
            Show all
          </Button>
        </>
      )}
    </div>
  )
}

function MapCanvas({ layout, only, chosen, cold, isGhost }: { layout: MapLayout } & Parts) {
  const { ref: canvas, height } = useHeight<HTMLCanvasElement>()
  const isCompact = height > 0 && height < HEIGHT * 0.8
  const round = useThemeRounds()
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round has other colours
  const palette = useMemo(readPalette, [round])
  useLayoutEffect(() => {
    const element = canvas.current
    const context = element?.getContext('2d')
    if (!element || !context || layout.width === 0) return
    const ratio = devicePixelRatio
    element.width = layout.width * ratio
    element.height = HEIGHT * ratio
    context.scale(ratio, ratio)
    drawMap(context, layout, { palette, only, chosen, cold, isGhost, isCompact })
  }, [layout, only, chosen, cold, isGhost, isCompact, palette, canvas])
  return <canvas ref={canvas} style={{ width: layout.width }} />
}

/** The same map with a policy's lower row. */
function withGhost(map: MapData, ghost: ContextMapProps['ghost']): MapData {
  return ghost ? { ...map, bars: ghost.bars, tokens: { ...map.tokens, shown: ghost.shown } } : map
}

type Parts = { only: KindGroup | undefined; chosen: Box | undefined; cold: boolean; isGhost: boolean }

/** The stretch of the conversation that is on the screen, as a bracket over the upper row. */
function Visible({ layout, visible }: { layout: MapLayout; visible: ContextMapProps['visible'] }) {
  const span = visible && spanOf(layout, visible.from, visible.to)
  return span && <div className="map-visible" style={{ left: span.x, width: span.width }} />
}

function Tip({ box: { bar, group }, x, width }: { box: Box; x: number; width: number }) {
  const side = x > width / 2 ? { right: width - x } : { left: x }
  return (
    <div className="map-tip" style={side} aria-hidden="true">
      <span className="kind" style={kindStyle(group)}>
        {nameOf(bar, group)}
      </span>{' '}
      <InlineText text={bar.label} />
      <span className="map-tip-numbers">
        {bar.raw === bar.shown ? (
          `${count(bar.raw)} tokens`
        ) : (
          <>
            {count(bar.raw)} → {bar.shown === 0 ? 'hidden' : count(bar.shown)}
          </>
        )}
        {bar.edits.length > 0 && ` · ${editsOf(bar)}`}
        {bar.pinned && ' · pinned'}
      </span>
    </div>
  )
}

/** A few edits by their ids, more by their number. A turn may have one edit in many of its parts. */
function editsOf({ edits }: Bar): string {
  const ids = [...new Set(edits)]
  return ids.length <= 3 ? ids.join(', ') : plural(ids.length, 'edit')
}

/** The context window as a gauge: used tokens, tokens without edits, and the thresholds of the policy. */
function Gauge({ map: { window, overhead, tokens: size, marks } }: { map: MapData }) {
  const at = (value: number) => `${Math.min(100, (value / Math.max(1, window)) * 100).toFixed(2)}%`
  const used = overhead + size.shown
  const label = `${count(used)} of the window's ${count(window)} tokens are used; ${count(overhead + size.raw)} without edits`
  return (
    <>
      <span className="gauge-name" aria-hidden="true">
        window
      </span>
      <div className="gauge" role="img" aria-label={label} title={label}>
        <div className="gauge-raw" style={{ width: at(overhead + size.raw) }} />
        <div className={used > window ? 'gauge-shown gauge-over' : 'gauge-shown'} style={{ width: at(used) }} />
        {marks.map(mark => (
          <div key={mark} className="gauge-mark" style={{ left: at(mark) }} />
        ))}
        <div className="gauge-limit" />
      </div>
    </>
  )
}

function Legend({ map, only, onOnly }: { map: MapData; only: KindGroup | undefined; onOnly(group?: KindGroup): void }) {
  const totals = useMemo(() => totalsOf(map.bars), [map])
  return (
    <ul className="map-legend" aria-label="Tokens by kind">
      {totals.map(({ group, raw, shown }) => (
        <li key={group}>
          <button
            type="button"
            className="kind"
            style={kindStyle(group)}
            aria-pressed={only === group}
            onClick={() => onOnly(only === group ? undefined : group)}
          >
            {KIND_NAMES[group]} <b>{numbersOf({ raw, shown })}</b>
          </button>
        </li>
      ))}
      {map.overhead > 0 && (
        <li className="map-key" title="Sent before the messages with every call">
          <i className="key-overhead" aria-hidden="true" /> system prompt + tools {tokens(map.overhead)}
        </li>
      )}
      <li className="map-key">
        <i className="key-hatched" aria-hidden="true" /> edited
      </li>
      <li className="map-key">
        <i className="key-cached" aria-hidden="true" /> {map.cold ? 'nothing cached' : `cached ${tokens(map.cached)}`}
      </li>
    </ul>
  )
}

/** Counts the changes to the colour theme. */
function useThemeRounds(): number {
  const [round, setRound] = useState(0)
  useEffect(() => {
    const next = () => setRound(old => old + 1)
    const system = matchMedia('(prefers-color-scheme: dark)')
    const observer = new MutationObserver(next)
    system.addEventListener('change', next)
    observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    return () => {
      system.removeEventListener('change', next)
      observer.disconnect()
    }
  }, [])
  return round
}

function found(
  { currentTarget, clientX, clientY }: { currentTarget: Element; clientX: number; clientY: number },
  layout: MapLayout,
) {
  const area = currentTarget.getBoundingClientRect()
  const x = clientX - area.left
  const y = ((clientY - area.top) * HEIGHT) / Math.max(1, area.height)
  const row = y < TOP + ROW + GAP / 2 ? 'raw' : 'shown'
  return { box: boxAt(layout, row, x), x }
}

const STEPS: Record<string, number> = {
  ArrowRight: 1,
  ArrowDown: 1,
  ArrowLeft: -1,
  ArrowUp: -1,
  PageDown: 10,
  PageUp: -10,
}

function nextPlace(key: string, place: number, last: number): number | undefined {
  if (key === 'Home') return 0
  if (key === 'End') return last
  const step = STEPS[key]
  return step === undefined ? undefined : Math.min(last, Math.max(0, place + step))
}

function numbersOf({ raw, shown }: Pick<KindTotal, 'raw' | 'shown'>): string {
  return raw === shown ? tokens(shown) : `${tokens(raw)} → ${tokens(shown)}`
}

function nameOf({ tool, parts, type }: Bar, group: KindGroup): string {
  return parts > 1 ? (type === 'turn' ? 'Turn' : plural(parts, 'part')) : (tool ?? KIND_NAMES[group])
}

function inWords(bar: Bar): string {
  const { label, raw, shown, entry, to, parts, tool, kind, pinned } = bar
  const where = parts > 1 ? `${plural(parts, 'part')} of entries ${entry} to ${to}` : `entry ${entry}`
  const size =
    raw === shown
      ? `${count(raw)} tokens`
      : `${count(raw)} tokens, ${shown === 0 ? 'hidden' : `shown as ${count(shown)}`}`
  return `${tool ?? kind} ${label}, ${where}, ${size}${pinned ? ', pinned' : ''}`
}

/** The map in one or two sentences, for screen readers. */
function summaryOf({ tokens: size, overhead, window, cached, cold, bars }: MapData): string {
  const edited = bars.filter(({ edits }) => edits.length > 0).length
  const kinds = totalsOf(bars)
    .map(({ group, raw, shown }) => `${KIND_NAMES[group]} ${numbersOf({ raw, shown })}`)
    .join(', ')
  const used = percent((overhead + size.shown) / Math.max(1, window))
  const cache = cold ? 'nothing is cached' : `${count(cached)} tokens are cached`
  return (
    `${count(size.raw)} original tokens, ${count(size.shown)} shown, ${used} of the window; ${cache}; ` +
    `${plural(edited, 'bar')} edited. By kind: ${kinds}.`
  )
}
