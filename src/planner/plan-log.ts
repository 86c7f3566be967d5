/**
 * Chooses the steps that go into the log: whole steps, the oldest first, never the last few. It takes the number with
 * the highest gain, from the cost of their tokens and their likely use; under pressure it takes steps until enough is
 * freed. When the log has grown long, one log replaces the older ones.
 */

import { exitCode } from '../calls/tool-output.ts'
import { firstIndex } from '../model/first-index.ts'
import { imagesIn, textOf } from '../model/leaves.ts'
import { amount } from '../model/text.ts'
import { messageTokens } from '../model/tokens.ts'
import type { Edit, Message, ToolResultPart } from '../model/types.ts'
import { type PlanContext, savingOf } from '../policies/policy.ts'
import { firstEntry, stretchBefore } from '../view/cuts.ts'
import { entriesOf } from '../view/edits.ts'
import { type Fold, outerRanges, shownTokens, slots, tokensOf } from '../view/fold.ts'
import type { Proposal } from '../view/proposal.ts'
import type { Slot } from '../view/slots.ts'
import type { Unit } from '../view/units.ts'
import { recencyOf } from './classes.ts'
import type { Form } from './forms.ts'
import { densityOf, firstAt, type Item, type Items, sinceTouched } from './items.ts'
import { logLines, logMessages, mergeLogs, type Outcomes, type Room } from './log.ts'
import { type Candidate, type Cut, dueReason, type Situation, setupCost, type Timing, worthOf } from './planner.ts'
import {
  INPUT_SHARE,
  KEPT_STEPS,
  LOG_SURPLUS,
  MIN_LOG_TOKENS,
  MOST_LINES,
  type Quotes,
  SAID_WHEN_FULL,
  WHOLE_REQUESTS,
} from './tuning.ts'

/** Proposals that free the wanted tokens, or as many as possible. Old requests are shortened only if that is needed. */
export function planLog(
  context: PlanContext,
  items: readonly Item[],
  { wanted, needed, said }: { wanted: number; needed: number; said: number },
): Proposal[] {
  const { fold, calls } = context
  const start = startOfLog(fold)
  const limit = firstYounger(items, calls - KEPT_STEPS) ?? fold.entries.length
  let freed = 0
  let end = start
  for (; end < limit && freed < wanted * LOG_SURPLUS; end++) freed += tokensOf(fold, end, end)
  const gentle = proposeLog(context, end, { said })
  const gained = gentle.reduce((total, proposal) => total + savingOf(fold, proposal), 0)
  return gained >= needed ? gentle : proposeLog(context, end, { said: SAID_WHEN_FULL, pressure: true })
}

type LogOptions = {
  situation: Situation
  quotes: Quotes
  /** Whether an item is reasoning that an edit before it makes invalid; undefined if the model has no such reasoning. */
  boundOf: BoundOf | undefined
}

export type BoundOf = (item: Item) => Candidate<Item, Form>['bound']

/** A log that would pay: where it would end, and its sums. */
export type LogChoice = Omit<Cut<never, never>, 'picks'> & { end: number }

/**
 * The log of old steps with the highest estimated gain; nothing is built yet. It never hides a copy to which a pointer
 * after the log points.
 */
export function bestLog(
  { fold, calls }: PlanContext,
  items: readonly Item[],
  { situation, quotes, boundOf }: LogOptions,
): LogChoice | undefined {
  const start = startOfLog(fold)
  const limit = firstYounger(items, calls - KEPT_STEPS) ?? start
  const shown = shownTokens(fold)
  const reasoning = boundTokens(items, boundOf)
  let behind = reasoning.leaving
  let [worth, freed] = [0, 0]
  let pointed = 0
  let best: LogChoice | undefined
  for (const item of items) {
    const { entry } = item.unit
    if (entry >= limit) break
    if (entry < start) continue
    if (boundOf?.(item)?.leaves) behind -= item.tokens
    if (item.line !== undefined) {
      const saves = item.tokens - item.line
      freed += saves
      worth += worthOf(saves, lossOf(item, lostTokens(item, saves), calls, quotes), situation)
    }
    pointed = Math.max(pointed, lastPointer(item))
    const sums = { freed: freed + behind, rewritten: shown - freed - behind, ...reasoning }
    const net = worth + worthOf(behind, 0, situation) - setupCost(sums, situation)
    if (entry >= pointed && freed >= MIN_LOG_TOKENS && net > (best?.net ?? 0)) best = { end: entry + 1, ...sums, net }
  }
  return best
}

/** The expected number of quotes that are lost when an item becomes a line. */
function lossOf(item: Item, lost: number, calls: number, quotes: Quotes): number {
  const share = item.partClass === 'command' || item.partClass === 'input' ? INPUT_SHARE : 1
  return densityOf(item, item.partClass ?? 'doc', calls, quotes) * share * lost
}

/**
 * The tokens that are lost when an item becomes a line. The line keeps a command word for word, so only its cut part is
 * lost.
 */
