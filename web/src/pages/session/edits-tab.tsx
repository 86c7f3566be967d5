/** The edits of the session, those that saved most first: reason, author and saving, with undo and redo. */
import { useMemo, useState } from 'react'
import type { EditState } from '../../api-types.ts'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { count, money, plural } from '../../ui/format.ts'
import { InlineText } from '../../ui/text.tsx'
import { useSteering } from './actions.ts'
import { authorName, placeName } from './edit-index.ts'
import { EditSubject, type EditSubjectProps } from './edit-subject.tsx'
import { saved } from './part-view.tsx'
import { isBookkeeping, plainReason } from './reasons.ts'

const FIRST = 50

type EditsTabProps = { edits: readonly EditState[] } & Pick<EditSubjectProps, 'bars' | 'onOpen'>

export function EditsTab({ edits, ...leading }: EditsTabProps) {
  const { scale, worth } = useSteering()
  const [limit, setLimit] = useState(FIRST)
  const { real, rest } = useMemo(() => sorted(edits, worth), [edits, worth])
  if (edits.length === 0) {
    return (
      <EmptyState title="There are no edits">
        <p>The model sees the original conversation.</p>
      </EmptyState>
    )
  }
  const active = edits.filter(edit => edit.active)
  const total = active.reduce((sum, edit) => sum + edit.saved, 0)
  return (
    <>
      <p className="dim">
        {plural(active.length, 'edit')} in force, {saved(total, scale)} when they were made. The most valuable first.
      </p>
      <ol className="edits">
        {real.slice(0, limit).map(edit => (
          <EditRow key={edit.id} edit={edit} dollars={worth.get(edit.id)} {...leading} />
        ))}
      </ol>
      {real.length > limit && (
        <Button small onClick={() => setLimit(old => old + FIRST * 4)}>
          Show more ({count(real.length - limit)})
        </Button>
      )}
      {rest.length > 0 && (
        <details className="bookkeeping">
          <summary>Book-keeping: {plural(rest.length, 'edit')} (ids, anchors, repairs)</summary>
          <ol className="edits">
            {rest.slice(0, limit).map(edit => (
              <EditRow key={edit.id} edit={edit} dollars={undefined} {...leading} />
            ))}
          </ol>
        </details>
      )}
    </>
  )
}

function sorted(edits: readonly EditState[], worth: ReadonlyMap<string, number>) {
  const by = Map.groupBy(edits.toReversed(), edit => (isBookkeeping(edit) ? 'rest' : 'real'))
  const dollars = ({ id }: EditState) => worth.get(id) ?? 0
  return { real: (by.get('real') ?? []).sort((a, b) => dollars(b) - dollars(a)), rest: by.get('rest') ?? [] }
}

type EditRowProps = { edit: EditState; dollars: number | undefined } & Pick<EditSubjectProps, 'bars' | 'onOpen'>

function EditRow({ edit, dollars, ...leading }: EditRowProps) {
  const { actions, scale } = useSteering()
  return (
    <li className={edit.active ? undefined : 'undone'} data-edit={edit.id}>
      <p className="edits-head">
        {dollars !== undefined && edit.active && <b className={dollars > 0 ? 'saved' : undefined}>{money(dollars)}</b>}
        <EditSubject edit={edit} {...leading} />
        <Button kind="quiet" small onClick={() => (edit.active ? actions.undo(edit.id) : actions.redo(edit.id))}>
          {edit.active ? 'Undo' : 'Redo'}
        </Button>
      </p>
      <p title={edit.why}>
        <InlineText text={plainReason(edit.why)} />
      </p>
      <p className="dim">
        <code>{edit.id}</code> {placeName(edit)}, by {authorName(edit.by)}, {saved(edit.saved, scale)}
        {edit.active ? '' : ' · undone'}
      </p>
    </li>
  )
}
