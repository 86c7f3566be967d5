/**
 * Plots as SVG text, without a dependency: lines and points in one or more panels, one below the other.
 *
 * The picture loads nothing: no script, font or image. It is light or dark by the reader's setting, and has a title and
 * a description for screen readers; series differ by colour and by dash or shape. Every text is escaped. The same data
 * gives the same bytes.
 */

export type Point = readonly [x: number, y: number]

export type Series = {
  name: string
  points: readonly Point[]
  /** Points joined by a line, or each for itself; a curve has both. */
  form?: 'line' | 'points' | 'curve'
  /** Written beside each point, instead of in the legend. */
  labels?: readonly string[]
  /** Number of the colour; its place among the series by default. */
  colour?: number
}

type Axis = {
  label: string
  min?: number
  max?: number
  format?: (value: number) => string
}

export type Panel = { title?: string; x: Axis; y: Axis; series: readonly Series[]; height?: number }

export type Plot = {
  title: string
  description: string
  panels: readonly Panel[]
  /** Lines of text below the panels, in two columns. */
  notes?: readonly string[]
  width?: number
}

type Box = { left: number; top: number; width: number; height: number }
type Scale = { toX: (x: number) => number; toY: (y: number) => number; xs: number[]; ys: number[]; right: number }

const WIDTH = 760
const PANEL = 300
const MARGIN = { left: 64, right: 20, top: 26, bottom: 44 }
const HEAD = 34
const LEGEND_LINE = 20
const NOTE_LINE = 16
/** Room for a label at the right edge; beyond it the label goes to the left of its point. */
const LABEL = 60
/** Longer series are thinned to this many points. */
const MOST_POINTS = 500
const LIGHT = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#8a6d00', '#56a0d0', '#7a4fb5', '#555555']
const DARK = ['#56b4e9', '#ff9d5c', '#3fd6a6', '#f0a8d0', '#f0e442', '#9fd2f5', '#bda2ec', '#bbbbbb']
const DASHES = ['', '7 4', '2 3', '9 3 2 3', '12 4', '4 2', '1 2', '6 2 1 2']

