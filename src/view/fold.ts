/**
 * The view: a pure fold of the ledger. No clock, no randomness, no I/O: the same events give the same messages.
 *
 * The fold is kept incrementally. The conversation is a list of slots, one per entry or per outermost range
 * edit; an event rebuilds only the slots it touches, so a call costs time for what is new. An entry whose
 * content is hidden may be absent (`message: undefined`); `missing` says what must be loaded before it shows.
 */

import { PalimpsestError } from '../model/errors.ts'
import { replaceIn } from '../model/lists.ts'
import type { Counter } from '../model/tokens.ts'
import type { Edit, Event, Message, Target } from '../model/types.ts'
import {
  type ActiveEdit,
  assertLaminar,
  contains,
  entriesOf,
  isRange,
  messagesOf,
  outermostRanges,
  type PartEdit,
  renderEntry,
} from './edits.ts'
import { callsIn } from './legality.ts'
import { commonLength } from './messages.ts'
import {
  countNew,
  createInner,
  type Inner,
  newSlot,
  offsetOf,
  type Slot,
  type Span,
  slotOf,
  weighNew,
} from './slots.ts'

export type Entry = {
  /** The event's place in the ledger. */
  seq: number
  at: number
  message: Message | undefined
  role: Message['role']
}

export type EditRecord = Readonly<{ edit: Edit; active: boolean; seq: number; group: number }>

export type Fold = {
  readonly count: Counter
  readonly entries: Entry[]
  /** Every edit ever made, in order, undone ones too. */
  readonly records: Map<string, EditRecord>
  readonly pins: Set<string>
  /** The last entry of the user, the last entry of the assistant (−1 if none), and all entries that have reasoning. */
  lastUser: number
  lastAssistant: number
  readonly reasoning: number[]
  /** How many edits have put tool calls of their own into the view, undone edits included. */
  callsInEdits: number
  /** How many edits have made the provider clear a result (server-clears.ts), undone edits included. */
  serverClears: number
  /** Grows with every change to the shown messages. */
  version: number
  /** Grows with every change to edits and pins; `touched` holds the entries that each change touched. */
  edited: number
  readonly touched: Span[]
  /** The first message that changed since `shown` was last asked for; `Infinity` if none. */
  changedFrom: number
  readonly inner: Inner
}

export function createFold(count: Counter): Fold {
  return {
    count,
    entries: [],
    records: new Map(),
    pins: new Set(),
    lastUser: -1,
    lastAssistant: -1,
    reasoning: [],
    callsInEdits: 0,
    serverClears: 0,
    version: 0,
    edited: 0,
    touched: [],
    changedFrom: 0,
    inner: createInner(),
  }
}

/** Folds a whole ledger. */
export function foldAll(events: Iterable<{ seq: number; at: number; event: Event }>, count: Counter): Fold {
  const fold = createFold(count)
  for (const { seq, at, event } of events) applyEvent(fold, event, { seq, at })
  return fold
}

/** Takes one event into the fold. Throws, and changes nothing, when the event does not fit. */
export function applyEvent(fold: Fold, event: Event, { seq, at }: { seq: number; at: number }): void {
  switch (event.type) {
    case 'entry':
      addEntry(fold, { seq, at, message: event.message, role: event.message.role })
      return
    case 'edit':
      activate(fold, event.edits, seq)
      return
    case 'reapply':
      activate(
        fold,
        event.edits.map(id => recordOf(fold, id, false).edit),
        seq,
      )
      return
    case 'revert':
      deactivate(fold, event.edits)
      return
    case 'pin': {
      const key = pinKey(event.entry, event.part)
      if (event.on) fold.pins.add(key)
      else fold.pins.delete(key)
      touch(fold, { from: event.entry, to: event.entry })
      return
    }
    case 'decision':
    case 'usage':
    case 'file':
    case 'redact':
      return
  }
}

/** Adds an entry; without a message if its content is known to be hidden. */
export function addEntry(fold: Fold, entry: Entry): void {
  const index = fold.entries.push(entry) - 1
  if (entry.role === 'user') fold.lastUser = index
  if (entry.role === 'assistant') fold.lastAssistant = index
  if (entry.message?.parts.some(part => part.type === 'reasoning')) fold.reasoning.push(index)
  const { inner } = fold
  const slot = newSlot({ from: index, to: index }, entry.message ? [entry.message] : [])
  inner.slots.push(slot)
  inner.uncounted.push(slot)
  inner.unweighed.push(slot)
  fold.changedFrom = Math.min(fold.changedFrom, inner.flat.length)
  inner.flat.push(...slot.messages)
  fold.version++
}

