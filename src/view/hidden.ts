/** Content that the user has hidden: an agent can neither restore nor read it, through any door. Pure. */
import type { Edit, Message, Part, Target } from '../model/types.ts'
import { contains, entriesOf, isOutermost, isRange } from './edits.ts'
import { activeEdits, editsInside, type Fold, rangeAround } from './fold.ts'

/** Shown in place of a text that the user has hidden. */
export const HIDDEN = '[hidden by the user]'

/** The user's edit that hides a part, or without `part` anything of an entry, if there is one. */
export function hiddenByUser(fold: Readonly<Fold>, entry: number, part?: number): Edit | undefined {
  return hiderAmong(activeEdits(fold), entry, part)
}

/** The same for many places of a session. */
export function hiderIn(fold: Readonly<Fold>): (entry: number, part?: number) => Edit | undefined {
  const hiders = [...activeEdits(fold)].filter(hides)
  const ranges = hiders.filter(({ target }) => target.type === 'range')
  const byEntry = Map.groupBy(hiders, ({ target }) => entriesOf(target).from)
  return (entry, part) => hiderAmong(byEntry.get(entry) ?? [], entry, part) ?? hiderAmong(ranges, entry, part)
}

/** The same, for active edits. */
export function hiderAmong(edits: Iterable<Edit>, entry: number, part?: number): Edit | undefined {
  for (const edit of edits) {
    if (!hides(edit)) continue
    const { target } = edit
    const isOfPart = target.type === 'part' && (part === undefined || target.part === part)
    if (contains(target, entry) && (isRange(target) || isOfPart)) return edit
  }
  return undefined
}

/** The user's edit that hides something of the first entries, up to and including `last`, if there is one. */
export function hiddenUpTo(fold: Readonly<Fold>, last: number): Edit | undefined {
  for (const edit of activeEdits(fold)) if (hides(edit) && entriesOf(edit.target).from <= last) return edit
  return undefined
}

/**
 * Edits as an agent may read them. An edit that shows nothing (it lies inside another, or is undone) may have quoted what
 * the user has hidden since, so neither its text nor its reason is told.
 */
export function withoutHiddenTexts<E extends Edit>(fold: Readonly<Fold>, edits: readonly E[]): E[] {
  if (edits.length === 0) return []
  const hiders = [...activeEdits(fold)].filter(hides)
  const isTold = (edit: Edit) => !hiders.some(({ target }) => meets(target, edit.target)) || isShown(fold, edit)
  return edits.map(edit => (isTold(edit) ? edit : { ...edit, replacement: HIDDEN, why: HIDDEN }))
}

/** Whether an edit's text is in the view. */
function isShown(fold: Readonly<Fold>, { id, target }: Edit): boolean {
  if (!fold.records.get(id)?.active) return false
  const { from } = entriesOf(target)
  const range = rangeAround(fold, from)
  if (range || target.type !== 'part') return (range?.id ?? id) === id
  const inside = editsInside(fold, from)
  const own = inside.find(edit => edit.id === id)
  return own !== undefined && isOutermost(own, inside)
}

function meets(hider: Target, target: Target): boolean {
  const [one, other] = [entriesOf(hider), entriesOf(target)]
  if (one.to < other.from || other.to < one.from) return false
  return hider.type !== 'part' || target.type !== 'part' || hider.part === target.part
}

function hides({ by, target }: Edit): boolean {
  return by === 'user' && target.type !== 'after'
}

/** A message as an agent may read it. */
export function withoutHidden(fold: Readonly<Fold>, entry: number, message: Message): Message {
  const isHidden = hiderIn(fold)
  const parts = message.parts.map((part, index) => (isHidden(entry, index) ? coveredPart(part) : part))
  return parts.every((part, index) => part === message.parts[index]) ? message : { ...message, parts }
}

export function coveredPart(part: Part): Part {
  const { type } = part
  if (type === 'tool-call') return { type, id: part.id, name: part.name, input: { hidden: HIDDEN } }
  if (type === 'tool-result') return { type, id: part.id, name: part.name, output: HIDDEN }
  return { type: 'text', text: HIDDEN }
}
