/**
 * The timelines of sessions, kept for as long as somebody looks at them.
 *
 * The first look reads the whole ledger; after that only what is new. Long ledgers are taken in portions, so that other
 * requests are served in between. Of every session that was looked at, its few numbers for the list stay known until
 * it grows.
 */

import { loadCounter } from '../model/tokens.ts'
import type { ModelTable } from '../providers/models.ts'
import { Timeline } from '../view/timeline.ts'
import { type Summary, summaryOf } from '../view/totals.ts'
import type { SessionInfo } from './engine.ts'
import type { Session } from './session.ts'

/** Timelines that are kept by default: each holds the texts of its session. */
const KEPT = 8
const SUMMARIES = 2000
/** New events that are read one by one; for more the ledger is read as a whole. */
const FEW = 100
const PORTION = 250

/** What is known of a session before its ledger is read. */
export type Timed = Pick<SessionInfo, 'id' | 'length' | 'model' | 'parent' | 'about'>

type Kept = { model: string; timeline: Promise<Timeline> }

export class Timelines {
  readonly #models: ModelTable
  readonly #most: number
  readonly #kept = new Map<string, Kept>()
  readonly #summaries = new Map<string, { length: number; model: string; summary: Summary }>()

  constructor(models: ModelTable = {}, { most = KEPT }: { most?: number } = {}) {
    this.#models = models
    this.#most = most
  }

  /** The timeline of a session up to the length that the list says; `id` is the one in the ledger, here and below. */
  of(session: Session, info: Timed): Promise<Timeline> {
    const { id, length, model } = info
    const known = this.#kept.get(id)
    const before = known?.model === model ? known.timeline : undefined
    // One after the other: each goes on where the one before has ended.
    const timeline = (before ?? this.#start(session, info)).then(found => catchUp(found, session, length))
    remember(this.#kept, id, { model, timeline }, this.#most)
    timeline.catch(() => this.#kept.get(id)?.timeline === timeline && this.#kept.delete(id))
    return timeline
  }

  async #start({ options }: Session, { model: name, parent, about }: Timed): Promise<Timeline> {
    const { model, overhead, tools } = options
    const inherited = { events: parent?.seq ?? 0, entries: about.carried ?? 0 }
    return new Timeline({ count: await loadCounter(), model, name, models: this.#models, overhead, tools, inherited })
  }

  /** The numbers of a session, if they are known without reading it. */
  known({ id, length, model }: Timed): Summary | undefined {
    const found = this.#summaries.get(id)
    return found?.length === length && found.model === model ? found.summary : undefined
  }

  async summary(session: Session, info: Timed): Promise<Summary> {
    const known = this.known(info)
    if (known) return known
    const summary = summaryOf(await this.of(session, info))
    remember(this.#summaries, info.id, { length: info.length, model: info.model, summary }, SUMMARIES)
    return summary
  }
}

async function catchUp(timeline: Timeline, session: Session, length: number): Promise<Timeline> {
  const missing = length - timeline.length
  if (timeline.length > 0 && missing <= FEW) {
    const seqs = Array.from({ length: Math.max(0, missing) }, (_, i) => timeline.length + i)
    for (const placed of seqs.length > 0 ? await session.eventsAt(seqs) : []) timeline.take(placed)
    return timeline
  }
  const events = await session.events()
  for (let from = timeline.length; from < events.length; from += PORTION) {
    for (const placed of events.slice(from, from + PORTION)) timeline.take(placed)
    await new Promise(resolve => setImmediate(resolve))
  }
  return timeline
}

/** The most recently used ones stay. */
function remember<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.delete(key)
  map.set(key, value)
  if (map.size > most) map.delete(map.keys().next().value!)
}
