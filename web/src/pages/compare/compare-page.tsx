/**
 * A session under several policies side by side: what each would have sent and cost, and what it would have kept of
 * what the agent needed later. The replay runs on the server; no model is called. Rows come one by one, as they are done.
 */
import { useEffect, useMemo, useState } from 'react'
import { ApiError, getJson, messageOf, sendJson, sessionPath } from '../../api.ts'
import type { SessionInfo, Summary } from '../../api-types.ts'
import { useResource } from '../../resource.ts'
import { hrefOf } from '../../route.ts'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Failure } from '../../ui/failure.tsx'
import { money, tokens } from '../../ui/format.ts'
import { Plot, type Series } from '../../ui/plot.tsx'
import { InlineText } from '../../ui/text.tsx'
import { CompareTable } from './compare-table.tsx'
import './compare.css'

export type Costs = {
  policy: string
  calls: number
  tokens: number
  peak: number
  cost: number
  effective: number
  costShare: number
  effectiveShare: number
  evidence: number
  busts: number
  edits: number
  dollars: number
  series: { tokens: number[]; cost: number[] }
  decisions: { call: number; edits: number; saved: number; text: string }[]
}

type Policy = { name: string; about: string }

const BASE = 'none'
/** How many colours the plots have. */
const TONES = 6
const FIRST = ['none', 'thrifty', 'clear-tool-uses']

export function ComparePage({ session }: { session: string }) {
  const info = useResource(session, signal => getJson<SessionInfo>(sessionPath(session), { signal }))
  const summary = useResource(session, signal => getJson<Summary>(sessionPath(session, 'summary'), { signal }))
  const known = useResource('policies', signal => getJson<{ policies: Policy[] }>('/policies', { signal }))
  const policies = known.value?.policies ?? []
  const [chosen, setChosen] = useState<readonly string[]>(FIRST)
  const { rows, running, error, run } = useComparison(session, chosen)
  const problem = info.error ?? known.error
  if (problem !== undefined) return <Failure error={problem} />
  const shown = policies.filter(({ name }) => chosen.includes(name)).flatMap(({ name }) => rows.get(name) ?? [])
  const toggle = (name: string) =>
    setChosen(old => (old.includes(name) ? old.filter(one => one !== name) : [...old, name]))
  return (
    <>
      <header className="page-head">
        <h1>Compare policies</h1>
        <a className="compare-session" href={hrefOf('sessions', session)}>
          <InlineText text={info.value?.about.title ?? (summary.value?.title || session)} />
        </a>
        {info.value && <span className="dim">prices of {info.value.model}</span>}
      </header>
      <fieldset className="compare-policies">
        <legend className="visually-hidden">Policies to compare</legend>
        {policies.map(({ name, about }) => (
          <label key={name} className={`card compare-policy tone-${toneOf(policies, name)}`}>
            <input
              type="checkbox"
              checked={chosen.includes(name)}
              disabled={name === BASE}
              onChange={() => toggle(name)}
            />
            <span>
              <b>{name}</b>
              <span className="dim">{about}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <p className="compare-state" role="status">
        {running && `Replaying under ${running} …`}
        {!running && error === undefined && shown.length > 0 && 'Done. Nothing was recorded, and no model was called.'}
      </p>
      {error !== undefined && (
        <div className="failure" role="alert">
          <p>{messageOf(error)}</p>
          {error instanceof ApiError && <code>{error.code}</code>}
          <Button small onClick={run}>
            Try again
          </Button>
        </div>
      )}
      {shown.length > 0 && shown[0]!.calls === 0 && (
        <EmptyState title="There is nothing to replay yet.">
          <p>A comparison needs at least one answer of a model in the session.</p>
        </EmptyState>
      )}
      {shown.length > 0 && shown[0]!.calls > 0 && (
        <>
          <CompareTable rows={shown} />
          <ComparePlots rows={shown} toneOf={name => toneOf(policies, name)} />
          <Method />
        </>
      )}
    </>
  )
}

function toneOf(policies: readonly Policy[], name: string): number {
  return policies.findIndex(policy => policy.name === name) % TONES
}

/** Asks for one policy after the other, so that each is shown when it is there; what is known is not asked again. */
function useComparison(session: string, chosen: readonly string[]) {
  const [rows, setRows] = useState<ReadonlyMap<string, Costs>>(new Map())
  const [running, setRunning] = useState<string>()
  const [failed, setFailed] = useState<{ error: unknown }>()
  const next = failed ? undefined : chosen.find(name => !rows.has(name))
  useEffect(() => {
    if (next === undefined) return
    let left = false
    setRunning(next)
    sendJson<{ policies: Costs[] }>('POST', sessionPath(session, 'compare'), { policies: [next] })
      .then(({ policies }) => {
        if (!left) setRows(old => new Map([...old, ...policies.map(row => [row.policy, row] as const)]))
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
      rows.map(row => ({ name: row.policy, values: pick(row), tone: toneOf(row.policy) }))
    return { tokens: of(row => row.series.tokens), cost: of(row => row.series.cost) }
  }, [rows, toneOf])
  const placeName = (at: number) => `call ${steps < 2 ? 1 : Math.round((at / (steps - 1)) * (calls - 1)) + 1}`
  return (
    <div className="compare-plots">
      <Plot title="Tokens sent" series={series.tokens} format={tokens} height={190} placeName={placeName} />
      <Plot title="Money so far" series={series.cost} format={money} height={190} placeName={placeName} />
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
        row, so the cache itself is nobody’s merit. Only input is counted. Evidence is what the recorded agent quoted
        later: the share of it that the policy would still have shown. Effective cost adds what fetching the rest again
        would cost.
      </p>
    </details>
  )
}
