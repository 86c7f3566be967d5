/**
 * The list of sessions: the cost of agents this week and by day, filters, a search over titles and conversations, and
 * import.
 */
import { useCallback, useDeferredValue, useEffect, useRef, useState } from 'react'
import { agentName } from '../../../../src/view/names.ts'
import { getJson, sendJson } from '../../api.ts'
import type { Families, Overview, SessionRow } from '../../api-types.ts'
import { useLive } from '../../live.ts'
import { useResource } from '../../resource.ts'
import { hrefOf, navigate, replaceQuery, useRoute } from '../../route.ts'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Failure } from '../../ui/failure.tsx'
import { ago, count, money, plural } from '../../ui/format.ts'
import { HitList } from '../../ui/hit-list.tsx'
import { useKeys } from '../../ui/keyboard.ts'
import { RecallFilterRow, useRecallFilters } from '../../ui/recall-filters.tsx'
import { useThrottled } from '../../ui/throttle.ts'
import { useToasts } from '../../ui/toast.tsx'
import { ImportArea, useImports } from './import-area.tsx'
import { OverviewStrip } from './overview-strip.tsx'
import { RenameDialog } from './rename-dialog.tsx'
import { clearFilters, isNarrowed, SessionFilters, toQuery, wantedIn } from './session-filters.tsx'
import { SessionTable } from './session-table.tsx'
import './sessions.css'

const PAGE = 100
const SAMPLE = 'sample'
/** A busy agent writes many times per second. */
const RELOAD_MS = 1500

export function SessionsPage() {
  const { query: address } = useRoute()
  const wanted = wantedIn(address)
  const [query, setQuery] = useState(wanted.contains ?? '')
  const asked = useDeferredValue(query.trim())
  useEffect(() => replaceQuery({ q: asked || undefined }), [asked])
  const { cursors, turnTo } = usePages(JSON.stringify(wanted))
  const [renaming, setRenaming] = useState<SessionRow>()
  const search = useRef<HTMLInputElement>(null)
  const { overview, list, reload } = useSessions(wanted, cursors.at(-1))
  const reloadSoon = useThrottled(reload, RELOAD_MS)
  const imports = useImports(reloadSoon)
  useLive(event => {
    if (event.type === 'session.changed' || event.type === 'reset') reloadSoon()
  })
  useKeys({ '/': () => search.current?.focus() })
  useWhile(isReading(overview.value) || list.value?.families.some(({ isOld }) => isOld) === true, reloadSoon)
  const onRename = useCallback((row: SessionRow) => setRenaming(row), [])
  const shown = list.value
  const isFirst = !isNarrowed(wanted) && shown?.families.every(({ id }) => id === SAMPLE) === true
  return (
    <ImportArea imports={imports}>
      <header className="page-head">
        <h1>Sessions</h1>
        <div className="page-actions">
          <Button onClick={imports.choose}>Import a transcript</Button>
        </div>
      </header>
      {list.error !== undefined && <Failure error={list.error} retry={reload} />}
      {isFirst && (
        <>
          <OwnSessions />
          <Welcome isEmpty={shown?.families.length === 0} />
        </>
      )}
      {overview.value && !isFirst && (
        <OverviewStrip overview={overview.value} day={wanted.when} onDay={when => replaceQuery({ when })} />
      )}
      {!isFirst && (
        <div className="sessions-bar">
          <SessionFilters {...{ wanted, query, search }} overview={overview.value} onQuery={setQuery} />
          {shown && (
            <p className="sessions-count dim" role="status">
              {plural(shown.sessions, 'session')} · {money(shown.billed)} billed
            </p>
          )}
        </div>
      )}
      {shown && shown.families.length > 0 && <SessionTable rows={shown.families} wanted={wanted} onRename={onRename} />}
      {shown?.families.length === 0 && isNarrowed(wanted) && (
        <NoneFits
          onClear={() => {
            setQuery('')
            clearFilters()
          }}
        />
      )}
      {shown && (shown.next !== null || cursors.length > 0) && (
        <Pager shown={shown} cursors={cursors} onTurn={turnTo} />
      )}
      {asked.length > 1 && <Said query={asked} project={wanted.project} tag={wanted.tag} />}
      {renaming && (
        <RenameDialog
          session={renaming}
          onClose={renamed => {
            setRenaming(undefined)
            if (renamed) reload()
          }}
        />
      )}
    </ImportArea>
  )
}

function useSessions(wanted: ReturnType<typeof wantedIn>, cursor: string | undefined) {
  const overview = useResource('overview', signal => getJson('/overview', { signal }))
  const list = useResource(
    `${JSON.stringify(wanted)}\n${cursor}`,
    signal => {
      const asked = { ...toQuery(wanted, Date.now()), limit: PAGE, cursor }
      return getJson('/families', { query: asked, signal })
    },
    { keep: true },
  )
  const reload = () => {
    overview.reload()
    list.reload()
  }
  return { overview, list, reload }
}

