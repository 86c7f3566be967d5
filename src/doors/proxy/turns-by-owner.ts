/**
 * Keeps the turns of each user of one proxy apart. Each `Turns` has the sessions of one user, and remembers only that
 * user's conversations. So nothing in a request (a name, a call's id, a beginning) can find another user's session.
 */
import { type Incoming, Turns, type TurnsOptions } from './turns.ts'

export class TurnsByOwner {
  readonly #options: TurnsOptions
  /** Only users with a token have an entry, so there are few. */
  readonly #turns = new Map<string | undefined, Turns>()

  constructor(options: TurnsOptions) {
    this.#options = options
  }

  of({ owner }: Pick<Incoming, 'owner'>): Turns {
    const known = this.#turns.get(owner)
    if (known) return known
    const { pal, ...options } = this.#options
    const turns = new Turns({ ...options, pal: owner === undefined ? pal : pal.of(owner) })
    this.#turns.set(owner, turns)
    return turns
  }
}
