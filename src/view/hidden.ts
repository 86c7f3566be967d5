/** Content that the user has hidden: an agent can neither restore nor read it, through any door. Pure. */
import type { Edit, Message, Part } from '../model/types.ts'
import { entriesOf, isRange } from './edits.ts'
import type { Fold } from './fold.ts'

/** Shown in place of a text that the user has hidden. */
export const HIDDEN = '[hidden by the user]'

/** The user's edit that hides a part, if there is one. */
export function hiddenByUser({ records }: Readonly<Fold>, entry: number, part: number): Edit | undefined {
  for (const { active, edit } of records.values()) {
    const { by, target } = edit
    if (!active || by !== 'user' || target.type === 'after') continue
    const { from, to } = entriesOf(target)
    if (entry < from || entry > to) continue
    if (isRange(target) || (target.type === 'part' && target.part === part)) return edit
  }
  return undefined
}

/** A message as an agent may read it. */
export function withoutHidden(fold: Readonly<Fold>, entry: number, message: Message): Message {
  const parts = message.parts.map((part, index) => (hiddenByUser(fold, entry, index) ? covered(part) : part))
  return parts.every((part, index) => part === message.parts[index]) ? message : { ...message, parts }
}

export function covered({ type, ...part }: Part): Part {
  if (type === 'tool-call' && 'input' in part) return { type, id: part.id, name: part.name, input: { hidden: HIDDEN } }
  if (type === 'tool-result' && 'output' in part) return { type, id: part.id, name: part.name, output: HIDDEN }
  return { type: 'text', text: HIDDEN }
}
