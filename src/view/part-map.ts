/**
 * Every part of a session with its size, in the original and as it was shown at any call.
 *
 * The map follows the fold event by event. For each part it records the calls before which its size changed, so the map
 * at an earlier call is a lookup, and no ledger is replayed. Messages that edits put into the view (summaries, logs,
 * insertions) are listed with the entries that they replace or follow. The map holds sizes and labels, no texts.
 */

import { CallBook } from '../calls/call-book.ts'
import type { CallInfo, ToolTable } from '../calls/tool-kinds.ts'
import { textOf } from '../model/leaves.ts'
import { boundedTo, headOf, onOneLine } from '../model/text.ts'
import { messageTokens, partTokens } from '../model/tokens.ts'
import type { Edit, Message, Part, Role, ToolKind } from '../model/types.ts'
import { editsByPart, entriesOf, isRange, messagesOf, outermost } from './edits.ts'
import { editsInside, type Fold, rangeAround } from './fold.ts'
import { shownParts } from './shown-texts.ts'

/** The kind of a bar: the speaker, or what the tool does. */
export type PartKind = 'system' | 'user' | 'assistant' | 'reasoning' | 'image' | 'raw' | 'inserted' | ToolKind

/** One bar: a part of an entry, or a message that an edit shows. */
export type Bar = {
  entry: number
  /** Absent for a message that an edit inserted. */
  part?: number
  role: Role
  type: Part['type']
  kind: PartKind
  tool?: string
  /** The file that the tool call concerns. */
  path?: string
  /** The file, the command, or the first words. */
  label: string
  /** Tokens of the original, and tokens as shown: 0 if it is hidden. */
  raw: number
  shown: number
  /** The edits that show here. */
  edits: string[]
  pinned: boolean
}

type State = { shown: number; edits: string[] }
type Change = State & { call: number }
type Track = Omit<Bar, 'shown' | 'edits' | 'pinned'> & { changes: Change[] }
/** A message of an edit: in place of the entries that it hides, or after an entry. */
type Inserted = { edit: string; instead: boolean; tokens: number; track: Track }
type Pin = { call: number; on: boolean }

const LABEL = 100

export class PartMap {
  readonly #fold: Fold
  /** For each entry: its parts, then the messages that edits put there. */
  readonly #entries: { parts: Track[]; inserted: Inserted[] }[] = []
  readonly #calls: CallBook
  readonly #pins = new Map<string, Pin[]>()

  constructor(fold: Fold, tools?: ToolTable) {
    this.#fold = fold
    this.#calls = new CallBook(tools)
  }

