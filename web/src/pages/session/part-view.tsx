/**
 * One part of an entry: its kind, its size, its form in the view, and its actions. An edited part can be shown as in
 * the view, in the original, and as a diff; its edits have their reason, author and saving.
 */
import { memo, useState } from 'react'
import { textOf } from '../../../../src/model/leaves.ts'
import { partId } from '../../../../src/view/shown-texts.ts'
import { getJson } from '../../api.ts'
import type { Bar, EditState } from '../../api-types.ts'
import { useResource } from '../../resource.ts'
import { Button } from '../../ui/button.tsx'
import { TextDiff } from '../../ui/diff.tsx'
import { Failure } from '../../ui/failure.tsx'
import { count, dateTime, money, plural } from '../../ui/format.ts'
import { InlineText } from '../../ui/text.tsx'
import { kindStyle } from '../../ui/tone.ts'
import { useSteering } from './actions.ts'
import { authorName, type PartState, placeName } from './edit-index.ts'
import { KIND_NAMES, type KindGroup } from './kinds.ts'
import { PartContent } from './part-content.tsx'
import { isBookkeeping, plainReason } from './reasons.ts'

export type PartViewProps = {
  session: string
  entry: number
  role: string
  state: PartState
  /** The kind of the part, and its label, from the call that it belongs to. */
  group: KindGroup
  label: string
  bar: Bar | undefined
  pinned: boolean
  marks: readonly string[]
}

type Face = 'shown' | 'original' | 'diff'

export const PartView = memo(function PartView(props: PartViewProps) {
  const { session, entry, role, state, group, label, marks } = props
  const { original, shown, edits, index } = state
  const isEdited = shown !== original
  const [chosen, setFace] = useState<Face>('shown')
  const face = isEdited ? chosen : 'shown'
  const [why, setWhy] = useState(false)
  const [isFolded, setFolded] = useState(role === 'system')
  const classes = ['part', isEdited && 'part-edited', shown === null && 'part-hidden']
  const reasons = realOf(edits)
  const tools = <PartActions {...props} why={why} onWhy={() => setWhy(old => !old)} />
  return (
    <article
      className={classes.filter(Boolean).join(' ')}
      style={kindStyle(group)}
      aria-label={`${nameOf(props)}, entry ${entry}`}
    >
      <header className="part-head">
        <span className="kind">{nameOf(props)}</span>
        {label && (
          <span className="part-label">
            <InlineText text={label} />
          </span>
        )}
        <Size bar={props.bar} />
        {props.pinned && <span className="badge badge-accent">pinned</span>}
        {isEdited && shown === null && <span className="badge badge-warn">hidden</span>}
        <Worth edits={edits} />
        {!isEdited && tools}
      </header>
      {isEdited && (
        <div className="part-tools">
          <UndoLast {...state} />
          <Faces face={face} hidden={shown === null} onFace={setFace} />
          {tools}
        </div>
      )}
      <div className="part-body">
        {isFolded ? (
          <Button kind="quiet" small onClick={() => setFolded(false)}>
            Show the system prompt
          </Button>
        ) : (
          <Body {...{ state, face, role, marks }} />
        )}
      </div>
      {reasons.map((edit, i) => (
        <Reason key={edit.id} edit={edit} withUndo={i < reasons.length - 1} />
      ))}
      {why && <History session={session} entry={entry} part={index} />}
    </article>
  )
})

type BodyProps = Pick<PartViewProps, 'state' | 'role' | 'marks'> & { face: Face }

function Body({ state: { original, shown }, face, role, marks }: BodyProps) {
  if (face === 'diff') {
    return <TextDiff before={textOf(original)} after={shown ? textOf(shown) : ''} label="From as it was to as shown" />
  }
  return <PartContent part={face === 'original' || !shown ? original : shown} role={role} marks={marks} />
}

function nameOf({ state: { original }, role, group }: PartViewProps): string {
  if (original.type === 'tool-call') return original.name
  if (original.type === 'tool-result') return `${original.name} result`
  if (original.type === 'text') return role === 'tool' ? KIND_NAMES[group] : role
  return original.type
}

function Size({ bar }: { bar: Bar | undefined }) {
  if (!bar) return null
  return (
    <span className="part-size" title="Tokens, as it happened and as shown">
      {bar.raw === bar.shown ? count(bar.raw) : `${count(bar.raw)} → ${count(bar.shown)}`}
    </span>
  )
}

/** Without book-keeping, unless there is nothing else; the history has it all. */
function realOf(edits: readonly EditState[]): readonly EditState[] {
  const real = edits.filter(edit => !isBookkeeping(edit))
  return real.length > 0 ? real : edits
}

/** The saving of the edits of this part so far. */
function Worth({ edits }: { edits: readonly EditState[] }) {
  const { worth } = useSteering()
  const dollars = edits.reduce((sum, { id }) => sum + (worth.get(id) ?? 0), 0)
  return dollars < 0.005 ? null : <span className="badge badge-good">{money(dollars)} saved</span>
}

