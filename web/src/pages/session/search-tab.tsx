/** Full-text search over everything that happened in the session; hits say whether the model sees them now. */
import { type RefObject, useDeferredValue, useState } from 'react'
import { getJson, sessionPath } from '../../api.ts'
import type { Hit } from '../../api-types.ts'
import { useResource } from '../../resource.ts'
import { Failure } from '../../ui/failure.tsx'
import { plural } from '../../ui/format.ts'
import { HitList } from '../../ui/hit-list.tsx'

type SearchTabProps = {
  session: string
  /** The search is made anew when the session changes: what is in view may be other hits. */
  length: number
  query: string
  onQuery(query: string): void
  onOpen(entry: number): void
  input: RefObject<HTMLInputElement | null>
}

const HITS = 50

type Filters = { type: string; path: string; since: string }

const TYPES = [
  ['', 'everything'],
  ['tool-result', 'results of tools'],
  ['tool-call', 'calls of tools'],
  ['user', 'what the user said'],
  ['assistant', 'what the agent said'],
] as const

export function SearchTab({ session, length, query, onQuery, onOpen, input }: SearchTabProps) {
  const asked = useDeferredValue(query.trim())
  const [filters, setFilters] = useState<Filters>({ type: '', path: '', since: '' })
  const given = useDeferredValue(Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== '')))
  const found = useResource(
    asked === '' ? undefined : `${session}\n${asked}\n${length}\n${JSON.stringify(given)}`,
    signal =>
      getJson<{ hits: Hit[] }>(sessionPath(session, 'recall'), { query: { q: asked, limit: HITS, ...given }, signal }),
    { keep: true },
  )
  const hits = asked === '' ? [] : (found.value?.hits ?? [])
  const outOfView = hits.filter(({ inView }) => !inView).length
  return (
    <div className="search">
      <input
        ref={input}
        type="search"
        placeholder="A question, a name, a path; also out of view"
        aria-label="Search this session"
        value={query}
        onChange={event => onQuery(event.target.value)}
      />
      <FilterRow filters={filters} onChange={setFilters} />
      {found.error !== undefined && asked !== '' && <Failure error={found.error} retry={found.reload} />}
      <p className="dim" role="status">
        {asked !== '' &&
          found.value &&
          (hits.length === 0 ? 'Nobody said this.' : `${plural(hits.length, 'hit')}, ${outOfView} out of view.`)}
      </p>
      <HitList hits={hits} query={asked} onOpen={({ entry }) => onOpen(entry)} />
    </div>
  )
}

function FilterRow({ filters, onChange }: { filters: Filters; onChange(filters: Filters): void }) {
  return (
    <div className="search-filters">
      <select
        aria-label="What to search"
        value={filters.type}
        onChange={event => onChange({ ...filters, type: event.target.value })}
      >
        {TYPES.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
      <input
        aria-label="About a file"
        placeholder="file"
        value={filters.path}
        onChange={event => onChange({ ...filters, path: event.target.value.trim() })}
      />
      <input
        type="date"
        aria-label="Since"
        value={filters.since}
        onChange={event => onChange({ ...filters, since: event.target.value })}
      />
    </div>
  )
}
