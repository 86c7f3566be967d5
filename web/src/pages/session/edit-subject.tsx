/** The subject of an edit: a tool with its file or command, or only the place if that is not known. Links to it. */
import type { Bar, EditState } from '../../api-types.ts'
import { InlineText } from '../../ui/text.tsx'
import { entryOf, placeName } from './edit-index.ts'
import { groupOf, KIND_NAMES } from './kinds.ts'

export type EditSubjectProps = {
  edit: Pick<EditState, 'target'>
  /** Bars of single parts, by entry and part. */
  bars: ReadonlyMap<string, Bar>
  onOpen(entry: number): void
}

export function EditSubject({ edit, bars, onOpen }: EditSubjectProps) {
  const { target } = edit
  const bar = target.type === 'part' ? bars.get(`${target.entry}.${target.part}`) : undefined
  return (
    <button type="button" className="link edit-subject" title={placeName(edit)} onClick={() => onOpen(entryOf(edit))}>
      {bar ? (
        <>
          {bar.tool ?? KIND_NAMES[groupOf(bar.kind)]}{' '}
          <code>
            <InlineText text={bar.label} />
          </code>
        </>
      ) : (
        placeName(edit)
      )}
    </button>
  )
}
