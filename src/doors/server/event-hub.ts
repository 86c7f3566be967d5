/**
 * Live events: sends every listener the changes that it may see.
 *
 * The last events are kept, so that a listener whose connection was cut can continue where it stopped (Last-Event-ID).
 * If that is not possible (too long ago, or the server was restarted) it gets `reset`, and reads the state again.
 * Changes that other processes make to the same home are found by polling the list of sessions while there are
 * listeners.
 *
 * Servers that share a database share an outbox: events go there, and come back with numbers that are the same at every
 * server. So a listener may continue at another server.
 */
import { randomBytes } from 'node:crypto'
import type { LiveEvent } from './live-event.ts'
import type { Outbox } from './outbox.ts'

export type Placed = { id: string; event: LiveEvent }

/** `of`: the user, or the caller without one. */
type Listener = { take(placed: Placed): void; end(): void; of: string }

export const KEPT_EVENTS = 1000

export class EventHub {
  readonly #outbox: Outbox | undefined
  readonly #seen: (event: LiveEvent) => void
  readonly #listeners = new Set<Listener>()
  /** Distinguishes the ids of this start of the server, or of this outbox, from those of another. */
  #start = randomBytes(4).toString('hex')
  #kept: Placed[] = []
  #next = 1
  #closed = false
  /** Events that wait to be written to the outbox; only the newest of each session. */
  #waiting = new Map<string, LiveEvent>()
  #writing: Promise<void> | undefined
  #reading: Promise<void> | undefined

  /** `seen` is called with every event from the outbox. */
  constructor({ outbox, seen }: { outbox?: Outbox | undefined; seen?: (event: LiveEvent) => void } = {}) {
    this.#outbox = outbox
    this.#seen = seen ?? (() => {})
  }

  publish(event: LiveEvent): void {
    if (!this.#outbox) return this.#place(this.#next, event)
    this.#waiting.delete(keyOf(event))
    this.#waiting.set(keyOf(event), event)
    this.#writing ??= this.#write(this.#outbox).finally(() => {
      this.#writing = undefined
    })
  }

  /** Reads the events that all servers have published since; without an outbox there is nothing to read. */
  async refresh(): Promise<void> {
    if (!this.#outbox) return
    this.#reading ??= this.#read(this.#outbox).finally(() => {
      this.#reading = undefined
    })
    await this.#reading
  }

  /** The events that a listener missed since `id`; undefined if that cannot be known. */
  since(id: string): Placed[] | undefined {
    const [start, number] = id.split('-')
    if (start !== this.#start || !/^\d+$/.test(number ?? '')) return undefined
    const first = this.#next - this.#kept.length
    const from = Number(number) + 1
    if (from < first || from > this.#next) return undefined
    return this.#kept.slice(from - first)
  }

  /** The id of the last event. */
  get last(): string {
    return `${this.#start}-${this.#next - 1}`
  }

  get listening(): number {
    return this.#listeners.size
  }

  listeningFor(user: string): number {
    return [...this.#listeners].filter(({ of }) => of === user).length
  }

  listen(listener: Listener): () => void {
    if (this.#closed) listener.end()
    else this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Ends the listeners, and writes the waiting events to the outbox before it closes. */
  async close(): Promise<void> {
    this.#closed = true
    for (const listener of this.#listeners) listener.end()
    this.#listeners.clear()
    await this.#writing
    await this.#reading?.catch(() => {})
    await this.#outbox?.close()
  }

  /** Writes one statement at a time: events that arrive meanwhile go with the next. */
  async #write(outbox: Outbox): Promise<void> {
    // Concurrent events go into one statement.
    await new Promise(resolve => setImmediate(resolve))
    while (this.#waiting.size > 0) {
      const events = [...this.#waiting.values()]
      this.#waiting = new Map()
      // The database is unreachable. Only these notices are lost, not the changes themselves.
      await outbox.add(events).catch(() => {})
    }
    if (this.listening > 0) await this.refresh().catch(() => {})
  }

  async #read(outbox: Outbox): Promise<void> {
    const { start, seq } = await outbox.last()
    // There were no listeners for a while, or this is another database: begin with the events still in the outbox.
    const isBehind = start !== this.#start || seq - this.#next >= KEPT_EVENTS
    if (isBehind) {
      this.#start = start
      this.#kept = []
      this.#next = Math.max(1, seq - KEPT_EVENTS + 1)
    } else if (seq < this.#next) return
    for (const { seq: number, event } of await outbox.after(this.#next - 1)) {
      // Events that were removed before they were read leave a gap: listeners from before it get a reset.
      if (number !== this.#next) this.#kept = []
      this.#seen(event)
      this.#place(number, event)
    }
  }

  #place(number: number, event: LiveEvent): void {
    this.#next = number + 1
    const placed = { id: `${this.#start}-${number}`, event }
    this.#kept.push(placed)
    if (this.#kept.length > KEPT_EVENTS) this.#kept.shift()
    for (const listener of this.#listeners) listener.take(placed)
  }
}

/** A newer event with the same key replaces an older one. */
function keyOf(event: LiveEvent): string {
  return event.type === 'session.changed' ? `session ${event.session}` : JSON.stringify(event)
}
