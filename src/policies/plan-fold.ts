/**
 * Which steps to fold: whole ones from the oldest on; those that are old enough when it pays, and under pressure all
 * but the last ten, until enough is freed. One fold goes around the older folds when they have grown long.
 */
import { firstEntry, stretchBefore } from '../cuts.ts'
import { entriesOf } from '../edits.ts'
import { textOf } from '../leaves.ts'
import { type Cut, type Situation, worthOf } from '../planner.ts'
import { messageTokens } from '../tokens.ts'
import { exitCode } from '../tool-kinds.ts'
import type { Message } from '../types.ts'
import { type Fold, slots, tokensOf } from '../view.ts'
import { foldMessages, mergeFolds, type Outcomes } from './fold.ts'
import { type PlanContext, type Proposal, savingOf } from './policy.ts'
import type { Item } from './thrifty-items.ts'

const KEPT_STEPS = 10
/**
 * Calls after which a step may be folded because it pays: 200 at first, fewer in a session that has gone on for long
 * and has moved on from more.
 */
const oldAfter = (calls: number) => Math.max(60, Math.min(200, 80_000 / calls))
const LINE_TOKENS = 20
/** Folds that stand side by side before they become one. */
const MOST_FOLDS = 8

/** Proposals that free at least so many tokens, or as many as there are. */
export function planFold(context: PlanContext, items: readonly Item[], wanted: number): Proposal[] {
  const { fold, calls } = context
  const start = startOfFold(fold)
  const limit = firstYounger(items, calls - KEPT_STEPS) ?? fold.entries.length
  let freed = 0
  let end = start
  for (; end < limit && freed < wanted * 1.2; end++) freed += tokensOf(fold, end, end)
  return proposeFold(context, items, end)
}

export type PaidFold = Omit<Cut<never, never>, 'picks'> & { proposals: Proposal[] }

/** The fold of old steps that brings most, whether it pays now or not. */
export function bestFold(
  context: PlanContext,
  items: readonly Item[],
  situation: Situation,
  lossOf: (item: Item) => number,
): PaidFold | undefined {
  const { fold, calls } = context
  const start = startOfFold(fold)
  const limit = firstYounger(items, calls - oldAfter(calls)) ?? start
  let worth = 0
  let best = { worth: 0, end: start }
  for (const item of items) {
    if (item.unit.entry < start || item.unit.entry >= limit) continue
    if (item.unit.role !== 'user') worth += worthOf(item.tokens - lineTokens(item), lossOf(item), situation)
    if (worth > best.worth) best = { worth, end: item.unit.entry + 1 }
  }
  const proposals = best.end > start ? proposeFold(context, items, best.end) : []
  const freed = proposals.reduce((total, proposal) => total + savingOf(fold, proposal), 0)
  if (freed <= 0) return undefined
  const last = Math.max(...proposals.map(({ target }) => entriesOf(target).to))
  const rewritten = tokensOf(fold, last + 1, fold.entries.length - 1)
  const { read, write } = situation.model
  return { proposals, freed, rewritten, net: best.worth - (situation.cold ? 0 : rewritten * (write - read)) }
}

/** What a line in the log takes, about. */
function lineTokens({ unit }: Item): number {
  return unit.original.type === 'tool-call' || unit.original.type === 'text' ? LINE_TOKENS : 0
}

function firstYounger(items: readonly Item[], turn: number): number | undefined {
  return items.find(item => item.unit.turn >= turn)?.unit.entry
}

/** The first entry that is in no fold. */
function startOfFold(fold: Fold): number {
  return (foldRanges(fold).at(-1)?.to ?? firstEntry(fold) - 1) + 1
}

/** A fold of everything from the last fold up to an entry (not included), at a legal cut. */
function proposeFold(context: PlanContext, items: readonly Item[], end: number): Proposal[] {
  const { fold, model } = context
  const folds = foldRanges(fold)
  const stretch = stretchBefore(fold, end, { model, start: startOfFold(fold) })
  const proposals: Proposal[] = []
  if (stretch && stretch.from <= stretch.to) {
    const units = items.map(item => item.unit).filter(({ entry }) => entry >= stretch.from && entry <= stretch.to)
    const messages = foldMessages(units, outcomesOf(items))
    if (size(messages, fold) < tokensOf(fold, stretch.from, stretch.to)) proposals.push(toProposal(stretch, messages))
  }
  if (folds.length >= MOST_FOLDS) proposals.push(...mergeProposal(fold, folds))
  return proposals
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
