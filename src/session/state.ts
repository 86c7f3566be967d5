/**
 * The ledger and the view of a session.
 *
 * Every change is an event that is durable before the call resolves; the fold follows it. Before the model is
 * called, `view` asks the planner for edits, checks them, records them and gives the messages to send. Calls on
 * one session are served one after the other; another process may append to the same session at any time.
 */

import { decodeEvent, decodeLight, decodeLightFile, lightFile } from '../ledger/codec.ts'
import type { Head } from '../ledger/head.ts'
import { Ledger, type Placed } from '../ledger/ledger.ts'
import type { RedactEvent } from '../ledger/redaction.ts'
import type { LedgerStore } from '../ledger/store.ts'
import { type ErrorCode, isPalimpsestError, PalimpsestError } from '../model/errors.ts'
import { type Counter, loadCounter, messagesTokens } from '../model/tokens.ts'
import type { Author, Edit, Event, Message, Told, Usage } from '../model/types.ts'
import type { Plan, Planner } from '../policies/policy.ts'
import { scaleLearned, TokenFit } from '../providers/token-fit.ts'
import { keepFiles, keepRecords } from '../summaries/kept-files.ts'
import { withModelSummaries } from '../summaries/model-summary.ts'
import { explainStale, StaleReasoning } from '../view/binding.ts'
import { entriesOf, savedByCall } from '../view/edits.ts'
import * as views from '../view/fold.ts'
import { type CheckOptions, checkSize, firstSpeaker, type Violation, violation } from '../view/legality.ts'
import { legalize } from '../view/legalize.ts'
import { Calls, checkMessage, copyOf } from '../view/messages.ts'
import { type EditRequest, toEdit } from '../view/proposal.ts'
import { repairsFor } from '../view/repairs.ts'
import { assertAllowed, assertRevertible, tryLegal } from '../view/scope.ts'
import { activeClears, asOneRun } from '../view/server-clears.ts'
import { createUnits, extendUnits, type Units } from '../view/units.ts'
import { checkGrown, contention, redactedMeanwhile } from './contention.ts'
import { redactFork } from './redacting.ts'
import { type FileMark, type SessionOptions, toldToPlanner } from './session-options.ts'
import { toView, type View } from './session-view.ts'

const MAX_TRIES = 50

/** The errors that can refuse an edit. */
const REFUSED = new Set<ErrorCode>(['VIEW_ILLEGAL', 'EDITS_OVERLAP', 'PINNED', 'ENTRY_NOT_FOUND'])

export class SessionState {
  readonly options: Readonly<SessionOptions>
  readonly #store: LedgerStore
  #ledger: Ledger
  #fold: views.Fold
  #calls = new Calls()
  #planner: Planner
  #units: Units
  #stale = new StaleReasoning()
  #files: FileMark[] = []
  #redactions: RedactEvent[] = []
  /** The first entry that has never been sent. */
  #unsent = 0
  #counter: Counter | undefined
  #queue: Promise<unknown> = Promise.resolve()
  #callsMade = 0
  #lastCallAt: number | undefined
  /** How much of the fold is known to be legal. */
  #legal: views.Seen = { entries: 0, touches: 0 }
  readonly #checked: NonNullable<CheckOptions['checked']> = new WeakMap()
  #lastDecision: string | undefined
  #lastView: View | undefined
  /** The state of the edits in the last planned view, which was made to be sent. */
  #sentAt: number | undefined
  #fit = new TokenFit()

  constructor(store: LedgerStore, id: string, options: SessionOptions) {
    this.options = options
    this.#store = store
    this.#ledger = new Ledger(store, id)
    this.#fold = views.createFold(text => this.#counter!(text))
    this.#planner = options.policy.start()
    this.#units = createUnits(options.tools)
  }

  get id(): string {
    return this.#ledger.id
  }

  /** The fold, read-only: doors and tools change it only through the session. */
  get fold(): Readonly<views.Fold> {
    return this.#fold
  }

  /** Calls that the model has answered. */
  get callsMade(): number {
    return this.#callsMade
  }

  /** Calls without a result yet. */
  get openCalls(): string[] {
    return this.#calls.open
  }

  /** The redactions, oldest first: texts that the client sends again are redacted in the same way. */
  get redactions(): readonly RedactEvent[] {
    return this.#redactions
  }

