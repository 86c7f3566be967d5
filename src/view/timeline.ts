/**
 * A session call by call: what was sent, how much of it the provider had cached, what that cost, and what the same
 * calls would have cost with nothing edited.
 *
 * The timeline is a fold of the ledger that only goes forward, so following a growing session costs only what is new. A
 * call is an assistant message; it sent everything in view before it. `sent` and `raw` count input by the price table,
 * assuming that the provider caches as documented, with and without our edits. So their difference is the effect of the
 * edits alone. `paid` is the account that every door shows: the provider's report for the call, priced; without a
 * report, the estimate of the cost model, marked as estimated.
 */

import { isContinuation, requestIn, titleIn } from '../calls/requests.ts'
import type { ToolTable } from '../calls/tool-kinds.ts'
import { pauseOf } from '../model/text.ts'
import { type Counter, messageTokens } from '../model/tokens.ts'
import type { Author, CacheMiss, Edit, Event, Message, Usage } from '../model/types.ts'
import { lostTokens } from '../providers/cache.ts'
import { type Model, type ModelTable, modelInfo, withLifetime } from '../providers/models.ts'
import { bandFactor, inputPrice, type Paid, paidFor } from '../providers/pricing.ts'
import { promptTokens, TokenFit } from '../providers/token-fit.ts'
import { applyEvent, createFold, type Fold, peek, recordOf, shown, shownTokens } from './fold.ts'
import { type Bar, PartMap } from './part-map.ts'
import { createUnits, extendUnits, type Unit, type Units } from './units.ts'

/** Tokens of one call and their price in dollars. All of them include `overhead` (system prompt and tools). */
export type Sum = { tokens: number; cached: number; written: number; cost: number }

export type TimelineCall = {
  /** The entry that answers the call, and when the call was made. */
  entry: number
  at: number
  /** When the answer, or the provider's report of it, was recorded. */
  answeredAt: number
  /** The name of the model that answered; the session's model if the provider did not say. */
  model: string
  /** Dollars, the answer included; `output` is for the answer, with what was sampled `beside` it. */
  paid: Paid & { estimated: boolean }
  /** The estimate of the cost model for the same call, the answer included. */
  modelled: number
  /** Tokens of the system prompt and tools: what the provider counted beyond our messages. */
  overhead: number
  /** The call was made before the session was forked, so the parent session paid for it. */
  inherited?: true
  /** The provider reported the call, but its answer is not in the ledger (yet). */
  unanswered?: true
  sent: Sum
  /** The same call without our edits: as the client sent it. */
  raw: Sum
  /** Why less was cached than had been sent before, by the cost model, and the number of `lost` tokens. */
  miss?: { kind: 'cold' | 'edit'; lost: number; cause: string }
  /** Tokens that the provider had cached and did not read again; the same as `miss` if it reports no cache. */
  missed?: CacheMiss
  edits: { ids: string[]; saved: number; undone: string[]; ours: boolean }
  /** The planner's sentence before this call. */
  decision?: string
  /** The provider's count. */
  reported?: Usage
}

/** When an edit was made, before which call, and with which sentence of the planner. */
type EditMoment = { at: number; call: number; decision?: string }

/** The cache as the next call would find it: the cached tokens, and whether the provider has forgotten them. */
type CacheState = { tokens: number; cold: boolean; lastCallAt: number | undefined }

type Placed = { seq: number; at: number; event: Event }
type TimelineOptions = {
  count: Counter
  model: Model
  /** The name of the model, and a user's own rows of the table: calls may name other models. */
  name?: string
  models?: ModelTable
  overhead?: number
  tools?: ToolTable | undefined
  inherited?: Partial<Timeline['inherited']>
}
/** The numbers from which the sums of a call are computed. A prefix is `undefined` if nothing was cached. */
type Made = {
  shown: number
  prefix: number | undefined
  raw: number
  rawPrefix: number | undefined
  messages: number
}
type Since = {
  ids: string[]
  saved: number
  undone: string[]
  /** Whether an edit was ours. Edits of the engine do not count, because they record changes by the client. */
  ours: boolean
  decision?: string
  cause?: string
  note?: string
}

