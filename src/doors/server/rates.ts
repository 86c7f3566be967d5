/**
 * Rate limits: a token bucket for each caller, and a limit on heavy work that runs at the same time. Both are per
 * process and forget callers that have been idle.
 */
import { PalimpsestError } from '../../model/errors.ts'
import { Remembered } from '../../model/remembered.ts'

export type Rate = { perSecond: number; burst: number }

/** Buckets of the most recent callers; older buckets are full again anyway. */
const MOST_CALLERS = 10_000

export class RateLimiter {
  readonly #rate: Rate
  readonly #clock: () => number
  readonly #buckets = new Remembered<string, { left: number; at: number }>(MOST_CALLERS)

  constructor(rate: Rate, clock: () => number) {
    this.#rate = rate
    this.#clock = clock
  }

  /** Counts a request; throws with the seconds to wait if there were too many. */
  take(caller: string): void {
    const { perSecond, burst } = this.#rate
    const now = this.#clock()
    const last = this.#buckets.get(caller) ?? { left: burst, at: now }
    const left = Math.min(burst, last.left + (Math.max(0, now - last.at) / 1000) * perSecond)
    this.#buckets.set(caller, { left: Math.max(0, left - 1), at: now })
    if (left < 1) throw tooMany('Too many requests.', Math.ceil((1 - left) / perSecond))
  }
}

/** Runs a few pieces of heavy work at a time; any further one is refused at once rather than queued. */
export class Slots {
  readonly #most: number
  #running = 0

  constructor(most: number) {
    this.#most = most
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#most) throw tooMany('The server is busy with other work of this kind.', 5)
    this.#running++
    try {
      return await work()
    } finally {
      this.#running--
    }
  }
}

function tooMany(why: string, retryAfter: number): PalimpsestError {
  return new PalimpsestError('RATE_LIMITED', `${why} Try again in ${retryAfter} s.`, { retryAfter })
}
