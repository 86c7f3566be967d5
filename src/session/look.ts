/**
 * Reading a session: searches, originals, parts, suggestions, files, events, checks. Nothing here writes to the
 * ledger or asks the planner. Code that only reads takes a `Look`; a `Session` (session.ts) can also be changed.
 */

import { type Suggestion, suggestEdits } from '../asked/suggest.ts'
import { type Change, type FileState, toChangelog } from '../calls/file-history.ts'
import type { ToolTable } from '../calls/tool-kinds.ts'
import type { Head } from '../ledger/head.ts'
import type { LedgerStore } from '../ledger/store.ts'
import { PalimpsestError } from '../model/errors.ts'
import { imagesIn, textOf } from '../model/leaves.ts'
import { headOf } from '../model/text.ts'
import { loadCounter, partTokens } from '../model/tokens.ts'
import type { Edit, Event, ImagePart, Message, Part } from '../model/types.ts'
import type { Place } from '../recall/index.ts'
import { type Embed, meaningOf } from '../recall/meaning.ts'
import { search } from '../recall/search.ts'
import { entriesOf } from '../view/edits.ts'
import { type EditRecord, type Fold, foldAll, shown } from '../view/fold.ts'
import { checkView, firstSpeaker, type Violation } from '../view/legality.ts'
import { legalize } from '../view/legalize.ts'
import { partId, placeOfId, shownParts } from '../view/shown-texts.ts'
import { changesOf, type FileRecord, fileStateOf } from './file-record.ts'
import {
  describeAround,
  describeHits,
  MOST_BY_MEANING,
  type Nearby,
  pieceOf,
  type Reader,
  type RecallHit,
  type RecallOptions,
} from './recall.ts'
import type { FileMark, SessionOptions } from './session-options.ts'
import type { View } from './session-view.ts'
import type { SessionState } from './state.ts'

export type PartInfo = {
  hash: string
  entry: number
  part: number
  kind: Part['type']
  tool?: string
  tokens: number
  preview: string
}

/** `redacted`: when and by whom texts were redacted, and the first changed event. */
export type Verified = {
  events: number
  entries: number
  edits: number
  violations: Violation[]
  redacted?: { at: number; by: string; from: number; kinds: Record<string, number> }[]
}

export type Restored = { entry: number; part: number; text: string; images: ImagePart[]; edit?: Edit }

/** What a session is opened with, besides its state. */
export type LookContext = { store: LedgerStore; tools?: ToolTable; embed?: Embed }

/** The beginning of an error about an unknown id. */
export const NO_SUCH_PART = 'There is no edit and no part'

export class Look {
  readonly #state: SessionState
  readonly #context: LookContext

  constructor(state: SessionState, context: LookContext) {
    this.#state = state
    this.#context = context
  }

  get id(): string {
    return this.#state.id
  }

  get options(): Readonly<SessionOptions> {
    return this.#state.options
  }

  /** The present state, for reading. */
  get fold(): Readonly<Fold> {
    return this.#state.fold
  }

  /** Calls without a result yet. */
  get openCalls(): string[] {
    return this.#state.openCalls
  }

  get callsMade(): number {
    return this.#state.callsMade
  }

  /** What would be sent now, without planning. */
  view(_options: { plan: false }): Promise<View> {
    return this.#state.view({ plan: false })
  }

  /** The conversation as it happened, before any edit. */
  messages(): Promise<Message[]> {
    return this.#state.messages()
  }

  /** Searches everything that ever happened, best hit first. Hits say whether they are in view. */
  async recall(query: string, { limit = 20, ...options }: RecallOptions = {}): Promise<RecallHit[]> {
    const { store, embed } = this.#context
    const textOf = (place: Place) => pieceOf(store, place)
    const by = embed && { meaning: meaningOf(embed), most: MOST_BY_MEANING, textOf }
    const found = await search(await store.index({ session: this.id }), query, { limit, ...options }, by)
    return (await describeHits(store, found, query)).map(({ session: _, ...hit }) => hit)
  }