function NoneFits({ onClear }: { onClear: () => void }) {
  return (
    <div className="sessions-none dim">
      <p>No session fits these filters.</p>
      <Button small onClick={onClear}>
        Clear the filters
      </Button>
    </div>
  )
}

/** Whether the server is still reading sessions, or replaying recordings. */
function isReading(overview: Overview | undefined): boolean {
  return overview !== undefined && (overview.counted < overview.sessions || overview.untried > 0)
}

/** Calls `ask` repeatedly while `isWaiting`. */
function useWhile(isWaiting: boolean, ask: () => void): void {
  const latest = useRef(ask)
  latest.current = ask
  useEffect(() => {
    if (!isWaiting) return
    const timer = setInterval(() => latest.current(), RELOAD_MS)
    return () => clearInterval(timer)
  }, [isWaiting])
}

/** The cursors of the previous pages and the current one; another list starts at its first page. */
function usePages(list: string) {
  const [turned, setTurned] = useState({ list, cursors: [] as string[] })
  const cursors = turned.list === list ? turned.cursors : []
  const turnTo = (to: string[]) => {
    setTurned({ list, cursors: to })
    document.querySelector('.sessions-bar')?.scrollIntoView()
  }
  return { cursors, turnTo }
}

type PagerProps = { shown: Families; cursors: readonly string[]; onTurn(cursors: string[]): void }

/** Only one page is loaded, so that thousands of sessions cost no more than a hundred. */
function Pager({ shown: { families, found, next }, cursors, onTurn }: PagerProps) {
  const first = cursors.length * PAGE
  return (
    <nav className="sessions-pager" aria-label="Pages">
      <Button disabled={cursors.length === 0} onClick={() => onTurn(cursors.slice(0, -1))}>
        ← Previous
      </Button>
      <span className="dim">
        {count(first + 1)}–{count(first + families.length)} of {count(found)}
      </span>
      <Button disabled={next === null} onClick={() => next !== null && onTurn([...cursors, next])}>
        Next →
      </Button>
    </nav>
  )
}

/** Imports the last session of the user's own agent with one click. */
function OwnSessions() {
  const toasts = useToasts()
  const [busy, setBusy] = useState(false)
  const found = useResource('own', signal => getJson('/own-sessions', { signal }))
  if (!found.value?.last) return null
  const { sessions, agents, last } = found.value
  const look = async () => {
    setBusy(true)
    const done = await toasts.attempt(async () => {
      const { session } = await sendJson('POST', '/own-sessions/last')
      navigate(hrefOf('sessions', session))
    })
    setBusy(done)
  }
  return (
    <section className="welcome-own card" aria-label="Your own sessions">
      <Button kind="primary" disabled={busy} onClick={look}>
        {busy ? 'Reading …' : 'Look at your own last session'}
      </Button>
      <p className="dim">
        {agentName(last.agent)}, {ago(last.at, Date.now())}. {plural(sessions, 'session')} found on this machine (
        {agents.map(({ agent, sessions: own }) => `${agentName(agent)} ${own}`).join(', ')}). Nothing leaves it.
      </p>
    </section>
  )
}

/** On a first start: what to do next, in three sentences. */
function Welcome({ isEmpty }: { isEmpty: boolean }) {
  const steps = (
    <ol className="welcome-steps">
      <li>
        {isEmpty ? (
          <>
            Start with <code>palimpsest serve --sample</code> to see
          </>
        ) : (
          'Open the sample below to see'
        )}{' '}
        what an agent was shown, what was left out and why, and undo any of it.
      </li>
      <li>Drop a transcript of your own agent anywhere on this page to see the same for it.</li>
      <li>
        Connect your agent to this server with <code>ANTHROPIC_BASE_URL={location.origin}</code> or{' '}
        <code>OPENAI_BASE_URL={location.origin}/v1</code>, and its sessions appear here as they happen.
      </li>
    </ol>
  )
  if (isEmpty) return <EmptyState title="No sessions yet">{steps}</EmptyState>
  return (
    <section className="welcome" aria-label="What to do next">
      <p className="welcome-title">
        The record of a session never changes. See what the model is shown of it, and why.
      </p>
      {steps}
    </section>
  )
}

type SaidProps = { query: string; project: string | undefined; tag: string | undefined }

/** Search hits in the conversations of the filtered project and tag. */
function Said({ query, project, tag }: SaidProps) {
  const { filters, setFilters, given } = useRecallFilters()
  const asked = { q: query, limit: 20, project, tag, ...given }
  const found = useResource(JSON.stringify(asked), signal => getJson('/recall', { query: asked, signal }), {
    keep: true,
  })
  if (!found.value) return null
  return (
    <section className="sessions-said" aria-label="In the conversations">
      <h2>In the conversations</h2>
      <div className="search-filters">
        <RecallFilterRow filters={filters} onChange={setFilters} />
      </div>
      {found.value.hits.length === 0 ? (
        <p className="dim">Nothing was found.</p>
      ) : (
        <HitList hits={found.value.hits} query={query} withSession />
      )}
    </section>
  )
}
