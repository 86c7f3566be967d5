/** Stretches of text that could be removed with little loss, and a form to replace a stretch of the user's choice. */
import { type FormEvent, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { count } from '../../ui/format.ts'
import { InlineText } from '../../ui/text.tsx'
import { type Replacement, useSteering } from './actions.ts'
import { useSessionPart } from './session-part.ts'

type StretchesProps = { session: string; length: number; onOpen(entry: number): void }

export function Stretches({ session, length, onOpen }: StretchesProps) {
  const found = useSessionPart('/sessions/{session}/suggestions', { session, length })
  const { actions } = useSteering()
  const suggestions = found.value?.suggestions ?? []
  return (
    <section aria-label="Suggestions">
      <h3>Stretches that could be removed</h3>
      {found.value && suggestions.length === 0 && (
        <p className="dim">No text contains a log, a trace or other noise.</p>
      )}
      <ul className="editor-stretches">
        {suggestions.map(({ operation, reason, entry, part, tokens }) => (
          <li key={`${entry}.${part} ${operation.start}`}>
            <p>
              <button type="button" className="link" onClick={() => onOpen(entry)}>
                entry {entry}
              </button>{' '}
              <InlineText text={reason} /> <span className="dim">{count(tokens)} tokens</span>
            </p>
            <p className="editor-preview">
              <InlineText text={operation.start} /> … <InlineText text={operation.end} />
            </p>
            <Button small onClick={() => void actions.replace(operation)}>
              Replace it
            </Button>
          </li>
        ))}
      </ul>
      <ReplaceForm />
    </section>
  )
}

function ReplaceForm() {
  const { actions } = useSteering()
  const [given, setGiven] = useState<Replacement>({ start: '', end: '', replacement: '' })
  const set = (change: Partial<Replacement>) => setGiven(old => ({ ...old, ...change }))
  const apply = async (event: FormEvent) => {
    event.preventDefault()
    if (await actions.replace(given)) setGiven({ start: '', end: '', replacement: '' })
  }
  return (
    <details className="editor-replace">
      <summary>Replace a stretch of your own</summary>
      <form onSubmit={event => void apply(event)}>
        <label>
          From this text
          <input value={given.start} onChange={event => set({ start: event.target.value })} />
        </label>
        <label>
          to this text, inclusive
          <input value={given.end} onChange={event => set({ end: event.target.value })} />
        </label>
        <label>
          show this instead
          <textarea rows={3} value={given.replacement} onChange={event => set({ replacement: event.target.value })} />
        </label>
        <p className="dim">Both are literal, and must occur once in the view.</p>
        <Button type="submit" small disabled={given.start === '' || given.end === ''}>
          Replace
        </Button>
      </form>
    </details>
  )
}
