/**
 * The laws of edits, on any session and any edits: one helper for every case.
 *
 * After each event, the fold shows the view by definition (reference.ts), and is the same from scratch and after a
 * round trip through JSON. For each edit, nothing before it changes, and a legal view stays legal. Undoing everything,
 * in any order, gives the view without edits.
 */
import assert from 'node:assert/strict'
import { parseJson } from '../../src/model/json.ts'
import type { Edit, Event, Message } from '../../src/model/types.ts'
import { entriesOf } from '../../src/view/edits.ts'
import { applyEvent, createFold, type Fold, foldAll, indexOf, shown, shownTokens } from '../../src/view/fold.ts'
import { checkView, waitingCalls } from '../../src/view/legality.ts'
import { type Applied, referenceView } from './reference.ts'

export const count = (text: string): number => Math.ceil(text.length / 4)

export type LawCase = {
  messages: Message[]
  edits: Edit[]
  /** The order in which the edits are undone: indices into `edits`. */
  undo?: number[]
  /** The expected view with all edits active. */
  expect?: Message[]
}

export function checkLaws({ messages, edits, undo = edits.map((_, i) => i), expect }: LawCase): void {
  const events: Event[] = []
  const fold = createFold(count)
  const applied: Applied[] = []
  const put = (event: Event) => {
    applyEvent(fold, event, { seq: events.length, at: 0 })
    events.push(event)
    note(applied, event, edits)
    assertSameAsFromScratch(fold, events)
    const present = fold.entries.flatMap(({ message }) => message ?? [])
    assert.deepEqual(
      plainJson(withoutMarks(shown(fold))),
      plainJson(withoutMarks(referenceView(present, applied))),
      'the view is as defined',
    )
  }
  for (const message of messages) put({ type: 'entry', message })
  const plain = shown(fold)
  assert.deepEqual(plain, messages, 'without edits the view is what happened')
  const legal = checkView(plain).length === 0 && waitingCalls(plain).length === 0
  for (const edit of edits) {
    const before = shown(fold)
    put({ type: 'edit', edits: [edit] })
    assertPrefixUnchanged(before, fold, edit)
    if (legal) assert.deepEqual(checkView(shown(fold)), [], 'a legal view stays legal')
  }
  if (expect) assert.deepEqual(withoutMarks(shown(fold)), expect)
  for (const index of undo) put({ type: 'revert', edits: [edits[index]!.id], by: 'user' })
  assert.deepEqual(shown(fold), plain, 'apply and revert: nothing happened')
  for (const index of [...undo].reverse()) put({ type: 'reapply', edits: [edits[index]!.id], by: 'user' })
}

function note(applied: Applied[], event: Event, edits: readonly Edit[]): void {
  const order = (applied.at(-1)?.order ?? 0) + 1
  if (event.type === 'edit') applied.push(...event.edits.map((edit, i) => ({ edit, order: order + i })))
  if (event.type === 'reapply') applied.push({ edit: edits.find(edit => edit.id === event.edits[0])!, order })
  if (event.type === 'revert')
    applied.splice(
      applied.findIndex(({ edit }) => edit.id === event.edits[0]),
      1,
    )
}

/** The fold gives the same incrementally and from scratch, even after a round trip through JSON. */
export function assertSameAsFromScratch(fold: Fold, events: readonly Event[]): void {
  const wire: Event[] = parseJson(JSON.stringify(events))
  const fresh = foldAll(
    wire.map((event, seq) => ({ seq, at: 0, event })),
    count,
  )
  assert.deepEqual(plainJson(shown(fold)), plainJson(shown(fresh)))
  assert.equal(shownTokens(fold), shownTokens(fresh))
}

function assertPrefixUnchanged(before: readonly Message[], fold: Fold, edit: Edit): void {
  const { from } = entriesOf(edit.target)
  const index = indexOf(fold, from)
  const after = shown(fold)
  assert.deepEqual(after.slice(0, index), before.slice(0, index), 'nothing before the edit changes')
}

export function withoutMarks(messages: readonly Message[]): Message[] {
  return messages.map(message => ({ ...message, parts: message.parts.map(({ edit: _, ...part }) => part) }))
}

function plainJson(value: unknown): unknown {
  return parseJson(JSON.stringify(value))
}
