/** The reasons of edits in plain words, and which edits are only book-keeping. Pure. */
import type { Edit } from '../../api-types.ts'

/** Ids for the context tool, reminders of the task, and repairs: they are not meant to save tokens. */
export function isBookkeeping({ by, mark, saved }: Pick<Edit, 'by' | 'mark' | 'saved'>): boolean {
  return (
    by === 'engine' ||
    mark === 'id' ||
    mark === 'anchor' ||
    by === 'policy:ids' ||
    by === 'policy:anchor' ||
    saved === 0
  )
}

const PLAIN: readonly [pattern: RegExp, words: string][] = [
  [/^an id for the context tool$/, 'An id, so that the agent can name this part'],
  [/^distill$/, 'Shortened'],
  [/^discard$/, 'Left out'],
  [/^replace$/, 'Replaced'],
]

/** What an agent did, before its own words. */
const DONE: readonly [pattern: RegExp, words: string][] = [
  [/^distill: /, 'Shortened: '],
  [/^discard: /, 'Left out: '],
  [/^replace: /, 'Replaced: '],
]

export function plainReason(why: string): string {
  const found = PLAIN.find(([pattern]) => pattern.test(why))
  if (found) return found[1]
  const done = DONE.find(([pattern]) => pattern.test(why))
  return done ? why.replace(...done) : why.charAt(0).toUpperCase() + why.slice(1)
}
