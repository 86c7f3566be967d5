/**
 * Which steps to fold: whole ones from the oldest on, never the last few; as many as pay best, each by what its tokens
 * cost and what it may be needed for, and under pressure until enough is freed. When the log has grown long, one fold
 * goes around the older ones.
 */

import { exitCode } from '../calls/tool-kinds.ts'
import { textOf } from '../model/leaves.ts'
import { messageTokens } from '../model/tokens.ts'
import type { Message } from '../model/types.ts'
import { type PlanContext, savingOf } from '../policies/policy.ts'
import { firstEntry, stretchBefore } from '../view/cuts.ts'
import { entriesOf } from '../view/edits.ts'
import { type Fold, type Slot, shownTokens, slots, tokensOf } from '../view/fold.ts'
import type { Proposal } from '../view/proposal.ts'
import type { Unit } from '../view/units.ts'
import type { Form } from './forms.ts'
import type { Item } from './items.ts'
import {
  foldMessages,
  isOldReport,
  LONGEST_COMMAND,
  logLines,
  MOST_LINES,
  mergeFolds,
  type Outcomes,
  type Room,
} from './log.ts'
import { type Candidate, type Cut, type Situation, setupCost, worthOf } from './planner.ts'

/** The last steps are not folded, whatever they cost. */
const KEPT_STEPS = 12
/** What a line in the log takes, about; a command stands in it word for word. */
const LINE_TOKENS = 20
const COMMAND_TOKENS = Math.round(LONGEST_COMMAND / 3.5)
/** Tokens under which a fold is not worth its header. */
const WORTHWHILE = 4000

/** Proposals that free the tokens that are wanted, or as many as there are. Old requests go only if they are needed. */
export function planFold(
  context: PlanContext,
  items: readonly Item[],
  { wanted, needed, said }: { wanted: number; needed: number; said: number },
): Proposal[] {
  const { fold, calls } = context
  const start = startOfFold(fold)
  const limit = firstYounger(items, calls - KEPT_STEPS) ?? fold.entries.length
  let freed = 0
  let end = start
  for (; end < limit && freed < wanted * 1.2; end++) freed += tokensOf(fold, end, end)
  const gentle = proposeFold(context, end, { said })
  const gained = gentle.reduce((total, proposal) => total + savingOf(fold, proposal), 0)
  return gained >= needed ? gentle : proposeFold(context, end, { said: SAID_WHEN_FULL, pressure: true })
}

type FoldOptions = {
  situation: Situation
  /** How many quotes are lost with some tokens of an item. */
  lossOf: (item: Item, tokens: number) => number
  /** Whether an item is reasoning that an edit before it makes invalid. */
  boundOf: (item: Item) => Candidate<Item, Form>['bound']
}

/** A fold that would bring something: where it would end, and its sums. */
export type FoldChoice = Omit<Cut<never, never>, 'picks'> & { end: number }

/**
 * The fold of old steps that brings most, by estimate: nothing is built yet. A copy that a pointer behind the fold
 * names stays.
 */
export function bestFold(
  context: PlanContext,
  items: readonly Item[],
  { situation, lossOf, boundOf }: FoldOptions,
): FoldChoice | undefined {
  const { fold, calls } = context
  const start = startOfFold(fold)
  const limit = firstYounger(items, calls - KEPT_STEPS) ?? start
  const shown = shownTokens(fold)
  const reasoning = boundTokens(items, boundOf)
  let behind = reasoning.leaving
  let [worth, freed] = [0, 0]
  let pointed = 0
  let best: FoldChoice | undefined
  for (const item of items) {
    const { entry, role } = item.unit
    if (entry >= limit) break
    if (entry < start) continue
    if (boundOf(item)?.leaves) behind -= item.tokens
    if (role !== 'user' || isOldReport(item.unit)) {
      const saves = item.tokens - lineTokens(item)
      freed += saves
      worth += worthOf(saves, lossOf(item, item.partClass === 'command' ? saves : item.tokens), situation)
    }
    pointed = Math.max(pointed, lastPointer(item))
    const sums = { freed: freed + behind, rewritten: shown - freed - behind, ...reasoning }
    const net = worth + worthOf(behind, 0, situation) - setupCost(sums, situation)
    if (entry >= pointed && freed >= WORTHWHILE && net > (best?.net ?? 0)) best = { end: entry + 1, ...sums, net }
  }
  return best
}

