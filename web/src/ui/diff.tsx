/**
 * A diff, word by word, or line by line for long texts, so that the page is not blocked. Long unchanged stretches are
 * collapsed.
 */
import { useMemo, useState } from 'react'
import type { DiffPart } from '../../../src/memory/diff.ts'
import { Button } from './button.tsx'
import { diffOf } from './diff-parts.ts'
import { plural } from './format.ts'
import { Named } from './text.tsx'
import { visibleText } from './visible.ts'

/** Lines of context around a change; a collapsed stretch has at least this many more. */
const AROUND = 3
const FOLD_AT = 6
/** The first and last lines that are shown of a long removed or added stretch. */
const FIRST = 12
const LAST = 4

export function TextDiff({ before, after, label }: { before: string; after: string; label?: string }) {
  const parts = useMemo(() => diffOf(visibleText(before), visibleText(after)), [before, after])
  return <DiffParts parts={parts} {...(label ? { label } : {})} />
}

/** A diff that was already computed, for instance by the server. */
export function DiffParts({ parts, label = 'Changes' }: { parts: readonly DiffPart[]; label?: string }) {
  return (
    <section className="diff text-code" aria-label={label}>
      {/* biome-ignore-start lint/suspicious/noArrayIndexKey: the pieces of one diff never move */}
      {parts.map((part, i) => {
        if (part.type === 'same') {
          const [first, last] = [i === 0 ? 0 : AROUND, i === parts.length - 1 ? 0 : AROUND]
          return <Collapsed key={i} text={part.text} first={first} last={last} what="unchanged" />
        }
        const Tag = part.type === 'added' ? 'ins' : 'del'
        return (
          <Tag key={i}>
            <Collapsed text={part.text} first={FIRST} last={LAST} what={part.type} />
          </Tag>
        )
      })}
      {/* biome-ignore-end lint/suspicious/noArrayIndexKey: the pieces of one diff never move */}
    </section>
  )
}

type CollapsedProps = { text: string; first: number; last: number; what: string }

/** A stretch of a diff; the middle of a long one is shown when it is asked for. */
function Collapsed({ text, first, last, what }: CollapsedProps) {
  const [open, setOpen] = useState(false)
  const lines = text.split('\n')
  const hidden = lines.length - first - last
  if (open || hidden < FOLD_AT) return <Named text={text} />
  const head = lines.slice(0, first).map(line => `${line}\n`)
  const tail = lines.slice(lines.length - last).map(line => `\n${line}`)
  return (
    <>
      <Named text={head.join('')} />
      <Button kind="quiet" small className="diff-fold" onClick={() => setOpen(true)}>
        {plural(hidden, 'line')} {what}
      </Button>
      <Named text={last > 0 ? tail.join('') : ''} />
    </>
  )
}