  /** Adds an entry that the fold has just taken; returns its tokens. */
  add(message: Message): number {
    const entry = this.#entries.length
    const parts = message.parts.map((part, index) => ({
      ...this.#describe(message, part),
      entry,
      part: index,
      raw: partTokens(part, this.#fold.count),
      changes: [],
    }))
    this.#entries.push({ parts, inserted: [] })
    return parts.reduce((total, { raw }) => total + raw, 0)
  }

  /** Updates the map with edits that the fold has just applied or undone, before a call. */
  follow(edits: readonly Edit[], call: number): void {
    for (const edit of edits) this.#insert(edit)
    const touched = new Set<number>()
    for (const { target } of edits) {
      const { from, to } = entriesOf(target)
      for (let entry = from; entry <= to; entry++) touched.add(entry)
    }
    for (const entry of touched) this.#refresh(entry, call)
  }

  pin(entry: number, part: number | undefined, { on, call }: Pin): void {
    const key = part === undefined ? `${entry}` : `${entry}.${part}`
    this.#pins.set(key, [...(this.#pins.get(key) ?? []), { on, call }])
  }

  /** The bars of the first entries, as they were shown to a call. */
  *bars(entries: number, call: number): Generator<Bar> {
    for (let entry = 0; entry < Math.min(entries, this.#entries.length); entry++) {
      const { parts, inserted } = this.#entries[entry]!
      const there = inserted.filter(({ track }) => stateAt(track, call).shown > 0)
      for (const { track } of there.filter(({ instead }) => instead)) yield this.#bar(track, call)
      for (const track of parts) yield this.#bar(track, call)
      for (const { track } of there.filter(({ instead }) => !instead)) yield this.#bar(track, call)
    }
  }

  #bar({ changes, ...track }: Track, call: number): Bar {
    const { shown, edits } = stateAt({ ...track, changes }, call)
    return { ...track, shown, edits, pinned: this.#isPinned(track, call) }
  }

  #isPinned({ entry, part }: Pick<Track, 'entry' | 'part'>, call: number): boolean {
    if (this.#pins.size === 0 || part === undefined) return false
    return [`${entry}`, `${entry}.${part}`].some(key => {
      return this.#pins.get(key)?.findLast(pin => pin.call <= call)?.on
    })
  }

  /** Gives the messages of an edit separate bars, which show as long as the edit does. */
  #insert(edit: Edit): void {
    const { id, target } = edit
    const { from } = entriesOf(target)
    const { inserted } = this.#entries[from]!
    if (inserted.some(known => known.edit === id)) return
    for (const message of messagesOf(edit)) {
      const [first] = message.parts
      const label = first ? wordsOf(first) : ''
      const track: Track = {
        entry: from,
        role: message.role,
        type: 'text',
        kind: 'inserted',
        label,
        raw: 0,
        changes: [],
      }
      const tokens = messageTokens(message, this.#fold.count)
      inserted.push({ edit: id, instead: isRange(target), tokens, track })
    }
  }

  #refresh(entry: number, call: number): void {
    const fold = this.#fold
    const { parts, inserted } = this.#entries[entry]!
    const range = rangeAround(fold, entry)
    const shown = new Map([...shownParts(fold, entry)].map(({ part, shown }) => [part, shown]))
    const byPart = editsByPart(editsInside(fold, entry))
    for (const track of parts) {
      const part = shown.get(track.part!)
      const own = outermost(byPart.get(track.part!) ?? [])
      const state: State = range
        ? { shown: 0, edits: [range.id] }
        : { shown: part ? partTokens(part, fold.count) : 0, edits: own.map(({ id }) => id) }
      note(track, state, call)
    }
    for (const { edit, instead, tokens, track } of inserted) {
      const active = fold.records.get(edit)?.active === true
      const isShown = active && (instead ? range?.id === edit : endsAt(range, entry))
      note(track, isShown ? { shown: tokens, edits: [edit] } : HIDDEN, call)
    }
  }

  #describe({ role }: Message, part: Part): Pick<Track, 'role' | 'type' | 'kind' | 'tool' | 'path' | 'label'> {
    const { type } = part
    if (part.type === 'tool-call') {
      const info = this.#calls.call(part)
      return { role, type, kind: info.kind, tool: part.name, path: info.path, label: labelOf(info, part) }
    }
    if (part.type === 'tool-result') {
      const { name, info } = this.#calls.result(part)
      return { role, type, kind: info.kind, tool: name, path: info.path, label: labelOf(info, part) }
    }
    const kind = part.type === 'text' ? (role === 'tool' ? 'other' : role) : part.type
    return { role, type, kind, label: wordsOf(part) }
  }
}

const HIDDEN: State = { shown: 0, edits: [] }

/** How a part was shown before a call: unchanged, unless a recorded change says otherwise. */
function stateAt({ raw, changes }: Track, call: number): State {
  return changes.findLast(change => change.call <= call) ?? { shown: raw, edits: [] }
}

function note(track: Track, state: State, call: number): void {
  const now = stateAt(track, call)
  // The same edits show the same text.
  if (now.edits.join() === state.edits.join()) return
  track.changes.push({ ...state, call })
}

/** An insertion shows after a visible entry, or after the range that ends with that entry. */
function endsAt(range: Edit | undefined, entry: number): boolean {
  return range === undefined || entriesOf(range.target).to === entry
}

function labelOf({ path, command, query }: CallInfo, part: Part): string {
  const label = path ?? command ?? query
  return label === undefined ? wordsOf(part) : boundedTo(onOneLine(label), LABEL)
}

function wordsOf(part: Part): string {
  if (part.type === 'image') return part.mediaType
  return boundedTo(onOneLine(headOf(textOf(part), LABEL * 4)), LABEL)
}
