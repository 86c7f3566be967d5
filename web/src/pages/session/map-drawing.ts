/**
 * Draws the context map on a canvas, because a session can have ten thousand parts. Edited parts are hatched; a ribbon
 * connects each part with its form in the view.
 */
import { tokens } from '../../ui/format.ts'
import { ticksTo } from '../../ui/plot-points.ts'
import { KIND_NAMES, type KindGroup } from './kinds.ts'
import type { Box, MapLayout, Span } from './map-layout.ts'
import { type Band, bandsOf, turnName } from './map-scope.ts'

export const ROW = 30
export const GAP = 26
export const TOP = 16
const CACHE_LINE = 12
const AXIS = 16
export const HEIGHT = TOP + ROW + GAP + ROW + CACHE_LINE + AXIS
const SHOWN_Y = TOP + ROW + GAP
/** Columns of at least this width show the number of their turn. */
const NAMED_FROM = 15
const FONT = '11px system-ui, sans-serif'
/** Bars narrower than this have no gap between them. */
const SEPARATE_FROM = 4

export type Palette = Record<KindGroup | 'sheet' | 'accent' | 'bad' | 'line' | 'ink', string>

/** The colours of the current theme, as resolved by the browser. */
export function readPalette(): Palette {
  const probe = document.body.appendChild(document.createElement('i'))
  const read = (name: string) => {
    probe.style.color = `var(${name})`
    return getComputedStyle(probe).color
  }
  const groups = Object.keys(KIND_NAMES) as KindGroup[]
  const kinds = Object.fromEntries(groups.map(group => [group, read(`--kind-${group}`)])) as Record<KindGroup, string>
  const [sheet, accent, bad, line, ink] = ['sheet', 'accent', 'bad', 'line-strong', 'ink-2'].map(name =>
    read(`--${name}`),
  )
  probe.remove()
  return { ...kinds, sheet: sheet!, accent: accent!, bad: bad!, line: line!, ink: ink! }
}

export type DrawOptions = {
  palette: Palette
  only: KindGroup | undefined
  chosen: Box | undefined
  cold: boolean
  /** The lower row is hypothetical: what a policy would show. */
  isGhost: boolean
  /** The map is a narrow strip, in which text would not be readable. */
  isCompact: boolean
}

/** Opacity of a hypothetical lower row. */
const GHOST = 0.4

export function drawMap(context: CanvasRenderingContext2D, layout: MapLayout, options: DrawOptions): void {
  const { palette, chosen, cold } = options
  context.clearRect(0, 0, layout.width, HEIGHT)
  const hatch = hatchOf(context, palette.sheet)
  drawOverhead(context, layout, palette)
  for (const box of layout.boxes) drawBox(context, box, hatch, options)
  context.globalAlpha = 1
  if (options.isGhost) drawOutline(context, layout, palette.ink)
  else drawCache(context, layout, { palette, cold })
  if (!options.isCompact) drawAxis(context, layout, palette)
  if (layout.limit !== undefined) drawLimit(context, layout.limit, palette.bad)
  if (chosen) drawChosen(context, chosen, palette.ink)
}

/** A part with its ribbon, or a whole turn. */
function drawBox(context: CanvasRenderingContext2D, box: Box, hatch: Hatch, options: DrawOptions): void {
  const { palette, only, isGhost } = options
  const faint = only !== undefined && box.group !== only
  const isEdited = box.bar.edits.length > 0
  context.fillStyle = palette[box.group]
  drawRibbon(context, box, faint ? 0.03 : isEdited ? 0.3 : 0.1)
  const bands = bandsOf(box.bar)
  if (bands) return drawColumn(context, box, bands, { ...options, hatch })
  const style = { hatch: isEdited && !isGhost ? hatch : undefined }
  drawBar(context, box.raw, TOP, { ...style, alpha: faint ? 0.14 : box.bar.shown === 0 && !isGhost ? 0.45 : 1 })
  drawBar(context, box.shown, SHOWN_Y, { ...style, alpha: faint ? 0.14 : isGhost ? GHOST : 1 })
}

/** A turn: its kinds as bands, edited ones hatched in the upper row; its number above it if there is room. */
function drawColumn(
  context: CanvasRenderingContext2D,
  { bar, raw, shown }: Box,
  bands: readonly Band[],
  options: DrawOptions & { hatch: Hatch },
): void {
  const upper = bands.map(({ group, edited, raw: size }) => ({ group, size, edited: edited && !options.isGhost }))
  drawBands(context, raw, { y: TOP, alpha: 1, parts: upper }, options)
  const alpha = options.isGhost ? GHOST : 1
  const lower = bands.map(({ group, shown: size }) => ({ group, size, edited: false }))
  drawBands(context, shown, { y: SHOWN_Y, alpha, parts: lower }, options)
  if (raw.width < NAMED_FROM || options.isCompact) return
  context.globalAlpha = 1
  context.fillStyle = options.palette.ink
  context.font = FONT
  context.textAlign = 'center'
  context.fillText(turnName(bar), raw.x + raw.width / 2, TOP - 4)
}

type Stack = { y: number; alpha: number; parts: readonly { group: KindGroup; size: number; edited: boolean }[] }

