/**
 * Live events: what happened, to everybody who listens and may know of it.
 *
 * The last events are kept, so that a listener who was cut off can go on where it stopped (Last-Event-ID). Where
 * that is not possible (too long ago, or another start of the server) it is told so with `reset`, and reads the
 * state anew. What other processes write to the same home is found by looking at the list of sessions while
 * somebody listens.
 */
import { randomBytes } from 'node:crypto'

export type LiveEvent =
  /** The session by its id in the ledger. */
  | { type: 'session.changed'; session: string; length: number; at: number }
  | { type: 'block.changed'; user: string; label: string; at: number }
  | { type: 'proposal.opened' | 'proposal.decided'; user: string; label: string; id: string; state: string; at: number }

export type Placed = { id: string; event: LiveEvent }

type Listener = { take(placed: Placed): void; end(): void }

const KEPT = 1000

export class EventHub {
  /** Tells the ids of this start of the server from those of another. */
  readonly #start = randomBytes(4).toString('hex')
  readonly #kept: Placed[] = []
  readonly #listeners = new Set<Listener>()
  #next = 1
  #closed = false

  publish(event: LiveEvent): void {
    const placed = { id: `${this.#start}-${this.#next++}`, event }
    this.#kept.push(placed)
    if (this.#kept.length > KEPT) this.#kept.shift()
    for (const listener of this.#listeners) listener.take(placed)
  }

  /** What a listener missed since an event; nothing where that cannot be known. */
  since(id: string): Placed[] | undefined {
    const [start, number] = id.split('-')
    if (start !== this.#start || !/^\d+$/.test(number ?? '')) return undefined
    const first = this.#next - this.#kept.length
    const from = Number(number) + 1
    if (from < first || from > this.#next) return undefined
    return this.#kept.slice(from - first)
  }

  /** The place after which new events come. */
  get last(): string {
    return `${this.#start}-${this.#next - 1}`
  }

  get listening(): number {
    return this.#listeners.size
  }

  listen(listener: Listener): () => void {
    if (this.#closed) listener.end()
    else this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  close(): void {
    this.#closed = true
    for (const listener of this.#listeners) listener.end()
    this.#listeners.clear()
  }
}