/** Tokens of the messages now shown; counts only messages that are new since the last call. */
export function shownTokens(fold: Fold): number {
  countNew(fold.inner, fold.count)
  return fold.inner.tokens
}

/** Bytes of text and images now shown: providers limit them apart from tokens. */
export function shownBytes(fold: Fold): number {
  weighNew(fold.inner)
  return fold.inner.bytes
}

/** The messages to show to the model now. */
export function shown(fold: Fold): Message[] {
  return fold.inner.flat.slice()
}

/** The same without a copy: the list changes with the next event. */
export function peek(fold: Fold): readonly Message[] {
  return fold.inner.flat
}

/** Tokens of the messages shown for some entries. */
export function tokensOf(fold: Fold, from: number, to: number): number {
  countNew(fold.inner, fold.count)
  const { slots } = fold.inner
  let total = 0
  for (let i = slotOf(fold.inner, from); i < slots.length && slots[i]!.from <= to; i++) total += slots[i]!.tokens ?? 0
  return total
}

/** Whether an entry's own messages are in view (rather than inside a range edit). */
export function isVisible(fold: Fold, entry: number): boolean {
  const slot = fold.inner.slots[slotOf(fold.inner, entry)]
  return slot !== undefined && slot.range === undefined
}

/** The index in the view of the first message shown for an entry. */
export function indexOf(fold: Fold, entry: number): number {
  return offsetOf(fold.inner, slotOf(fold.inner, entry))
}

/** How much of a fold a caller has processed: its entries, and the changes to them. */
export type Seen = { entries: number; touches: number }

/** The messages in view that have changed: messages from `from` on are new, and `changed` lists earlier stretches. */
export function changedSince(fold: Fold, { entries, touches }: Seen): { from: number; changed: Span[] } {
  const placeOf = (entry: number) => (entry < fold.entries.length ? indexOf(fold, entry) : fold.inner.flat.length)
  const old = fold.touched.slice(touches).filter(({ from }) => from < entries)
  const changed = old.map(({ from, to }) => ({ from: placeOf(from), to: placeOf(to + 1) }))
  return { from: placeOf(entries), changed: changed.sort((a, b) => a.from - b.from) }
}

/** The entries that each message in view came from: for maps, search hits and explanations. */
export function slots(fold: Fold): readonly Readonly<Slot>[] {
  return fold.inner.slots
}

/** The active edits inside an entry (not the ranges that enclose it). */
export function editsInside(fold: Fold, entry: number): readonly PartEdit[] {
  return fold.inner.inEntry.get(entry) ?? []
}

/** Every active edit, shown or inside another. */
export function* activeEdits(fold: Fold): Generator<Edit> {
  for (const { edit, active } of fold.records.values()) if (active) yield edit
}

/** The outermost range edit that encloses an entry. */
export function rangeAround(fold: Fold, entry: number): Edit | undefined {
  const slot = fold.inner.slots[slotOf(fold.inner, entry)]
  return fold.records.get(slot?.range ?? '')?.edit
}

export function outerRanges(fold: Fold): readonly Edit[] {
  return fold.inner.outer
}

/** Entries that must be shown but whose content is not loaded. */
export function missing(fold: Fold): number[] {
  const found: number[] = []
  for (const slot of fold.inner.slots) {
    if (slot.range === undefined && !fold.entries[slot.from]!.message) found.push(slot.from)
  }
  return found
}

/** Supplies the content of an entry that was added without it. */
export function provide(fold: Fold, entry: number, message: Message): void {
  fold.entries[entry]!.message = message
  if (message.parts.some(part => part.type === 'reasoning')) {
    const at = fold.reasoning.findLastIndex(other => other <= entry)
    if (fold.reasoning[at] !== entry) fold.reasoning.splice(at + 1, 0, entry)
  }
  refresh(fold, entry, entry)
}

export function isPinned(fold: Fold, entry: number, part?: number): boolean {
  if (fold.pins.size === 0) return false
  return fold.pins.has(pinKey(entry)) || (part !== undefined && fold.pins.has(pinKey(entry, part)))
}