export function toSvg({ title, description, panels, notes = [], width = WIDTH }: Plot): string {
  const legend = legendOf(panels)
  const rows = layoutLegend(legend, width)
  const top = HEAD + (rows.length > 0 ? rows.length * LEGEND_LINE + 8 : 0)
  const heights = panels.map(panel => panel.height ?? PANEL)
  const below = Math.ceil(notes.length / 2) * NOTE_LINE + (notes.length > 0 ? 10 : 0)
  const height = top + heights.reduce((sum, each) => sum + each, 0) + below
  let at = top
  const drawn = panels.map((panel, i) => {
    const box = {
      left: MARGIN.left,
      top: at + MARGIN.top,
      width: width - MARGIN.left - MARGIN.right,
      height: heights[i]! - MARGIN.top - MARGIN.bottom,
    }
    at += heights[i]!
    return drawPanel(panel, box, legend)
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="plot-title plot-description">`,
    `<title id="plot-title">${escapeXml(title)}</title>`,
    `<desc id="plot-description">${escapeXml(description)}</desc>`,
    `<style>${styles()}</style>`,
    `<rect class="page" width="${width}" height="${height}"/>`,
    `<text class="head" x="16" y="22">${escapeXml(title)}</text>`,
    ...rows.flatMap((row, line) => row.map(item => drawLegend(item, HEAD + 14 + line * LEGEND_LINE))),
    ...drawn.flat(),
    ...drawNotes(notes, at + NOTE_LINE - 4, width),
    '</svg>',
    '',
  ].join('\n')
}

/** Escapes a text for SVG and HTML, inside and outside attributes. */
export function escapeXml(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\uffff]|[\ufffe\uffff]/g, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}

/** 1234567 as 1.2M. */
export function shortNumber(value: number): string {
  const size = Math.abs(value)
  for (const [limit, unit] of [
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
  ] as const) {
    if (size >= limit) return `${trimmed(value / limit, 1)}${unit}`
  }
  return trimmed(value, size < 10 ? 2 : 0)
}

function styles(): string {
  const colours = (list: readonly string[]) =>
    list.map((colour, i) => `.c${i}{stroke:${colour}}.f${i}{fill:${colour}}`).join('')
  return [
    'svg{color-scheme:light dark;font:12px system-ui,sans-serif}',
    '.page{fill:#fff}text{fill:#333}.head{font-size:15px;font-weight:600}.note{font-size:11px}.grid{stroke:#ddd}.axis{stroke:#888}',
    '.line{fill:none;stroke-width:1.8}.dot{stroke:#fff;stroke-width:1}',
    colours(LIGHT),
    '@media(prefers-color-scheme:dark){.page{fill:#16181c}text{fill:#ddd}.grid{stroke:#333}.axis{stroke:#888}.dot{stroke:#16181c}',
    colours(DARK),
    '}',
  ].join('')
}

type Named = { name: string; colour: number; form: NonNullable<Series['form']> }

function legendOf(panels: readonly Panel[]): Named[] {
  const named = new Map<string, Named>()
  for (const { series } of panels) {
    for (const { name, form = 'line', colour = named.size } of series) {
      if (!named.has(name)) named.set(name, { name, colour: colour % LIGHT.length, form })
    }
  }
  return [...named.values()]
}

function layoutLegend(items: readonly Named[], width: number): (Named & { x: number })[][] {
  const rows: (Named & { x: number })[][] = []
  let x = Number.POSITIVE_INFINITY
  for (const item of items) {
    const wide = 40 + item.name.length * 6.6
    if (x + wide > width - 16) {
      rows.push([])
      x = 16
    }
    rows.at(-1)!.push({ ...item, x })
    x += wide
  }
  return rows
}

function drawLegend({ name, colour, form, x }: Named & { x: number }, y: number): string {
  const sample =
    form === 'points'
      ? drawDot(x + 10, y - 4, colour)
      : `<line class="line c${colour}" x1="${x}" x2="${x + 20}" y1="${y - 4}" y2="${y - 4}"${dash(colour)}/>`
  return `${sample}<text x="${x + 26}" y="${y}">${escapeXml(name)}</text>`
}

function drawNotes(notes: readonly string[], top: number, width: number): string[] {
  const rows = Math.ceil(notes.length / 2)
  return notes.map((note, i) => {
    const x = 16 + Math.floor(i / rows) * (width / 2)
    return `<text class="note" x="${x}" y="${top + (i % rows) * NOTE_LINE}">${escapeXml(note)}</text>`
  })
}

function drawPanel(panel: Panel, box: Box, legend: readonly Named[]): string[] {
  const scale = scaleOf(panel, box)
  const lines = panel.series.flatMap(series => drawSeries(series, scale, legend))
  const heading = panel.title ? [`<text x="${box.left}" y="${box.top - 9}">${escapeXml(panel.title)}</text>`] : []
  return [...heading, ...drawAxes(panel, box, scale), ...lines]
}

function scaleOf({ x, y, series }: Panel, { left, top, width, height }: Box): Scale {
  const points = series.flatMap(each => each.points)
  const xs = ticks(x.min ?? low(points, 0), x.max ?? high(points, 0), x.min === undefined, x.max === undefined)
  const ys = ticks(
    y.min ?? Math.min(0, low(points, 1)),
    y.max ?? high(points, 1),
    y.min === undefined,
    y.max === undefined,
  )
  const [x0, x1] = [x.min ?? xs[0]!, x.max ?? xs.at(-1)!]
  const [y0, y1] = [y.min ?? ys[0]!, y.max ?? ys.at(-1)!]
  return {
    toX: value => round(left + ((value - x0) / (x1 - x0 || 1)) * width),
    toY: value => round(top + height - ((value - y0) / (y1 - y0 || 1)) * height),
    xs,
    ys,
    right: left + width,
  }
}

/** Round numbers that cover a range; an open end is moved outwards to the next round number. */
function ticks(from: number, to: number, openFrom: boolean, openTo: boolean): number[] {
  const span = to - from || Math.abs(to) || 1
  const rough = span / 5
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 2.5, 5, 10].map(factor => factor * power).find(size => size >= rough) ?? power * 10
  const first = openFrom ? Math.floor(from / step + 1e-9) : Math.ceil(from / step - 1e-9)
  const last = openTo ? Math.ceil(to / step - 1e-9) : Math.floor(to / step + 1e-9)
  return Array.from({ length: Math.max(2, last - first + 1) }, (_, i) => Number(((first + i) * step).toPrecision(12)))
}

function drawAxes({ x, y }: Panel, { left, top, width, height }: Box, { toX, toY, xs, ys }: Scale): string[] {
  const bottom = top + height
  const sayX = x.format ?? shortNumber
  const sayY = y.format ?? shortNumber
  return [
    ...ys.map(value => {
      const at = toY(value)
      return `<line class="grid" x1="${left}" x2="${left + width}" y1="${at}" y2="${at}"/><text x="${left - 8}" y="${at + 4}" text-anchor="end">${escapeXml(sayY(value))}</text>`
    }),
    ...xs.map(value => {
      const at = toX(value)
      return `<line class="axis" x1="${at}" x2="${at}" y1="${bottom}" y2="${bottom + 4}"/><text x="${at}" y="${bottom + 17}" text-anchor="middle">${escapeXml(sayX(value))}</text>`
    }),
    `<line class="axis" x1="${left}" x2="${left + width}" y1="${bottom}" y2="${bottom}"/>`,
    `<text x="${left + width / 2}" y="${bottom + 34}" text-anchor="middle">${escapeXml(x.label)}</text>`,
    `<text transform="translate(15 ${top + height / 2}) rotate(-90)" text-anchor="middle">${escapeXml(y.label)}</text>`,
  ]
}

function drawSeries({ name, points, form = 'line', labels }: Series, scale: Scale, legend: readonly Named[]): string[] {
  const colour = legend.find(each => each.name === name)?.colour ?? 0
  const places = thinned(points).map(([x, y]) => [scale.toX(x), scale.toY(y)] as const)
  const drawn: string[] = []
  if (form !== 'points' && places.length > 0) {
    const path = places.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${x} ${y}`).join('')
    drawn.push(`<path class="line c${colour}" d="${path}"${dash(colour)}><title>${escapeXml(name)}</title></path>`)
  }
  if (form !== 'line') drawn.push(...places.map(([x, y]) => drawDot(x, y, colour, name)))
  for (const [i, label] of (labels ?? []).entries()) {
    const place = places[i]
    if (!place || !label) continue
    const [x, y] = place
    const side = x > scale.right - LABEL ? `x="${x - 7}" text-anchor="end"` : `x="${x + 7}"`
    drawn.push(`<text class="note" ${side} y="${y - 5}">${escapeXml(label)}</text>`)
  }
  return drawn
}