function UndoLast({ edits, hiddenBy }: PartState) {
  const { actions } = useSteering()
  const last = hiddenBy ?? realOf(edits.filter(({ active }) => active)).at(-1)
  if (!last) return null
  return (
    <Button kind="plain" small title={plainReason(last.why)} onClick={() => actions.undo(last.id)}>
      {hiddenBy ? `Undo for ${placeName(hiddenBy)}` : 'Undo'}
    </Button>
  )
}

const FACES: readonly [Face, string][] = [
  ['shown', 'As shown'],
  ['original', 'As it was'],
  ['diff', 'Diff'],
]

function Faces({ face, hidden, onFace }: { face: Face; hidden: boolean; onFace(face: Face): void }) {
  if (hidden) return null
  return (
    <fieldset className="faces" aria-label="How to look at it">
      {FACES.map(([key, label]) => (
        <button key={key} type="button" aria-pressed={key === face} onClick={() => onFace(key)}>
          {label}
        </button>
      ))}
    </fieldset>
  )
}

function PartActions({ entry, state, pinned, why, onWhy }: PartViewProps & { why: boolean; onWhy(): void }) {
  const { actions, openDistill } = useSteering()
  const { index, original, shown } = state
  const place = { entry, part: index, hash: partId(entry, index, original) }
  const isText = original.type === 'text' || original.type === 'tool-result'
  return (
    <div className="part-actions">
      {isText && shown !== null && (
        <Button kind="quiet" small onClick={() => actions.discard(place)}>
          Discard
        </Button>
      )}
      {isText && shown !== null && (
        <Button kind="quiet" small onClick={() => openDistill(place, textOf(shown))}>
          Shorten
        </Button>
      )}
      {shown !== original && (
        <Button
          kind="quiet"
          small
          title="Show the original again at the end of the view"
          onClick={() => actions.restore(place)}
        >
          Show at the end
        </Button>
      )}
      <Button
        kind="quiet"
        small
        aria-pressed={pinned}
        onClick={() => (pinned ? actions.unpin(entry, [index]) : actions.pin(entry, index))}
      >
        {pinned ? 'Unpin' : 'Pin'}
      </Button>
      <Button kind="quiet" small aria-expanded={why} onClick={onWhy}>
        History
      </Button>
    </div>
  )
}

/** The reason why a part differs from the original, from its edit. */
export function Reason({ edit, withUndo = false }: { edit: EditState; withUndo?: boolean }) {
  const { actions, scale } = useSteering()
  return (
    <p className="reason">
      <code>{edit.id}</code>
      <span title={edit.why}>
        <InlineText text={plainReason(edit.why)} />
      </span>
      <span className="dim">by {authorName(edit.by)}</span>
      {edit.saved !== 0 && (
        <span className={edit.saved > 0 ? 'reason-saved' : 'reason-added'}>{saved(edit.saved, scale)}</span>
      )}
      {withUndo && (
        <Button kind="quiet" small onClick={() => (edit.active ? actions.undo(edit.id) : actions.redo(edit.id))}>
          {edit.active ? 'Undo' : 'Redo'}
        </Button>
      )}
    </p>
  )
}

/** All edits that this part ever had, including undone ones. */
function History({ session, entry, part }: { session: string; entry: number; part: number }) {
  const params = { session, entry, part }
  const detail = useResource(JSON.stringify(params), signal =>
    getJson('/sessions/{session}/parts/{entry}/{part}', { params, signal }),
  )
  const { actions, scale } = useSteering()
  if (detail.error !== undefined) return <Failure error={detail.error} retry={detail.reload} />
  if (!detail.value) return <p className="dim part-history">Reading …</p>
  const { edits, at, tokens, hash } = detail.value
  const act = async (work: Promise<void>) => {
    await work
    detail.reload()
  }
  return (
    <section className="part-history" aria-label="History of this part">
      <p className="dim">
        Added {dateTime(at)}, {count(tokens.original)} tokens;{' '}
        {edits.length === 0 ? 'never edited' : `now ${count(tokens.shown)}`}. Its id is <code>{hash}</code>.
      </p>
      <ol>
        {edits.map(edit => (
          <li key={edit.id} className={edit.active ? undefined : 'undone'}>
            <code>{edit.id}</code> <InlineText text={edit.why} />{' '}
            <span className="dim">
              by {authorName(edit.by)}, {dateTime(edit.at)}, before call {edit.call}, {saved(edit.saved, scale)}
              {edit.active ? (edit.shows ? '' : ', inside another edit') : ', undone'}
            </span>
            <Button kind="quiet" small onClick={() => act(edit.active ? actions.undo(edit.id) : actions.redo(edit.id))}>
              {edit.active ? 'Undo' : 'Redo'}
            </Button>
            {edit.decision && (
              <p className="decision">
                <InlineText text={edit.decision} />
              </p>
            )}
          </li>
        ))}
      </ol>
    </section>
  )
}

export function saved(own: number, scale: number): string {
  const tokens = Math.round(own * scale)
  return tokens >= 0 ? `${plural(tokens, 'token')} saved` : `${plural(-tokens, 'token')} added`
}
