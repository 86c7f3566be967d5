/**
 * A plot of one or more series over the calls of a session, as SVG.
 *
 * Series with more values than pixels are reduced to the highest value of each pixel, so that no peak is lost. A click
 * or drag selects a call; the caption shows its numbers, for screen readers too.
 */
import { type PointerEvent, useState } from 'react'
import { maxOf, namedTicks, type Point, thin } from './plot-points.ts'
import { useWidth } from './size.ts'
import { toneStyle } from './tone.ts'

export type Series = { name: string; values: readonly (number | null)[]; tone: number; fill?: boolean; step?: boolean }
export type PlotMark = { at: number; label: string; tone: 'bad' | 'note' }

export type PlotProps = {
  title: string
  series: readonly Series[]
  format(value: number): string
  marks?: readonly PlotMark[]
  /** A horizontal line, such as the limit of the window; drawn if it is within the range. */
  limit?: { value: number; label: string }
  height?: number
  /** The selected position, from 0. */
  at?: number
  onChoose?(at: number): void
  /** The label of a position: `call 12`. */
  placeName?(at: number): string
}

const TOP = 10
const BOTTOM = 4
/** The space for tick labels: this minimum, and pixels per character. */
const LEAST_LEFT = 30
const PER_CHARACTER = 7

export function Plot({ title, series, format, marks = [], limit, height = 96, at, onChoose, placeName }: PlotProps) {
  const { ref, width } = useWidth<HTMLDivElement>()
  const [pointed, setPointed] = useState<number>()
  const length = Math.max(0, ...series.map(({ values }) => values.length))
  const highest = Math.max(1e-12, ...series.map(({ values }) => maxOf(values)))
  const ticks = namedTicks(highest, height / 44, format)
  const left = Math.max(LEAST_LEFT, 10 + PER_CHARACTER * Math.max(...ticks.map(({ name }) => name.length)))
  const y = (value: number) => TOP + (height - TOP - BOTTOM) * (1 - value / highest)
  const x = (place: number) =>
    length <= 1 ? left + (width - left) / 2 : left + (place / (length - 1)) * (width - left - 2)
  const placeAt = (event: PointerEvent<SVGSVGElement>) => {
    const box = event.currentTarget.getBoundingClientRect()
    const share = (event.clientX - box.left - left) / Math.max(1, box.width - left)
    return Math.min(length - 1, Math.max(0, Math.round(share * (length - 1))))
  }
  const place = Math.min(pointed ?? at ?? length - 1, length - 1)
  const summary = series.map(({ name, values }) => `${name} ${text(values[place], format)}`).join(', ')
  const mark = marks.findLast(one => one.at === place)
  return (
    <figure className="plot">
      <figcaption>
        <span className="plot-title">{title}</span>
        <span className="plot-legend">
          {length > 0 && <span className="plot-place">{placeName?.(place) ?? place + 1}</span>}
          {series.map(({ name, values, tone }) => (
            <span key={name} className="plot-key" style={toneStyle(tone)}>
              <i aria-hidden="true" />
              {name} <b>{text(values[place], format)}</b>
            </span>
          ))}
          {mark && <span className={`plot-note plot-note-${mark.tone}`}>{mark.label}</span>}
        </span>
      </figcaption>
      <div ref={ref} className="plot-area" style={{ height }}>
        {width > 0 && length > 0 && (
          <svg
            width={width}
            height={height}
            role="img"
            aria-label={`${title}: ${summary}. Highest ${format(highest)}.`}
            onPointerMove={event => {
              setPointed(placeAt(event))
              if (event.buttons === 1) onChoose?.(placeAt(event))
            }}
            onPointerLeave={() => setPointed(undefined)}
            onPointerDown={event => onChoose?.(placeAt(event))}
          >
            {ticks.map(({ value, name }) => (
              <g key={value}>
                <line className="plot-axis" x1={left} x2={width} y1={y(value) + 0.5} y2={y(value) + 0.5} />
                <text className="plot-tick" x={left - 6} y={y(value) + 4} textAnchor="end">
                  {name}
                </text>
              </g>
            ))}
            {limit && limit.value <= highest && (
              <line className="plot-limit" x1={left} x2={width} y1={y(limit.value)} y2={y(limit.value)}>
                <title>{limit.label}</title>
              </line>
            )}
            {series.map(({ name, values, tone, fill, step }) => {
              const points = thin(values, width)
              return (
                <g key={name} style={toneStyle(tone)}>
                  {fill && <path className="plot-fill" d={areaPath(points, x, y, height - BOTTOM)} />}
                  <path className="plot-line" d={linePath(points, x, y, step)} />
                </g>
              )
            })}
            {marks.map(one => (
              <path key={`${one.at} ${one.label}`} className={`plot-mark plot-mark-${one.tone}`} d={tick(x(one.at))}>
                <title>{one.label}</title>
              </path>
            ))}
            <line className="plot-cursor" x1={x(place)} x2={x(place)} y1={0} y2={height - BOTTOM} />
          </svg>
        )}
      </div>
    </figure>
  )
}

type Scale = (value: number) => number

function linePath(points: readonly Point[], x: Scale, y: Scale, step = false): string {
  const [only] = points
  if (points.length === 1 && only) return `M${x(only[0]) - 2} ${y(only[1])}h4`
  return points
    .map(([place, value], i) => {
      const to = `${x(place).toFixed(1)} ${y(value).toFixed(1)}`
      if (i === 0) return `M${to}`
      return step ? `H${x(place).toFixed(1)}V${y(value).toFixed(1)}` : `L${to}`
    })
    .join('')
}

function areaPath(points: readonly Point[], x: Scale, y: Scale, floor: number): string {
  const first = points[0]
  const last = points.at(-1)
  if (!first || !last) return ''
  return `${linePath(points, x, y)}L${x(last[0]).toFixed(1)} ${floor}L${x(first[0]).toFixed(1)} ${floor}Z`
}

function tick(x: number): string {
  return `M${(x - 3).toFixed(1)} 0h6l-3 6Z`
}

function text(value: number | null | undefined, format: (value: number) => string): string {
  return value == null ? '–' : format(value)
}
