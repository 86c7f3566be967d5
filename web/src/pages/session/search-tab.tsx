/** Search over everything that happened, here or in other sessions; hits say whether the model sees them now. */
import { type RefObject, useDeferredValue, useState } from 'react'
import { getJson, sessionPath } from '../../api.ts'
import type { Hit } from '../../api-types.ts'
import { useResource } from '../../resource.ts'
import { Failure } from '../../ui/failure.tsx'
import { plural } from '../../ui/format.ts'
import { HitList } from '../../ui/hit-list.tsx'

type SearchTabProps = {
  session: string
  /** The folder that the session works in, if that is known. */
  project: string | undefined
  /** The search is made anew when the session changes: what is in view may be other hits. */
  length: number
  query: string
  onQuery(query: string): void
  onOpen(entry: number): void
  input: RefObject<HTMLInputElement | null>
}

const HITS = 50

type Filters = { where: string; type: string; path: string; since: string }

const HERE = 'session'

const TYPES = [
  ['', 'everything'],
  ['tool-result', 'results of tools'],
  ['tool-call', 'calls of tools'],
  ['user', 'what the user said'],
  ['assistant', 'what the agent said'],
] as const

export function SearchTab({ session, project, length, query, onQuery, onOpen, input }: SearchTabProps) {
  const asked = useDeferredValue(query.trim())
  const [filters, setFilters] = useState<Filters>({ where: HERE, type: '', path: '', since: '' })
  const { where, ...given } = useDeferredValue(
    Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== '')),
  )
  const scope = where === 'project' && project !== undefined ? { project } : {}
  const found = useResource(
    asked === '' ? undefined : `${session}\n${asked}\n${length}\n${where}\n${JSON.stringify(given)}`,
    signal =>
      getJson<{ hits: Hit[] }>(where === HERE ? sessionPath(session, 'recall') : '/recall', {
        query: { q: asked, limit: HITS, ...given, ...scope },
        signal,
      }),
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
      <FilterRow filters={filters} hasProject={project !== undefined} onChange={setFilters} />
      {found.error !== undefined && asked !== '' && <Failure error={found.error} retry={found.reload} />}
      <p className="dim" role="status">
        {asked !== '' &&
          found.value &&
          (hits.length === 0 ? 'Nobody said this.' : `${plural(hits.length, 'hit')}, ${outOfView} out of view.`)}
      </p>
      {where === HERE ? (
        <HitList hits={hits} query={asked} onOpen={({ entry }) => onOpen(entry)} />
      ) : (
        <HitList hits={hits} query={asked} withSession />
      )}
    </div>
  )
}

type FilterRowProps = { filters: Filters; hasProject: boolean; onChange(filters: Filters): void }

function FilterRow({ filters, hasProject, onChange }: FilterRowProps) {
  return (
    <div className="search-filters">
      <select
        aria-label="Where to search"
        value={filters.where}
        onChange={event => onChange({ ...filters, where: event.target.value })}
      >
        <option value={HERE}>this session</option>
        {hasProject && <option value="project">this project</option>}
        <option value="all">all sessions</option>
      </select>
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
