/**
 * All sessions of a home, or of one of its users, as the list shows them, kept in memory: thousands of sessions are
 * sorted and summed up without reading each of them for every request.
 *
 * Everything is read once. After that each update reads the sessions that were created, changed or removed since the
 * last one, by any process or server. The database marks its rows by the minute, so the last minutes are read again.
 */
import type { Palimpsest, SessionInfo } from '../../session/engine.ts'
import { everySession } from '../../session/every-session.ts'

/** Rows that are read in one query. */
const PAGE = 1000
/** How many of the last used sessions are read again, because another process may have written to them unnoticed. */
const NEWEST = 100
/** A write that is marked with one minute may be committed in the next. */
const MARGIN_MS = 120_000

export class Catalogue {
  readonly #pal: Pick<Palimpsest, 'sessions' | 'find' | 'removedSince'>
  readonly #clock: () => number
  readonly #sessions = new Map<string, SessionInfo>()
  readonly #noted = new Set<string>()
  #lookedAt: number | undefined
  #removed = 0
  #looking: Promise<void> = Promise.resolve()

  constructor(pal: Pick<Palimpsest, 'sessions' | 'find' | 'removedSince'>, clock: () => number) {
    this.#pal = pal
    this.#clock = clock
  }

  /** All sessions, in no order. */
  async all(): Promise<SessionInfo[]> {
    // Updates run one after the other, so that none reads the partial result of another.
    this.#looking = this.#looking.catch(() => {}).then(() => this.#look())
    await this.#looking
    return [...this.#sessions.values()]
  }

  /** Notes that a session of this name was created, changed or removed. */
  note(name: string): void {
    this.#noted.add(name)
  }

  async #look(): Promise<void> {
    const now = this.#clock()
    const since = this.#lookedAt
    const { names, count } = await this.#pal.removedSince(this.#removed)
    for (const name of names) this.#sessions.delete(name)
    // Names noted from now on are for the next update.
    const noted = [...this.#noted]
    this.#noted.clear()
    const changed = since === undefined ? {} : { changedWithin: Math.abs(now - since) + MARGIN_MS }
    for await (const session of everySession(this.#pal, { limit: PAGE, ...changed })) this.#take(session)
    if (since !== undefined) {
      for (const session of await this.#pal.sessions({ limit: NEWEST })) this.#take(session)
      for (const name of noted) await this.#lookUp(name)
    }
    this.#removed = count
    this.#lookedAt = now
  }

  #take(session: SessionInfo): void {
    this.#sessions.set(session.id, session)
  }

  async #lookUp(name: string): Promise<void> {
    const found = await this.#pal.find(name)
    if (found) this.#take(found)
    else this.#sessions.delete(name)
  }
}
