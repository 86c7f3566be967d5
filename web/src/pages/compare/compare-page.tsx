/**
 * Several planners compared on one session: what each would have sent and cost, and how many later quotes would have
 * stayed visible. The replay runs on the server; no model is called. Rows appear one by one.
 */

import { useEffect, useMemo, useState } from 'react'
import type { KeepLevel } from '../../../../src/planner/tuning.ts'
import { getJson, sendJson } from '../../api.ts'
import type { Costs, PolicyInfo, Session } from '../../api-types.ts'
import { useResource } from '../../resource.ts'
import { hrefOf } from '../../route.ts'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Failure } from '../../ui/failure.tsx'
import { money, percent, tokens } from '../../ui/format.ts'
import { Plot, type Series } from '../../ui/plot.tsx'
import { InlineText } from '../../ui/text.tsx'
import { TONE_COUNT, toneStyle } from '../../ui/tone.ts'
import { CompareTable } from './compare-table.tsx'
import { bestOf, KEEPS, LIMIT, nameOf } from './costs.ts'
import { Scatter } from './scatter.tsx'
import './compare.css'

const BASE = 'none'
const KNOBBED = 'thrifty'
const FIRST = ['none', 'thrifty', 'clear-tool-uses']

export function ComparePage({ session }: { session: string }) {
  const info = useResource(session, signal => getJson('/sessions/{session}', { params: { session }, signal }))
  const summary = useResource(session, signal =>
    getJson('/sessions/{session}/summary', { params: { session }, signal }),
  )
  const known = useResource('policies', signal => getJson('/policies', { signal }))
  const policies = known.value?.policies ?? []
  const [ticked, setTicked] = useState<readonly string[]>()
  const own = info.value?.policy
  const chosen = ticked ?? [...new Set([...FIRST, ...(own === undefined ? [] : [own])])]
  const { rows, running, error, run } = useComparison(session, own === undefined ? [] : wantedBy(chosen))
  const problem = info.error ?? known.error
  if (problem !== undefined) {
    return (
      <>
        <Failure error={problem} />
        <a href={hrefOf('sessions')}>To the list of sessions</a>
      </>
    )
  }
  const shown = wantedBy(chosen).flatMap(key => rows.get(key) ?? [])
  const isDone = shown.length > 0 && shown.length === wantedBy(chosen).length
  const best = bestOf(isDone ? shown : [])
  const hasRows = shown.length > 0 && shown[0]!.calls > 0
  const toggle = (name: string) =>
    setTicked(chosen.includes(name) ? chosen.filter(one => one !== name) : [...chosen, name])
  return (
    <>
      <Head session={session} info={info.value} title={summary.value?.title} />
      <p className="compare-state" role="status">
        {stateOf(running, isDone)}
      </p>
      {error !== undefined && <Failure error={error} retry={run} />}
      {shown.length > 0 && shown[0]!.calls === 0 && (
        <EmptyState title="There is nothing to replay yet.">
          <p>A comparison needs a session with at least one answer of a model.</p>
        </EmptyState>
      )}
      {hasRows && (
        <>
          {best && <Sentence best={best} base={rows.get(BASE)} />}
          <Scatter rows={shown} best={best} toneOf={name => toneOf(policies, name)} />
        </>
      )}
      {hasRows && <CompareTable rows={shown} best={best} own={own} />}
      <Choice policies={policies} chosen={chosen} onToggle={toggle} />
      {hasRows && (
        <>
          <ComparePlots
            rows={shown.filter(({ keep }) => keep === null || keep === 'normal')}
            toneOf={name => toneOf(policies, name)}
          />
          <Method />
        </>
      )}
    </>
  )
}

type HeadProps = { session: string; info: Session | undefined; title: string | undefined }

function Head({ session, info, title }: HeadProps) {
  return (
    <>
      <p className="crumbs">
        <a href={hrefOf('sessions')}>Sessions</a>
        {' / '}
        <a href={hrefOf('sessions', session)}>
          <InlineText text={info?.about.title ?? (title || session)} />
        </a>
      </p>
      <header className="page-head">
        <h1>Compare planners</h1>
        <span className="dim">prices of {info?.model}</span>
      </header>
    </>
  )
}

type ChoiceProps = { policies: readonly PolicyInfo[]; chosen: readonly string[]; onToggle(name: string): void }