/** Applies an event that may still be rejected; the returned function undoes it completely. */
export function tryEvent(
  fold: Fold,
  event: Extract<Event, { type: 'edit' | 'revert' | 'reapply' }>,
  seq: number,
): () => void {
  const { inner, records } = fold
  const { orders, groups } = inner
  const edits = event.type === 'edit' ? event.edits : event.edits.map(id => recordOf(fold, id).edit)
  const before = edits.map(({ id }) => ({ id, record: records.get(id) }))
  const lists = new Map(edits.map(({ target }) => listFor(inner, target)).map(list => [list, [...list]]))
  applyEvent(fold, event, { seq, at: 0 })
  return () => {
    for (const { id, record } of before) {
      if (record) records.set(id, record)
      else records.delete(id)
    }
    for (const [list, old] of lists) list.splice(0, list.length, ...old)
    inner.outer = outermostRanges(inner.ranges)
    for (const { target } of edits) refresh(fold, entriesOf(target).from, entriesOf(target).to)
    Object.assign(inner, { orders, groups })
  }
}

/** The record of an edit, or an error that lists the existing ids. */
export function recordOf(fold: Fold, id: string, active?: boolean): EditRecord {
  const record = fold.records.get(id)
  if (!record) throw new PalimpsestError('EDIT_NOT_FOUND', `There is no edit ${id} in this session.`, { edit: id })
  if (active !== undefined && record.active !== active) {
    const state = record.active ? 'already in force' : 'already undone'
    throw new PalimpsestError('ALREADY', `Edit ${id} is ${state}.`, { edit: id })
  }
  return record
}

function pinKey(entry: number, part?: number): string {
  return `${entry}.${part ?? ''}`
}

function activate(fold: Fold, edits: readonly Edit[], seq: number): void {
  const { inner } = fold
  assertFitting(fold, edits)
  const group = inner.groups++
  let from = Number.POSITIVE_INFINITY
  let to = -1
  for (const edit of edits) {
    fold.records.set(edit.id, { edit, active: true, seq, group })
    if (messagesOf(edit).some(message => callsIn(message).length > 0)) fold.callsInEdits++
    if (edit.mark === 'server') fold.serverClears++
    listFor(inner, edit.target).push({ ...edit, order: inner.orders++ })
    const span = entriesOf(edit.target)
    from = Math.min(from, span.from)
    to = Math.max(to, span.to)
  }
  if (edits.some(edit => isRange(edit.target))) inner.outer = outermostRanges(inner.ranges)
  const areDense = to - from < 4 * edits.length
  if (areDense) refresh(fold, from, to)
  else for (const edit of edits) refresh(fold, entriesOf(edit.target).from, entriesOf(edit.target).to)
}

function deactivate(fold: Fold, ids: readonly string[]): void {
  const records = ids.map(id => recordOf(fold, id, true))
  for (const record of records) {
    const { edit } = record
    fold.records.set(edit.id, { ...record, active: false })
    const list = listFor(fold.inner, edit.target)
    const at = list.findIndex(other => other.id === edit.id)
    list.splice(at, 1)
    if (isRange(edit.target)) fold.inner.outer = outermostRanges(fold.inner.ranges)
    refresh(fold, entriesOf(edit.target).from, entriesOf(edit.target).to)
  }
}

function listFor(inner: Inner, target: Target): ActiveEdit[] {
  if (isRange(target)) return inner.ranges
  const map = target.type === 'after' ? inner.behind : inner.inEntry
  const { from } = entriesOf(target)
  let list = map.get(from)
  if (!list) map.set(from, (list = []))
  return list
}

function assertFitting(fold: Fold, edits: readonly Edit[]): void {
  const together = new Map<string, Edit[]>()
  for (const edit of edits) {
    const { id, target } = edit
    assertInLedger(fold, target)
    assertLaminar(id, target, neighbours(fold, target))
    const place = placeOf(target)
    const before = together.get(place)
    if (before) assertLaminar(id, target, before)
    if (before) before.push(edit)
    else together.set(place, [edit])
  }
}

/** Only targets with the same place can partly overlap. */
function placeOf(target: Target): string {
  if (isRange(target)) return 'ranges'
  return target.type === 'part' ? `${target.entry}.${target.part}` : `${entriesOf(target).from}`
}

