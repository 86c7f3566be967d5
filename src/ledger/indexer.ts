/**
 * Decides when the index of recall is filled: soon after appends, in small steps with pauses, without keeping the
 * process from ending. Sessions written by an older version, or by a process that was killed, are indexed when
 * nothing else waits.
 *
 * A failure in the background is ignored: the index is derived, and the next search reports the problem.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type ErrorCode, isPalimpsestError } from '../model/errors.ts'

/**
 * Takes up to `steps` steps for the given sessions, or for all that are not fully indexed; also merges segments if
 * asked. Resolves to whether work is left.
 */
export type Advance = (
  sessions: readonly string[] | undefined,
  options: { steps: number; merge: boolean },
) => Promise<boolean>

/** Appends within this time are indexed together. Small steps hold up the caller's thread least. */
const SOON_MS = 50
/** For stores that index elsewhere: few large steps cost less than many small ones. No search waits for this time. */
export const LATER_MS = 1000
const STEPS_AT_ONCE = 4
/** The pause after a step, as a multiple of its duration: a quarter of a processor is enough for background work. */
const REST = 3
/** A search of all sessions takes at most this many steps before it answers from the index. */
const STEPS_BEFORE_SEARCH = 24
/** How often, and after what time, a search retries while another process writes. */
const MAX_SEARCH_TRIES = 50
const WAIT_MS = 100
/** The index cannot be written, but it can be searched. */
const UNWRITABLE: ReadonlySet<ErrorCode> = new Set(['STORE_FULL', 'STORE_READONLY'])

export class Indexer {
  readonly #advance: Advance
  readonly #soonMs: number
  readonly #pending = new Set<string>()
  /** The sessions that are being indexed now: a search must wait for these, too. */
  #working: readonly string[] = []
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  /** Whether all sessions from before the start have been checked. */
  #swept = false
  #closed = false

  constructor(advance: Advance, { soonMs = SOON_MS } = {}) {
    this.#advance = advance
    this.#soonMs = soonMs
  }

  appended(session: string): void {
    this.#pending.add(session)
    this.begin()
  }

  /** Schedules the pending work. */
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

  /** Called before a search. Resolves to whether the index is incomplete, as it stays while the disk is full. */
  async catchUp(session: string | undefined): Promise<boolean> {
    return this.#caughtUp(session).catch(error => {
      if (isPalimpsestError(error) && UNWRITABLE.has(error.code)) return true
      throw error
    })
  }

  async #caughtUp(session: string | undefined): Promise<boolean> {
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

  /** Indexes what was appended here, if possible. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#timer)
    // The running work pauses with an unreferenced timer. This timer keeps the process alive until the work is done.
    const hold = setInterval(() => {}, 60_000)
    await this.#running
    const own = [...this.#pending]
    if (own.length > 0) await this.#advance(own, { steps: Number.MAX_SAFE_INTEGER, merge: false }).catch(() => {})
    clearInterval(hold)
  }

  /** Indexes what is pending now. Events appended meanwhile are collected for the next run. */
  async #work(): Promise<void> {
    const own = [...this.#pending]
    this.#pending.clear()
    this.#working = own
    try {
      // A few sessions at a time: each call looks at all sessions that it is given.
      for (let i = 0; i < own.length; i += STEPS_AT_ONCE) await this.#stepwise(own.slice(i, i + STEPS_AT_ONCE))
      if (own.length === 0 && !this.#swept) {
        await this.#stepwise(undefined)
        this.#swept = true
      }
    } catch {
      // Retried after the next append.
      for (const session of own) this.#pending.add(session)
      return
    } finally {
      this.#working = []
    }
    if (this.#pending.size > 0 || !this.#swept) this.begin()
  }

  async #stepwise(sessions: readonly string[] | undefined): Promise<void> {
    for (let begun = performance.now(); ; begun = performance.now()) {
      if (!(await this.#advance(sessions, { steps: STEPS_AT_ONCE, merge: true }))) return
      if (this.#closed) throw new Error('The ledger is being closed.')
      await sleep(REST * (performance.now() - begun), undefined, { ref: false })
    }
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