function Choice({ policies, chosen, onToggle }: ChoiceProps) {
  return (
    <fieldset className="compare-policies">
      <legend className="visually-hidden">Planners to compare</legend>
      {policies.map(({ name, about }) => (
        <label key={name} className="card compare-policy" style={toneStyle(toneOf(policies, name))}>
          <input
            type="checkbox"
            checked={chosen.includes(name)}
            disabled={name === BASE}
            onChange={() => onToggle(name)}
          />
          <span>
            <b>{name === BASE ? 'Send everything' : name}</b>
            <span className="dim">{about}</span>
          </span>
        </label>
      ))}
    </fieldset>
  )
}

function stateOf(running: string | undefined, isDone: boolean): string {
  if (running) return `Replaying under ${running.replace('@', ', ')} …`
  return isDone ? 'Done. Nothing was recorded, and no model was called.' : ''
}

function toneOf(policies: readonly PolicyInfo[], name: string): number {
  return policies.findIndex(policy => policy.name === name) % TONE_COUNT
}

/** The planners to replay: each selected one, and thrifty at every level of its knob. */
function wantedBy(chosen: readonly string[]): string[] {
  const plain = chosen.filter(name => name !== KNOBBED)
  return chosen.includes(KNOBBED) ? [...plain, ...KEEPS.map(keep => `${KNOBBED}@${keep}`)] : plain
}

function Sentence({ best, base }: { best: Costs; base: Costs | undefined }) {
  return (
    <p className="verdict">
      <b>{nameOf(best)}</b> is the cheapest that keeps at least {percent(LIMIT)}:{' '}
      <b className={best.saved > 0 ? 'saved' : undefined}>{money(best.dollars)}</b>
      {base && best !== base && ` instead of ${money(base.dollars)}`}, with {percent(best.evidence)} of later quotes
      still visible.
    </p>
  )
}

/** Requests one policy at a time, so that each result is shown when it is ready; known results are kept. */
function useComparison(session: string, chosen: readonly string[]) {
  const [rows, setRows] = useState<ReadonlyMap<string, Costs>>(new Map())
  const [running, setRunning] = useState<string>()
  const [failed, setFailed] = useState<{ error: unknown }>()
  const next = failed ? undefined : chosen.find(name => !rows.has(name))
  useEffect(() => {
    if (next === undefined) return
    let left = false
    setRunning(next)
    const [policy, keep] = next.split('@') as [string, KeepLevel?]
    const body = { policies: [policy], keep }
    sendJson('POST', '/sessions/{session}/compare', { params: { session }, body })
      .then(({ policies: [row] }) => {
        if (!left && row) setRows(old => new Map([...old, [next, row]]))
      })
      .catch(error => !left && setFailed({ error }))
      .finally(() => !left && setRunning(undefined))
    return () => {
      left = true
    }
  }, [next, session])
  return { rows, running, error: failed?.error, run: () => setFailed(undefined) }
}

function ComparePlots({ rows, toneOf }: { rows: readonly Costs[]; toneOf(name: string): number }) {
  const calls = rows[0]?.calls ?? 0
  const steps = rows[0]?.series.tokens.length ?? 0
  const series = useMemo(() => {
    const of = (pick: (row: Costs) => number[]): Series[] =>
      rows.map(row => ({ name: nameOf(row), values: pick(row), tone: toneOf(row.policy) }))
    return { tokens: of(row => row.series.tokens), cost: of(row => row.series.cost) }
  }, [rows, toneOf])
  const placeName = (at: number) => `call ${steps < 2 ? 1 : Math.round((at / (steps - 1)) * (calls - 1)) + 1}`
  return (
    <div className="compare-plots">
      <Plot title="Tokens sent" series={series.tokens} format={tokens} height={190} placeName={placeName} />
      <Plot title="Cost so far" series={series.cost} format={money} height={190} placeName={placeName} />
    </div>
  )
}

function Method() {
  return (
    <details className="compare-method">
      <summary>How this is counted</summary>
      <p>
        Each call is priced as a provider with a prompt cache would: what it shares with the call before at the price of
        a read, the rest at the price of a write, and everything is written again after a pause. That holds for every
        row, so no planner gets credit for the cache itself. The cost of a session is what was billed, less what the
        planner would have saved. A later quote is a passage of a tool result that the recorded agent used again. The
        knob of thrifty sets how much it keeps; the curve shows its five settings.
      </p>
    </details>
  )
}
