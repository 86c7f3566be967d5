/** Search over everything that happened, in this or in other sessions; each hit says whether it is in view now. */
import { type RefObject, useDeferredValue, useState } from 'react'
import { getJson } from '../../api.ts'
import { useResource } from '../../resource.ts'
import { Failure } from '../../ui/failure.tsx'
import { plural } from '../../ui/format.ts'
import { HitList } from '../../ui/hit-list.tsx'
import { RecallFilterRow, useRecallFilters } from '../../ui/recall-filters.tsx'

type SearchTabProps = {
  session: string
  /** The folder of the session, if it is known. */
  project: string | undefined
  /** The search runs again when the session grows, because hits may have come into or gone out of view. */
  length: number
  query: string
  onQuery(query: string): void
  onOpen(entry: number): void
  input: RefObject<HTMLInputElement | null>
}

const HITS = 50

const HERE = 'session'

export function SearchTab({ session, project, length, query, onQuery, onOpen, input }: SearchTabProps) {
  const asked = useDeferredValue(query.trim())
  const [where, setWhere] = useState(HERE)
  const { filters, setFilters, given } = useRecallFilters()
  const scope = where === 'project' && project !== undefined ? { project } : {}
  const wanted = { q: asked, limit: HITS, ...given }
  const found = useResource(
    asked === '' ? undefined : `${session}\n${asked}\n${length}\n${where}\n${JSON.stringify(given)}`,
    signal =>
      where === HERE
        ? getJson('/sessions/{session}/recall', { params: { session }, query: wanted, signal })
        : getJson('/recall', { query: { ...wanted, ...scope }, signal }),
    { keep: true },
  )
  const hits = asked === '' ? [] : (found.value?.hits ?? [])
  const outOfView = hits.filter(({ inView }) => !inView).length
  return (
    <div className="search">
      <input
        ref={input}
        type="search"
        placeholder="A question, a name or a path; also finds hidden text"
        aria-label="Search this session"
        value={query}
        onChange={event => onQuery(event.target.value)}
      />
      <div className="search-filters">
        <select aria-label="Where to search" value={where} onChange={event => setWhere(event.target.value)}>
          <option value={HERE}>this session</option>
          {project !== undefined && <option value="project">this project</option>}
          <option value="all">all sessions</option>
        </select>
        <RecallFilterRow filters={filters} onChange={setFilters} />
      </div>
      {found.error !== undefined && asked !== '' && <Failure error={found.error} retry={found.reload} />}
      <p className="dim" role="status">
        {asked !== '' &&
          found.value &&
          (hits.length === 0 ? 'Nothing was found.' : `${plural(hits.length, 'hit')}, ${outOfView} out of view.`)}
      </p>
      {where === HERE ? (
        <HitList hits={hits} query={asked} onOpen={({ entry }) => onOpen(entry)} />
      ) : (
        <HitList hits={hits} query={asked} withSession />
      )}
    </div>
  )
}
