/**
 * Which edits the present state of a session allows: nothing pinned, nothing that waits for a result, nothing
 * that a provider's rules on reasoning and opaque blocks forbid. What a batch of edits does to the conversation as
 * a whole is checked on the resulting view (legality.ts).
 */

import { PalimpsestError } from '../model/errors.ts'
import type { Edit, Message } from '../model/types.ts'
import type { Model } from '../providers/models.ts'
import { STALE } from './binding.ts'
import { describeTarget, entriesOf, isRange } from './edits.ts'
import { type Fold, isPinned } from './fold.ts'
import { checkEdit, type EditScope, type Violation, violation } from './legality.ts'

export function assertAllowed(fold: Fold, edits: readonly Edit[], model: Model): void {
  for (const edit of edits) {
    assertNotPinned(fold, edit)
    const broken = isRange(edit.target) ? checkRange(fold, edit) : checkPart(fold, edit, model)
    if (broken) throw illegal([broken])
  }
}

/** Reasoning that was left out is never put back: what came later is signed without it. */
export function assertRevertible(edits: readonly Edit[], { binding }: Model): void {
  const stale = binding === 'refuse' ? edits.find(({ mark }) => mark === STALE) : undefined
  if (!stale) return
  throw illegal([violation('bound-reasoning', `undoing ${stale.id} would put reasoning back that no longer fits`)])
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
