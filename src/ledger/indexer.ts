/**
 * Decides when the index of recall is filled: soon after appends, in small steps with room between them, and never
 * in the way of a process that wants to end. Sessions that were written by an older version, or by a process that was
 * killed, follow when nothing else waits.
 *
 * A failure in the background is left for later: the index is derived, and the next search says what is wrong.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isPalimpsestError } from '../model/errors.ts'

/**
 * Takes up to `steps` steps for some sessions, or for all that are behind; merges segments too if asked. Resolves to
 * whether something is left.
 */
export type Advance = (
  sessions: readonly string[] | undefined,
  options: { steps: number; merge: boolean },
) => Promise<boolean>

/** Appends that follow one another closely are indexed together. */
const SOON_MS = 50
const STEPS_AT_ONCE = 4
/** A search of all sessions takes so many steps at most before it answers from what is there. */
const STEPS_BEFORE_SEARCH = 24
/** How often a search asks again, and after what time, while another process writes. */
const MAX_SEARCH_TRIES = 50
const WAIT_MS = 100

export class Indexer {
  readonly #advance: Advance
  readonly #soonMs: number
  readonly #pending = new Set<string>()
  /** What is being indexed now: a search must wait for these, too. */
  #working: readonly string[] = []
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  /** Whether everything that was there before has been looked at. */
  #swept = false
  #closed = false

  constructor(advance: Advance, { soonMs = SOON_MS } = {}) {
    this.#advance = advance
    this.#soonMs = soonMs
  }

  /** Something was appended to a session. */
  appended(session: string): void {
    this.#pending.add(session)
    this.begin()
  }

  /** Works on what there is, soon. */
  begin(): void {
    if (this.#timer || this.#closed) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#running ??= this.#work().finally(() => {
        this.#running = undefined
      })
    }, this.#soonMs)
    this.#timer.unref()
  }

  /** Before a search. Resolves to whether something is left out of the index. */
  async catchUp(session: string | undefined): Promise<boolean> {
    if (session !== undefined) {
      while (await this.#patiently([session], STEPS_BEFORE_SEARCH));
      return false
    }
    const own = [...this.#pending, ...this.#working]
    while (own.length > 0 && (await this.#patiently(own, STEPS_BEFORE_SEARCH)));
    if (!this.#swept) this.#swept = !(await this.#patiently(undefined, STEPS_BEFORE_SEARCH))
    if (!this.#swept) this.begin()
    return !this.#swept
  }

  /** Puts into the index what was appended here, if it can be. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#timer)
    // What runs pauses without holding the process, which must not end before this does.
    const hold = setInterval(() => {}, 60_000)
    await this.#running
    const own = [...this.#pending]
    if (own.length > 0) await this.#advance(own, { steps: Number.MAX_SAFE_INTEGER, merge: false }).catch(() => {})
    clearInterval(hold)
  }

  async #work(): Promise<void> {
    try {
      while (!this.#closed && (await this.#once())) await sleep(1, undefined, { ref: false })
    } catch {
      // Tried again after the next append.
    }
  }

  async #once(): Promise<boolean> {
    const own = [...this.#pending]
    if (own.length > 0) {
      // What is appended meanwhile is added again.
      this.#pending.clear()
      this.#working = own
      try {
        const more = await this.#advance(own, { steps: STEPS_AT_ONCE, merge: true })
        if (more) for (const session of own) this.#pending.add(session)
      } catch (error) {
        for (const session of own) this.#pending.add(session)
        throw error
      } finally {
        this.#working = []
      }
      return true
    }
    if (this.#swept) return false
    this.#swept = !(await this.#advance(undefined, { steps: STEPS_AT_ONCE, merge: true }))
    return !this.#swept
  }

  async #patiently(sessions: readonly string[] | undefined, steps: number): Promise<boolean> {
    for (let tries = 0; ; tries++) {
      try {
        return await this.#advance(sessions, { steps, merge: false })
      } catch (error) {
        if (!isPalimpsestError(error) || error.code !== 'STORE_LOCKED' || tries >= MAX_SEARCH_TRIES) throw error
        await sleep(WAIT_MS)
      }
    }
  }
}