/** Tokens of reasoning that an edit at the front makes invalid: all, those that leave the view, those of this turn. */
function boundTokens(
  items: readonly Item[],
  boundOf: FoldOptions['boundOf'],
): { reasoning: number; leaving: number; running: number } {
  const sums = { reasoning: 0, leaving: 0, running: 0 }
  for (const item of items) {
    const bound = boundOf(item)
    if (!bound) continue
    sums.reasoning += item.tokens
    if (bound.leaves) sums.leaving += item.tokens
    if (bound.running) sums.running += item.tokens
  }
  return sums
}

/** The last entry that points to an item; 0 if none does. */
export function lastPointer({ pointers }: Item): number {
  let last = 0
  for (const { mark, unit } of pointers) if (mark === 'same') last = Math.max(last, unit.entry)
  return last
}

function lineTokens({ unit, partClass, whole }: Item): number {
  if (partClass === 'command') return Math.min(whole, COMMAND_TOKENS)
  return unit.original.type === 'tool-call' || unit.original.type === 'text' ? LINE_TOKENS : 0
}

function firstYounger(items: readonly Item[], turn: number): number | undefined {
  return items.find(item => item.unit.turn >= turn)?.unit.entry
}

/** The first entry that is in no fold. */
function startOfFold(fold: Fold): number {
  const last = slots(fold).findLast(slot => foldOf(fold, slot))
  return (last ? foldOf(fold, last)!.to : firstEntry(fold) - 1) + 1
}

/** How much of the window users' words may take in folds; under pressure none is too new to be shortened. */
type Words = { said: number; pressure?: boolean }

/** A fold of everything from the last fold up to an entry (not included), at a legal cut. */
export function proposeFold(context: PlanContext, end: number, words: Words): Proposal[] {
  const { fold, units: all } = context
  const folds = foldRanges(fold)
  const stretch = stretchBefore(fold, end, { start: startOfFold(fold) })
  if (!stretch || stretch.from > stretch.to) return []
  const units = all.filter(({ entry }) => entry >= stretch.from && entry <= stretch.to)
  const fresh = foldMessages(units, outcomesOf(units))
  const before = folds.flatMap(range => range.messages.map(withoutMarks))
  const apart = [...before, ...fresh]
  const merged = mergeFolds(apart, roomIn(context, words))
  const merges = logLines(apart) > MOST_LINES || size(apart, fold) - size(merged, fold) >= WORTHWHILE
  const range = merges ? { from: folds[0]?.from ?? stretch.from, to: stretch.to } : stretch
  const messages = merges ? merged : fresh
  return size(messages, fold) < tokensOf(fold, range.from, range.to) ? [toProposal(range, messages)] : []
}

/** So many of the newest requests are whole, and older ones while there is room. */
const WHOLE = 200
/** When the window is full, there is less room for what users said. */
const SAID_WHEN_FULL = 0.025

function roomIn({ fold, model }: PlanContext, { said, pressure }: Words): Room {
  return {
    whole: pressure ? 0 : WHOLE,
    most: said * model.window,
    size: message => messageTokens(message, fold.count),
  }
}

type FoldRange = { from: number; to: number; messages: Message[] }

function foldRanges(fold: Fold): FoldRange[] {
  return slots(fold).flatMap(slot => foldOf(fold, slot) ?? [])
}

function foldOf(fold: Fold, { range, messages }: Slot): FoldRange | undefined {
  const edit = range === undefined ? undefined : fold.records.get(range)?.edit
  return edit?.by === 'policy:fold' ? { ...entriesOf(edit.target), messages } : undefined
}

function toProposal({ from, to }: { from: number; to: number }, messages: Message[]): Proposal {
  return { policy: 'fold', target: { type: 'range', from, to }, replacement: { messages }, why: 'old steps, as a log' }
}

function withoutMarks(message: Message): Message {
  return { ...message, parts: message.parts.map(({ edit: _, ...part }) => part) }
}

function size(messages: readonly Message[], fold: Fold): number {
  return messages.reduce((total, message) => total + messageTokens(message, fold.count), 0)
}

function outcomesOf(units: readonly Unit[]): Outcomes {
  const outcomes = new Map<string, string>()
  for (const { original } of units) {
    if (original.type !== 'tool-result') continue
    const code = exitCode(textOf(original))
    if (original.isError || (code !== undefined && code !== 0))
      outcomes.set(original.id, code ? `exit ${code}` : 'failed')
  }
  return outcomes
}