/** The active edits that could partly overlap a target. */
function neighbours({ inner }: Fold, target: Target): readonly Edit[] {
  if (isRange(target)) return inner.ranges
  if (target.type !== 'part') return []
  return (inner.inEntry.get(target.entry) ?? []).filter(other => other.target.part === target.part)
}

function assertInLedger(fold: Fold, target: Target): void {
  const { from, to } = entriesOf(target)
  if (Number.isInteger(from) && Number.isInteger(to) && from >= 0 && from <= to && to < fold.entries.length) return
  throw new PalimpsestError(
    'ENTRY_NOT_FOUND',
    `The session has entries 0–${fold.entries.length - 1}; the target names ${from}${to === from ? '' : `–${to}`}.`,
    { target },
  )
}

/** Rebuilds the slots that hold the entries from–to, widened to whole slots and whole outermost ranges. */
function refresh(fold: Fold, from: number, to: number): void {
  const { inner } = fold
  const widened = widen(fold, from, to)
  const first = slotOf(fold.inner, widened.from)
  const last = slotOf(fold.inner, widened.to)
  const offset = offsetOf(fold.inner, first)
  const old = inner.slots.slice(first, last + 1)
  const fresh = buildSlots(fold, widened.from, widened.to)
  const oldMessages = old.flatMap(slot => slot.messages)
  const messages = fresh.flatMap(slot => slot.messages)
  replaceIn(inner.slots, { at: first, remove: old.length, insert: fresh })
  replaceIn(inner.flat, { at: offset, remove: oldMessages.length, insert: messages })
  for (const slot of old) {
    inner.tokens -= slot.tokens ?? 0
    inner.bytes -= slot.bytes ?? 0
    slot.gone = true
  }
  for (const slot of fresh) {
    inner.uncounted.push(slot)
    inner.unweighed.push(slot)
  }
  const sameShape =
    fresh.length === old.length && fresh.every((slot, i) => slot.messages.length === old[i]!.messages.length)
  if (!sameShape) inner.offsetsUpTo = Math.min(inner.offsetsUpTo, first)
  fold.changedFrom = Math.min(fold.changedFrom, offset + commonLength(oldMessages, messages))
  fold.version++
  touch(fold, widened)
}

function touch(fold: Fold, span: Span): void {
  fold.touched.push(span)
  fold.edited = fold.touched.length
}

function widen(fold: Fold, from: number, to: number): Span {
  const { slots, outer } = fold.inner
  let wide = { from: slots[slotOf(fold.inner, from)]!.from, to: slots[slotOf(fold.inner, to)]!.to }
  for (const range of outer) {
    const span = entriesOf(range.target)
    if (span.to < wide.from || span.from > wide.to) continue
    wide = { from: Math.min(wide.from, span.from), to: Math.max(wide.to, span.to) }
  }
  return { from: slots[slotOf(fold.inner, wide.from)]!.from, to: slots[slotOf(fold.inner, wide.to)]!.to }
}

function buildSlots(fold: Fold, from: number, to: number): Slot[] {
  const built: Slot[] = []
  for (let entry = from; entry <= to; entry++) {
    const range = fold.inner.outer.find(candidate => contains(candidate.target, entry))
    const slot = range ? rangeSlot(range) : entrySlot(fold, entry)
    slot.messages.push(...insertedBehind(fold, slot.to))
    built.push(slot)
    entry = slot.to
  }
  return built
}

function rangeSlot(range: ActiveEdit): Slot {
  const messages = messagesOf(range).map(message => marked(message, range.id))
  return newSlot(entriesOf(range.target), messages, range.id)
}

function entrySlot(fold: Fold, entry: number): Slot {
  const { message } = fold.entries[entry]!
  const rendered = message && renderEntry(message, fold.inner.inEntry.get(entry) ?? [])
  return newSlot({ from: entry, to: entry }, rendered ? [rendered] : [])
}

function insertedBehind(fold: Fold, entry: number): Message[] {
  const inserted = fold.inner.behind.get(entry) ?? []
  return inserted.flatMap(edit => messagesOf(edit).map(message => marked(message, edit.id)))
}

function marked(message: Message, edit: string): Message {
  return { ...message, parts: message.parts.map(part => ({ ...part, edit })) }
}
