/**
 * Which edits the present state of a session allows: none of pinned parts, none of calls that wait for a result, none
 * that a provider's rules on reasoning and opaque blocks forbid. The effect of a batch of edits on the whole
 * conversation is checked on the resulting view (legality.ts).
 */

import { PalimpsestError } from '../model/errors.ts'
import type { Edit, Event, Message, PartTarget } from '../model/types.ts'
import type { Model } from '../providers/models.ts'
import { STALE } from './binding.ts'
import { describeTarget, entriesOf, isRange } from './edits.ts'
import { editsInside, type Fold, isPinned, peek, tryEvent } from './fold.ts'
import {
  type CheckOptions,
  checkEdit,
  checkView,
  type EditScope,
  type Violation,
  violation,
  waitingCalls,
} from './legality.ts'

export function assertAllowed(fold: Fold, edits: readonly Edit[], model: Model): void {
  for (const edit of edits) {
    assertNotPinned(fold, edit)
    const broken = isRange(edit.target) ? checkRange(fold, edit) : checkPart(fold, edit, model)
    if (broken) throw illegal([broken])
  }
}

/** Reasoning that was left out is never put back: later reasoning was signed without it. */
export function assertRevertible(edits: readonly Edit[], { binding }: Model): void {
  const stale = binding === 'refuse' ? edits.find(({ mark }) => mark === STALE) : undefined
  if (!stale) return
  throw illegal([violation('bound-reasoning', `undoing ${stale.id} would put back reasoning that is no longer valid`)])
}

/**
 * Applies an event to the fold. Throws, and leaves the fold unchanged, if the event breaks a rule that held before. An
 * edit of the engine is never refused: it records what the client or the provider has done, and the view is repaired. An
 * answer that comes first is not refused either: the view gets an opening, and loses nothing.
 */
export function tryLegal(
  fold: Fold,
  event: Extract<Event, { type: 'edit' | 'reapply' }>,
  { seq, rules, isLegal }: { seq: number; rules: () => CheckOptions; isLegal?: () => void },
): () => void {
  if (event.type === 'edit' && event.edits.every(({ by }) => by === 'engine')) return tryEvent(fold, event, seq)
  const check = () => checkView(peek(fold), rules())
  const waiting = waitingCalls(peek(fold))
  const takeBack = tryEvent(fold, event, seq)
  const after = check()
  const hidden = hiddenCalls(waiting, peek(fold))
  if (after.length === 0 && hidden.length === 0) {
    isLegal?.()
    return takeBack
  }
  takeBack()
  const violations = [...hidden, ...newViolations(check(), after).filter(({ rule }) => rule !== 'answer-comes-first')]
  if (violations.length > 0) throw illegal(violations)
  return tryEvent(fold, event, seq)
}

/** The calls that were waiting for their results and that an edit would remove from the view. */
function hiddenCalls(waiting: readonly string[], messages: readonly Message[]): Violation[] {
  if (waiting.length === 0) return []
  const still = new Set(waitingCalls(messages))
  const hidden = waiting.filter(id => !still.has(id))
  if (hidden.length === 0) return []
  return [violation('call-dropped', `call ${hidden.join(', ')} still waits for its result`, undefined, hidden)]
}

/** The violations that exist after a change but not before it; messages may have moved. */
function newViolations(before: readonly Violation[], after: readonly Violation[]): Violation[] {
  const keyOf = ({ rule, ids = [] }: Violation) => [rule, ...ids].join(' ')
  const known = Map.groupBy(before, keyOf)
  return after.filter(found => known.get(keyOf(found))?.pop() === undefined)
}

export function illegal(violations: readonly Violation[]): PalimpsestError {
  const [first] = violations
  return new PalimpsestError(
    'VIEW_ILLEGAL',
    `The provider would refuse the result (${first?.rule}): ${first?.message}. Nothing was changed.`,
    { violations },
  )
}

function assertNotPinned(fold: Fold, edit: Edit): void {
  if (fold.pins.size === 0 || edit.by === 'user' || edit.by === 'engine' || edit.target.type === 'after') return
  const { target } = edit
  const { from, to } = entriesOf(target)
  const pinned = target.type === 'part' ? isPinned(fold, target.entry, target.part) : anyPin(fold, from, to)
  if (!pinned) return
  throw new PalimpsestError('PINNED', `${describeTarget(target)} is pinned, so it cannot be edited. Unpin it first.`, {
    target,
  })
}

function anyPin(fold: Fold, from: number, to: number): boolean {
  for (const key of fold.pins) {
    const entry = Number.parseInt(key, 10)
    if (from <= entry && entry <= to) return true
  }
  return false
}

function checkPart(fold: Fold, edit: Edit, model: Model): Violation | undefined {
  if (edit.target.type !== 'part' || edit.mark === STALE) return undefined
  const { entry } = edit.target
  const message = fold.entries[entry]?.message
  if (!message) return undefined
  const part = message.parts[edit.target.part]
  if (!part) {
    throw new PalimpsestError('ENTRY_NOT_FOUND', `Entry ${entry} has no part ${edit.target.part}.`, {
      target: edit.target,
    })
  }
  const reasons = message.parts.some(other => other.type === 'reasoning')
  const scope: EditScope = {
    entry,
    role: message.role,
    part,
    latest: entry === fold.lastAssistant,
    running: entry > fold.lastUser,
    reasons,
    isLedTo: reasons && isLedTo(fold, edit.target, message),
  }
  return checkEdit(edit, scope, model.dialect)
}

function isLedTo(fold: Fold, { entry, part }: PartTarget, { parts }: Message): boolean {
  if (parts[part]!.type === 'reasoning') return false
  const dropped = editsInside(fold, entry).filter(({ replacement }) => replacement === null)
  const gone = new Set(dropped.map(({ target }) => target.part))
  const isShown = (_: unknown, index: number) => !gone.has(index)
  const before = parts.slice(0, part).findLast(isShown)
  const next = parts.find((other, index) => index > part && isShown(other, index))
  return before?.type === 'reasoning' && (next === undefined || next.type === 'reasoning')
}

/** A cut inside a running tool loop must leave the loop beginning with reasoning, if it began that way. */
function checkRange(fold: Fold, edit: Edit): Violation | undefined {
  const { from, to } = entriesOf(edit.target)
  const loop = Math.max(from, fold.lastUser + 1)
  const began = firstAssistant(fold.entries.slice(loop, to + 1))
  if (!began || !startsWithReasoning(began)) return undefined
  const next = firstAssistant(fold.entries.slice(to + 1))
  if (!next || startsWithReasoning(next)) return undefined
  return violation('loop-without-reasoning', `edit ${edit.id} would separate the reasoning from the tool loop after it`)
}

function firstAssistant(entries: Fold['entries']): Message | undefined {
  return entries.find(({ role, message }) => role === 'assistant' && message)?.message
}

function startsWithReasoning(message: Message): boolean {
  return message.parts[0]?.type === 'reasoning'
}
