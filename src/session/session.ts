/**
 * One conversation, as every door holds it: append, view, edit, undo, fork, search, look back.
 *
 * All state is in the ledger (session-state.ts); what stands here translates requests into edits and reads
 * answers out of the ledger. A session can be closed and opened again, by another process too, at any time.
 */

import { type EditOperation, type Resolved, resolveOperations } from '../asked/context-edits.ts'
import { type Suggestion, suggestEdits } from '../asked/suggest.ts'
import { type Change, type FileState, toChangelog } from '../calls/file-history.ts'
import type { ToolTable } from '../calls/tool-kinds.ts'
import type { Head } from '../ledger/head.ts'
import { redactAgain } from '../ledger/redaction.ts'
import type { LedgerStore } from '../ledger/store.ts'
import { PalimpsestError } from '../model/errors.ts'
import { imagesIn, textOf } from '../model/leaves.ts'
import { headOf } from '../model/text.ts'
import { loadCounter, partTokens } from '../model/tokens.ts'
import type { Author, Edit, Event, ImagePart, Message, Part, Told, Usage } from '../model/types.ts'
import type { Place } from '../recall/index.ts'
import { type Embed, meaningOf } from '../recall/meaning.ts'
import { type Found, search } from '../recall/search.ts'
import { entriesOf, messagesOf } from '../view/edits.ts'
import { activeEdits, type EditRecord, type Fold, foldAll, shown } from '../view/fold.ts'
import { checkView, type Violation } from '../view/legality.ts'
import { legalize } from '../view/legalize.ts'
import { partId, placeOfId, shownParts } from '../view/shown-texts.ts'
import { inPresentForm, syncPlan } from '../view/sync.ts'
import { checkGrown, isChangedMeanwhile } from './contention.ts'
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

export type EditResult = {
  edits: Edit[]
  replacements: {
    operation: EditOperation
    entry: number
    originalLength: number
    newLength: number
    tokensSaved: number
  }[]
  tokensSaved: number
}

export type PartInfo = {
  hash: string
  entry: number
  part: number
  kind: Part['type']
  tool?: string
  tokens: number
  preview: string
}

/** `redacted`: when and by whom texts were covered, and the first event that it changed. */
export type Verified = {
  events: number
  entries: number
  edits: number
  violations: Violation[]
  redacted?: { at: number; by: string; from: number; kinds: Record<string, number> }[]
}

export type Restored = { entry: number; part: number; text: string; images: ImagePart[]; edit?: Edit }

/** Opens another session as this one was opened; `parent` is recorded of a new one that shares no events. */
type Opener = (id: string, about?: { parent: string }) => Promise<Session>

/** So much of a session's name is in those of its forks: with their numbers they stay names. */
const LONGEST_BASE = 180
/** How often a conversation is compared again with a session that others write to. */
const MAX_TRIES = 10

/** How an error about an unknown id begins. */
export const NO_SUCH_PART = 'There is no edit and no part'

export class Session {
  readonly #store: LedgerStore
  readonly #embed: Embed | undefined
  readonly #state: SessionState
  readonly #tools: ToolTable | undefined
  readonly #open: Opener
  /** What the client sent last: it says what the entries of this fold say, as long as there are as many. */
  #synced: { messages: readonly Message[]; fold: Fold } | undefined

  /** The system prompt as it was first recorded, where it has been looked up. */
  #firstPrompt: Message | undefined

  /** Use `pal.session(id)`. */
  constructor(state: SessionState, context: { store: LedgerStore; tools?: ToolTable; embed?: Embed; open: Opener }) {
    this.#state = state
    this.#store = context.store
    this.#embed = context.embed
    this.#tools = context.tools
    this.#open = context.open
  }

  get id(): string {
    return this.#state.id
  }

  get options(): Readonly<SessionOptions> {
    return this.#state.options
  }

  /** Adds messages, all or none; durable when it resolves. Gives the numbers of the new entries. */
  append(...messages: Message[]): Promise<number[]> {
    return this.#state.append(...messages)
  }

  /** What to send now: plans and records edits first. With `plan: false` it only looks. */
  view(options: { plan?: boolean; now?: number } = {}): Promise<View> {
    return this.#state.view(options)
  }

