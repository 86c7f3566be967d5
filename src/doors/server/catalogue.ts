/**
 * All sessions of a home, or of one of its users, as the list says them, kept in memory: a page of thousands of sessions
 * is sorted and summed up without reading each of them for every request.
 *
 * What this process writes is noted and read again by itself. What other processes write is seen at once for the sessions
 * that were used last, and within a few seconds for the rest, when everything is read anew.
 */
import type { Palimpsest, SessionInfo } from '../../session/engine.ts'
import { everySession } from '../../session/every-session.ts'

/** Rows that are read at once. */
const PAGE = 1000
/** The sessions used last that every look reads again. */
const NEWEST = 100
const WHOLE_EVERY_MS = 5000
/** More notes than this are not looked up one by one. */
const MOST_NOTED = 500

export class Catalogue {
  readonly #pal: Pick<Palimpsest, 'sessions' | 'find'>
  readonly #clock: () => number
  #sessions = new Map<string, SessionInfo>()
  readonly #noted = new Set<string>()
  #wholeAt = Number.NEGATIVE_INFINITY
  #looking: Promise<void> = Promise.resolve()

  constructor(pal: Pick<Palimpsest, 'sessions' | 'find'>, clock: () => number) {
    this.#pal = pal
    this.#clock = clock
  }

  /** In no order. */
  async all(): Promise<SessionInfo[]> {
    // One after the other, so that none sees half of a round.
    this.#looking = this.#looking.catch(() => {}).then(() => this.#look())
    await this.#looking
    return [...this.#sessions.values()]
  }

  /** A session of this name was made, changed or removed. */
  note(name: string): void {
    this.#noted.add(name)
  }

  async #look(): Promise<void> {
    const isOld = Math.abs(this.#clock() - this.#wholeAt) >= WHOLE_EVERY_MS
    if (isOld || this.#noted.size > MOST_NOTED) return this.#readWhole()
    for (const name of [...this.#noted]) {
      this.#noted.delete(name)
      const found = await this.#pal.find(name)
      if (found) this.#sessions.set(name, found)
      else this.#sessions.delete(name)
    }
    for (const session of await this.#pal.sessions({ limit: NEWEST })) this.#sessions.set(session.id, session)
  }

  async #readWhole(): Promise<void> {
    // What is noted while this reads is looked up at the next look.
    this.#noted.clear()
    const sessions = new Map<string, SessionInfo>()
    for await (const session of everySession(this.#pal, { limit: PAGE })) sessions.set(session.id, session)
    this.#sessions = sessions
    this.#wholeAt = this.#clock()
  }
}
