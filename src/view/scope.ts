/**
 * Which edits the present state of a session allows: nothing pinned, nothing that waits for a result, nothing
 * that a provider's rules on reasoning and opaque blocks forbid. What a batch of edits does to the conversation as
 * a whole is checked on the resulting view (legality.ts).
 */

import { PalimpsestError } from '../model/errors.ts'
import type { Edit, Message } from '../model/types.ts'
import type { Model } from '../providers/models.ts'
import { describeTarget, entriesOf, isRange } from './edits.ts'
import { editsInside, type Fold, isPinned, isVisible } from './fold.ts'
import { checkEdit, type EditScope, type Violation, violation } from './legality.ts'

export function assertAllowed(fold: Fold, edits: readonly Edit[], model: Model): void {
  for (const edit of edits) {
    assertNotPinned(fold, edit)
    const broken = isRange(edit.target) ? checkRange(fold, edit) : checkPart(fold, edit, model)
    if (broken) throw illegal([broken])
  }
  if (!model.bindsReasoning) return
  // What the engine edits the client or the conversation has changed already.
  const broken = checkBinding(
    fold,
    edits.filter(({ by }) => by !== 'engine'),
  )
  if (broken) throw illegal([broken])
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
  const { from, to } = entriesOf(edit.target)
  const part = edit.target.type === 'part' ? edit.target.part : undefined
  const pinned = isRange(edit.target) ? anyPin(fold, from, to) : isPinned(fold, from, part)
  if (!pinned) return
  throw new PalimpsestError('PINNED', `${describeTarget(edit.target)} is pinned: it is never edited. Unpin it first.`, {
    target: edit.target,
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
  if (edit.target.type !== 'part') return undefined
  const { entry } = edit.target
  const message = fold.entries[entry]?.message
  if (!message) return undefined
  const part = message.parts[edit.target.part]
  if (!part) {
    throw new PalimpsestError('ENTRY_NOT_FOUND', `Entry ${entry} has no part ${edit.target.part}.`, {
      target: edit.target,
    })
  }
  const scope: EditScope = {
    entry,
    role: message.role,
    part,
    latest: entry === fold.lastAssistant,
    running: entry > fold.lastUser,
    reasons: message.parts.some(other => other.type === 'reasoning'),
  }
  return checkEdit(edit, scope, model.dialect)
}

/** A cut inside a running tool loop must leave it beginning with reasoning, if it began so. */
function checkRange(fold: Fold, edit: Edit): Violation | undefined {
  const { from, to } = entriesOf(edit.target)
  if (to <= fold.lastUser || to < from) return undefined
  const loop = Math.max(from, fold.lastUser + 1)
  const began = firstAssistant(fold, loop, to)
  if (!began || !startsWithReasoning(began)) return undefined
  const next = firstAssistant(fold, to + 1, fold.entries.length - 1)
  if (!next || startsWithReasoning(next)) return undefined
  return violation('loop-without-reasoning', `edit ${edit.id} would cut the reasoning from the tool loop behind it`)
}

function firstAssistant(fold: Fold, from: number, to: number): Message | undefined {
  for (let entry = from; entry <= Math.min(to, fold.entries.length - 1); entry++) {
    const found = fold.entries[entry]
    if (found?.role === 'assistant' && found.message) return found.message
  }
  return undefined
}

function startsWithReasoning(message: Message): boolean {
  return message.parts[0]?.type === 'reasoning'
}

/** Where reasoning is bound to what precedes it: no edit before a reasoning block that is still sent. */
function checkBinding(fold: Fold, edits: readonly Edit[]): Violation | undefined {
  const last = fold.reasoning.findLast(entry => keepsReasoning(fold, entry, edits))
  if (last === undefined) return undefined
  const before = edits.find(edit => entriesOf(edit.target).from < last)
  if (!before) return undefined
  return violation('bound-reasoning', `edit ${before.id} stands before reasoning that is still sent (entry ${last})`)
}

/** Whether an entry shows reasoning, now and when the new edits are made. */
function keepsReasoning(fold: Fold, entry: number, edits: readonly Edit[]): boolean {
  if (!isVisible(fold, entry)) return false
  const own = [...editsInside(fold, entry), ...edits].filter(edit => covers(edit, entry))
  if (own.some(edit => isRange(edit.target))) return false
  const dropped = new Set(
    own.flatMap(({ target, replacement }) => (target.type === 'part' && replacement === null ? target.part : [])),
  )
  const parts = fold.entries[entry]?.message?.parts ?? []
  return parts.some((part, index) => part.type === 'reasoning' && !dropped.has(index))
}

function covers({ target }: Edit, entry: number): boolean {
  const { from, to } = entriesOf(target)
  return target.type !== 'after' && from <= entry && entry <= to
}
