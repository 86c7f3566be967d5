/**
 * Where a conversation can be cut: everything up to and including an entry may be replaced by plain messages, and the
 * rest is still a legal conversation.
 *
 * A cut never separates a call from its results, never lies inside another range edit, and leaves a running tool loop
 * with the reasoning that it began with. Facts that depend on the entries alone are computed once, when the entries are
 * new; the rest is checked on request. All policies that replace ranges choose them here.
 */

import type { Model } from '../providers/models.ts'
import { lastRunningReasoning } from './binding.ts'
import { entriesOf } from './edits.ts'
import { type Entry, type Fold, rangeAround, tokensOf } from './fold.ts'

export type Stretch = { from: number; to: number }

type Binding = Pick<Model, 'binding'>
const UNBOUND: Binding = { binding: 'none' }

/** Whether everything up to and including an entry can be replaced. */
export function isCut(fold: Fold, entry: number, model: Binding = UNBOUND): boolean {
  const cuts = stepEnds(fold)
  return cuts[lowerBound(cuts, entry)] === entry && retreat(fold, entry, model) === entry
}

/** The last legal cut that keeps `entry` and everything after it. */
export function lastCutBefore(fold: Fold, entry: number, model: Binding = UNBOUND): number | undefined {
  const cuts = stepEnds(fold)
  let at = lowerBound(cuts, entry) - 1
  while (at >= 0) {
    const cut = cuts[at]!
    const allowed = retreat(fold, cut, model)
    if (allowed === cut) return cut
    at = lowerBound(cuts, allowed + 1) - 1
  }
  return undefined
}

/** The first place at or after `entry` where a range may begin: the entry after a whole step. */
export function firstStartFrom(fold: Fold, entry: number): number | undefined {
  const cuts = stepEnds(fold)
  for (let at = lowerBound(cuts, entry - 1); at < cuts.length; at++) {
    const range = rangeAround(fold, cuts[at]!)
    if (!range || entriesOf(range.target).to === cuts[at]) return cuts[at]! + 1
  }
  return undefined
}

/** The first entry after the system prompt. */
export function firstEntry(fold: Fold): number {
  let entry = 0
  while (fold.entries[entry]?.role === 'system') entry++
  return entry
}

/**
 * The stretch of complete steps that can be replaced while `entry` and everything after it stay. It begins after the
 * system prompt and contains no pinned part. If pins divide it, the result is the piece with the most tokens.
 */
export function stretchBefore(
  fold: Fold,
  entry: number,
  { model = UNBOUND, start = firstEntry(fold) }: { model?: Binding; start?: number } = {},
): Stretch | undefined {
  const found: Stretch[] = []
  let from: number | undefined = start
  for (const end of [...pinnedEntries(fold), entry].filter(place => start <= place && place <= entry)) {
    const to = lastCutBefore(fold, end, model)
    if (from !== undefined && to !== undefined && from <= to) found.push({ from, to })
    from = firstStartFrom(fold, end + 1)
  }
  const size = ({ from, to }: Stretch) => tokensOf(fold, from, to)
  return found.reduce<Stretch | undefined>(
    (best, other) => (best && size(best) >= size(other) ? best : other),
    undefined,
  )
}

/** The entry itself if it may be a cut; otherwise an earlier entry with no legal cut between the two. */
function retreat(fold: Fold, entry: number, { binding }: Binding): number {
  const range = rangeAround(fold, entry)
  if (range) {
    const { from, to } = entriesOf(range.target)
    if (to !== entry) return from - 1
  }
  if (binding === 'refuse' && lastRunningReasoning(fold) > entry) return -1
  return cutsLoopLegally(fold, entry) ? entry : Math.max(fold.lastUser, reasoningUpTo(fold, entry) - 1)
}

/**
 * Whether a cut inside the running tool loop is legal: a loop that began with reasoning must still begin with
 * reasoning.
 */
function cutsLoopLegally(fold: Fold, entry: number): boolean {
  const began = nextAssistant(fold, fold.lastUser + 1)
  if (began === undefined || began > entry || !startsWithReasoning(fold, began)) return true
  const next = nextAssistant(fold, entry + 1)
  return next === undefined || startsWithReasoning(fold, next)
}

function nextAssistant(fold: Fold, from: number): number | undefined {
  for (let entry = from; entry < fold.entries.length; entry++) {
    if (fold.entries[entry]!.role === 'assistant') return entry
  }
  return undefined
}

/** Whether an entry begins with reasoning. A hidden entry that is not loaded may, so it counts as one. */
function startsWithReasoning(fold: Fold, entry: number): boolean {
  const { message } = fold.entries[entry]!
  return !message || message.parts[0]?.type === 'reasoning'
}

/** The last entry up to `entry` that has reasoning; −1 if none. */
function reasoningUpTo(fold: Fold, entry: number): number {
  return fold.reasoning[lowerBound(fold.reasoning, entry + 1) - 1] ?? -1
}

function pinnedEntries(fold: Fold): number[] {
  return [...new Set([...fold.pins].map(key => Number.parseInt(key, 10)))].sort((a, b) => a - b)
}

/** Whether no call waits for its result at the end, so that a message may be inserted after the last entry. */
export function endsWhole(fold: Fold): boolean {
  stepEnds(fold)
  return fold.entries.length > 0 && known.get(fold)?.open.size === 0
}

type Ends = { seen: number; ends: number[]; open: Set<string>; answering: boolean }

const known = new WeakMap<Fold, Ends>()

/**
 * The entries that end a step with all of its calls answered: the next entry is not a tool result. An interrupted step
 * has its results inserted after it, so its cut comes after the next entry.
 */
function stepEnds(fold: Fold): readonly number[] {
  let state = known.get(fold)
  if (!state) known.set(fold, (state = { seen: 0, ends: [], open: new Set(), answering: false }))
  for (; state.seen < fold.entries.length; state.seen++) noteEntry(state, fold.entries[state.seen]!)
  return state.ends
}

function noteEntry(state: Ends, { role, message }: Entry): void {
  const goesOn = role === 'tool' || (role === 'assistant' && !state.answering)
  if (role !== 'tool' && state.seen > 0 && state.open.size === 0) state.ends.push(state.seen - 1)
  // Clearing makes a new table, and nearly always there is nothing to clear.
  if (!goesOn && state.open.size > 0) state.open.clear()
  state.answering = role === 'tool'
  for (const part of message?.parts ?? []) {
    if (part.type === 'tool-call') state.open.add(part.id)
    if (part.type === 'tool-result') state.open.delete(part.id)
  }
}

/** The index of the first number that is not less than `value`. */
function lowerBound(numbers: readonly number[], value: number): number {
  let low = 0
  let high = numbers.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (numbers[middle]! < value) low = middle + 1
    else high = middle
  }
  return low
}
