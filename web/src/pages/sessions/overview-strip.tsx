/** The cost of agents this week and by day: one sentence, a few numbers, and 30 days as bars. */
import type { Overview } from '../../api-types.ts'
import { count, money, percent, plural } from '../../ui/format.ts'
import { Info } from '../../ui/info.tsx'
import { namedTicks } from '../../ui/plot-points.ts'
import { useWidth } from '../../ui/size.ts'
import './overview-strip.css'

/** Smaller amounts are not shown. */
const CENT = 0.005

export type Filtered = { day?: string | undefined; onDay(day: string | undefined): void }

export function OverviewStrip({ overview, ...filtered }: { overview: Overview } & Filtered) {
  const { week, sessions, counted, untried } = overview
  const without = week.billed + week.saved
  return (
    <section className="strip card" aria-label="This week">
      <div className="strip-week">
        <p className="dim">
          {isToday(overview.days.at(-1)!.day) ? 'Last 7 days' : `7 days to ${dayName(overview.days.at(-1)!.day)}`}
        </p>
        <p className="verdict">
          <Sentence {...week} />
        </p>
        <dl className="facts">
          <Amount name="Sessions" value={count(week.sessions)} note={plural(week.calls, 'call')} />
          <Amount
            name="Read from cache"
            value={week.input > 0 ? percent(week.cacheRead / week.input) : '–'}
            note="of input"
            info="Input from the provider’s cache, at a tenth of the price or less."
          />
          {Math.abs(week.saved) >= CENT && (
            <Amount
              name="Saved"
              value={percent(week.saved / without)}
              note="of the cost without edits"
              info="The cost of the same calls without edits and with the same caching, minus their actual cost."
            />
          )}
          {week.could >= CENT && (
            <Amount
              name="Could be saved"
              value={money(week.could)}
              note="in recordings"
              info="Imported sessions, replayed with thrifty. Their agents are not connected to Palimpsest yet."
            />
          )}
        </dl>
        {(counted < sessions || untried > 0) && (
          <p className="dim strip-counting" role="status">
            {counted < sessions
              ? `${count(counted)} of ${plural(sessions, 'session')} read so far …`
              : `${plural(untried, 'recording')} still to replay …`}
          </p>
        )}
      </div>
      <DayBars overview={overview} {...filtered} />
    </section>
  )
}

function Sentence({ calls, billed, saved, could }: Overview['week']) {
  if (calls === 0) return 'Nothing was spent.'
  if (Math.abs(saved) >= CENT) {
    return (
      <>
        Agents cost <b>{money(billed)}</b>. Without edits it would have been {money(billed + saved)}:{' '}
        <b className={saved > 0 ? 'saved' : 'lost'}>
          {money(Math.abs(saved))} {saved > 0 ? 'saved' : 'more'}
        </b>
        .
      </>
    )
  }
  return (
    <>
      Agents cost <b>{money(billed)}</b>.
      {could >= CENT && (
        <>
          {' '}
          With thrifty it would have been {money(billed - could)}: <b className="saved">{money(could)} less</b>.
        </>
      )}
    </>
  )
}

function Amount({ name, value, note, info }: { name: string; value: string; note: string; info?: string }) {
  return (
    <div>
      <dt>
        {name}
        {info && <Info text={info} />}
      </dt>
      <dd>
        <b>{value}</b> <span className="dim">{note}</span>
      </dd>
    </div>
  )
}

const HEIGHT = 170
const LEFT = 44
const BOTTOM = 20
const TOP = 8

function DayBars({ overview: { days }, day: chosen, onDay }: { overview: Overview } & Filtered) {
  const { ref, width } = useWidth<HTMLDivElement>()
  const highest = Math.max(...days.map(({ billed, saved }) => billed + Math.max(0, saved)))
  const top = highest > 0 ? highest : 1
  const y = (value: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top)
  const step = (width - LEFT) / days.length
  const ticks = namedTicks(highest, 3, money)
  return (
    <figure className="strip-days">
      <figcaption>
        <h2>Dollars by day, 30 days</h2>
        <span className="key">
          <i className="key-billed" /> billed
        </span>
        {days.some(({ saved }) => saved >= CENT) && (
          <span className="key">
            <i className="key-saved" /> saved
          </span>
        )}
        {days.some(({ could }) => could >= CENT) && (
          <span className="key">
            <i className="key-could" /> billed, could be saved
          </span>
        )}
      </figcaption>
      <div ref={ref} className="strip-bars">
        {width > 0 && (
          <>
            <svg width={width} height={HEIGHT} aria-hidden="true">
              <defs>
                <pattern
                  id="hatch-saved"
                  width="5"
                  height="5"
                  patternUnits="userSpaceOnUse"
                  patternTransform="rotate(45)"
                >
                  <line x1="0" y1="0" x2="0" y2="5" className="hatch-line" />
                </pattern>
              </defs>
              {ticks.map(({ value, name }) => (
                <g key={value}>
                  <line className="grid" x1={LEFT} x2={width} y1={y(value) + 0.5} y2={y(value) + 0.5} />
                  <text x={LEFT - 6} y={y(value) + 4} textAnchor="end">
                    {name}
                  </text>
                </g>
              ))}
              {days.map(({ day, billed, saved, could: possible }, i) => {
                const could = Math.max(0, Math.min(possible, billed))
                const x = LEFT + i * step + step * 0.14
                const bar = { x, width: Math.max(1, step * 0.72) }
                return (
                  <g key={day} className={chosen === day ? 'day day-chosen' : 'day'}>
                    <rect {...bar} y={y(billed - could)} height={y(0) - y(billed - could)} className="day-billed" />
                    {could > 0 && (
                      <rect {...bar} y={y(billed)} height={y(billed - could) - y(billed)} className="day-could" />
                    )}
                    {saved > 0 && (
                      <rect
                        {...bar}
                        y={y(billed + saved)}
                        height={y(billed) - y(billed + saved)}
                        className="day-saved"
                      />
                    )}
                    {i % 7 === (days.length - 1) % 7 && (
                      <text x={x + bar.width / 2} y={HEIGHT - 4} textAnchor={i === days.length - 1 ? 'end' : 'middle'}>
                        {dayName(day)}
                      </text>
                    )}
                  </g>
                )
              })}
            </svg>
            {days.map(({ day, billed, saved, could, calls }, i) => (
              <button
                key={day}
                type="button"
                className="day-target"
                style={{ left: LEFT + i * step, width: step, height: HEIGHT - BOTTOM }}
                aria-pressed={chosen === day}
                disabled={calls === 0 && chosen !== day}
                title={`${dayName(day)}: ${money(billed)} billed${saved >= CENT ? `, ${money(saved)} saved` : ''}${could >= CENT ? `, ${money(could)} could be saved` : ''}, ${plural(calls, 'call')}`}
                aria-label={`${dayName(day)}: ${money(billed)} billed, ${money(saved)} saved, ${money(could)} could be saved, ${plural(calls, 'call')}`}
                onClick={() => onDay(chosen === day ? undefined : day)}
              />
            ))}
          </>
        )}
      </div>
    </figure>
  )
}

function isToday(day: string): boolean {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number)
  return Math.abs(new Date(year, month - 1, date, 12).getTime() - Date.now()) < 36 * 60 * 60 * 1000
}

function dayName(day: string): string {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number)
  return new Date(year, month - 1, date).toLocaleDateString('en', { day: 'numeric', month: 'short' })
}