export class Timeline {
  readonly fold: Fold
  readonly model: Model
  /** A user's own rows of the table. */
  readonly models: ModelTable
  readonly calls: TimelineCall[] = []
  /** Events and entries at the beginning that another session has: it has paid for their calls. */
  readonly inherited: { events: number; entries: number }
  readonly moments = new Map<string, EditMoment>()
  readonly #map: PartMap
  readonly #units: Units
  #length = 0
  #overhead: number
  /** Tokens of the last answer, by our count. */
  #answer = 0
  #raw = 0
  #requests = 0
  #first: string | undefined
  #title: string | undefined
  #goesOn = false
  /**
   * The last call: its shown and raw tokens without the overhead, how many of each were cached, and its message count.
   */
  #last: Made = { shown: 0, prefix: undefined, raw: 0, rawPrefix: undefined, messages: 0 }
  /** Messages at the front of the view that are unchanged since the last call. */
  #unchanged = 0
  /** The view of the last call, if edits have been made since. */
  #before: readonly Message[] | undefined
  #answeredAt: number | undefined
  #lastAt = 0
  #since: Since = newSince()
  /** Whether an edit was ever ours. Until then the client's calls are sent as they are. */
  #edited = false
  /** Takes the last call back. */
  #takeBack: () => void = () => undefined
  readonly #name: string
  readonly #known = new Map<string, Model>()
  /** The model of the last call, with the cache lifetime that was seen last. */
  #own: Model
  #long = false
  readonly #fit = new TokenFit()

  constructor({ count, model, name = '', models = {}, overhead = 0, tools, inherited = {} }: TimelineOptions) {
    this.model = model
    this.#own = model
    this.#name = name
    this.models = models
    this.inherited = { events: 0, entries: 0, ...inherited }
    this.fold = createFold(count)
    this.#units = createUnits(tools)
    this.#map = new PartMap(this.fold, tools)
    this.#overhead = overhead
  }

  /** The number of events processed. */
  get length(): number {
    return this.#length
  }

  /** The cache lifetime that the latest calls wrote with, if it is not the default. */
  get lifetime(): string | undefined {
    return this.#long ? this.#own.lifetimes[1]?.name : undefined
  }

  get overhead(): number {
    return this.#overhead
  }