/** A shape for each colour, so that series also differ without colour. */
function drawDot(x: number, y: number, colour: number, name?: string): string {
  const title = name === undefined ? '' : `<title>${escapeXml(name)}</title>`
  const shape = colour % 4
  if (shape === 0) return `<circle class="dot f${colour}" cx="${x}" cy="${y}" r="5">${title}</circle>`
  const paths = [`M${x - 5} ${y - 5}h10v10h-10z`, `M${x} ${y - 6}l6 11h-12z`, `M${x} ${y - 6}l6 6l-6 6l-6 -6z`]
  return `<path class="dot f${colour}" d="${paths[shape - 1]}">${title}</path>`
}

/** At most `MOST_POINTS` points: the lowest and the highest of each bucket, in order, so that peaks stay. */
function thinned(points: readonly Point[]): readonly Point[] {
  if (points.length <= MOST_POINTS) return points
  const size = Math.ceil(points.length / (MOST_POINTS / 2))
  const kept: Point[] = []
  for (let start = 0; start < points.length; start += size) {
    const bucket = points.slice(start, start + size)
    const lowest = bucket.reduce((best, point) => (point[1] < best[1] ? point : best))
    const highest = bucket.reduce((best, point) => (point[1] > best[1] ? point : best))
    kept.push(...(lowest === highest ? [lowest] : lowest[0] < highest[0] ? [lowest, highest] : [highest, lowest]))
  }
  return kept
}

function low(points: readonly Point[], axis: 0 | 1): number {
  return points.reduce((least, point) => Math.min(least, point[axis]), points[0]?.[axis] ?? 0)
}

function high(points: readonly Point[], axis: 0 | 1): number {
  return points.reduce((most, point) => Math.max(most, point[axis]), points[0]?.[axis] ?? 1)
}

function dash(colour: number): string {
  const pattern = DASHES[colour % DASHES.length]
  return pattern ? ` stroke-dasharray="${pattern}"` : ''
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

function trimmed(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)))
}
