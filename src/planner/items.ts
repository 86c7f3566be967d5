/**
 * The parts that `thrifty` looks after: what form each has now, how large it is, since when it is sent. The ledger
 * decides: a form that somebody undid is not given again, and what somebody else edited is left alone.
 */

import type { PlanContext } from '../policies/policy.ts'
import { type ActiveEdit, onlyAdds } from '../view/edits.ts'
import { editsInside, type Fold, isPinned, isVisible } from '../view/fold.ts'
import { type Unit, unitTokens } from '../view/units.ts'
import type { PartClass } from './classes.ts'
import type { Form, Mark } from './forms.ts'

export type Item = {
  unit: Unit
  partClass: PartClass | undefined
  /** The call with which it was first sent. */
  born: number
  /** How often its file had been changed by then. */
  changes: number
  /** Its form now; undefined: as it was. */
  mark: Mark | undefined
  /** Tokens now, and of the original. */
  tokens: number
  whole: number
  /** Not to be touched: pinned, edited by others, or undone. */
  frozen: boolean
  /** Later parts that point to this one for lines. */
  pointers: Set<Item>
  forms?: Form[]
}

const OWN = 'policy:thrifty'

export function toItem(unit: Unit, fold: Fold, partClass: PartClass | undefined): Item {
  const whole = unitTokens(unit, fold)
  const item: Item = {
    unit,
    partClass,
    born: unit.turn + (unit.role === 'assistant' ? 1 : 0),
    changes: 0,
    mark: undefined,
    tokens: whole,
    whole,
    frozen: false,
    pointers: new Set(),
  }
  const edit = editOf(unit, fold)
  if (edit) adopt(item, edit, fold)
  if (isPinned(fold, unit.entry, unit.part)) item.frozen = true
  return item
}

/** Drops what no longer shows and notices what others did since the last call. */
export function refreshItems(items: readonly Item[], { fold }: PlanContext, gone: (item: Item) => void): Item[] {
  return items.filter(item => {
    if (!isVisible(fold, item.unit.entry)) {
      gone(item)
      return false
    }
    const edit = editOf(item.unit, fold)
    if (edit?.mark !== item.mark || (edit && edit.by !== OWN)) {
      gone(item)
      if (edit) adopt(item, edit, fold)
      else Object.assign(item, { mark: undefined, tokens: item.whole, frozen: true })
    }
    if (!item.frozen && isPinned(fold, item.unit.entry, item.unit.part)) item.frozen = true
    return true
  })
}

function adopt(item: Item, edit: ActiveEdit, fold: Fold): void {
  const { replacement } = edit
  if (replacement === null) item.tokens = 0
  else if (typeof replacement === 'string') item.tokens = fold.count(replacement)
  else if ('input' in replacement) item.tokens = fold.count(JSON.stringify(replacement.input) ?? '')
  item.mark = edit.by === OWN && isMark(edit.mark) ? edit.mark : undefined
  item.frozen = edit.by !== OWN
}

/** The edit that shows for a part, if any. */
function editOf({ entry, part }: Unit, fold: Fold): ActiveEdit | undefined {
  const edits = editsInside(fold, entry)
  if (edits.length === 0) return undefined
  return edits.findLast(({ target }) => target.type === 'part' && target.part === part && !onlyAdds(target))
}

const MARKS: readonly string[] = ['look', 'stub', 'old', 'input', 'same', 'limit', 'reasoning'] satisfies Mark[]

function isMark(mark: string | undefined): mark is Mark {
  return mark !== undefined && MARKS.includes(mark)
}