  /**
   * Makes the ledger hold a conversation that a client keeps itself, and gives the view of it: what is new is
   * appended; where the client went back and took another way, the answer comes from a fork.
   */
  async sync(messages: readonly Message[]): Promise<View & { session: Session }> {
    const view = await this.follow(messages)
    const { fold, options, openCalls: open } = view.session
    view.messages = [...legalize(inPresentForm(fold, messages), { dialect: options.model.dialect, open }).messages]
    return view
  }

  /** As `sync`; the view shows messages in the form in which they were first recorded. */
  async follow(messages: readonly Message[]): Promise<View & { session: Session }> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#follow(redactAgain(messages, this.#state.redactions), messages)
      } catch (error) {
        // Others have added to the session, or redacted it: it is read again, and what is new is found anew.
        if (!isChangedMeanwhile(error) || tries === MAX_TRIES) throw error
        await this.view({ plan: false })
      }
    }
  }

  /** `sent`: the messages as the client has them, before what was redacted is covered. */
  async #follow(messages: readonly Message[], sent: readonly Message[]): Promise<View & { session: Session }> {
    const { fold } = this.#state
    if (this.#synced?.fold !== fold) this.#synced = this.#firstPrompt = undefined
    const isKnown = this.#synced?.messages.length === fold.entries.length
    const known = isKnown ? this.#synced!.messages : await this.#messages()
    const { length } = known
    const plan = syncPlan(known, messages, await this.#systemPrompt())
    if (plan.kind === 'fork') {
      const other = plan.at < 0 ? await this.#startedAnew() : await this.#fork(plan.at, sent)
      return other.follow(sent)
    }
    if (plan.edit) await this.#state.apply([{ ...plan.edit, by: 'engine', why: 'the client changed this message' }])
    const fresh = plan.append.length > 0
    const view = await (fresh ? this.#state.appendAndView(plan.append, length) : this.view())
    if (!fresh) checkGrown(this.id, length, fold.entries.length)
    this.#synced = { messages: [...messages], fold }
    return Object.assign(view, { session: this as Session })
  }

  /** A session for a conversation that shares nothing with this one but its client. */
  async #startedAnew(): Promise<Session> {
    return this.#open(await this.#freeName(), { parent: this.id })
  }

  /** Discards, distills or replaces what the model sees; all operations or none. */
  async edit(operations: readonly EditOperation[], by: Author = 'agent', reason = ''): Promise<EditResult> {
    await this.view({ plan: false })
    const resolved = resolveOperations(this.#state.fold, operations)
    const edits = await this.#state.apply(resolved.map(target => toRequest(target, by, reason)))
    const replacements = resolved.map(({ operation, entry, originalLength, newLength }, i) => {
      return { operation, entry, originalLength, newLength, tokensSaved: edits[i]!.saved }
    })
    return { edits, replacements, tokensSaved: edits.reduce((sum, edit) => sum + edit.saved, 0) }
  }

  /** Records edits given by their targets in originals. */
  apply(edits: readonly Pick<Edit, 'target' | 'replacement' | 'why' | 'mark'>[], by: Author = 'user'): Promise<Edit[]> {
    return this.#state.apply(edits.map(edit => ({ ...edit, by })))
  }

  /** Takes one edit back, or several: all or none. */
  undo(edits: string | readonly string[], by: Author = 'user'): Promise<void> {
    return this.#state.undo([edits].flat(), by)
  }

  /** Puts undone edits in force again, all or none. */
  redo(edits: string | readonly string[], by: Author = 'user'): Promise<void> {
    return this.#state.redo([edits].flat(), by)
  }

  /** Every edit ever made, in order, with its state. */
  edits(): EditRecord[] {
    return this.#state.edits()
  }

  /** Never edit this entry (or part of it), unless the user does. */
  pin(entry: number, options: { part?: number; on?: boolean; by?: Author } = {}): Promise<void> {
    return this.#state.pin(entry, options)
  }

  /** A new session with everything up to and including an entry; the last one if none is named. */
  fork(at?: number, id?: string): Promise<Session> {
    return this.#fork(at, [], id)
  }

  async #fork(at: number | undefined, sent: readonly Message[], id?: string): Promise<Session> {
    const name = id ?? (await this.#freeName())
    if (await this.#store.find(name)) {
      throw new PalimpsestError('ALREADY', `There is a session ${name} already. Choose another name.`, {
        session: name,
      })
    }
    await this.#state.forkTo(name, at, sent)
    return this.#open(name)
  }

  /** Searches everything that ever happened, best first, with what is in view marked. */
  async recall(query: string, { limit = 20, ...options }: RecallOptions = {}): Promise<RecallHit[]> {
    const index = await this.#store.index({ session: this.id })
    const embed = this.#embed
    const textOf = (place: Place) => this.pieceOf(place)
    const by = embed && { meaning: meaningOf(embed), most: MOST_BY_MEANING, textOf }
    return this.describe(await search(index, query, { limit, ...options }, by), query)
  }

  /** The text of what a search has found in this session. */
  async pieceOf(place: Place): Promise<string> {
    return pieceOf(await this.#reader(), place)
  }

  /** What a search has found in this session, as its hits. */
  async describe(found: readonly Found[], query: string): Promise<RecallHit[]> {
    await this.view({ plan: false })
    return describeHits(await this.#reader(), found, query)
  }

  /** What stood around a hit: the parts of the entries before and after it, a line each. Changes nothing. */
  async around(id: string, options: { before?: number; after?: number } = {}): Promise<Nearby[]> {
    await this.view({ plan: false })
    const target = this.#state.fold.records.get(id)?.edit.target
    const entry = target ? entriesOf(target).from : (await this.#locate(id)).entry
    return describeAround(await this.#reader(), entry, options)
  }

  /** Brings an original back at the end of the view, where it costs no cache. Takes an edit's id or a part's. */
  async restore(id: string): Promise<Restored> {
    const restored = await this.original(id)
    const { entry, text, images } = restored
    if (this.#state.openCalls.length > 0) return restored
    const shownText = `[Restored from entry ${entry}]\n${text}`
    const target = { type: 'after' as const, entry: this.#state.fold.entries.length - 1 }
    const parts: Part[] = [{ type: 'text', text: shownText }, ...images]
    const replacement = { messages: [{ role: 'user' as const, parts }] }
    const [edit] = await this.apply([{ target, replacement, why: `restored ${id}` }], 'user')
    return edit ? { ...restored, edit } : restored
  }

  /** The text of a part as it happened, by its id or by that of an edit of it. Changes nothing. */
  async original(id: string): Promise<Restored> {
    const { entry, part } = await this.#locate(id)
    const message = await this.#state.original(entry)
    const parts = part === undefined ? message.parts : [message.parts[part]!]
    return { entry, part: part ?? 0, text: parts.map(textOf).join('\n'), images: parts.flatMap(imagesIn) }
  }

  /** Stretches that could be replaced at little loss, as operations that `edit` takes. */
  async suggest(most?: number): Promise<Suggestion[]> {
    await this.view({ plan: false })
    const options = { count: await loadCounter(), model: this.options.model, ...(most === undefined ? {} : { most }) }
    return suggestEdits(this.#state.fold, options)
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

  /** What was changed in files and why, from the intents of edits. */
  async changelog(): Promise<{ changes: Change[]; text: string }> {
    const changes = changesOf(await this.#fileRecord())
    return { changes, text: toChangelog(changes) }
  }

  /** What a file looked like after a turn, rebuilt from reads, writes and edits. */
  async fileStateAt(path: string, turn: number): Promise<FileState> {
    return fileStateOf(await this.#fileRecord(), path, turn)
  }

  async #fileRecord(): Promise<FileRecord> {
    const marks = (await this.files()).filter(({ action }) => action === 'write')
    const events = await this.eventsAt(marks.map(({ seq }) => seq))
    const writes = events.flatMap(({ event }, i) => (event.type === 'file' ? [{ seq: marks[i]!.seq, event }] : []))
    return { messages: await this.#messages(), entries: this.fold.entries, writes, tools: this.#tools }
  }

  /**
   * Checks hashes, contents, the fold and legality from the store up. Throws at a damaged ledger, and at one whose
   * chain does not lead to a head that was `kept` elsewhere.
   */
  async verify(kept?: Head): Promise<Verified> {
    const events = await this.#state.events(kept)
    const fold: Fold = foldAll(events, await loadCounter())
    const rules = { dialect: this.options.model.dialect, open: this.openCalls }
    const violations = checkView(legalize(shown(fold), rules).messages, rules)
    const redacted = events.flatMap(({ at, event }) => {
      return event.type === 'redact' ? [{ at, by: event.by, from: event.from, kinds: event.kinds }] : []
    })
    const found = { events: events.length, entries: fold.entries.length, edits: fold.records.size, violations }
    return redacted.length > 0 ? { ...found, redacted } : found
  }

  reportUsage(usage: Usage, told: Told = {}): Promise<void> {
    return this.#state.reportUsage(usage, told)
  }

  record(event: Extract<Event, { type: 'usage' | 'file' | 'decision' }>): Promise<void> {
    return this.#state.record(event)
  }

  /** What file tools did in this session, oldest first; `eventAt` gives what a write replaced. */
  files(): Promise<readonly FileMark[]> {
    return this.#state.files()
  }

  async eventAt(seq: number): Promise<Event | undefined> {
    return (await this.#state.eventsAt([seq]))[0]?.event
  }

  /** The events at some places of the ledger, whole. */
  eventsAt(seqs: readonly number[]): ReturnType<SessionState['eventsAt']> {
    return this.#state.eventsAt(seqs)
  }

  /** Every event, oldest first. */
  events(): ReturnType<SessionState['events']> {
    return this.#state.events()
  }

  /** Reads only: what doors show is computed from this. */
  get fold(): Readonly<Fold> {
    return this.#state.fold
  }

  /** Calls that wait for a result. */
  get openCalls(): string[] {
    return this.#state.openCalls
  }

  get callsMade(): number {
    return this.#state.callsMade
  }

  async #reader(): Promise<Reader> {
    return { fold: this.fold, original: entry => this.#state.original(entry), count: await loadCounter() }
  }

  async #messages(): Promise<Message[]> {
    const { entries } = this.#state.fold
    if (entries.every(entry => entry.message)) return entries.map(entry => entry.message!)
    return (await this.#state.events()).flatMap(({ event }) => (event.type === 'entry' ? [event.message] : []))
  }

  /** What stands for the client's first message now: the newest form that the client gave it, or the first. */
  async #systemPrompt(): Promise<Message | undefined> {
    const changes = [...activeEdits(this.fold)].filter(({ by, target }) => {
      return by === 'engine' && target.type === 'entry' && target.entry === 0
    })
    const newest = changes.at(-1)
    if (newest) return messagesOf(newest)[0]
    if (this.fold.entries[0]?.role !== 'system') return undefined
    return (this.#firstPrompt ??= await this.#state.original(0))
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

  /** Forks of a fork are numbered with those of the first session, so that names do not grow. */
  async #freeName(): Promise<string> {
    let first = this.id
    while (/-fork-\d+$/.test(first)) first = first.replace(/-fork-\d+$/, '')
    const base = headOf(first, LONGEST_BASE)
    const isTaken = async (n: number) => (await this.#store.find(`${base}-fork-${n}`)) !== undefined
    let high = 1
    while (await isTaken(high)) high *= 2
    // The number before `low` is taken, `high` is free.
    for (let low = Math.floor(high / 2) + 1; low < high; ) {
      const middle = Math.floor((low + high) / 2)
      if (await isTaken(middle)) low = middle + 1
      else high = middle
    }
    return `${base}-fork-${high}`
  }
}

/** Characters of a reason that are kept with an edit. */
const LONGEST_REASON = 500

function toRequest(
  { target, replacement, why }: Resolved,
  by: Author,
  reason: string,
): Pick<Edit, 'target' | 'replacement' | 'by' | 'why'> {
  return {
    target,
    replacement,
    why: reason.trim() === '' ? why : `${why}: ${headOf(reason.trim(), LONGEST_REASON)}`,
    by,
  }
}