  /** Tokens of the whole original conversation, and of the messages shown now. */
  get tokens(): { raw: number; shown: number } {
    return { raw: this.#raw, shown: shownTokens(this.fold) }
  }

  /**
   * The number of user requests, the first request that a person typed, and whether a summary replaces earlier
   * requests.
   */
  get requests(): { count: number; first: string | undefined; goesOn: boolean } {
    return { count: this.#requests, first: this.#title ?? this.#first, goesOn: this.#goesOn }
  }

  /** Every part as policies see it, hidden parts included. */
  get units(): readonly Unit[] {
    extendUnits(this.#units, this.fold)
    return this.#units.all
  }

  /** The map before a call (counted from 0); by default before the next call. */
  bars(call = this.calls.length): Generator<Bar> {
    return this.#map.bars(this.calls[call]?.entry ?? this.fold.entries.length, call)
  }

  /** The cache as a call at time `now` would find it. */
  cacheAt(now: number): CacheState {
    const tokens = this.calls.length === 0 ? 0 : this.#overhead + this.#prefix()
    const cold = this.#answeredAt === undefined || now - this.#answeredAt > this.#own.ttl
    return { tokens, cold, lastCallAt: this.#answeredAt }
  }

  /** Processes the next event of the ledger. */
  take(placed: Placed): void {
    const { seq, at, event } = placed
    this.#prepare(placed)
    applyEvent(this.fold, event, { seq, at })
    this.#length = seq + 1
    this.#unchanged = Math.min(this.#unchanged, this.fold.changedFrom)
    this.fold.changedFrom = Number.POSITIVE_INFINITY
    switch (event.type) {
      case 'entry':
        return this.#entry(event.message, at)
      case 'edit':
        return this.#edits(event.edits, { at, decision: event.decision })
      case 'revert':
      case 'reapply':
        return this.#switched(event.type, event.edits, event.by)
      case 'pin':
        return this.#map.pin(event.entry, event.part, { on: event.on, call: this.calls.length })
      case 'usage':
        return this.#report(event)
      case 'decision':
        this.#since.note = event.text
    }
  }

  /** Notes the call that an event belongs to, and the view before an edit. */
  #prepare({ seq, at, event }: Placed): void {
    if (event.type === 'entry' && event.message.role === 'assistant' && !this.#isAwaited()) this.#call(at, seq)
    if (event.type === 'usage') {
      const last = this.calls.at(-1)
      // An import may have the report of an answer that had not ended, and then that of the whole.
      const corrects = event.usage.id !== undefined && event.usage.id === last?.reported?.id
      if (!corrects && (!last || last.reported)) this.#unanswered(at, seq)
    }
    if (event.type === 'edit' || event.type === 'revert' || event.type === 'reapply') {
      this.#before ??= shown(this.fold).slice(0, this.#last.messages)
    }
  }

  #entry(message: Message, at: number): void {
    const tokens = this.#map.add(message)
    this.#raw += tokens
    this.#lastAt = at
    if (message.role === 'assistant') {
      this.#answeredAt = at
      this.#answer = tokens
      const call = this.calls.at(-1)!
      delete call.unanswered
      this.#account(call)
    }
    const request = requestIn(message)
    if (request === undefined) return
    if (isContinuation(request)) {
      this.#goesOn = true
      return
    }
    this.#requests++
    this.#first ??= request
    if (!this.#isInherited(this.#length - 1, this.fold.entries.length - 1)) this.#title ??= titleIn(request)
  }

  #isInherited(event: number, entry: number): boolean {
    return event < this.inherited.events || entry < this.inherited.entries
  }

  /** The provider reported a call before its answer is in the ledger: the next assistant message will be the answer. */
  #unanswered(at: number, seq: number): void {
    // A request that is sent again counts from now, not from the time of its last message.
    if (this.calls.at(-1)?.entry === this.fold.entries.length) this.#lastAt = at
    this.#call(at, seq)
    this.calls.at(-1)!.unanswered = true
    this.#answer = 0
    this.#answeredAt = at
  }

  #isAwaited(): boolean {
    const last = this.calls.at(-1)
    return last?.unanswered === true && last.entry === this.fold.entries.length
  }

  /** Records a call, which sent everything before the assistant message. */
  #call(answered: number, seq: number): void {
    const at = this.#lastAt || answered
    const state = [this.#last, this.#since, this.#before, this.#unchanged, this.#answeredAt] as const
    this.#takeBack = () => {
      this.calls.pop()
      ;[this.#last, this.#since, this.#before, this.#unchanged, this.#answeredAt] = state
    }
    const isFirst = this.#answeredAt === undefined
    const cold = isFirst || at - this.#answeredAt! > this.#own.ttl
    const prefix = this.#prefix()
    const shown = shownTokens(this.fold)
    const miss = isFirst ? undefined : this.#missOf(cold, this.#last.shown - prefix, at)
    const { ids, saved, undone, ours, decision, note } = this.#since
    const said = decision ?? note
    // A prefix that the client itself has changed would have been lost without us too.
    const rawPrefix = cold ? undefined : this.#last.raw - (ours ? 0 : this.#last.shown - prefix)
    const { length: messages } = peek(this.fold)
    this.#last = { shown, prefix: cold ? undefined : prefix, raw: this.#raw, rawPrefix, messages }
    const entry = this.fold.entries.length
    this.calls.push({
      entry,
      at,
      answeredAt: Math.max(at, answered),
      model: this.calls.at(-1)?.model ?? this.#name,
      paid: { dollars: 0, output: 0, estimated: true },
      modelled: 0,
      overhead: this.#overhead,
      ...(this.#isInherited(seq, entry) ? { inherited: true as const } : {}),
      ...this.#sums(),
      ...(miss ? { miss } : {}),
      edits: { ids, saved, undone, ours },
      ...(said === undefined ? {} : { decision: said }),
    })
    this.#since = newSince()
    this.#before = undefined
    this.#unchanged = messages
  }

  #missOf(cold: boolean, lost: number, at: number): TimelineCall['miss'] {
    if (cold) return { kind: 'cold', lost: this.#last.shown + this.#overhead, cause: pauseOf(at - this.#answeredAt!) }
    if (this.#unchanged >= this.#last.messages) return undefined
    const { decision, cause = 'an edit' } = this.#since
    return { kind: 'edit', lost, cause: decision ?? cause }
  }

  /** Extends the unchanged prefix over edits that were undone again: the provider sees only the bytes that are sent. */
  #compare(): void {
    const messages = peek(this.fold)
    const { length = 0 } = this.#before ?? []
    while (this.#unchanged < length && isSame(this.#before![this.#unchanged]!, messages[this.#unchanged])) {
      this.#unchanged++
    }
  }

  /** Tokens of the unchanged messages at the front: the view less its new messages, which are few. */
  #prefix(): number {
    this.#compare()
    const messages = peek(this.fold)
    let tail = 0
    for (let i = this.#unchanged; i < messages.length; i++) tail += messageTokens(messages[i]!, this.fold.count)
    return shownTokens(this.fold) - tail
  }

  #sums(): Pick<TimelineCall, 'sent' | 'raw'> {
    const { shown, prefix, raw, rawPrefix } = this.#last
    const sent = this.#sum(shown, prefix)
    return { sent, raw: this.#edited ? this.#sum(raw, rawPrefix) : sent }
  }

  #sum(messages: number, prefix: number | undefined): Sum {
    const { read, write, input } = this.#own
    const tokens = messages + this.#overhead
    const cached = prefix === undefined ? 0 : prefix + this.#overhead
    const written = tokens - cached
    const plain = ((cached * read + written * write) * input * this.scale) / MILLION
    return { tokens, cached, written, cost: plain * bandFactor(this.#own, tokens * this.scale) }
  }

  #edits(edits: readonly Edit[], { at, decision }: { at: number; decision: string | undefined }): void {
    const call = this.calls.length
    this.#map.follow(edits, call)
    for (const edit of edits) {
      this.moments.set(edit.id, { at, call, decision })
      this.#since.ids.push(edit.id)
      this.#since.saved += edit.saved
      if (edit.by !== 'engine') this.#since.ours = this.#edited = true
      this.#since.cause ??= `${edit.id} by ${edit.by}: ${edit.why}`
    }
    if (decision !== undefined) this.#since.decision = decision
  }

  #switched(type: 'revert' | 'reapply', ids: readonly string[], by: Author): void {
    const edits = ids.map(id => recordOf(this.fold, id).edit)
    this.#map.follow(edits, this.calls.length)
    const verb = type === 'revert' ? 'undid' : 'redid'
    this.#since.ours ||= by !== 'engine'
    this.#since.cause ??= `${by} ${verb} ${ids.join(', ')}`
    if (type === 'revert') this.#since.undone.push(...ids)
    else this.#since.ids.push(...ids)
  }

  /** Takes in a report. Tokens that the provider counted beyond our messages are the system prompt and tools. */
  #report({ usage, shown, miss: told }: Extract<Event, { type: 'usage' }>): void {
    if (usage.by === 'client') {
      this.#takeBack()
      return
    }
    const last = this.calls.at(-1)!
    const before = this.calls.at(-2)
    last.reported = toldIn(usage)
    last.model = usage.model ?? last.model
    if ((usage.cacheWrite ?? 0) > 0) this.#long = (usage.cacheWriteLong ?? 0) > 0
    this.#own = this.#modelFor(last.model, last.at)
    this.#fit.note({ ...usage, model: last.model }, shown ?? this.#last.shown)
    this.#overhead = Math.round((this.#fit.overhead(this.#own.scale) ?? this.#overhead * this.scale) / this.scale)
    if (before && before.model !== last.model) this.#forget(last, before)
    Object.assign(last, this.#sums(), { overhead: this.#overhead })
    last.missed = told ?? this.#missedBy(last, before)
    this.#account(last)
  }

  /** Drops the cached prefix when the model changes: each model has a cache of its own. */
  #forget(call: TimelineCall, before: TimelineCall): void {
    call.miss = { kind: 'cold', lost: before.sent.tokens, cause: `the model before was ${before.model}` }
    this.#last = { ...this.#last, prefix: undefined, rawPrefix: undefined }
  }

