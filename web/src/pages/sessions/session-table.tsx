/**
 * The list itself. The numbers of a session are read when its row comes into sight, two at a time: a home may hold
 * thousands, and reading one means reading its ledger.
 */
import { useEffect, useRef, useState } from 'react'
import { getJson, sessionPath } from '../../api.ts'
import type { SessionRow, Summary } from '../../api-types.ts'
import { hrefOf } from '../../route.ts'
import { ago, count, dateTime, money, percent, plural, tokens } from '../../ui/format.ts'
import { Sparkline } from '../../ui/sparkline.tsx'
import { InlineText } from '../../ui/text.tsx'

export function SessionTable({ rows }: { rows: readonly SessionRow[] }) {
  const [now] = useState(() => Date.now())
  return (
    <table className="sessions card">
      <thead>
        <tr>
          <th scope="col">Session</th>
          <th scope="col" className="number">
            Turns
          </th>
          <th scope="col">Tokens by call</th>
          <th scope="col" className="number">
            Tokens sent
          </th>
          <th
            scope="col"
            className="number"
            title="Of input, by the price table, with the provider's caching in both sums"
          >
            Cost
          </th>
          <th scope="col" className="number">
            Used
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(row => (
          <Row key={row.id} row={row} now={now} />
        ))}
      </tbody>
    </table>
  )
}

function Row({ row, now }: { row: SessionRow; now: number }) {
  const element = useRef<HTMLTableRowElement>(null)
  const summary = useSummary(row, element)
  const title = row.about.title ?? summary?.title
  return (
    <tr ref={element} data-session={row.id}>
      <td className="session-name">
        <a href={hrefOf('sessions', row.id)}>
          <InlineText text={row.id} />
        </a>
        {title && (
          <span className="session-title">
            <InlineText text={title} />
          </span>
        )}
        <span className="session-tags">
          {row.about.client && <span className="badge badge-accent">{row.about.client}</span>}
          <span>{row.model}</span>
          <span>{row.policy === 'none' ? 'no policy' : row.policy}</span>
          {row.parent && <span>fork of {row.parent.id}</span>}
        </span>
      </td>
      {summary ? <Numbers summary={summary} /> : <td className="dim" colSpan={4} aria-busy="true" />}
      <td className="number dim session-used" title={dateTime(row.updatedAt)}>
        {ago(row.updatedAt, now)}
      </td>
    </tr>
  )
}

function Numbers({ summary: { turns, calls, series, sent, money: cost } }: { summary: Summary }) {
  const saved = cost.without > 0 ? 1 - cost.with / cost.without : 0
  return (
    <>
      <td className="number session-turns" data-label="Turns">
        {count(turns)}
        <span className="under">{plural(calls, 'call')}</span>
      </td>
      <td className="session-spark">
        {series.shown.length > 1 && (
          <Sparkline
            values={series.shown}
            under={series.raw}
            label={`Tokens by call: up to ${tokens(Math.max(...series.raw))} raw, ${tokens(Math.max(...series.shown))} sent`}
          />
        )}
      </td>
      <td className="number session-sent" data-label="Tokens sent">
        <FromTo from={tokens(sent.raw)} to={tokens(sent.shown)} what="tokens" />
      </td>
      <td className="number session-cost" data-label="Cost">
        <FromTo from={money(cost.without)} to={money(cost.with)} what="cost" />
        {Math.abs(saved) >= 0.005 && (
          <span className={saved > 0 ? 'under saved' : 'under lost'}>
            {saved > 0 ? `${percent(saved)} less` : `${percent(-saved)} more`}
          </span>
        )}
      </td>
    </>
  )
}

/** Without our edits → with them; one number where they are the same. */
function FromTo({ from, to, what }: { from: string; to: string; what: string }) {
  if (from === to) return <span>{to}</span>
  return (
    <span>
      <span className="visually-hidden">{what} without edits </span>
      <span className="dim">{from}</span>
      <span aria-hidden="true"> → </span>
      <span className="visually-hidden">, with them </span>
      <b>{to}</b>
    </span>
  )
}

function useSummary(row: SessionRow, element: React.RefObject<HTMLElement | null>): Summary | undefined {
  const [read, setRead] = useState<{ length: number; summary: Summary }>()
  const known = row.summary ?? undefined
  const { id, length } = row
  const isMissing = known === undefined && read?.length !== length
  useEffect(() => {
    if (!isMissing || !element.current) return
    const stop = new AbortController()
    const observer = new IntersectionObserver(seen => {
      if (!seen.some(({ isIntersecting }) => isIntersecting)) return
      observer.disconnect()
      inTurn(() => getJson<Summary>(sessionPath(id, 'summary'), { signal: stop.signal })).then(
        summary => setRead({ length, summary }),
        // The row stays without numbers; the page itself says when the server is away.
        () => {},
      )
    })
    observer.observe(element.current)
    return () => {
      observer.disconnect()
      stop.abort()
    }
  }, [id, length, isMissing, element])
  return known ?? read?.summary
}

const AT_ONCE = 2
const waiting: (() => void)[] = []
let running = 0

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= AT_ONCE) await new Promise<void>(resolve => waiting.push(resolve))
  running++
  try {
    return await work()
  } finally {
    running--
    waiting.shift()?.()
  }
}