function lostTokens({ partClass, tokens }: Item, saves: number): number {
  return partClass === 'command' ? saves : tokens
}

/** A tolerance, so that rounding errors never decide. */
const MARGIN = 1e-3

type OutlookOptions = LogOptions & { timing: Timing; horizonMax: number }

/** The benefit of a log before its cache write, and the tokens that it would free. */
type Gain = { worth: number; freed: number }

/**
 * Tells whether a log could pay at all, without checking every part at every call. The worth of a line only grows with
 * age, unless its part is edited or its file is changed. So one look at all items gives an upper bound for the next few
 * calls, and until then only changed items are checked. Parts that arrive meanwhile are too young for a log.
 */
export class LogOutlook {
  /** Upper bounds, and the last call they hold for. */
  #most: Gain = { worth: 0, freed: 0 }
  #until = -1
  #prices = { least: 0, most: 0, quote: 0 }
  /** The values that each item was counted with, by its number; NaN if it was not counted. */
  #saves = new Float64Array()
  #worths = new Float64Array()
  /** The quotes that each unchanged item loses when it is new. */
  #losses = new Float64Array()
  /** The items that point to a counted item. */
  #pointers = new Set<Item>()

  mayPay(context: PlanContext, items: Items, options: OutlookOptions): boolean {
    const { situation, boundOf, timing } = options
    if (!this.#holds(context, items, options)) this.#look(context, items, options)
    const { leaving, running } = boundTokens(items.open, boundOf)
    const { model, cold, thought } = situation
    const shown = shownTokens(context.fold)
    const freed = this.#most.freed + leaving
    if (!dueReason({ freed, rewritten: Math.max(0, shown - freed), running }, situation, timing)) return false
    const written = cold ? 0 : shown * (model.write - model.read)
    return this.#most.worth + leaving * perTokenWritten(situation) - running * thought - written > -MARGIN
  }

  /** Updates the bounds with the items that have changed; returns whether the bounds still hold. */
  #holds({ calls }: PlanContext, { changed }: Items, { situation, quotes }: LogOptions): boolean {
    const price = perTokenWritten(situation)
    const { least, most, quote } = this.#prices
    let holds = calls <= this.#until && price >= least && price <= most && quotePrice(situation) === quote
    for (const item of changed) holds = this.#recount(item, quotes) && holds
    changed.clear()
    return holds
  }