  /** Tokens that were cached and not read, and the cause as far as the ledger shows it. */
  #missedBy(call: TimelineCall, before: TimelineCall | undefined): CacheMiss | undefined {
    const { miss, reported = {} } = call
    if (!before) return undefined
    const isBlind = reported.cacheRead === undefined
    const tokens = isBlind ? (miss?.lost ?? 0) : lostTokens(before.reported, reported, this.#own)
    if (tokens === 0) return undefined
    if (before.model !== call.model) return { cause: 'model', tokens }
    if (miss?.kind === 'cold') return { cause: 'pause', tokens }
    if (miss) return { cause: call.edits.ours ? 'edit' : 'client', tokens }
    return { cause: 'provider', tokens }
  }

  /** The model, with the prices at which a call was made. */
  modelOf({ model, at }: TimelineCall): Model {
    return this.#modelFor(model, at)
  }

  /** The price of an uncached input token of a call, per million: by its model, day, size and tier. */
  inputPriceOf(call: TimelineCall): number {
    const { reported, sent } = call
    const tokens = reported && !call.paid.estimated ? promptTokens(reported) : this.theirs(sent.tokens)
    return inputPrice(this.modelOf(call), { tokens, tier: reported?.tier })
  }

  /** The table row of a model at a time, with the cache lifetime of the latest writes. */
  #modelFor(name: string, at: number): Model {
    if (name === '') return this.model
    const key = `${name} ${Math.floor(at / HOUR)} ${this.#long}`
    let found = this.#known.get(key)
    if (!found) {
      const plain = modelInfo(name, this.models, at > 0 ? { at } : {})
      found = this.#long ? withLifetime(plain, plain.lifetimes[1]?.name) : plain
      this.#known.set(key, found)
    }
    return found
  }

  /**
   * The provider's tokens for one of ours: fitted to the reports of this session's calls, from the table before that.
   */
  get scale(): number {
    return this.#fit.scale ?? this.#own.scale
  }

  /** Converts tokens of our count to the provider's count, which every door shows. */
  theirs(tokens: number): number {
    return Math.round(tokens * this.scale)
  }

  /** The cache that a call lost: as the provider reported it, or by the cost model if it reported nothing. */
  lossOf({ miss, missed, reported, edits }: TimelineCall): CacheMiss | undefined {
    if (reported?.cacheRead !== undefined) return missed
    if (missed) return { ...missed, tokens: this.theirs(missed.tokens) }
    if (!miss) return undefined
    const cause = miss.kind === 'cold' ? 'pause' : edits.ours ? 'edit' : 'client'
    return { cause, tokens: this.theirs(miss.lost) }
  }

  /** Sets the cost of a call: as the provider reported it, or else by the cost model. */
  #account(call: TimelineCall): void {
    const { reported } = call
    const times = bandFactor(this.#own, call.sent.tokens * this.scale, 'output')
    const output = ((reported?.output ?? this.#answer * this.scale) * this.#own.output * times) / MILLION
    call.modelled = call.sent.cost + output
    if (!reported || promptTokens(reported) === 0) {
      call.paid = { dollars: call.modelled, output, estimated: true }
      return
    }
    const modelOf = (name: string | undefined) => (name === undefined ? this.#own : this.#modelFor(name, call.at))
    call.paid = { ...paidFor(reported, this.#own, modelOf), estimated: false }
  }
}

/** No prompt has 0 tokens: a gateway that does not count reports zeros. */
function toldIn(usage: Usage): Usage {
  if (promptTokens(usage) > 0) return usage
  const { input: _, cacheRead: __, cacheWrite: ___, output, ...facts } = usage
  return output ? { ...facts, output } : facts
}

function newSince(): Since {
  return { ids: [], saved: 0, undone: [], ours: false }
}

function isSame(a: Message, b: Message | undefined): boolean {
  if (a === b) return true
  return b !== undefined && a.role === b.role && bytesOf(a) === bytesOf(b)
}

/** The content that the provider is sent, without the id of the edit that made it. */
function bytesOf({ parts }: Message): string {
  return JSON.stringify(parts.map(({ edit: _, ...part }) => part))
}

const MILLION = 1_000_000
const HOUR = 3_600_000
