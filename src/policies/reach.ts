/**
 * Which parts a policy may edit now, and which it has edited before.
 *
 * A part cannot be edited if it is pinned, hidden inside a range, taken by another proposal of this call, or guarded by
 * a provider's rules on reasoning. A part that a policy has edited once is never proposed again, not even after the
 * user has undone that edit: undoing is an answer.
 */

import { bareName } from '../calls/tool-kinds.ts'
import type { Target } from '../model/types.ts'
import { lastRunningReasoning } from '../view/binding.ts'
import { onlyAdds } from '../view/edits.ts'
import { type EditRecord, editsInside, type Fold, isPinned, isVisible } from '../view/fold.ts'
import { isSigned } from '../view/legality.ts'
import { isOwnTool } from '../view/shown-texts.ts'
import type { Unit } from '../view/units.ts'
import { type PlanContext, placeOf } from './policy.ts'

export function isReachable(context: PlanContext, { entry, part, role, original }: Unit): boolean {
  const { fold, model } = context
  if (original.type === 'tool-call' && isSigned(original)) return false
  if (!isVisible(fold, entry) || isPinned(fold, entry, part) || isTaken(context, entry, part)) return false
  if (role === 'assistant' && entry === fold.lastAssistant && fold.reasoning.at(-1) === entry) return false
  // An edit also removes the reasoning of past turns after it. Reasoning of the running turn is worth more than this
  // saves.
  return model.binding !== 'refuse' || entry >= lastRunningReasoning(fold)
}

/** The path of a file that a result was moved to, in an argument of a call. */
const KEPT_FILE = /(?<![\w.-])overflow[/\\]overflow_[\w-]+\.txt(?![\w.-])/

/** Whether a result returns content that was moved out of the view, which must not be moved again. */
export function bringsBack({ tool = '', call }: Unit): boolean {
  const named = [call?.command, call?.path, ...(call?.paths ?? [])]
  return isOwnTool(tool) || named.some(text => text !== undefined && KEPT_FILE.test(text))
}

/** Whether a part is shown unchanged: it has no edit, and none is proposed for it. */
export function isWhole(context: PlanContext, { entry, part }: Pick<Unit, 'entry' | 'part'>): boolean {
  const { fold } = context
  if (!isVisible(fold, entry) || isTaken(context, entry, part)) return false
  return !editsInside(fold, entry).some(
    ({ target }) => target.type === 'part' && target.part === part && !onlyAdds(target),
  )
}

/** Whether a part may be edited, and no edit has been made or proposed in it. */
export function canEdit(context: PlanContext, unit: Unit): boolean {
  return isReachable(context, unit) && isWhole(context, unit)
}

/** Whether another proposal of this call edits or hides a part. */
function isTaken({ taken, ranges = [] }: PlanContext, entry: number, part: number): boolean {
  return (
    taken?.has(placeOf({ type: 'part', entry, part })) || ranges.some(({ from, to }) => from <= entry && entry <= to)
  )
}

/** The places of all edits that a policy ever made in a session, optionally with one mark, undone edits included. */
export function placesEdited(fold: Fold, policy: string, mark?: string): Set<string> {
  const places = new Set<string>()
  for (const { edit } of fold.records.values()) {
    if (edit.by === `policy:${policy}` && (mark === undefined || edit.mark === mark)) places.add(placeOf(edit.target))
  }
  return places
}

/** Tells whether a policy had already edited a part before this process opened the session. */
export function editedBefore(policy: string): (context: PlanContext, unit: Pick<Unit, 'entry' | 'part'>) => boolean {
  let places: Set<string> | undefined
  return ({ fold }, unit) => (places ??= placesEdited(fold, policy)).has(placeOf(targetOf(unit)))
}

/** Yields each edit record once: those that are new since the last call. */
export function newRecords(): (fold: Fold) => Generator<EditRecord> {
  let records: Iterator<EditRecord> | undefined
  let seen = 0
  return function* (fold) {
    records ??= fold.records.values()
    for (; seen < fold.records.size; seen++) {
      const { value } = records.next()
      if (value) yield value
    }
  }
}

/** First in, first out; removing from the front is cheap. */
export class Queue<T> {
  #items: T[] = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  get first(): T | undefined {
    return this.#items[this.#head]
  }

  /** The items, oldest first. */
  items(): T[] {
    return this.#items.slice(this.#head)
  }

  push(item: T): void {
    this.#items.push(item)
  }

  shift(): T | undefined {
    const item = this.#items[this.#head]
    if (item === undefined) return undefined
    this.#head++
    if (this.#head > 1000 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }
}

/** Yields each unit once: those that are new since the last call. */
export function newUnits(): (units: readonly Unit[]) => Generator<Unit> {
  let next = 0
  return function* (units) {
    while (next < units.length) yield units[next++]!
  }
}

/** Returns the unit of the call that a result answers. Calls are kept only until their result comes. */
export function pairCalls(): (unit: Unit) => Unit | undefined {
  const calls = new Map<string, Unit>()
  return unit => {
    const { original, callId = '' } = unit
    if (original.type === 'tool-call') calls.set(callId, unit)
    if (original.type !== 'tool-result') return undefined
    const call = calls.get(callId)
    calls.delete(callId)
    return call
  }
}

export function targetOf({ entry, part }: Pick<Unit, 'entry' | 'part'>): Target {
  return { type: 'part', entry, part }
}

/** Tells whether a tool is in a list of names, in any spelling that agents use. */
export function toolNames(names: readonly string[]): (tool: string | undefined) => boolean {
  const known = new Set(names.map(bareName))
  return tool => tool !== undefined && known.has(bareName(tool))
}
