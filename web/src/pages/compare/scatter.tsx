/** Dollars against visible quotes: a point for each planner, and thrifty's knob as a curve. */
import { money, percent } from '../../ui/format.ts'
import { namedTicks } from '../../ui/plot-points.ts'
import { useWidth } from '../../ui/size.ts'
import { toneStyle } from '../../ui/tone.ts'
import { LIMIT, nameOf, type Point } from './costs.ts'
import './scatter.css'

const HEIGHT = 300
const LEFT = 54
const RIGHT = 22
const TOP = 16
const BOTTOM = 40

/** `best` gets a ring: the recommended or the selected planner. */
type ScatterProps = { rows: readonly Point[]; best: Point | undefined; toneOf(policy: string): number }

export function Scatter({ rows, best, toneOf }: ScatterProps) {
  const { ref, width } = useWidth<HTMLDivElement>()
  const lowest = Math.min(0.9, ...rows.map(({ evidence }) => Math.floor(evidence * 20) / 20))
  const highest = Math.max(1e-9, ...rows.map(({ dollars }) => dollars)) * 1.08
  const x = (evidence: number) => LEFT + ((evidence - lowest) / (1 - lowest)) * (width - LEFT - RIGHT)
  const y = (dollars: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - dollars / highest)
  const knob = rows.filter(({ policy }) => policy === 'thrifty')
  const words = rows.map(row => `${nameOf(row)} ${money(row.dollars)}, ${percent(row.evidence)}`).join('; ')
  const shares = Array.from({ length: Math.round((1 - lowest) * 20) + 1 }, (_, i) => lowest + i / 20)
  const every = Math.ceil(shares.length / Math.max(2, width / 90))
  return (
    <figure className="scatter card">
      <figcaption>
        <h2>Dollars against visible quotes</h2>
      </figcaption>
      <div ref={ref}>
        {width > 0 && (
          <svg width={width} height={HEIGHT} role="img" aria-label={`Dollars and later quotes still visible: ${words}`}>
            <rect
              className="scatter-band"
              x={x(LIMIT)}
              y={TOP}
              width={x(1) - x(LIMIT)}
              height={HEIGHT - TOP - BOTTOM}
            />
            {namedTicks(highest, 5, money).map(({ value, name }) => (
              <g key={value}>
                <line className="plot-axis" x1={LEFT} x2={width - RIGHT} y1={y(value)} y2={y(value)} />
                <text className="plot-tick" x={LEFT - 8} y={y(value) + 4} textAnchor="end">
                  {name}
                </text>
              </g>
            ))}
            {shares
              .filter((_, i) => (shares.length - 1 - i) % every === 0)
              .map(share => (
                <text key={share} className="plot-tick" x={x(share)} y={HEIGHT - BOTTOM + 16} textAnchor="middle">
                  {percent(share)}
                </text>
              ))}
            <text className="plot-tick" x={(LEFT + width) / 2} y={HEIGHT - 6} textAnchor="middle">
              later quotes still visible
            </text>
            {knob.length > 1 && (
              <path
                className="scatter-knob"
                d={knob.map((row, i) => `${i === 0 ? 'M' : 'L'}${x(row.evidence)} ${y(row.dollars)}`).join('')}
              />
            )}
            {rows.map(row => (
              <g key={nameOf(row)} style={toneStyle(toneOf(row.policy))}>
                {row === best && <circle className="scatter-ring" cx={x(row.evidence)} cy={y(row.dollars)} r={10} />}
                <circle
                  className="scatter-point"
                  cx={x(row.evidence)}
                  cy={y(row.dollars)}
                  r={row.keep !== null && row.keep !== 'normal' ? 3.5 : 5.5}
                >
                  <title>{`${nameOf(row)}: ${money(row.dollars)}, ${percent(row.evidence)} still visible`}</title>
                </circle>
              </g>
            ))}
            {placed(labelled(rows, best), y).map(({ row, place }) => {
              const isLeft = x(row.evidence) > width / 2
              return (
                <text
                  key={nameOf(row)}
                  className={row === best ? 'scatter-name scatter-best' : 'scatter-name'}
                  x={x(row.evidence) + (isLeft ? -13 : 13)}
                  y={place}
                  textAnchor={isLeft ? 'end' : 'start'}
                >
                  {nameOf(row)}
                </text>
              )
            })}
          </svg>
        )}
      </div>
    </figure>
  )
}

/** The curve shows the points of the knob; only its ends and the best point are labelled. */
function labelled(rows: readonly Point[], best: Point | undefined): Point[] {
  return rows.filter(row => row === best || row.keep === null || row.keep === 'normal' || row.keep === 'least')
}

const LINE = 14
/** The label of a point of the knob is above the curve. */
const ABOVE = -10

/** Labels that would overlap move apart, from top to bottom. */
function placed(rows: readonly Point[], y: (dollars: number) => number): { row: Point; place: number }[] {
  const all: { row: Point; place: number }[] = []
  for (const row of rows.toSorted((a, b) => b.dollars - a.dollars)) {
    const near = all.filter(({ row: other }) => Math.abs(other.evidence - row.evidence) < NEAR)
    all.push({
      row,
      place: Math.max(y(row.dollars) + (row.keep === null ? 4 : ABOVE), ...near.map(({ place }) => place + LINE)),
    })
  }
  return all
}

/** A distance in the share that stays visible: points closer than this share a column of labels. */
const NEAR = 0.1
