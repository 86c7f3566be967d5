/**
 * A change as a list of removed, added and unchanged stretches: word by word for short texts, line by line for long
 * ones. If hardly any word is unchanged, it is shown as one replacement. Pure.
 */
import { diffLines } from 'diff'
import { type DiffPart, diffTexts, reveal } from '../../../src/memory/diff.ts'

/** Longer texts are compared by lines. */
const MOST_WORDS = 6000
const MAX_MS = 120
/** Share of the shorter text, in characters other than spaces. */
const ANOTHER_TEXT = 0.5

export function diffOf(before: string, after: string): DiffPart[] {
  const parts = before.length + after.length <= MOST_WORDS ? diffTexts(before, after) : diffLong(before, after)
  const same = parts.reduce((total, { type, text }) => total + (type === 'same' ? inkOf(text) : 0), 0)
  if (same >= ANOTHER_TEXT * Math.min(inkOf(before), inkOf(after))) return parts
  return wholeOf(before, after)
}

function diffLong(before: string, after: string): DiffPart[] {
  const changes = diffLines(before, after, { timeout: MAX_MS })
  if (!changes) return wholeOf(before, after)
  return changes.map(({ added, removed, value }) => {
    return { type: added ? 'added' : removed ? 'removed' : 'same', text: reveal(value) }
  })
}

function wholeOf(before: string, after: string): DiffPart[] {
  const parts: DiffPart[] = [
    { type: 'removed', text: reveal(before) },
    { type: 'added', text: reveal(after) },
  ]
  return parts.filter(({ text }) => text !== '')
}

function inkOf(text: string): number {
  return text.replace(/\s/g, '').length
}
