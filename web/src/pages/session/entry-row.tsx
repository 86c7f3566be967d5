/** One entry of the conversation: its parts, the text shown instead if it is hidden, and messages inserted after it. */
import { memo, useState } from 'react'
import type { Bar, EditState, Entry, Message } from '../../api-types.ts'
import { Button } from '../../ui/button.tsx'
import { dateTime } from '../../ui/format.ts'
import { InlineText } from '../../ui/text.tsx'
import { kindStyle } from '../../ui/tone.ts'
import { useSteering } from './actions.ts'
import type { CallNames } from './call-names.ts'
import { type EditIndex, messagesOf, partStates, type Stretch } from './edit-index.ts'
import { groupOf } from './kinds.ts'
import { PartContent } from './part-content.tsx'
import { PartView, Reason } from './part-view.tsx'

export type EntryRowProps = {
  session: string
  number: number
  entry: Entry | undefined
  edits: EditIndex
  bars: ReadonlyMap<string, Bar>
  names: CallNames
  chosen: boolean
  /** The entry did not exist at the selected call. */
  later: boolean
  marks: readonly string[]
}

export const EntryRow = memo(function EntryRow(props: EntryRowProps) {
  const { number, entry, edits, chosen, later } = props
  const stretch = edits.stretches.get(number)
  const classes = ['entry', chosen && 'entry-chosen', later && 'entry-later', entry && `entry-${entry.message.role}`]
  return (
    <div className={classes.filter(Boolean).join(' ')} data-entry={number} aria-busy={!entry}>
      {stretch && <StretchCard stretch={stretch} />}
      {entry ? <EntryParts {...props} entry={entry} /> : <div className="entry-waiting" />}
      {(edits.behind.get(number) ?? []).map(edit => (
        <InsertedCard key={edit.id} edit={edit} title="Put here" />
      ))}
    </div>
  )
})

function EntryParts({ session, number, entry, edits, bars, names, marks }: EntryRowProps & { entry: Entry }) {
  const isHidden = entry.shown === null
  const states = partStates(entry, edits.byId)
  const [open, setOpen] = useState(false)
  const classes = ['entry-parts', isHidden && 'entry-hidden', open && 'entry-open']
  return (
    <section className={classes.filter(Boolean).join(' ')} aria-label={`Entry ${number}`}>
      <EntryHead entry={entry} open={open} onOpen={() => setOpen(!open)} />
      {states.map(state => {
        const { kind, label } = names.of(entry.message, state.original)
        return (
          <PartView
            key={state.index}
            session={session}
            entry={number}
            role={entry.message.role}
            state={state}
            group={groupOf(kind)}
            label={label}
            bar={bars.get(`${number}.${state.index}`)}
            pinned={bars.get(`${number}.${state.index}`)?.pinned ?? entry.pinned}
            marks={marks}
          />
        )
      })}
    </section>
  )
}

type EntryHeadProps = {
  entry: Entry
  /** Whether the user has opened the actions by touch. */
  open: boolean
  onOpen(): void
}

function EntryHead({ entry: { entry, at, pinned, message }, open, onOpen }: EntryHeadProps) {
  const { actions, compactFrom, startCompact, openCompact } = useSteering()
  const isTarget = compactFrom !== undefined && compactFrom !== entry
  return (
    <header className="entry-head">
      <span className="entry-number">{entry}</span>
      <time dateTime={new Date(at).toISOString()} title={dateTime(at)}>
        {new Date(at).toLocaleTimeString('en', {
          hour: '2-digit',
          minute: '2-digit',
          second: '2-digit',
          hour12: false,
        })}
      </time>
      <Button
        small
        kind="quiet"
        className="entry-more"
        label={`What can be done with entry ${entry}`}
        aria-expanded={open}
        onClick={onOpen}
      >
        ⋯
      </Button>
      <span className={isTarget || compactFrom === entry ? 'entry-actions entry-actions-on' : 'entry-actions'}>
        {isTarget ? (
          <Button
            small
            kind="primary"
            onClick={() => openCompact(Math.min(compactFrom, entry), Math.max(compactFrom, entry))}
          >
            Compact to here
          </Button>
        ) : (
          <Button
            small
            kind="quiet"
            aria-pressed={compactFrom === entry}
            onClick={() => startCompact(compactFrom === entry ? undefined : entry)}
          >
            {compactFrom === entry ? 'Cancel compacting' : 'Compact from here'}
          </Button>
        )}
        <Button
          small
          kind="quiet"
          onClick={() => (pinned ? actions.unpin(entry, [...message.parts.keys()]) : actions.pin(entry))}
        >
          {pinned ? 'Unpin entry' : 'Pin entry'}
        </Button>
        <Button small kind="quiet" onClick={() => actions.fork(entry)}>
          Fork here
        </Button>
      </span>
    </header>
  )
}

/** The messages that the model sees instead of a whole stretch. */
function StretchCard({ stretch: { from, to, edit } }: { stretch: Stretch }) {
  const title = from === to ? `Instead of entry ${from}` : `Instead of entries ${from}–${to}`
  return <InsertedCard edit={edit} title={title} />
}

function InsertedCard({ edit, title }: { edit: EditState; title: string }) {
  const messages = messagesOf(edit)
  return (
    <article className="part inserted" style={kindStyle('inserted')} aria-label={title}>
      <header className="part-head">
        <span className="kind">{title}</span>
      </header>
      <div className="part-body">
        {messages.length === 0 && <p className="dim">Nothing is shown.</p>}
        {messages.map((message, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the messages of an edit never move
          <MessageText key={i} message={message} />
        ))}
      </div>
      <Reason edit={edit} withUndo />
    </article>
  )
}

function MessageText({ message: { role, parts } }: { message: Message }) {
  return (
    <>
      <span className="dim">
        <InlineText text={role} />
      </span>
      {parts.map((part, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a message never move
        <PartContent key={i} part={part} role={role} marks={[]} />
      ))}
    </>
  )
}
