/**
 * Results that the provider clears itself (Anthropic's `clear_tool_uses`), because we or the client asked for it.
 *
 * In the ledger a clear is an edit like any other, so it can be inspected and undone. A policy makes the edit if we
 * ask, the engine if the client does. The request still contains the original and says how many of the oldest results
 * to clear. The provider checks reasoning against the request, so all reasoning stays valid. The provider clears from
 * the oldest result on and skips none, so these edits are made and undone as one run.
 */
import type { Edit, Event, PartTarget, ToolResultPart } from '../model/types.ts'
import { editsInside, type Fold, recordOf, slots } from './fold.ts'

/** The mark of these edits. */
export const SERVER = 'server'

/** Shown in place of a result that the provider has cleared. */
export const CLEARED = '[cleared by the provider]'

export function isServerClear<T extends Edit>(edit: T): edit is T & { target: PartTarget } {
  return edit.mark === SERVER && edit.target.type === 'part'
}

/**
 * The calls whose results we must ask the provider to clear; undefined if the client asks itself and no clear was
 * undone. From the first undo on we tell the provider what to clear, in place of the client.
 */
export function clearsToAsk(fold: Readonly<Fold>): string[] | undefined {
  if (fold.serverClears === 0) return undefined
  const isOurs = [...fold.records.values()].some(({ edit, active }) => {
    return isServerClear(edit) && (edit.by === 'engine' ? !active : active)
  })
  return isOurs ? clearedCalls(fold) : undefined
}

/**
 * Edits for the oldest `count` results, which the provider says it has cleared; only for results that have none yet.
 */
export function clearsMade(
  fold: Readonly<Fold>,
  count: number,
): Pick<Edit, 'target' | 'replacement' | 'mark' | 'why'>[] {
  const known = new Set(
    [...fold.records.values()].flatMap(({ edit }) => (isServerClear(edit) ? placeOf(edit.target) : [])),
  )
  const results = slots(fold).flatMap(({ from, range }) => (range === undefined ? resultsOf(fold, from) : []))
  return results.slice(0, count).flatMap(({ target, edit }) => {
    if (edit || known.has(placeOf(target))) return []
    return [{ target, replacement: CLEARED, mark: SERVER, why: 'cleared by the provider, as the client asks' }]
  })
}

/** The calls whose results the provider must clear, oldest first, up to the first result that it must keep. */
export function clearedCalls(fold: Readonly<Fold>): string[] {
  if (fold.serverClears === 0 || fold.callsInEdits > 0) return []
  const cleared: string[] = []
  for (const slot of slots(fold)) {
    if (slot.range !== undefined) continue
    for (const { result, edit } of resultsOf(fold, slot.from)) {
      if (!edit || !isServerClear(edit)) return cleared
      cleared.push(result.id)
    }
  }
  return cleared
}

type Result = { result: ToolResultPart; edit: Edit | undefined; target: PartTarget }

function resultsOf(fold: Readonly<Fold>, entry: number): Result[] {
  const edits = editsInside(fold, entry)
  const parts = fold.entries[entry]?.message?.parts ?? []
  return parts.flatMap((part, at) => {
    if (part.type !== 'tool-result') return []
    const edit = edits.findLast(({ target }) => target.part === at)
    return [{ result: part, edit, target: { type: 'part' as const, entry, part: at } }]
  })
}

/** The ids of all active edits of this kind. */
export function activeClears(fold: Readonly<Fold>): string[] {
  if (fold.serverClears === 0) return []
  return [...fold.records.values()].flatMap(({ edit, active }) => (active && isServerClear(edit) ? [edit.id] : []))
}

type Switch = Extract<Event, { type: 'revert' | 'reapply' }>

/**
 * Undoing one of these edits also undoes those after it, and redoing one redoes those before it, so they stay one run.
 */
export function asOneRun(fold: Fold, event: Switch): Switch {
  const isUndo = event.type === 'revert'
  const own = event.edits.map(id => recordOf(fold, id, isUndo).edit).filter(isServerClear)
  // Without one of these edits the limit is infinite, and no other edit is beyond it.
  const places = own.map(({ target }) => placeOf(target))
  const limit = isUndo ? Math.min(...places) : Math.max(...places)
  const others = [...fold.records.values()].filter(({ edit, active }) => {
    if (active !== isUndo || !isServerClear(edit) || event.edits.includes(edit.id)) return false
    const place = placeOf(edit.target)
    return isUndo ? place > limit : place < limit
  })
  return { ...event, edits: [...event.edits, ...others.map(({ edit }) => edit.id)] }
}

/** A number that orders parts as they are in the session; no message has a million parts. */
function placeOf({ entry, part }: PartTarget): number {
  return entry * 1_000_000 + part
}
