/**
 * Untrusted text as plain text, with hidden characters named. A long text is cut, with a button for the rest, so that a
 * log of a megabyte does not block the page.
 */
import { Fragment, useMemo, useState } from 'react'
import { Button } from './button.tsx'
import { count } from './format.ts'
import { cutText, splitNamed, visibleText } from './visible.ts'

/** The most characters that one press of the button adds. */
const MORE_CHARS = 60_000

export type TextProps = {
  text: string
  /** Uses the monospaced font and keeps spaces. */
  code?: boolean
  /** Words to mark, in lower case. */
  marks?: readonly string[]
  whole?: boolean
}

export function Text({ text, code, marks = [], whole = false }: TextProps) {
  const [limit, setLimit] = useState(whole ? Number.POSITIVE_INFINITY : 0)
  const cut = limit === 0 ? cutText(text) : text.slice(0, limit)
  const shown = useMemo(() => visibleText(cut), [cut])
  const rest = text.length - cut.length
  return (
    <div className={code ? 'text text-code' : 'text'}>
      <Named text={shown} marks={marks} />
      {rest > 0 && (
        <Button kind="quiet" small className="text-more" onClick={() => setLimit(cut.length + MORE_CHARS)}>
          {rest > MORE_CHARS
            ? `Show more (${count(rest)} characters left)`
            : `Show all (${count(rest)} more characters)`}
        </Button>
      )}
    </div>
  )
}

/** A short text on one line: names, labels, snippets. */
export function InlineText({ text, marks = [] }: { text: string; marks?: readonly string[] }) {
  const shown = useMemo(() => visibleText(text), [text])
  return (
    <bdi>
      <Named text={shown} marks={marks} />
    </bdi>
  )
}

/** Text with named hidden characters, where the names are set apart. */
export function Named({ text, marks = [] }: { text: string; marks?: readonly string[] }) {
  return splitNamed(text).map((piece, i) =>
    i % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of one text never move
      <span key={i} className="hidden-char" title="An invisible character">
        {piece}
      </span>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of one text never move
      <Fragment key={i}>{marks.length > 0 ? <Marked text={piece} marks={marks} /> : piece}</Fragment>
    ),
  )
}

function Marked({ text, marks }: { text: string; marks: readonly string[] }) {
  const words = marks.map(word => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')
  const pieces = text.split(new RegExp(`(${words})`, 'gi'))
  // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of one text never move
  return pieces.map((piece, i) => (i % 2 === 1 ? <mark key={i}>{piece}</mark> : piece))
}
