/**
 * A text field that shows below what the typed text changes. Hidden characters, which a text field does not show, are
 * counted and can be removed.
 */
import { type ReactNode, useDeferredValue, useId, useState } from 'react'
import { hiddenIn, reveal } from '../../../../src/memory/diff.ts'
import { Button } from '../../ui/button.tsx'
import { TextDiff } from '../../ui/diff.tsx'
import { plural } from '../../ui/format.ts'

const NAMED = /⟨U\+[0-9A-F]{4,6}⟩/g
const FEWEST_ROWS = 6
const MOST_ROWS = 24

type OwnWordsProps = {
  label: string
  own: OwnWords
  /** What is there now. */
  now: string
  /** Why the text cannot be saved. */
  problem?: string | undefined
  children: ReactNode
}

export function OwnWordsEditor({ label, own, now, problem, children }: OwnWordsProps) {
  const { body: text, setBody, title, setTitle } = own
  const field = useId()
  const settled = useDeferredValue(text)
  const hidden = hiddenIn(text)
  const rows = Math.min(MOST_ROWS, Math.max(FEWEST_ROWS, text.split('\n').length + 1))
  return (
    <div className="own-words">
      <label>
        Title
        <input value={title} maxLength={200} onChange={event => setTitle(event.target.value)} />
      </label>
      <label htmlFor={field}>{label}</label>
      <textarea id={field} rows={rows} value={text} onChange={event => setBody(event.target.value)} spellCheck />
      {hidden.length > 0 && (
        <p className="notice notice-warn">
          {hidden.map(({ char, name, count }) => `${plural(count, name)} (${char})`).join(', ')} in this text.{' '}
          <Button small onClick={() => setBody(reveal(text).replace(NAMED, ''))}>
            Remove them
          </Button>
        </p>
      )}
      {problem && <p className="notice notice-bad">{problem}</p>}
      <div className="actions">{children}</div>
      {problem === undefined && (
        <>
          <h3>What this changes</h3>
          {settled === now ? <p className="dim">Nothing.</p> : <TextDiff before={now} after={settled} />}
        </>
      )}
    </div>
  )
}

type OwnWords = ReturnType<typeof useOwnWords>

/** The typed text, separate from the initial text. */
export function useOwnWords(start: { body: string; title?: string | undefined }) {
  const [body, setBody] = useState(start.body)
  const [title, setTitle] = useState(start.title ?? '')
  return { body, setBody, title, setTitle }
}
