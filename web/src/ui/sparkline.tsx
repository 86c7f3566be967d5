/** A small line without axes. The text next to it describes what it shows. */
import { thin } from './plot-points.ts'

const WIDTH = 120
const HEIGHT = 28

export function Sparkline({
  values,
  under,
  label,
}: {
  values: readonly number[]
  under?: readonly number[]
  label: string
}) {
  const highest = Math.max(1, ...values, ...(under ?? []))
  return (
    <svg
      className="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {under && <path className="spark-under" d={path(under, highest, true)} />}
      <path className="spark-line" d={path(values, highest, false)} />
    </svg>
  )
}

function path(values: readonly number[], highest: number, closed: boolean): string {
  const points = thin(values, WIDTH)
  if (points.length === 0) return ''
  const last = Math.max(1, values.length - 1)
  const at = (place: number, value: number) =>
    `${((place / last) * WIDTH).toFixed(1)} ${(HEIGHT - 2 - (value / highest) * (HEIGHT - 4)).toFixed(1)}`
  const line = points.map(([place, value], i) => `${i === 0 ? 'M' : 'L'}${at(place, value)}`).join('')
  return closed ? `${line}L${WIDTH} ${HEIGHT}L0 ${HEIGHT}Z` : line
}