function drawBands(
  context: CanvasRenderingContext2D,
  { x, width }: Span,
  { y, alpha, parts }: Stack,
  { palette, only, hatch }: DrawOptions & { hatch: Hatch },
): void {
  const total = parts.reduce((sum, { size }) => sum + size, 0)
  if (total <= 0 || width <= 0) return
  let top = y
  const drawn = width >= SEPARATE_FROM ? width - 1 : width
  for (const { group, size, edited } of parts) {
    const height = (size / total) * ROW
    context.globalAlpha = only !== undefined && group !== only ? 0.14 : alpha
    context.fillStyle = palette[group]
    context.fillRect(x, top, drawn, height)
    if (edited && hatch) {
      context.fillStyle = hatch
      context.fillRect(x, top, drawn, height)
    }
    top += height
  }
}

/** The token axis at the bottom. */
function drawAxis(context: CanvasRenderingContext2D, { width, scale }: MapLayout, palette: Palette): void {
  const y = HEIGHT - 3
  context.fillStyle = palette.ink
  context.font = FONT
  for (const tick of ticksTo(width / scale, Math.max(2, width / 140))) {
    context.textAlign = tick === 0 ? 'left' : tick * scale > width - 24 ? 'right' : 'center'
    context.fillText(tick === 0 ? '0' : tokens(tick), tick * scale, y)
  }
}

type Hatch = CanvasPattern | undefined
type BarStyle = { hatch: Hatch; alpha: number }

function drawBar(context: CanvasRenderingContext2D, { x, width }: Span, y: number, { hatch, alpha }: BarStyle): void {
  if (width <= 0) return
  const drawn = width >= SEPARATE_FROM ? width - 1 : width
  context.globalAlpha = alpha
  context.fillRect(x, y, drawn, ROW)
  if (!hatch) return
  const fill = context.fillStyle
  context.fillStyle = hatch
  context.fillRect(x, y, drawn, ROW)
  context.fillStyle = fill
}

function drawRibbon(context: CanvasRenderingContext2D, { raw, shown }: Box, alpha: number): void {
  const upper = TOP + ROW
  const middle = upper + GAP / 2
  context.globalAlpha = alpha
  context.beginPath()
  context.moveTo(raw.x, upper)
  context.bezierCurveTo(raw.x, middle, shown.x, middle, shown.x, SHOWN_Y)
  context.lineTo(shown.x + shown.width, SHOWN_Y)
  const [from, to] = [shown.x + shown.width, raw.x + raw.width]
  context.bezierCurveTo(from, middle, to, middle, to, upper)
  context.fill()
}

function drawOverhead(context: CanvasRenderingContext2D, { overhead }: MapLayout, palette: Palette): void {
  if (overhead <= 0) return
  context.globalAlpha = 0.45
  context.fillStyle = palette.system
  const width = Math.max(1, overhead - 1)
  context.fillRect(0, TOP, width, ROW)
  context.fillRect(0, SHOWN_Y, width, ROW)
  context.globalAlpha = 0.08
  context.fillRect(0, TOP + ROW, width, GAP)
}

/** Below the second row: a line for the cached prefix, dots for tokens that must be written. */
function drawCache(
  context: CanvasRenderingContext2D,
  { cached, boxes, overhead }: MapLayout,
  { palette, cold }: { palette: Palette; cold: boolean },
): void {
  const y = SHOWN_Y + ROW + 6.5
  const last = boxes.at(-1)
  const end = last ? last.shown.x + last.shown.width : overhead
  context.lineWidth = 3
  context.strokeStyle = palette.accent
  line(context, 0, y, cold ? 0 : cached)
  context.strokeStyle = palette.line
  context.setLineDash([2, 4])
  line(context, cold ? 0 : cached + 2, y, end)
  context.setLineDash([])
}

/** An outline around a hypothetical lower row. */
function drawOutline(context: CanvasRenderingContext2D, { boxes, overhead }: MapLayout, colour: string): void {
  const last = boxes.at(-1)
  const end = last ? last.shown.x + last.shown.width : overhead
  context.strokeStyle = colour
  context.lineWidth = 1
  context.setLineDash([3, 3])
  context.strokeRect(0.5, SHOWN_Y - 0.5, Math.max(2, end - 1), ROW + 1)
  context.setLineDash([])
}

function drawLimit(context: CanvasRenderingContext2D, x: number, colour: string): void {
  context.strokeStyle = colour
  context.lineWidth = 1.5
  context.setLineDash([4, 3])
  context.beginPath()
  context.moveTo(x, 0)
  context.lineTo(x, HEIGHT)
  context.stroke()
  context.setLineDash([])
}

function drawChosen(context: CanvasRenderingContext2D, { raw, shown }: Box, colour: string): void {
  context.strokeStyle = colour
  context.lineWidth = 2
  context.strokeRect(raw.x, TOP, Math.max(2, raw.width), ROW)
  if (shown.width > 0) context.strokeRect(shown.x, SHOWN_Y, Math.max(2, shown.width), ROW)
}

function line(context: CanvasRenderingContext2D, from: number, y: number, to: number): void {
  if (to <= from) return
  context.beginPath()
  context.moveTo(from, y)
  context.lineTo(to, y)
  context.stroke()
}

const HATCH = 6

function hatchOf(context: CanvasRenderingContext2D, colour: string): Hatch {
  const tile = document.createElement('canvas')
  tile.width = HATCH
  tile.height = HATCH
  const drawing = tile.getContext('2d')
  if (!drawing) return undefined
  drawing.strokeStyle = colour
  drawing.globalAlpha = 0.75
  drawing.lineWidth = 1.6
  for (const shift of [-HATCH, 0, HATCH]) {
    drawing.beginPath()
    drawing.moveTo(shift - 1, HATCH + 1)
    drawing.lineTo(shift + HATCH + 1, -1)
    drawing.stroke()
  }
  return context.createPattern(tile, 'repeat') ?? undefined
}