  #recount(item: Item, quotes: Quotes): boolean {
    const { number } = item
    const [saves, worth] = [this.#saves[number] ?? Number.NaN, this.#worths[number]!]
    const isCounted = !Number.isNaN(saves)
    this.#losses[number] = Number.NaN
    if (item.gone ? isCounted : item.mark !== 'same' && this.#pointers.has(item)) return false
    if (!isCounted) return true
    this.#count(item, quotes)
    this.#most.worth += Math.max(0, this.#worths[number]! - worth)
    return this.#saves[number]! <= saves
  }

  #look({ fold, calls }: PlanContext, { all, count }: Items, { situation, quotes, horizonMax }: OutlookOptions): void {
    this.#until = calls + KEPT_STEPS
    const later = { ...situation, horizon: Math.min(horizonMax, situation.horizon + KEPT_STEPS) }
    this.#prices = { least: perTokenWritten(situation), most: perTokenWritten(later), quote: quotePrice(situation) }
    this.#forget(count)
    const sum = { worth: 0, freed: 0 }
    let pointed = 0
    for (let i = firstAt(all, startOfLog(fold)); i < all.length && all[i]!.unit.turn < calls; i++) {
      const item = all[i]!
      const { number, unit, pointers } = item
      if (item.line !== undefined) {
        this.#count(item, quotes)
        sum.worth += this.#worths[number]!
        sum.freed += this.#saves[number]!
      }
      if (pointers) pointed = Math.max(pointed, this.#notePointers(item, pointers))
      if (sum.freed >= MIN_LOG_TOKENS && unit.entry >= pointed) this.#raise(sum)
    }
  }

  #forget(count: number): void {
    this.#most = { worth: Number.NEGATIVE_INFINITY, freed: 0 }
    this.#pointers = new Set()
    this.#saves.fill(Number.NaN)
    if (count <= this.#saves.length) return
    this.#saves = new Float64Array(2 * count).fill(Number.NaN)
    this.#worths = new Float64Array(2 * count)
    this.#losses = new Float64Array(2 * count).fill(Number.NaN)
  }

  #raise({ worth, freed }: Gain): void {
    if (worth > this.#most.worth) this.#most.worth = worth
    if (freed > this.#most.freed) this.#most.freed = freed
  }

  /** Records the items that point to this one; returns the last entry among them. */
  #notePointers(item: Item, pointers: ReadonlySet<Item>): number {
    for (const pointer of pointers) if (pointer.mark === 'same') this.#pointers.add(pointer)
    return lastPointer(item)
  }

  /**
   * Counts an item with the highest worth that its line can have while the bounds hold: its quotes are least likely at
   * the end.
   */
  #count(item: Item, quotes: Quotes): void {
    const { number, born } = item
    const { least, most, quote } = this.#prices
    const saves = item.tokens - item.line!
    if (Number.isNaN(this.#losses[number])) {
      this.#losses[number] = lossOf(item, lostTokens(item, saves), born, quotes)
    }
    const loss = this.#losses[number]!
    const worth = saves * (saves > 0 ? most : least) - loss * recencyAt(item, loss < 0 ? born : this.#until) * quote
    this.#saves[number] = saves
    this.#worths[number] = Number.isNaN(worth) ? 0 : worth
  }
}

/** The share of an item's quotes that is still expected at a call. */
function recencyAt(item: Item, calls: number): number {
  return recencyOf(item.partClass ?? 'doc', calls - item.born, sinceTouched(item, calls))
}

/** The saving for a token that is neither read on later calls nor written now. */
function perTokenWritten({ model, horizon }: Situation): number {
  return model.read * horizon + model.write - model.read
}

function quotePrice({ quote, model }: Situation): number {
  return quote * model.read
}

/**
 * Tokens of reasoning that an edit at the beginning makes invalid: all, those that leave the view, those of this turn.
 */
function boundTokens(
  items: readonly Item[],
  boundOf: LogOptions['boundOf'],
): { reasoning: number; leaving: number; running: number } {
  const sums = { reasoning: 0, leaving: 0, running: 0 }
  if (!boundOf) return sums
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
function lastPointer({ pointers }: Item): number {
  let last = 0
  for (const { mark, unit } of pointers ?? []) if (mark === 'same') last = Math.max(last, unit.entry)
  return last
}

function firstYounger(items: readonly Item[], turn: number): number | undefined {
  return items[firstIndex(items.length, i => items[i]!.unit.turn >= turn)]?.unit.entry
}

/** The first entry after the last log. */
function startOfLog(fold: Fold): number {
  const last = outerRanges(fold).findLast(isLog)
  return last ? entriesOf(last.target).to + 1 : firstEntry(fold)
}

/** Sessions of earlier versions have logs by `policy:fold`. */
function isLog({ by }: Edit): boolean {
  return by === 'policy:log' || by === 'policy:fold'
}

/** The share of the window that users' words may take in logs. Under pressure even the newest may be shortened. */
type Words = { said: number; pressure?: boolean }

/** Proposes a log of the entries from the last log up to `end` (not included), at a legal cut. */
export function proposeLog(context: PlanContext, end: number, words: Words): Proposal[] {
  const { fold, units: all } = context
  const logs = logRanges(fold)
  const stretch = stretchBefore(fold, end, { start: startOfLog(fold) })
  if (!stretch || stretch.from > stretch.to) return []
  const indexOf = (entry: number) => firstIndex(all.length, i => all[i]!.entry >= entry)
  const units = all.slice(indexOf(stretch.from), indexOf(stretch.to + 1))
  const fresh = logMessages(units, outcomesOf(units), context.recallWith)
  const before = logs.flatMap(range => range.messages.map(withoutMarks))
  const apart = [...before, ...fresh]
  const merged = mergeLogs(apart, roomIn(context, words))
  const merges = logLines(apart) > MOST_LINES || size(apart, fold) - size(merged, fold) >= MIN_LOG_TOKENS
  const range = merges ? { from: logs[0]?.from ?? stretch.from, to: stretch.to } : stretch
  const messages = merges ? merged : fresh
  return size(messages, fold) < tokensOf(fold, range.from, range.to) ? [toProposal(range, messages)] : []
}

function roomIn({ fold, model, recallWith }: PlanContext, { said, pressure }: Words): Room {
  return {
    whole: pressure ? 0 : WHOLE_REQUESTS,
    most: said * model.window,
    size: message => messageTokens(message, fold.count),
    recallWith,
  }
}

type LogRange = { from: number; to: number; messages: Message[] }

function logRanges(fold: Fold): LogRange[] {
  return slots(fold).flatMap(slot => logOf(fold, slot) ?? [])
}

function logOf(fold: Fold, { range, messages }: Slot): LogRange | undefined {
  const edit = range === undefined ? undefined : fold.records.get(range)?.edit
  return edit && isLog(edit) ? { ...entriesOf(edit.target), messages } : undefined
}

function toProposal({ from, to }: { from: number; to: number }, messages: Message[]): Proposal {
  return { policy: 'log', target: { type: 'range', from, to }, replacement: { messages }, why: 'old steps, as a log' }
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
    const told = [failureOf(original), imagesOf(original)].filter(text => text !== undefined)
    if (told.length > 0) outcomes.set(original.id, told.join(', '))
  }
  return outcomes
}

function failureOf(result: ToolResultPart): string | undefined {
  const code = exitCode(textOf(result))
  if (code) return `exit ${code}`
  return result.isError ? 'failed' : undefined
}

function imagesOf(result: ToolResultPart): string | undefined {
  const { length } = imagesIn(result)
  return length === 0 ? undefined : amount(length, 'image')
}
