/** Full-text search over everything that happened in the session; hits say whether the model sees them now. */
import { type RefObject, useDeferredValue } from 'react'
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

export function SearchTab({ session, length, query, onQuery, onOpen, input }: SearchTabProps) {
  const asked = useDeferredValue(query.trim())
  const found = useResource(
    asked === '' ? undefined : `${session}\n${asked}\n${length}`,
    signal => getJson<{ hits: Hit[] }>(sessionPath(session, 'recall'), { query: { q: asked, limit: HITS }, signal }),
    { keep: true },
  )
  const hits = asked === '' ? [] : (found.value?.hits ?? [])
  const outOfView = hits.filter(({ inView }) => !inView).length
  return (
    <div className="search">
      <input
        ref={input}
        type="search"
        placeholder="All words, also of what is out of view"
        aria-label="Search this session"
        value={query}
        onChange={event => onQuery(event.target.value)}
      />
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
