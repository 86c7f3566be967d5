/** The cost of the session explained: cache misses, the most expensive calls, the rent, and free edits. */

import { useState } from 'react'
import { getJson } from '../../api.ts'
import type { Rent, WhyCall } from '../../api-types.ts'
import { useResource } from '../../resource.ts'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Failure } from '../../ui/failure.tsx'
import { count, money, percent, plural, tokens } from '../../ui/format.ts'
import { InlineText } from '../../ui/text.tsx'
import { useSessionPart } from './session-part.ts'
import './why-tab.css'

const RENT_BY = ['kind', 'tool', 'server', 'file', 'agent', 'edit'] as const
type RentBy = (typeof RENT_BY)[number]
type Cause = WhyCall['cause']

const CAUSES: Record<Cause, string> = {
  edit: 'our edit',
  pause: 'a pause',
  client: 'the client’s change',
  model: 'another model',
  server: 'the server’s edit',
  provider: 'the provider’s miss',
  start: 'the first call',
  none: 'nothing lost',
}
const RENT_NAMES: Record<RentBy, string> = {
  kind: 'Kind',
  tool: 'Tool',
  server: 'MCP server',
  file: 'File',
  agent: 'Agent',
  edit: 'Edit',
}
const ROWS = 10

export function WhyTab({ session, length, onAt }: { session: string; length: number; onAt(at: number): void }) {
  const why = useSessionPart('/sessions/{session}/why', { session, length })
  const rent = useSessionPart('/sessions/{session}/rent', { session, length })
  if (why.error !== undefined) return <Failure error={why.error} retry={why.reload} />
  if (!why.value) return <p className="dim">Adding up …</p>
  const { calls, billedUsd, predictedUsd, causes, moments } = why.value
  if (calls.length === 0) return <EmptyState title="There are no calls yet" />
  const estimated = calls.filter(call => call.estimated).length
  return (
    <div className="why">
      <p>
        <b>{money(billedUsd)}</b> {estimated === calls.length ? 'estimated' : 'billed'}, {money(predictedUsd)} predicted
        {estimated > 0 && estimated < calls.length && `; ${plural(estimated, 'call')} estimated`}.
      </p>
      <section aria-label="Cache lost">
        <h3>Cache lost</h3>
        <ul className="why-rows">
          {causes
            .filter(({ lost }) => lost > 0)
            .map(({ cause, times, lost, extraUsd }) => (
              <li key={cause}>
                <span>{CAUSES[cause]}</span>
                <span className="dim">
                  {plural(times, 'call')}, {tokens(lost)} tokens written again
                </span>
                <b>{money(extraUsd)}</b>
              </li>
            ))}
          {causes.every(({ lost }) => lost === 0) && <li className="dim">The cache was never lost.</li>}
        </ul>
      </section>
      <section aria-label="Most expensive calls">
        <h3>Most expensive calls</h3>
        <ul className="why-rows">
          {moments.map(moment => (
            <Moment key={moment.call} moment={moment} onAt={onAt} />
          ))}
        </ul>
      </section>
      {rent.value && <RentList rent={rent.value} />}
      <FreeEdits session={session} length={length} />
    </div>
  )
}

type MomentProps = { moment: WhyCall; onAt(at: number): void }

function Moment({ moment: { call, billedUsd, predictedUsd, cause, text }, onAt }: MomentProps) {
  return (
    <li>
      <button type="button" className="link" onClick={() => onAt(call)}>
        call {count(call)}
      </button>
      <span className="dim">
        {CAUSES[cause]}: <InlineText text={text} /> ({money(predictedUsd)} predicted)
      </span>
      <b>{money(billedUsd)}</b>
    </li>
  )
}

/** Each text pays for every call that contains it. */
function RentList({ rent }: { rent: Rent }) {
  const [by, setBy] = useState<RentBy>('kind')
  const rows = rent[by]
  const rest = rows.slice(ROWS)
  const shown = rows.slice(0, ROWS)
  if (rest.length > 0) {
    const dollars = rest.reduce((total, row) => total + row.dollars, 0)
    shown.push({ name: `${count(rest.length)} more`, tokens: 0, dollars, saved: 0 })
  }
  return (
    <section aria-label="Rent">
      <div className="why-head">
        <h3>Where the money goes: rent</h3>
        <select aria-label="Rent by" value={by} onChange={event => setBy(event.target.value as RentBy)}>
          {RENT_BY.map(each => (
            <option key={each} value={each}>
              {RENT_NAMES[each]}
            </option>
          ))}
        </select>
      </div>
      <ul className="why-rent">
        {shown.map(({ name, dollars }) => {
          const share = rent.dollars > 0 ? dollars / rent.dollars : 0
          return (
            <li key={name} style={{ '--share': `${share * 100}%` } as React.CSSProperties}>
              <span className="why-name" title={name}>
                {name}
              </span>
              <span className="dim">{percent(share)}</span>
              <b>{money(dollars)}</b>
            </li>
          )
        })}
      </ul>
    </section>
  )
}

/** Needs two replays, so it runs only on request. */
function FreeEdits({ session, length }: { session: string; length: number }) {
  const [asked, setAsked] = useState(false)
  const key = asked ? `${session}\n${length}` : undefined
  const query = { free: 'true' as const }
  const why = useResource(key, signal => getJson('/sessions/{session}/why', { params: { session }, query, signal }))
  const free = why.value?.free
  return (
    <section aria-label="What was free">
      <h3>Free edits</h3>
      {!asked && (
        <Button small onClick={() => setAsked(true)}>
          Find out
        </Button>
      )}
      {asked && why.loading && <p className="dim">Replaying the session …</p>}
      {why.error !== undefined && <Failure error={why.error} retry={why.reload} />}
      {free && (
        <p>
          {plural(free.edits, 'edit')} that lose no cache would have saved <b>{money(free.savedUsd)}</b>, with{' '}
          {percent(free.evidence)} of later quotes still visible. {plural(free.coldCalls, 'call')} found no cache.
        </p>
      )}
    </section>
  )
}