  /** Reads the ledger, except the content of entries that are not in view. */
  async load(): Promise<this> {
    const { rows, contents } = await this.#ledger.load()
    for (const { seq, at, type, light, body } of rows) {
      if (type !== 'entry') {
        if (type === 'file') this.#files.push({ seq, ...decodeLightFile(light) })
        else this.#take({ seq, at, event: decodeEvent(body ?? '', contents) })
        continue
      }
      const { role, calls = [], results = [] } = decodeLight(light)
      this.#noteCall(role, at)
      views.addEntry(this.#fold, { seq, at, message: undefined, role })
      this.#stale.noteEntry(this.#fold, role)
      this.#calls.note(role, calls, results)
    }
    await this.#loadContent(views.missing(this.#fold))
    return this
  }

  /** Adds messages, all or none; durable when it resolves. Gives the numbers of the new entries. */
  async append(...messages: Message[]): Promise<number[]> {
    return this.#exclusive(async () => {
      await this.#append(messages)
      const { length } = this.#fold.entries
      return messages.map((_, i) => length - messages.length + i)
    })
  }

  /** Appends after the first `behind` entries if nobody else has written since, and gives the messages to send. */
  async appendAndView(messages: readonly Message[], behind: number): Promise<View> {
    return this.#exclusive(async () => {
      await this.#append(messages, behind)
      this.#counter ??= await loadCounter()
      return this.#planAndApply(this.options.clock())
    })
  }

  /** The messages to send now. `plan: false` plans and records nothing. `length`: the store's present length. */
  async view({ plan = true, now, length }: { plan?: boolean; now?: number; length?: number } = {}): Promise<View> {
    return this.#exclusive(async () => {
      await this.#ready(length)
      return plan ? this.#planAndApply(now ?? this.options.clock()) : this.#result({ pending: [], report: [] })
    })
  }

  /** Records edits, all or none. Gives them ids and counts what they save. */
  async apply(requests: readonly EditRequest[], decision?: string): Promise<Edit[]> {
    return this.#exclusive(async () => {
      await this.#ready()
      return this.#apply(requests, decision)
    })
  }

  /** Undoes or redoes edits, all or none. */
  async switch(type: 'revert' | 'reapply', ids: readonly string[], by: Author): Promise<void> {
    await this.#exclusive(() => this.#switch({ type, edits: [...new Set(ids)], by }))
  }

  /** Protects an entry, or one part of it, from every policy and from the agent; `on: false` removes the protection. */
  async pin(
    entry: number,
    { part, on = true, by = 'user' }: { part?: number; on?: boolean; by?: Author } = {},
  ): Promise<void> {
    await this.#exclusive(async () => {
      this.#entry(entry)
      await this.#write(() => [{ type: 'pin', entry, ...(part === undefined ? {} : { part }), on, by }])
    })
  }

  /** What the provider reported for the last call. */
  async reportUsage(usage: Usage, told: Told = {}): Promise<void> {
    const shown = this.#lastView?.tokens
    const believed = this.#fit.scale ?? this.options.model.scale
    await this.#exclusive(() =>
      this.#write(() => {
        const isEdited = this.#sentAt !== undefined && this.#sentAt !== this.#fold.edited
        return [{ type: 'usage', usage, ...(shown ? { shown } : {}), ...(isEdited ? { edited: true } : {}), ...told }]
      }),
    )
    const text = scaleLearned(believed, this.#fit.scale)
    if (text) await this.record({ type: 'decision', text })
    this.#planner.prepare?.(this.#fold)
  }

  /** Records an event that does not change the view. */
  async record(event: Extract<Event, { type: 'usage' | 'file' | 'decision' }>): Promise<void> {
    await this.#exclusive(() => this.#write(() => [event]))
  }

  /** Makes a session that shares everything up to and including an entry (the last one by default). */
  async forkTo(id: string, at?: number, sent: readonly Message[] = []): Promise<void> {
    await this.#exclusive(async () => {
      await this.#catchUp()
      const seq = at === undefined ? this.#ledger.length - 1 : this.#entry(at).seq
      const parent = await this.#store.find(this.id)
      await this.#store.open(id, { at: this.options.clock(), meta: parent?.meta ?? '{}', parent: { id: this.id, seq } })
      await redactFork(new Ledger(this.#store, id), this.#redactions, { sent, at: this.options.clock() })
    })
  }

  /** The content of an entry; loaded if it is not in view. */
  async original(entry: number): Promise<Message> {
    const { message, seq } = this.#entry(entry)
    return message ?? (await this.#ledger.messages([seq])).get(seq)!
  }

  /** All messages in their original form. */
  async messages(): Promise<Message[]> {
    const { entries } = this.#fold
    if (entries.every(entry => entry.message)) return entries.map(entry => entry.message!)
    return (await this.events()).flatMap(({ event }) => (event.type === 'entry' ? [event.message] : []))
  }

  /** The actions of file tools, oldest first, without contents: those are in the events. */
  async files(): Promise<readonly FileMark[]> {
    return this.#exclusive(async () => {
      await this.#catchUp()
      return this.#files
    })
  }

  eventsAt(seqs: readonly number[]): Promise<Placed[]> {
    return this.#ledger.events(seqs)
  }

  /** Every event in order, read from the store with its hashes checked. */
  async events(kept?: Head): Promise<Placed[]> {
    return this.#exclusive(() => this.#ledger.verify(kept))
  }

  async #planAndApply(now: number): Promise<View> {
    const { model, overhead, serverClears } = this.options
    const clears = serverClears ? [] : activeClears(this.#fold)
    if (clears.length > 0) await this.#switch({ type: 'revert', edits: clears, by: 'engine' })
    extendUnits(this.#units, this.#fold)
    const plan = this.#planner.plan({
      fold: this.#fold,
      units: this.#units.all,
      fresh: this.#units.all.findLastIndex(unit => unit.entry < this.#unsent) + 1,
      model,
      now,
      lastCallAt: this.#lastCallAt,
      calls: this.#callsMade,
      overhead: this.#fit.overhead(model.scale) ?? overhead,
      ...(this.#fit.scale === undefined ? {} : { scale: this.#fit.scale }),
      session: this.id,
      ...toldToPlanner(this.options),
    })
    const kind = plan.decision?.replace(/[\d.]+k?/g, '#') // The numbers in a decision change with every call.
    const report: Violation[] = []
    const summarized = await withModelSummaries(plan.proposals, this.#fold, this.options.summarize)
    const proposals = await keepFiles(summarized, this.options.keepFile, report)
    if (proposals.length > 0) {
      await this.#applyPlanned(proposals.map(toEdit), plan.decision, report)
      await keepRecords(proposals, this.options, report)
    } else if (plan.decision && kind !== this.#lastDecision) {
      const { decision } = plan
      await this.#write(() => [{ type: 'decision', text: decision }])
    }
    this.#lastDecision = kind
    await this.#leaveOutStale()
    this.#sentAt = this.#fold.edited
    return this.#result({ ...plan, report })
  }

  /** Leaves out reasoning that a provider would refuse because the messages before it have changed. */
  async #leaveOutStale(): Promise<void> {
    if (this.options.model.binding !== 'refuse') return
    const edits = this.#stale.edits(this.#fold)
    if (edits.length > 0) await this.#apply(edits, explainStale(this.#fold, edits))
    this.#stale.settle()
  }

  /** A planned edit that does not fit is left out and reported: it never prevents a view. */
  async #applyPlanned(
    requests: readonly EditRequest[],
    decision: string | undefined,
    report: Violation[],
  ): Promise<void> {
    try {
      await this.#apply(requests, decision)
    } catch (error) {
      if (!isPalimpsestError(error) || !REFUSED.has(error.code)) throw error
      if (requests.length === 1) report.push(violation('edit-refused', error.message))
      else for (const request of requests) await this.#applyPlanned([request], decision, report)
    }
  }

  /** Tries the edits on the fold, then makes them durable; reverses them on the fold if either fails. */
  async #apply(requests: readonly EditRequest[], decision?: string): Promise<Edit[]> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const edits = this.#toEdits(requests)
      // The rules look at parts and at the running turn, so hidden entries are loaded.
      await this.#loadEntries(edits.filter(({ target }) => target.type === 'part'))
      await this.#loadEntries(edits, this.#fold.lastUser + 1)
      const takeBack = this.#try(edits)
      const event: Event = { type: 'edit', edits, ...(decision ? { decision } : {}) }
      const placed = await this.#ledger.append([event], this.options.clock()).catch(error => {
        takeBack()
        throw error
      })
      if (placed) {
        this.#stale.note(this.#fold, event)
        return edits
      }
      takeBack()
      await this.#catchUpBeforeRetry()
    }
    throw contention(this.id)
  }

  #toEdits(requests: readonly EditRequest[]): Edit[] {
    const first = this.#fold.records.size + 1
    return requests.map((request, i) => ({ id: `e${first + i}`, ...request, saved: 0 }))
  }

  /** Applies edits to the fold and counts what each saves. If they are illegal, throws and does not change the fold. */
  #try(edits: Edit[]): () => void {
    assertAllowed(this.#fold, edits, this.options.model)
    const spans = edits.map(edit => entriesOf(edit.target))
    const before = spans.map(({ from, to }) => views.tokensOf(this.#fold, from, to))
    const takeBack = this.#tryLegal({ type: 'edit', edits })
    const shorter = spans.map(({ from, to }, i) => before[i]! - views.tokensOf(this.#fold, from, to))
    const saved = savedByCall(edits, shorter, messages => messagesTokens(messages, this.#fold.count))
    for (const [i, edit] of edits.entries()) edit.saved = saved[i]!
    return takeBack
  }

  #tryLegal(event: Extract<Event, { type: 'edit' | 'reapply' }>): () => void {
    const isLegal = () => this.#noteLegal()
    return tryLegal(this.#fold, event, { seq: this.#ledger.length, rules: () => this.#rules(), isLegal })
  }

  /** Like `#apply`, for undo and redo. An undo is never refused: the view repairs any text that it uncovers. */
  async #switch(asked: Extract<Event, { type: 'revert' | 'reapply' }>): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      await this.#ready()
      const event = asOneRun(this.#fold, asked)
      const isUndo = event.type === 'revert'
      const edits = event.edits.map(id => views.recordOf(this.#fold, id, isUndo).edit)
      if (isUndo) assertRevertible(edits, this.options.model)
      if (isUndo) await this.#loadEntries(edits)
      const takeBack = isUndo ? views.tryEvent(this.#fold, event, this.#ledger.length) : this.#tryLegal(event)
      const placed = await this.#ledger.append([event], this.options.clock()).catch(error => {
        takeBack()
        throw error
      })
      if (placed) return this.#stale.note(this.#fold, event)
      takeBack()
    }
    throw contention(this.id)
  }

  async #append(messages: readonly Message[], behind?: number): Promise<void> {
    for (const message of messages) checkMessage(message)
    await this.#write(() => this.#entryEvents(messages, behind))
  }

  #entryEvents(messages: readonly Message[], behind?: number): Event[] {
    const events: Event[] = []
    // One message needs no draft, which would cost a twentieth of an append.
    const calls = messages.length > 1 ? this.#calls.draft() : this.#calls
    let entry = this.#fold.entries.length
    checkGrown(this.id, behind, entry)
    let edit = this.#fold.records.size + 1
    for (const message of messages) {
      const repairs = repairsFor(message, entry, calls, this.options.model.dialect)
      const edits = repairs.map(repair => ({ id: `e${edit++}`, ...repair, by: 'engine' as const, saved: 0 }))
      for (const made of edits) if (made.target.type === 'after') events.push({ type: 'edit', edits: [made] })
      events.push({ type: 'entry', message: { ...copyOf(message), at: message.at ?? this.options.clock() } })
      for (const made of edits) if (made.target.type !== 'after') events.push({ type: 'edit', edits: [made] })
      if (calls !== this.#calls) calls.add(message)
      entry++
    }
    return events
  }

  /** Appends the events that `make` gives for the present state; calls it again if another process was faster. */
  async #write(make: () => Event[]): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const placed = await this.#ledger.append(make(), this.options.clock())
      for (const event of placed ?? []) this.#take(event)
      if (placed) return
      await this.#catchUpBeforeRetry()
    }
    throw contention(this.id)
  }

  /** Whether the whole ledger was read again because the session has been redacted. */
  async #catchUp(): Promise<boolean> {
    const placed = await this.#ledger.catchUp()
    const isRedacted = placed.some(({ event }) => event.type === 'redact')
    if (isRedacted) await this.#reload()
    else for (const event of placed) this.#take(event)
    if (placed.length > 0) await this.#loadContent(views.missing(this.#fold))
    return isRedacted
  }

  /** The events to write may contain texts that were redacted since, so the caller has to make them again. */
  async #catchUpBeforeRetry(): Promise<void> {
    if (await this.#catchUp()) throw redactedMeanwhile(this.id)
  }

  /** Drops all state and reads the ledger again, as after a restart. */
  async #reload(): Promise<void> {
    this.#ledger = new Ledger(this.#store, this.id)
    this.#fold = views.createFold(text => this.#counter!(text))
    this.#planner = this.options.policy.start()
    this.#calls = new Calls()
    this.#units = createUnits(this.options.tools)
    this.#stale = new StaleReasoning()
    this.#fit = new TokenFit()
    this.#files = []
    this.#redactions = []
    this.#unsent = this.#callsMade = 0
    this.#legal = { entries: 0, touches: 0 }
    this.#lastCallAt = this.#lastDecision = this.#lastView = this.#sentAt = undefined
    await this.load()
  }

  #take({ seq, at, event }: Placed): void {
    if (event.type === 'usage' && event.shown !== undefined) this.#fit.note(event.usage, event.shown)
    if (event.type === 'file') this.#files.push({ seq, ...lightFile(event) })
    if (event.type === 'redact') this.#redactions.push(event)
    if (event.type === 'entry') {
      this.#noteCall(event.message.role, at)
      this.#calls.add(event.message)
    }
    views.applyEvent(this.#fold, event, { seq, at })
    this.#stale.note(this.#fold, event)
  }

  /** An assistant message means that everything before it was sent. */
  #noteCall(role: Message['role'], at: number): void {
    if (role !== 'assistant') return
    this.#unsent = this.#fold.entries.length
    this.#callsMade++
    this.#lastCallAt = at
  }

  async #loadEntries(edits: readonly Edit[], first = 0): Promise<void> {
    const wanted = edits.flatMap(({ target }) => {
      const { from, to } = { ...entriesOf(target), from: Math.trunc(Math.max(first, entriesOf(target).from)) }
      return this.#fold.entries.slice(from, to + 1).flatMap((entry, i) => (entry.message ? [] : [from + i]))
    })
    await this.#loadContent(wanted)
  }

  async #loadContent(entries: readonly number[]): Promise<void> {
    if (entries.length === 0) return
    const messages = await this.#ledger.messages(entries.map(entry => this.#fold.entries[entry]!.seq))
    for (const entry of entries) views.provide(this.#fold, entry, messages.get(this.#fold.entries[entry]!.seq)!)
  }

  #rules(): CheckOptions {
    // Only edits can repeat a call's id, anywhere in the view. If edits contain calls, the whole view is checked.
    const where = this.#fold.callsInEdits > 0 ? {} : views.changedSince(this.#fold, this.#legal)
    const began = firstSpeaker(this.#fold.entries)
    return { dialect: this.options.model.dialect, ...where, began, open: this.#calls.open, checked: this.#checked }
  }

  #noteLegal(): void {
    this.#legal = { entries: this.#fold.entries.length, touches: this.#fold.touched.length }
  }

  #result({ pending, decision, report }: Pick<Plan, 'pending' | 'decision'> & { report: Violation[] }): View {
    const { messages, repaired } = legalize(views.peek(this.#fold), this.#rules())
    const isShown = repaired.length === 0
    if (isShown) this.#noteLegal()
    const tooLarge = checkSize(views.shownBytes(this.#fold), this.options.model.maxBytes)
    this.#lastView = toView(this.#fold, {
      messages: [...messages],
      isShown,
      pending,
      decision,
      report: [...report, ...repaired, ...tooLarge],
    })
    return this.#lastView
  }

  #entry(entry: number): views.Entry {
    const found = this.#fold.entries[entry]
    if (found) return found
    const last = this.#fold.entries.length - 1
    throw new PalimpsestError('ENTRY_NOT_FOUND', `There is no entry ${entry}; the session has 0–${last}.`, { entry })
  }

  async #ready(length?: number): Promise<void> {
    this.#counter ??= await loadCounter()
    if (length !== this.#ledger.length) await this.#catchUp()
  }

  /** Runs work one after the other, even if the work before has failed. */
  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#queue.then(work, work)
    this.#queue = next.catch(() => undefined)
    return next
  }
}
