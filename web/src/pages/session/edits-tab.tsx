/** Every edit of the session, the last first: why, by whom, what it saved; undo and redo. */
import { useState } from 'react'
import type { EditState } from '../../api-types.ts'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { count, plural } from '../../ui/format.ts'
import { InlineText } from '../../ui/text.tsx'
import { useSteering } from './actions.ts'
import { authorName, placeName } from './edit-index.ts'
import { saved } from './part-view.tsx'

const FIRST = 50

export function EditsTab({ edits, onOpen }: { edits: readonly EditState[]; onOpen(entry: number): void }) {
  const [limit, setLimit] = useState(FIRST)
  const { actions } = useSteering()
  if (edits.length === 0) {
    return (
      <EmptyState title="Nothing was edited">
        <p>The model is shown everything as it happened.</p>
      </EmptyState>
    )
  }
  const active = edits.filter(edit => edit.active)
  const total = active.reduce((sum, edit) => sum + edit.saved, 0)
  return (
    <>
      <p className="dim">
        {plural(active.length, 'edit')} in force, {saved(total)} when they were made.
      </p>
      <ol className="edits">
        {edits
          .slice(-limit)
          .reverse()
          .map(edit => (
            <li key={edit.id} className={edit.active ? undefined : 'undone'} data-edit={edit.id}>
              <p className="edits-head">
                <code>{edit.id}</code>
                <button type="button" className="link" onClick={() => onOpen(entryOf(edit))}>
                  {placeName(edit)}
                </button>
                <span className="dim">{authorName(edit.by)}</span>
                <Button
                  kind="quiet"
                  small
                  onClick={() => (edit.active ? actions.undo(edit.id) : actions.redo(edit.id))}
                >
                  {edit.active ? 'Undo' : 'Redo'}
                </Button>
              </p>
              <p>
                <InlineText text={edit.why} />
              </p>
              <p className="dim">
                {saved(edit.saved)}
                {edit.active ? '' : ' · undone'}
              </p>
            </li>
          ))}
      </ol>
      {edits.length > limit && (
        <Button small onClick={() => setLimit(old => old + FIRST * 4)}>
          Show older ({count(edits.length - limit)})
        </Button>
      )}
    </>
  )
}

export function entryOf({ target }: Pick<EditState, 'target'>): number {
  return target.type === 'range' ? target.from : target.entry
}
