/**
 * Which steps to fold: whole ones from the oldest on, never the last ten, until enough is freed; and one fold
 * around the older folds when they have grown long.
 */
import { firstEntry, lastCutBefore, stretchBefore } from '../cuts.ts'
import { entriesOf } from '../edits.ts'
import { textOf } from '../leaves.ts'
import { messageTokens } from '../tokens.ts'
import { exitCode } from '../tool-kinds.ts'
import type { Message } from '../types.ts'
import { type Fold, slots, tokensOf } from '../view.ts'
import { foldMessages, mergeFolds, type Outcomes } from './fold.ts'
import type { PlanContext, Proposal } from './policy.ts'
import type { Item } from './thrifty-items.ts'

const KEPT_STEPS = 10
/** Folds that stand side by side before they become one. */
const MOST_FOLDS = 8

/** Proposals that free at least so many tokens, or as many as there are. */
export function planFold(context: PlanContext, items: readonly Item[], wanted: number): Proposal[] {
  const { fold, model, calls } = context
  const folds = foldRanges(fold)
  const start = folds.length > 0 ? folds.at(-1)!.to + 1 : firstEntry(fold)
  const limit = items.find(item => item.unit.turn >= calls - KEPT_STEPS)?.unit.entry ?? fold.entries.length
  const end = lastEntryFor(fold, start, limit, wanted)
  const stretch = end === undefined ? undefined : stretchBefore(fold, end, { model, start })
  const proposals: Proposal[] = []
  if (stretch && stretch.from <= stretch.to) {
    const units = items.map(item => item.unit).filter(({ entry }) => entry >= stretch.from && entry <= stretch.to)
    const messages = foldMessages(units, outcomesOf(items))
    if (size(messages, fold) < tokensOf(fold, stretch.from, stretch.to)) proposals.push(toProposal(stretch, messages))
  }
  if (folds.length >= MOST_FOLDS) proposals.push(...mergeProposal(fold, folds))
  return proposals
}

/** The entry before which enough tokens stand, within the limit. */
function lastEntryFor(fold: Fold, start: number, limit: number, wanted: number): number | undefined {
  let freed = 0
  let entry = start
  for (; entry < limit && freed < wanted * 1.2; entry++) freed += tokensOf(fold, entry, entry)
  return lastCutBefore(fold, entry) === undefined || entry <= start ? undefined : entry
}

type FoldRange = { from: number; to: number; messages: Message[] }

function foldRanges(fold: Fold): FoldRange[] {
  return slots(fold).flatMap(slot => {
    const edit = slot.range === undefined ? undefined : fold.records.get(slot.range)?.edit
    return edit?.by === 'policy:fold' ? [{ ...entriesOf(edit.target), messages: slot.messages }] : []
  })
}

function mergeProposal(fold: Fold, folds: readonly FoldRange[]): Proposal[] {
  const messages = mergeFolds(folds.flatMap(range => range.messages.map(withoutMarks)))
  const range = { from: folds[0]!.from, to: folds.at(-1)!.to }
  return size(messages, fold) < tokensOf(fold, range.from, range.to) ? [toProposal(range, messages)] : []
}

function toProposal(target: { from: number; to: number }, messages: Message[]): Proposal {
  return { policy: 'fold', target, replacement: { messages }, why: 'the window is filling: the oldest steps as a log' }
}

function withoutMarks(message: Message): Message {
  return { ...message, parts: message.parts.map(({ edit: _, ...part }) => part) }
}

function size(messages: readonly Message[], fold: Fold): number {
  return messages.reduce((total, message) => total + messageTokens(message, fold.count), 0)
}

function outcomesOf(items: readonly Item[]): Outcomes {
  const outcomes = new Map<string, string>()
  for (const { unit } of items) {
    const { original } = unit
    if (original.type !== 'tool-result') continue
    const code = exitCode(textOf(original))
    if (original.isError || (code !== undefined && code !== 0))
      outcomes.set(original.id, code ? `exit ${code}` : 'failed')
  }
  return outcomes
}
