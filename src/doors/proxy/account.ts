/**
 * The statistics, by model, of the sessions that went through a proxy since it started. They cost nothing while
 * requests pass: the ledger is read when the numbers are requested, and only the new part of it.
 */

import type { Palimpsest, SessionInfo } from '../../session/engine.ts'
import type { Session } from '../../session/session.ts'
import { Timelines } from '../../session/timelines.ts'
import { addStatistics, noStatistics, type Statistics, statisticsOfCall } from '../../view/statistics.ts'

/** The number of timelines that are kept, so that their sessions are not read again for each request. */
const MOST_KEPT = 32

export type Seen = {
  find(): Promise<SessionInfo | undefined>
  open(): Promise<Session>
  /** Entries that the session had when the proxy first saw it. Their calls were made before the proxy started. */
  before: number
}
type Touched = Seen & { known?: { length: number; byModel: Map<string, Statistics> } }

export class ProxyAccount {
  readonly #touched = new Map<string, Touched>()
  readonly #timelines: Timelines

  constructor(pal?: Palimpsest) {
    this.#timelines = new Timelines(pal, { most: MOST_KEPT })
  }

  /** The key is the id of the session in the ledger. */
  touch(key: string, seen: Seen): void {
    if (!this.#touched.has(key)) this.#touched.set(key, { ...seen })
  }

  async totals(): Promise<Statistics> {
    return [...(await this.byModel({ all: true })).values()].reduce(addStatistics, noStatistics())
  }

  /** Leaves out a last call without reported usage, unless `all` is given, so that no number ever falls. */
  async byModel({ all = false }: { all?: boolean } = {}): Promise<Map<string, Statistics>> {
    const sums = new Map<string, Statistics>()
    for (const [key, touched] of this.#touched) {
      for (const [model, statistics] of await this.#read(key, touched, all))
        sums.set(model, addStatistics(sums.get(model) ?? noStatistics(), statistics))
    }
    return sums
  }

  async #read(key: string, touched: Touched, all: boolean): Promise<Map<string, Statistics>> {
    const info = await touched.find()
    if (!info) return touched.known?.byModel ?? new Map()
    if (!all && touched.known?.length === info.length) return touched.known.byModel
    const about = { ...info.about, carried: Math.max(info.about.carried ?? 0, touched.before) }
    const timeline = await this.#timelines.of(await touched.open(), { ...info, id: key, about })
    const { calls } = timeline
    const last = calls.at(-1)
    const settled = all || !last || last.reported ? calls : calls.slice(0, -1)
    const own = settled.filter(({ inherited }) => !inherited)
    const byModel = new Map<string, Statistics>()
    for (const call of own) {
      const before = byModel.get(call.model) ?? noStatistics()
      byModel.set(call.model, addStatistics(before, statisticsOfCall(timeline, call)))
    }
    touched.known = { length: info.length, byModel }
    return byModel
  }
}
