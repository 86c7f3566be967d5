/** Search hits with marked words: whether they are in view now, and a link to each. */
import type { Hit } from '../api-types.ts'
import { hrefOf } from '../route.ts'
import { useTitles } from '../session-title.ts'
import { dateTime, plural } from './format.ts'
import { InlineText } from './text.tsx'

type HitListProps = {
  hits: readonly Hit[]
  query: string
  withSession?: boolean
  /** Opens a hit within the page; without it the hits are links. */
  onOpen?(hit: Hit): void
}

export function HitList({ hits, query, withSession, onOpen }: HitListProps) {
  const marks = query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []
  const titles = useTitles(withSession ? hits.map(({ session }) => session) : [])
  const titleOf = ({ session }: Hit) => (withSession ? (titles.get(session) ?? session) : undefined)
  return (
    <ul className="hits">
      {hits.map(hit => (
        <li key={`${hit.session} ${hit.hash}`}>
          {onOpen ? (
            <button type="button" className="hit" onClick={() => onOpen(hit)}>
              <HitText hit={hit} marks={marks} title={titleOf(hit)} />
            </button>
          ) : (
            <a
              className="hit"
              href={`${hrefOf('sessions', hit.session)}?entry=${hit.entry}&q=${encodeURIComponent(query)}`}
            >
              <HitText hit={hit} marks={marks} title={titleOf(hit)} />
            </a>
          )}
        </li>
      ))}
    </ul>
  )
}

type HitTextProps = { hit: Hit; marks: readonly string[]; title: string | undefined }

function HitText({ hit, marks, title }: HitTextProps) {
  return (
    <>
      <span className="hit-head">
        {title !== undefined && (
          <b className="hit-title" title={hit.session}>
            <InlineText text={title} />
          </b>
        )}
        <span>{hit.tool ?? hit.role}</span>
        <span className="dim">
          entry {hit.entry}, {dateTime(hit.at)}, {plural(hit.tokens, 'token')}
          {hit.copies !== undefined && `, ${plural(hit.copies, 'older copy', 'older copies')}`}
        </span>
        <span className={hit.inView ? 'badge badge-good' : 'badge'}>{hit.inView ? 'in view' : 'out of view'}</span>
      </span>
      <span className="hit-text">
        <InlineText text={hit.snippet} marks={marks} />
      </span>
    </>
  )
}
