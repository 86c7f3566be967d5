/**
 * The timelines of sessions, kept while they are in use, and a summary of every session.
 *
 * The first look reads the whole ledger; later looks read only new events. Long ledgers are read in portions, so that
 * other requests are served in between. If a store is given, it keeps a session's summary until the session grows, so
 * that a list of thousands can be sorted by these numbers. `fill` reads the sessions without a summary, one at a
 * time, and then replays the recorded ones for what could have been saved.
 */

import { createHash } from 'node:crypto'
import { parseJson } from '../model/json.ts'
import { Remembered } from '../model/remembered.ts'
import { loadCounter } from '../model/tokens.ts'
import type { Message } from '../model/types.ts'
import { type ModelTable, NO_MODELS } from '../providers/models.ts'
import { table } from '../providers/table.ts'
import { Timeline } from '../view/timeline.ts'
import { type Summary, summaryOf } from '../view/totals.ts'
import type { Palimpsest, SessionInfo } from './engine.ts'
import type { Look } from './look.ts'

/** Timelines that are kept by default; each holds the texts of its session. */
const KEPT_TIMELINES = 8
/** Up to this many new events are read one by one; otherwise the whole ledger is read. */
const MAX_EVENTS_ONE_BY_ONE = 100
const EVENTS_PER_PORTION = 250
/** Longer recordings are replayed only on request. */
const MAX_REPLAYED_CALLS = 2000
/** Raise it when a summary gets other fields, sums or titles: older summaries are then computed again. */
const SUMMARY_VERSION = 6

/** Facts about a session that are known before its ledger is read. */
export type Timed = Pick<SessionInfo, 'id' | 'length' | 'model' | 'parent' | 'about'>

/** Keeps the summaries of sessions as JSON, by the session's id in the ledger. */
export type SummaryStore = {
  summaries(version: number): Promise<KeptSummary[]>
  keepSummary(summary: KeptSummary, version: number): Promise<void>
}
export type KeptSummary = { session: string; length: number; model: string; summary: string }

type Kept = { model: string; carried: number; timeline: Promise<Timeline> }
type Known = { length: number; model: string; summary: Summary }
/** Replays a recording: dollars that could have been saved on each call. */
type CouldSave = (timeline: Timeline, messages: readonly Message[]) => Promise<number[]>
/** A user's own rows of the table of models, as they are now: the configuration may change while a server runs. */
type Prices = { readonly models: ModelTable }
type TimelinesOptions = { most?: number; store?: SummaryStore; couldSave?: CouldSave }

export class Timelines {
  readonly #prices: Prices
  #models: ModelTable
  readonly #store: SummaryStore | undefined
  readonly #couldSave: CouldSave | undefined
  readonly #kept: Remembered<string, Kept>
  readonly #known = new Map<string, Known>()
  #loading: Promise<void> | undefined
  #filling: Promise<void> | undefined
  #queue: Timed[] = []
  #closed = false

  constructor(
    prices: Prices = { models: NO_MODELS },
    { most = KEPT_TIMELINES, store, couldSave }: TimelinesOptions = {},
  ) {
    this.#store = store
    this.#couldSave = couldSave
    this.#prices = prices
    this.#models = prices.models
    this.#kept = new Remembered(most)
  }

