/**
 * The slots of a view: the messages shown for each entry or outermost range edit, in order, with running sums. An event
 * rebuilds only the slots that it touches, and only new slots are counted.
 */
import { type Counter, messageBytes, messagesTokens } from '../model/tokens.ts'
import type { Message } from '../model/types.ts'
import type { ActiveEdit, PartEdit } from './edits.ts'

/** The messages shown for one entry, or for the entries of one outermost range edit, and the insertions after them. */
export type Slot = {
  from: number
  to: number
  range: string | undefined
  messages: Message[]
  /** Undefined until they are counted. */
  tokens: number | undefined
  bytes: number | undefined
  gone: boolean
}

export type Span = { from: number; to: number }

export type Inner = {
  slots: Slot[]
  /** The messages of all slots, in order. */
  flat: Message[]
  /** Index in `flat` of each slot's first message; valid up to and including slot `offsetsUpTo`. */
  offsets: number[]
  offsetsUpTo: number
  inEntry: Map<number, PartEdit[]>
  behind: Map<number, ActiveEdit[]>
  ranges: ActiveEdit[]
  /** The ranges that show. */
  outer: ActiveEdit[]
  /** Tokens in the counted slots, and the slots that are not counted yet; the same for bytes. */
  tokens: number
  uncounted: Slot[]
  bytes: number
  unweighed: Slot[]
  orders: number
  groups: number
}

export function createInner(): Inner {
  return {
    slots: [],
    flat: [],
    offsets: [0],
    offsetsUpTo: 0,
    inEntry: new Map(),
    behind: new Map(),
    ranges: [],
    outer: [],
    tokens: 0,
    uncounted: [],
    bytes: 0,
    unweighed: [],
    orders: 0,
    groups: 0,
  }
}

/** A slot that is not counted yet. */
export function newSlot({ from, to }: Span, messages: Message[], range?: string): Slot {
  return { from, to, range, messages, tokens: undefined, bytes: undefined, gone: false }
}

/** The slot that holds an entry. A slot holds at least one entry, so its index is at most the number of the entry. */
export function slotOf({ slots }: Inner, entry: number): number {
  let low = 0
  let high = Math.max(0, Math.min(slots.length - 1, entry)) | 0
  if ((slots[high]?.from ?? entry) <= entry) return high
  while (low < high) {
    const middle = (low + high) >> 1
    if (slots[middle]!.to >= entry) high = middle
    else low = middle + 1
  }
  return low
}

/** Index in `flat` of a slot's first message. */
export function offsetOf(inner: Inner, slot: number): number {
  while (inner.offsetsUpTo < slot) {
    const last = inner.offsetsUpTo
    inner.offsets[last + 1] = inner.offsets[last]! + inner.slots[last]!.messages.length
    inner.offsetsUpTo++
  }
  return inner.offsets[slot]!
}

export function countNew(inner: Inner, count: Counter): void {
  for (const slot of inner.uncounted) {
    if (!slot.gone) inner.tokens += slot.tokens = messagesTokens(slot.messages, count)
  }
  inner.uncounted = []
}

export function weighNew(inner: Inner): void {
  for (const slot of inner.unweighed)
    if (!slot.gone) inner.bytes += slot.bytes = slot.messages.reduce((sum, message) => sum + messageBytes(message), 0)
  inner.unweighed = []
}
