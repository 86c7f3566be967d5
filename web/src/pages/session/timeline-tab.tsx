/** The calls as plots: original and sent tokens, cost, and the cached share of each call, with every cache miss. */
import { useMemo } from 'react'
import type { TimelineCall } from '../../api-types.ts'
import { EmptyState } from '../../ui/empty-state.tsx'
import { count, percent, price, tokens } from '../../ui/format.ts'
import { Plot, type PlotMark } from '../../ui/plot.tsx'
import { InlineText } from '../../ui/text.tsx'

type TimelineTabProps = {
  calls: readonly TimelineCall[]
  window: number
  at: number | undefined
  onAt(at: number | undefined): void
}

const MISSES = 20

export function TimelineTab({ calls, window, at, onAt }: TimelineTabProps) {
  const data = useMemo(() => toSeries(calls), [calls])
  if (calls.length === 0) return <EmptyState title="There are no calls yet" />
  const common = {
    ...(at === undefined ? {} : { at: at - 1 }),
    onChoose: (place: number) => onAt(place + 1),
    placeName: (place: number) => `call ${count(place + 1)}`,
  }
  return (
    <div className="timeline">
      <Plot
        {...common}
        title="Tokens"
        format={tokens}
        limit={{ value: window, label: `The window: ${count(window)} tokens` }}
        series={[
          { name: 'as it happened', values: data.raw, tone: 0, fill: true },
          { name: 'as shown', values: data.sent, tone: 1 },
        ]}
      />
      <Plot
        {...common}
        title="Cost by call"
        format={price}
        series={[
          { name: 'without edits', values: data.costWithout, tone: 0, fill: true },
          { name: 'billed', values: data.cost, tone: 1 },
        ]}
      />
      <Plot
        {...common}
        title="Read from cache"
        format={percent}
        marks={data.marks}
        series={[{ name: 'share', values: data.cached, tone: 3, fill: true }]}
      />
      <Misses calls={calls} onAt={onAt} />
    </div>
  )
}

/** Each time that cached tokens had to be written again, with the cause. */
function Misses({ calls, onAt }: { calls: readonly TimelineCall[]; onAt(at: number): void }) {
  const misses = calls.filter(({ miss }) => miss)
  if (misses.length === 0) return <p className="dim">The cache was never lost.</p>
  return (
    <section aria-label="Cache misses">
      <h3>Cache lost</h3>
      <ul className="misses">
        {misses.slice(-MISSES).map(({ call, miss }) => (
          <li key={call}>
            <button type="button" className="link" onClick={() => onAt(call)}>
              call {count(call)}
            </button>
            <span className={miss?.kind === 'edit' ? 'badge badge-bad' : 'badge'}>{tokens(miss?.lost ?? 0)} lost</span>
            <span>
              <InlineText text={miss?.cause ?? ''} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function toSeries(calls: readonly TimelineCall[]) {
  const marks: PlotMark[] = calls.flatMap(({ call, miss }) =>
    miss
      ? [{ at: call - 1, label: miss.cause, tone: miss.kind === 'edit' ? ('bad' as const) : ('note' as const) }]
      : [],
  )
  return {
    raw: calls.map(({ raw }) => raw.tokens),
    sent: calls.map(({ sent }) => sent.tokens),
    cost: calls.map(({ paid }) => paid.dollars),
    costWithout: calls.map(({ paid, raw, sent }) => paid.dollars + raw.cost - sent.cost),
    cached: calls.map(cachedShare),
    marks,
  }
}

/** As reported by the provider, or by the cost model if it did not report. */
export function cachedShare({ sent, reported }: TimelineCall): number {
  const { input = 0, cacheRead, cacheWrite = 0 } = reported ?? {}
  if (cacheRead === undefined) return sent.cached / Math.max(1, sent.tokens)
  return cacheRead / Math.max(1, input + cacheRead + cacheWrite)
}
