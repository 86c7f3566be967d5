/** The head of a session: its title, its attributes, its actions, and the verdict. */
import { useEffect, useState } from 'react'
import { agentName } from '../../../../src/view/names.ts'
import type { Session } from '../../api-types.ts'
import { hrefOf } from '../../route.ts'
import { useTitles } from '../../session-title.ts'
import { Button } from '../../ui/button.tsx'
import { InlineText } from '../../ui/text.tsx'
import { visibleText } from '../../ui/visible.ts'
import { RenameDialog } from '../sessions/rename-dialog.tsx'
import type { EditSubjectProps } from './edit-subject.tsx'
import { HeadActions } from './head-actions.tsx'
import type { SessionData } from './session-data.ts'
import { VerdictLine } from './verdict-line.tsx'

type HeadProps = { session: string; data: SessionData } & Pick<EditSubjectProps, 'bars' | 'onOpen'>

export function SessionHead({ session, data: { info, summary, verdict, would, reload }, bars, onOpen }: HeadProps) {
  const [renaming, setRenaming] = useState(false)
  const { value } = info
  const title = value?.about.title || summary?.title || ''
  const project = value?.about.project?.split(/[/\\]/).findLast(Boolean)
  useEffect(() => {
    if (title !== '') document.title = `${visibleText(title)} · Palimpsest`
  }, [title])
  return (
    <header className="session-head">
      <p className="crumbs">
        <a href={hrefOf('sessions')}>Sessions</a>
        {project && (
          <>
            {' / '}
            <a href={`${hrefOf('sessions')}?project=${encodeURIComponent(project)}`}>
              <InlineText text={project} />
            </a>
          </>
        )}
      </p>
      <div className="page-head">
        <h1>
          <InlineText text={title || session} />{' '}
          <Button kind="quiet" small label="Rename and tag" onClick={() => setRenaming(true)}>
            ✎
          </Button>
        </h1>
        <HeadActions session={session} onChanged={reload} />
      </div>
      {value && (
        <p className="session-about">
          <Running session={value} />
          {value.about.client && <span className="chip">{agentName(value.about.client)}</span>}
          <span className="chip">{value.model}</span>
          {value.about.recorded ? (
            <span className="chip chip-recorded" title="Imported: Palimpsest had no part in it">
              recorded
            </span>
          ) : (
            <span className="chip">{value.policy === 'none' ? 'sends everything' : value.policy}</span>
          )}
          {value.about.tags?.map(tag => (
            <a key={tag} className="chip" href={`${hrefOf('sessions')}?tag=${encodeURIComponent(tag)}`}>
              <InlineText text={tag} />
            </a>
          ))}
          {value.parent && (
            <span>
              fork of <SessionLink session={value.parent.id} />
            </span>
          )}
          {value.about.parent && (
            <span>
              {LINKS[value.about.reason ?? 'sub-agent']} <SessionLink session={value.about.parent} />
            </span>
          )}
          <code className="dim session-own-id">
            <InlineText text={session} />
          </code>
        </p>
      )}
      <VerdictLine {...{ verdict, summary, would, bars, onOpen }} />
      {renaming && (
        <RenameDialog
          session={{ id: session, title, about: value?.about ?? {} }}
          onClose={renamed => {
            setRenaming(false)
            if (renamed) reload()
          }}
        />
      )}
    </header>
  )
}

/** A link to another session, with its title. */
function SessionLink({ session }: { session: string }) {
  const title = useTitles([session]).get(session)
  return (
    <a href={hrefOf('sessions', session)} title={session}>
      <InlineText text={title ?? session} />
    </a>
  )
}

/** A session that was written to within this time has an active agent. */
const LIVE_MS = 90_000

function Running({ session: { about, updatedAt } }: { session: Session }) {
  const [, again] = useState(0)
  const left = about.recorded ? 0 : updatedAt + LIVE_MS - Date.now()
  useEffect(() => {
    if (left <= 0) return
    const timer = setTimeout(() => again(old => old + 1), left)
    return () => clearTimeout(timer)
  }, [left])
  if (left <= 0) return null
  return (
    <span className="live session-running">
      <span className="live-dot" aria-hidden="true" /> active
    </span>
  )
}

const LINKS = { compaction: 'goes on from', rewind: 'goes back in', 'sub-agent': 'started by', fork: 'fork of' }
