/**
 * The view with its reasons: what is shown for which entries, and which edits made it so.
 *
 * Every door that shows a session to people (CLI, server, UI) shows this. It reads the fold and changes nothing.
 */

import { messageTokens } from '../model/tokens.ts'
import type { Edit, Message } from '../model/types.ts'
import { editsByPart, entriesOf, outermost } from './edits.ts'
import { activeEdits, editsInside, type Fold, isPinned, slots } from './fold.ts'
import { partId, shownParts } from './shown-texts.ts'

/** An active edit, and whether it is the one that shows (another may enclose it). */
export type ExplainedEdit = Edit & { shows: boolean }

export type ExplainedMessage = {
  message: Message
  tokens: number
  /** The ids of the parts that can be discarded, distilled or restored, by position; undefined for inserted parts. */
  ids: (string | undefined)[]
}

/** The messages that are shown for the entries `from`–`to`; none if everything is hidden. */
export type ExplainedSlot = {
  from: number
  to: number
  messages: ExplainedMessage[]
  tokens: number
  edits: ExplainedEdit[]
  pinned: boolean
}

export function explainView(fold: Fold): ExplainedSlot[] {
  const ids = idsByEntry(fold)
  const made = editsBySlot(fold)
  return slots(fold).map(({ from, to, range, messages }, index) => {
    const own = ids.get(from) ?? []
    const showing = new Set(range === undefined ? showingIn(fold, from) : [range])
    const shows = ({ id, target }: Edit) => (target.type === 'after' ? target.entry === to : showing.has(id))
    const explained = messages.map((message, i) => ({
      message,
      tokens: messageTokens(message, fold.count),
      // Only the first message of a slot can be the entry's own: the others were inserted after it.
      ids: message.parts.map((_, part) => (i === 0 ? own[part] : undefined)),
    }))
    return {
      from,
      to,
      messages: explained,
      tokens: explained.reduce((total, { tokens }) => total + tokens, 0),
      edits: made[index]!.map(edit => ({ ...edit, shows: shows(edit) })),
      pinned: range === undefined && pinnedIn(fold, from),
    }
  })
}

/** Tokens by which the edits that show make the view shorter. */
export function tokensSaved(explained: readonly ExplainedSlot[]): number {
  return explained.flatMap(slot => slot.edits).reduce((total, edit) => total + (edit.shows ? edit.saved : 0), 0)
}

function showingIn(fold: Fold, entry: number): string[] {
  const byPart = editsByPart(editsInside(fold, entry))
  return [...byPart.values()].flatMap(edits => outermost(edits)).map(({ id }) => id)
}

function idsByEntry(fold: Fold): Map<number, (string | undefined)[]> {
  const ids = new Map<number, (string | undefined)[]>()
  for (const { entry, part, shown, original } of shownParts(fold)) {
    const editable = shown.type === 'text' || shown.type === 'tool-result'
    const list = ids.get(entry) ?? []
    list.push(editable ? partId(entry, part, original) : undefined)
    ids.set(entry, list)
  }
  return ids
}

function editsBySlot(fold: Fold): Edit[][] {
  const slotOf: number[] = []
  const all = slots(fold)
  for (const [index, { from, to }] of all.entries()) for (let entry = from; entry <= to; entry++) slotOf[entry] = index
  const found: Edit[][] = all.map(() => [])
  for (const edit of activeEdits(fold)) found[slotOf[entriesOf(edit.target).from]!]?.push(edit)
  return found
}

function pinnedIn(fold: Fold, entry: number): boolean {
  const parts = fold.entries[entry]?.message?.parts ?? []
  return isPinned(fold, entry) || parts.some((_, part) => isPinned(fold, entry, part))
}
