/**
 * Results that the provider clears itself (Anthropic's `clear_tool_uses`): because we ask it to, or because the client does.
 *
 * In the ledger that is an edit like any other, so it can be looked at and undone: by a policy where we ask, by the engine
 * where the client does. What is sent holds the original and says how many of the oldest results the provider is to clear:
 * its check of reasoning looks at what is sent, so all of it stays valid. The provider clears from the oldest on and leaves
 * none out, so these edits are made and undone as one run.
 */
import type { Edit, Event, PartTarget, ToolResultPart } from '../model/types.ts'
import { editsInside, type Fold, recordOf, slots } from './fold.ts'

/** Marks these edits. */
export const SERVER = 'server'

/** What is shown for a result that the provider has cleared. */
export const CLEARED = '[cleared by the provider]'

export function isServerClear({ mark }: Pick<Edit, 'mark'>): boolean {
  return mark === SERVER
}

/**
 * What the provider must be told to clear; nothing where the client tells it itself, and nobody has undone that. From the
 * first undoing on we say what is cleared, in place of the client.
 */
export function clearsToAsk(fold: Readonly<Fold>): string[] | undefined {
  if (fold.serverClears === 0) return undefined
  const isOurs = [...fold.records.values()].some(({ edit, active }) => {
    return isServerClear(edit) && (edit.by === 'engine' ? !active : active)
  })
  return isOurs ? clearedCalls(fold) : undefined
}

/** The oldest results, so many of them, that the provider says it has cleared: as edits, where they are none yet. */
export function clearsMade(
  fold: Readonly<Fold>,
  count: number,
): Pick<Edit, 'target' | 'replacement' | 'mark' | 'why'>[] {
  const known = new Set([...fold.records.values()].flatMap(({ edit }) => (isServerClear(edit) ? placeOf(edit) : [])))
  const results = slots(fold).flatMap(({ from, range }) => (range === undefined ? resultsOf(fold, from) : []))
  return results.slice(0, count).flatMap(({ target, edit }) => {
    if (edit || known.has(placeOf({ target }))) return []
    return [{ target, replacement: CLEARED, mark: SERVER, why: 'cleared by the provider, as the client asks' }]
  })
}

/** The calls whose results the provider is to clear, oldest first: up to the first result that it is to keep. */
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

/** The results of an entry, each with the edit that shows. */
function resultsOf(fold: Readonly<Fold>, entry: number): Result[] {
  const edits = editsInside(fold, entry)
  const parts = fold.entries[entry]?.message?.parts ?? []
  return parts.flatMap((part, at) => {
    if (part.type !== 'tool-result') return []
    const edit = edits.findLast(({ target }) => target.type === 'part' && target.part === at)
    return [{ result: part, edit, target: { type: 'part' as const, entry, part: at } }]
  })
}

/** Every such edit that is in force. */
export function activeClears(fold: Readonly<Fold>): string[] {
  if (fold.serverClears === 0) return []
  return [...fold.records.values()].flatMap(({ edit, active }) => (active && isServerClear(edit) ? [edit.id] : []))
}

type Switch = Extract<Event, { type: 'revert' | 'reapply' }>

/** Undoing one undoes those behind it, and redoing one redoes those before it: what is cleared stays one run. */
export function asOneRun(fold: Fold, event: Switch): Switch {
  const isUndo = event.type === 'revert'
  const own = event.edits.map(id => recordOf(fold, id, isUndo).edit).filter(isServerClear)
  if (own.length === 0) return event
  const places = own.map(entryOf)
  const limit = isUndo ? Math.min(...places) : Math.max(...places)
  const others = [...fold.records.values()].filter(({ edit, active }) => {
    if (active !== isUndo || !isServerClear(edit) || event.edits.includes(edit.id)) return false
    return isUndo ? entryOf(edit) > limit : entryOf(edit) < limit
  })
  return { ...event, edits: [...event.edits, ...others.map(({ edit }) => edit.id)] }
}

function entryOf({ target }: Edit): number {
  return target.type === 'part' ? target.entry : -1
}

function placeOf({ target }: Pick<Edit, 'target'>): string {
  return target.type === 'part' ? `${target.entry}.${target.part}` : ''
}
