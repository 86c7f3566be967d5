/** The sessions: what each cost with its edits and without, a search over names and over all that was said, import. */
import { useDeferredValue, useRef, useState } from 'react'
import { getJson } from '../../api.ts'
import type { Hit, SessionList, SessionRow } from '../../api-types.ts'
import { useLive } from '../../live.ts'
import { useResource } from '../../resource.ts'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Failure } from '../../ui/failure.tsx'
import { HitList } from '../../ui/hit-list.tsx'
import { useKeys } from '../../ui/keyboard.ts'
import { ImportArea, useImports } from './import-area.tsx'
import { SessionTable } from './session-table.tsx'
import './sessions.css'

const PAGE = 50
const SAMPLE = 'sample'

export function SessionsPage() {
  const [query, setQuery] = useState('')
  const asked = useDeferredValue(query.trim())
  const [pages, setPages] = useState(1)
  const search = useRef<HTMLInputElement>(null)
  const list = useResource(`${asked}\n${pages}`, signal => readPages(asked, pages, signal), { keep: true })
  const imports = useImports(list.reload)
  useLive(event => {
    if (event.type === 'session.changed' || event.type === 'reset') list.reload()
  })
  useKeys({ '/': () => search.current?.focus() })
  const shown = list.value
  return (
    <ImportArea imports={imports}>
      <header className="page-head">
        <h1>Sessions</h1>
        <input
          ref={search}
          type="search"
          className="sessions-search"
          placeholder="Search names and everything that was said"
          aria-label="Search sessions"
          value={query}
          onChange={event => setQuery(event.target.value)}
        />
        <div className="page-actions">
          <Button onClick={imports.choose}>Import a transcript</Button>
        </div>
      </header>
      {list.error !== undefined && <Failure error={list.error} retry={list.reload} />}
      {shown && <Welcome rows={shown.sessions} searching={asked !== ''} />}
      {shown && shown.sessions.length > 0 && <SessionTable rows={shown.sessions} />}
      {shown && shown.sessions.length === 0 && asked !== '' && (
        <p className="sessions-none dim">No session has this in its name, policy or model.</p>
      )}
      {shown?.next && (
        <div className="sessions-more">
          <Button onClick={() => setPages(old => old + 1)}>Show more</Button>
        </div>
      )}
      {asked.length > 1 && <Said query={asked} />}
    </ImportArea>
  )
}

/** The first pages of the list as one: it is read anew as a whole, so that a session that moved up is there once. */
async function readPages(contains: string, pages: number, signal: AbortSignal): Promise<SessionList> {
  const sessions: SessionRow[] = []
  let cursor: string | undefined
  for (let page = 0; page < pages; page++) {
    const query = { limit: PAGE, cursor, contains: contains || undefined }
    const found = await getJson<SessionList>('/sessions', { query, signal })
    sessions.push(...found.sessions)
    if (found.next === null) return { sessions, next: null }
    cursor = found.next
  }
  return { sessions, next: cursor ?? null }
}

/** On a first start: what to do next, in three sentences. */
function Welcome({ rows, searching }: { rows: readonly SessionRow[]; searching: boolean }) {
  if (searching || rows.some(({ id }) => id !== SAMPLE)) return null
  const steps = (
    <ol className="welcome-steps">
      <li>
        {rows.length > 0 ? 'Open the sample below to see' : 'Start with `npm start` for a sample, to see'} what an agent
        was shown, what was left out and why, and take any of it back.
      </li>
      <li>Drop a transcript of your own agent anywhere on this page to see the same for it.</li>
      <li>
        Put the proxy in front of the agent you use, with <code>ANTHROPIC_BASE_URL={location.origin}</code> or{' '}
        <code>OPENAI_BASE_URL={location.origin}/v1</code>, and its sessions appear here as they happen.
      </li>
    </ol>
  )
  if (rows.length === 0) return <EmptyState title="No sessions yet">{steps}</EmptyState>
  return (
    <section className="welcome" aria-label="What to do next">
      <p className="welcome-title">What happened is never changed. What the model is shown is, and you can see it.</p>
      {steps}
    </section>
  )
}

/** Where the words were said, in any session. */
function Said({ query }: { query: string }) {
  const found = useResource(query, signal =>
    getJson<{ hits: Hit[] }>('/recall', { query: { q: query, limit: 20 }, signal }),
  )
  if (!found.value) return null
  return (
    <section className="sessions-said" aria-label="In the conversations">
      <h2>In the conversations</h2>
      {found.value.hits.length === 0 ? (
        <p className="dim">Nobody said this.</p>
      ) : (
        <HitList hits={found.value.hits} query={query} withSession />
      )}
    </section>
  )
}