  /** Drops every sum that was made with other prices. */
  #followPrices(): void {
    const { models } = this.#prices
    if (models === this.#models) return
    const isSame = JSON.stringify(models) === JSON.stringify(this.#models)
    this.#models = models
    if (isSame) return
    this.#kept.clear()
    this.#known.clear()
    this.#loading = undefined
  }

  /** The timeline of a session up to the length in the list. `id` is the id in the ledger, here and below. */
  of(session: Look, info: Timed): Promise<Timeline> {
    this.#followPrices()
    const { id, length, model, about } = info
    const { carried = 0 } = about
    const known = this.#kept.get(id)
    const before = known?.model === model && known.carried === carried ? known.timeline : undefined
    // One after the other: each continues from the end of the one before.
    const timeline = (before ?? this.#start(session, info)).then(found => catchUp(found, session, length))
    this.#kept.set(id, { model, carried, timeline })
    timeline.catch(() => this.#kept.get(id)?.timeline === timeline && this.#kept.delete(id))
    return timeline
  }

  async #start({ options }: Look, { model: name, parent, about }: Timed): Promise<Timeline> {
    const { model, overhead, tools } = options
    const inherited = { events: parent?.seq ?? 0, entries: about.carried ?? 0 }
    return new Timeline({ count: await loadCounter(), model, name, models: this.#models, overhead, tools, inherited })
  }

  /** Loads the summaries from the store. Before that, only sessions that were read here have a summary. */
  load(): Promise<void> {
    this.#followPrices()
    this.#loading ??= this.#load()
    return this.#loading
  }

  async #load(): Promise<void> {
    for (const { session, summary, ...rest } of (await this.#store?.summaries(versionOf(this.#models))) ?? []) {
      if (!this.#known.has(session)) this.#known.set(session, { ...rest, summary: parseJson(summary) })
    }
  }

  /** The summary of a session, if it is known without reading the session. */
  known({ id, length, model, about }: Timed): Summary | undefined {
    const found = this.#known.get(id)
    const isCurrent = found?.length === length && found.model === model
    return isCurrent && found.summary.carried === (about.carried ?? 0) ? found.summary : undefined
  }

  /** The last known summary, for lists; `isOld` if the session has grown since, `isUntried` if it is to be replayed. */
  latest(info: Timed): { summary: Summary | undefined; isOld: boolean; isUntried: boolean } {
    const { summary } = this.#known.get(info.id) ?? {}
    return { summary, isOld: this.known(info) === undefined, isUntried: this.#untried(info) }
  }

  async summary(session: Look, info: Timed): Promise<Summary> {
    await this.load()
    return this.known(info) ?? this.#keep(info, await this.of(session, info))
  }

  /** Drops the timeline and the summary of a removed session. */
  forget(id: string): void {
    this.#kept.delete(id)
    this.#known.delete(id)
  }

  /** Whether a session is a recording that was not replayed yet. */
  #untried(info: Timed): boolean {
    const { calls = 0, money } = this.known(info) ?? {}
    const canBe = this.#couldSave !== undefined && info.about.recorded === true
    return canBe && calls > 0 && calls <= MAX_REPLAYED_CALLS && money?.could === undefined
  }

  /** Reads the sessions without a summary, in their order, then the recordings to be replayed. */
  fill(sessions: readonly Timed[], open: (id: string) => Promise<Look>): void {
    this.#queue = [...sessions.filter(info => !this.known(info)), ...sessions.filter(info => this.#untried(info))]
    this.#filling ??= this.#fill(open).finally(() => {
      this.#filling = undefined
    })
  }

  /** Ends a round of filling, after the current session is read. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#filling
  }

  async #fill(open: (id: string) => Promise<Look>): Promise<void> {
    await this.load()
    for (;;) {
      const info = this.#queue.shift()
      if (this.#closed || !info) return
      const isUntried = this.#untried(info)
      if (this.known(info) && !isUntried) continue
      try {
        await this.#read(await open(info.id), info, isUntried)
      } catch {
        // The session's own page reports that it cannot be read; the list goes on without its summary.
      }
      await new Promise(resolve => setImmediate(resolve))
    }
  }

  async #read(session: Look, info: Timed, isTried: boolean): Promise<void> {
    const timeline = await (this.#kept.has(info.id)
      ? this.of(session, info)
      : this.#start(session, info).then(made => catchUp(made, session, info.length)))
    const could = isTried ? await this.#couldSave!(timeline, await session.messages()) : undefined
    await this.#keep(info, timeline, could)
  }

  async #keep({ id, model }: Timed, timeline: Timeline, could?: readonly number[]): Promise<Summary> {
    const { length } = timeline
    const summary = summaryOf(timeline, could)
    if (timeline.models === this.#models) this.#known.set(id, { length, model, summary })
    if (!this.#closed) {
      const kept = { session: id, length, model, summary: JSON.stringify(summary) }
      await this.#store?.keepSummary(kept, versionOf(timeline.models))
    }
    return summary
  }
}

/** The timeline of one session, for a command that looks at it once. */
export async function readTimeline(pal: Palimpsest, info: SessionInfo): Promise<Timeline> {
  const session = await pal.session(info.id, { mustExist: true, asGuest: true })
  return new Timelines(pal, { most: 1 }).of(session, info)
}

const versions = new WeakMap<ModelTable, number>()

/** Summaries hold dollars and days, so they are valid for the same prices and time zone only. */
function versionOf(models: ModelTable): number {
  const known = versions.get(models)
  if (known !== undefined) return known
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  const facts = JSON.stringify([SUMMARY_VERSION, timeZone, table, models])
  const version = createHash('sha256').update(facts).digest().readUInt32BE() >>> 1
  versions.set(models, version)
  return version
}

async function catchUp(timeline: Timeline, session: Look, length: number): Promise<Timeline> {
  const missing = length - timeline.length
  if (timeline.length > 0 && missing <= MAX_EVENTS_ONE_BY_ONE) {
    const seqs = Array.from({ length: Math.max(0, missing) }, (_, i) => timeline.length + i)
    for (const placed of seqs.length > 0 ? await session.eventsAt(seqs) : []) timeline.take(placed)
    return timeline
  }
  const events = await session.events()
  for (let from = timeline.length; from < events.length; from += EVENTS_PER_PORTION) {
    for (const placed of events.slice(from, from + EVENTS_PER_PORTION)) timeline.take(placed)
    await new Promise(resolve => setImmediate(resolve))
  }
  return timeline
}