  /** The parts of the entries before and after a hit, one line each. */
  async around(id: string, options: { before?: number; after?: number } = {}): Promise<Nearby[]> {
    await this.view({ plan: false })
    const target = this.#state.fold.records.get(id)?.edit.target
    const entry = target ? entriesOf(target).from : (await this.#locate(id)).entry
    return describeAround(await this.#reader(), entry, options)
  }

  /** The original text of a part, by the part's id or by the id of an edit of it. */
  async original(id: string): Promise<Restored> {
    const { entry, part } = await this.#locate(id)
    const message = await this.#state.original(entry)
    const parts = part === undefined ? message.parts : [message.parts[part]!]
    return { entry, part: part ?? 0, text: parts.map(textOf).join('\n'), images: parts.flatMap(imagesIn) }
  }

  /** Stretches that could be replaced at little loss, as operations for `edit`. */
  async suggest(most?: number): Promise<Suggestion[]> {
    await this.view({ plan: false })
    return suggestEdits(this.#state.fold, { count: await loadCounter(), model: this.options.model, most })
  }

  /** The parts in view with their ids and sizes, largest first. */
  async parts(): Promise<PartInfo[]> {
    await this.view({ plan: false })
    const count = await loadCounter()
    const list = [...shownParts(this.#state.fold)].map(({ entry, part, shown: now, original }) => ({
      hash: partId(entry, part, original),
      entry,
      part,
      kind: now.type,
      ...('name' in now ? { tool: now.name } : {}),
      tokens: partTokens(now, count),
      preview: headOf(textOf(now).replace(/\s+/g, ' '), 80),
    }))
    return list.sort((a, b) => b.tokens - a.tokens)
  }

  /** The changes to files with their reasons, from the intents of edits. */
  async changelog(): Promise<{ changes: Change[]; text: string }> {
    const changes = changesOf(await this.#fileRecord())
    return { changes, text: toChangelog(changes) }
  }

  /** The text of a file after a turn, rebuilt from reads, writes and edits. */
  async fileStateAt(path: string, turn: number): Promise<FileState> {
    return fileStateOf(await this.#fileRecord(), path, turn)
  }

  async #fileRecord(): Promise<FileRecord> {
    const marks = (await this.files()).filter(({ action }) => action === 'write')
    const events = await this.eventsAt(marks.map(({ seq }) => seq))
    const writes = events.flatMap(({ event }, i) => (event.type === 'file' ? [{ seq: marks[i]!.seq, event }] : []))
    return { messages: await this.#state.messages(), entries: this.fold.entries, writes, tools: this.#context.tools }
  }

  /**
   * Checks hashes, contents, the fold and legality from the store up. Throws if the ledger is damaged, or if its
   * chain does not contain the head that was `kept` elsewhere.
   */
  async verify(kept?: Head): Promise<Verified> {
    const events = await this.#state.events(kept)
    const fold: Fold = foldAll(events, await loadCounter())
    const rules = { dialect: this.options.model.dialect, began: firstSpeaker(fold.entries), open: this.openCalls }
    const violations = checkView(legalize(shown(fold), rules).messages, rules)
    const redacted = events.flatMap(({ at, event }) => {
      return event.type === 'redact' ? [{ at, by: event.by, from: event.from, kinds: event.kinds }] : []
    })
    const found = { events: events.length, entries: fold.entries.length, edits: fold.records.size, violations }
    return redacted.length > 0 ? { ...found, redacted } : found
  }

  /** Every edit ever made, in order, with its state. */
  edits(): EditRecord[] {
    return [...this.fold.records.values()]
  }

  /** The actions of file tools in this session, oldest first. `eventAt` gives the text that a write replaced. */
  files(): Promise<readonly FileMark[]> {
    return this.#state.files()
  }

  async eventAt(seq: number): Promise<Event | undefined> {
    return (await this.#state.eventsAt([seq]))[0]?.event
  }

  /** The full events at the given places of the ledger. */
  eventsAt(seqs: readonly number[]): ReturnType<SessionState['eventsAt']> {
    return this.#state.eventsAt(seqs)
  }

  /** Every event, oldest first. */
  events(): ReturnType<SessionState['events']> {
    return this.#state.events()
  }

  async #reader(): Promise<Reader> {
    return { fold: this.fold, original: entry => this.#state.original(entry), count: await loadCounter() }
  }

  async #locate(id: string): Promise<{ entry: number; part: number | undefined }> {
    const record = this.#state.fold.records.get(id)
    if (record) {
      const { target } = record.edit
      if (target.type === 'part') return { entry: target.entry, part: target.part }
      if (target.type === 'entry') return { entry: target.entry, part: undefined }
      throw new PalimpsestError('ALREADY', `Edit ${id} covers several entries: undo it, or restore one part.`, { id })
    }
    const place = placeOfId(id)
    if (place && place.entry < this.#state.fold.entries.length) {
      const original = (await this.#state.original(place.entry)).parts[place.part]
      if (original?.type === place.type) return { entry: place.entry, part: place.part }
    }
    throw new PalimpsestError('EDIT_NOT_FOUND', `${NO_SUCH_PART} ${id} in this session.`, { id })
  }
}
