/**
 * Dollars by day as stacked bars, in SVG: the largest few names separately, the others together. Long periods are shown
 * by week.
 */

import { dayOf } from '../view/totals.ts'
import { escapeXml } from './plot.ts'
import type { BillLine, SessionReport } from './report.ts'

/** Colours of the web UI, by the names of their variables. */
export const PALETTE = [
  'accent',
  'kind-read',
  'kind-shell',
  'kind-user',
  'kind-edit',
  'kind-web',
  'kind-agent',
  'kind-system',
] as const

const MAX_NAMES = 5
const OTHERS = 'other'
const MOST_BARS = 45
export const DAY_MS = 86_400_000
const [HEIGHT, LEFT, TOP, BOTTOM] = [190, 48, 8, 24]
/** Drawn in two widths, so that letters keep their size and nothing scrolls; the style shows one of them. */
const SIZES = { desk: 1024, phone: 362 } as const
const LABEL_WIDTH = 100

type NameOf = (session: SessionReport, line: BillLine) => string

export function dayBars(sessions: readonly SessionReport[], nameOf: NameOf, title: string): string {
  const lines = sessions.flatMap(session => session.bill.map(line => ({ ...line, name: nameOf(session, line) })))
  const dated = lines.filter(({ at }) => at > 0)
  if (dated.length === 0) return '<p class="dim">The recordings have no times.</p>'
  const times = dated.map(({ at }) => noonOf(at)).sort((a, b) => a - b)
  const [first, last] = [times[0]!, times.at(-1)!]
  const step = (last - first) / DAY_MS < MOST_BARS ? 1 : 7
  const count = Math.floor(Math.round((last - first) / DAY_MS) / step) + 1
  const names = namesOf(dated)
  const bars = Array.from({ length: count }, () => names.map(() => 0))
  for (const { at, name, billedUsd } of dated) {
    const place = Math.floor(Math.round((noonOf(at) - first) / DAY_MS) / step)
    const known = names.indexOf(name)
    bars[place]![known < 0 ? names.length - 1 : known]! += billedUsd
  }
  const dateAt = (place: number) => dayOf(first + place * step * DAY_MS)
  const legend = names.map(
    (name, i) => `<span><i style="background:var(--${PALETTE[i]})"></i>${escapeXml(name)}</span>`,
  )
  const charts = Object.entries(SIZES).map(([place, width]) => {
    return svg(bars, { title: step === 1 ? title : `${title}, by week`, dateAt, names, place, width })
  })
  return `${charts.join('')}<p class="legend">${legend.join('')}</p>`
}

/** Noon of a day: days differ in length when clocks change, but noon is always in the right day. */
export function noonOf(at: number): number {
  const date = new Date(at)
  return new Date(date.getFullYear(), date.getMonth(), date.getDate(), 12).getTime()
}

function namesOf(lines: readonly { name: string; billedUsd: number }[]): string[] {
  const sums = new Map<string, number>()
  for (const { name, billedUsd } of lines) sums.set(name, (sums.get(name) ?? 0) + billedUsd)
  const sorted = [...sums].sort((a, b) => b[1] - a[1]).map(([name]) => name)
  return sorted.length <= MAX_NAMES + 1 ? sorted : [...sorted.slice(0, MAX_NAMES), OTHERS]
}

type Drawing = {
  title: string
  dateAt: (place: number) => string
  names: readonly string[]
  place: string
  width: number
}

function svg(bars: readonly number[][], { title, dateAt, names, place, width: whole }: Drawing): string {
  const totals = bars.map(bar => bar.reduce((sum, dollars) => sum + dollars, 0))
  const top = niceTop(Math.max(...totals))
  const plot = HEIGHT - TOP - BOTTOM
  const y = (dollars: number) => TOP + plot * (1 - dollars / top)
  const slot = (whole - LEFT) / bars.length
  const width = Math.min(34, slot * 0.82)
  const ticks = [0, 0.25, 0.5, 0.75, 1].map(share => share * top)
  const grid = ticks.map(tick => {
    return `<path d="M${LEFT} ${y(tick).toFixed(1)}H${whole}" stroke="var(--grid)"/><text x="${LEFT - 8}" y="${(y(tick) + 4).toFixed(1)}" text-anchor="end">$${tick >= 10 || tick === 0 ? Math.round(tick) : tick.toFixed(2)}</text>`
  })
  const columns = bars.map((bar, i) => {
    const x = LEFT + slot * i + (slot - width) / 2
    let from = 0
    const rects = bar.map((dollars, kind) => {
      if (dollars <= 0) return ''
      from += dollars
      const height = (plot * dollars) / top
      return `<rect x="${x.toFixed(1)}" y="${y(from).toFixed(1)}" width="${width.toFixed(1)}" height="${height.toFixed(2)}" fill="var(--${PALETTE[kind]})"><title>${escapeXml(`${dateAt(i)} ${names[kind]} $${dollars.toFixed(2)}`)}</title></rect>`
    })
    return rects.join('')
  })
  const every = Math.max(1, Math.ceil((bars.length * LABEL_WIDTH) / whole))
  const labels = bars.map((_, i) => {
    if (i % every !== 0) return ''
    return `<text x="${(LEFT + slot * (i + 0.5)).toFixed(1)}" y="${HEIGHT - 6}" text-anchor="middle">${dateAt(i).slice(5)}</text>`
  })
  return `<svg class="${place}" viewBox="0 0 ${whole} ${HEIGHT}" role="img" aria-label="${escapeXml(title)}">${grid.join('')}${columns.join('')}${labels.join('')}</svg>`
}

function niceTop(value: number): number {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 4, 5, 10].map(factor => factor * power).find(top => top >= value)!
}
