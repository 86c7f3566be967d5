/**
 * Which reasoning no longer fits the text before it.
 *
 * Some providers sign reasoning together with everything before it and refuse a request in which that text has changed.
 * An edit, its undo and its redo are such changes. They affect what is sent after them, so the answer to the previous
 * call is stale too, though it arrives later. From the first stale block on, all existing reasoning is left out: a
 * clean tail, never a gap. It is never put back. Reasoning that is produced later is signed together with the change.
 */

import type { Edit, Event, Message, PartTarget, Target } from '../model/types.ts'
import type { Model } from '../providers/models.ts'
import { editsInside, type Fold, isVisible } from './fold.ts'
import { isServerClear } from './server-clears.ts'

/** Marks the edits by which the engine leaves stale reasoning out. */
export const STALE = 'stale-reasoning'

type Place = { entry: number; part: number }

type LeftOut = Pick<Edit, 'replacement' | 'by' | 'why'> & { target: PartTarget; mark: string }

/** `until`: reasoning in entries before this one was produced before the change was sent. */
type Change = Place & { until: number; byPolicy: boolean; isSent: boolean }

export class StaleReasoning {
  #changes: Change[] = []
  /** The changes that no answer has followed yet. */
  #waiting: Change[] = []

  /** Processes an event, after the fold has taken it. */
  note(fold: Fold, event: Event): void {
    for (const edit of editsOf(fold, event)) {
      // The client has already made the changes that the engine records, or nothing comes after them. A provider's
      // clear changes nothing that is sent.
      if (edit.by === 'engine' || isServerClear(edit)) continue
      // Policies edit right before a call. Undoing such an edit is a change by others, at any time.
      const byPolicy = event.type === 'edit' && edit.by.startsWith('policy:')
      const change = { ...placeOf(edit.target), until: Number.POSITIVE_INFINITY, byPolicy, isSent: false }
      this.#changes.push(change)
      this.#waiting.push(change)
    }
    if (event.type === 'usage' && !event.edited) this.#sent()
    if (event.type === 'entry') this.noteEntry(fold, event.message.role)
  }

  /** An answer comes from a call that was made after the last entry and included the policies' edits so far. */
  noteEntry(fold: Fold, role: Message['role']): void {
    if (role !== 'assistant') return this.#sent()
    for (const change of this.#waiting) if (change.isSent || change.byPolicy) change.until = fold.entries.length - 1
    this.#waiting = this.#waiting.filter(({ until }) => until === Number.POSITIVE_INFINITY)
  }

  /** The edits of the engine that leave out stale reasoning now, oldest first. */
  edits(fold: Fold): LeftOut[] {
    if (this.#changes.length === 0) return []
    const shown = allShown(fold)
    const first = shown.findIndex(place => this.#isStale(place))
    const why = 'reasoning that the provider bound to text that has changed since'
    return first < 0 ? [] : shown.slice(first).map(place => leaveOut(place, why))
  }

  /** All stale reasoning is left out and the rest is sent: only later changes count from now on. */
  settle(): void {
    this.#changes = []
  }

  #sent(): void {
    for (const change of this.#waiting) change.isSent = true
  }

  #isStale({ entry, part }: Place): boolean {
    return this.#changes.some(
      change => entry < change.until && (change.entry < entry || (change.entry === entry && change.part < part)),
    )
  }
}

/** Edits that leave out all reasoning that is still sent, for a provider that refuses some of it. */
export function leaveOutAll(fold: Fold, why: string): LeftOut[] {
  return allShown(fold).map(place => leaveOut(place, why))
}

function leaveOut({ entry, part }: Place, why: string): LeftOut {
  return { target: { type: 'part', entry, part }, replacement: null, by: 'engine', why, mark: STALE }
}

function allShown(fold: Fold): Place[] {
  return fold.reasoning.flatMap(entry => shownReasoning(fold, entry))
}

function editsOf(fold: Fold, event: Event): Edit[] {
  if (event.type === 'edit') return event.edits
  if (event.type !== 'revert' && event.type !== 'reapply') return []
  return event.edits.map(id => fold.records.get(id)!.edit)
}

/** The reasoning of an entry that is still sent: it is never rewritten, so every edit of it drops it. */
function shownReasoning(fold: Fold, entry: number): Place[] {
  if (!isVisible(fold, entry)) return []
  const edited = new Set(editsInside(fold, entry).map(({ target }) => target.part))
  const parts = fold.entries[entry]?.message?.parts ?? []
  return parts.flatMap(({ type }, part) => (type === 'reasoning' && !edited.has(part) ? [{ entry, part }] : []))
}

/**
 * Where a change begins. A change to whole entries begins before the first part, and an insertion comes after the last
 * part.
 */
function placeOf(target: Target): Place {
  switch (target.type) {
    case 'part':
      return { entry: target.entry, part: target.part }
    case 'after':
      return { entry: target.entry, part: Number.POSITIVE_INFINITY }
    case 'entry':
      return { entry: target.entry, part: -1 }
    case 'range':
      return { entry: target.from, part: -1 }
  }
}

/** A sentence about the reasoning that is lost. */
export function explainStale(fold: Fold, edits: readonly { target: PartTarget }[]): string {
  const running = edits.filter(({ target }) => target.entry > fold.lastUser).length
  const blocks = edits.length === 1 ? '1 block' : `${edits.length} blocks`
  return `left out ${blocks} of reasoning, ${running} of the running turn: the provider bound them to text that has changed`
}

/** Whether reasoning after a change leaves the view: the provider refuses it, and allows it to be removed. */
export function stripsReasoning({ binding, dialect }: Pick<Model, 'binding' | 'dialect'>): boolean {
  return binding === 'refuse' && dialect !== 'openai-responses'
}

/**
 * The user's message that began the running turn; −1 if there is none. A message after tool results steers the running
 * turn, and a blank one has no content: neither begins another turn.
 */
export function turnStart(fold: Fold): number {
  let entry = fold.lastUser
  while (entry > 0 && !beginsTurn(fold, entry)) entry--
  return entry
}

function beginsTurn({ entries }: Fold, entry: number): boolean {
  const { role, message } = entries[entry]!
  if (role !== 'user' || entries[entry - 1]?.role === 'tool') return false
  return message?.parts.some(part => part.type !== 'text' || part.text.trim() !== '') ?? true
}

/** The last entry of the running turn that shows reasoning; −1 if none does. */
export function lastRunningReasoning(fold: Fold): number {
  const start = turnStart(fold)
  return fold.reasoning.findLast(entry => entry > start && shownReasoning(fold, entry).length > 0) ?? -1
}
