/**
 * The ledger of one session: its place in a store, and the hash chain.
 *
 * `append` is atomic and durable. It gives `false` if another writer has appended since; the caller then calls
 * `catchUp` and decides again. `load` leaves out the content of entries until it is asked for.
 */
import { PalimpsestError } from '../model/errors.ts'
import { amount } from '../model/text.ts'
import type { Event, Message } from '../model/types.ts'
import { chainHash, contentHash, decodeEvent, encodeEvents, GENESIS, referencesIn } from './codec.ts'
import type { Head } from './head.ts'
import type { LedgerStore, Row } from './store.ts'

export type Timed = { at: number; event: Event }
export type Placed = Timed & { seq: number }

const EDITING = new Set<string>(['edit', 'revert', 'reapply'] satisfies Event['type'][])

export class Ledger {
  readonly id: string
  readonly #store: LedgerStore
  #head = -1
  #hash = GENESIS

  constructor(store: LedgerStore, id: string) {
    this.#store = store
    this.id = id
  }

  /** The number of events known here. */
  get length(): number {
    return this.#head + 1
  }

  /** The end of the chain as far as it is known here. */
  get head(): Omit<Head, 'session'> {
    return { events: this.length, hash: this.#hash }
  }

  /**
   * All rows from the beginning, with the contents that they refer to. Entries come without their bodies and file
   * events without the file's text: their light forms have the rest.
   */
  async load(): Promise<{ rows: Row[]; contents: Map<string, string> }> {
    const rows = await this.#store.read(this.id, { lightType: 'entry' })
    this.#moveTo(rows)
    return { rows, contents: await this.#contentsOf(rows.filter(({ type }) => type !== 'file')) }
  }

  /** The events that others have appended since. */
  async catchUp(): Promise<Placed[]> {
    const rows = await this.#store.read(this.id, { from: this.#head + 1 })
    this.#moveTo(rows)
    return this.#decode(rows)
  }

  append(events: readonly Event[], at: number): Promise<Placed[] | undefined> {
    return this.appendTimed(events.map(event => ({ event, at: timeOf(event, at) })))
  }

  async appendTimed(events: readonly Timed[]): Promise<Placed[] | undefined> {
    const rows = encodeEvents(events, { prev: this.#hash, seq: this.#head + 1 })
    if (!(await this.#store.append(this.id, rows))) return undefined
    this.#moveTo(rows)
    return rows.map((row, i) => ({ seq: row.seq, at: row.at, event: events[i]!.event }))
  }

  async events(seqs: readonly number[]): Promise<Placed[]> {
    return this.#decode(await this.#store.read(this.id, { only: seqs }))
  }

  /** The events that make and undo edits, and the places of all events that are not entries, without reading entries. */
  async edits(): Promise<{ events: Placed[]; besides: number[] }> {
    const rows = await this.#store.read(this.id, { besidesEntries: true })
    const events = await this.#decode(rows.filter(({ type }) => EDITING.has(type)))
    return { events, besides: rows.map(({ seq }) => seq) }
  }

  async messages(seqs: readonly number[]): Promise<Map<number, Message>> {
    const placed = await this.events(seqs)
    return new Map(placed.flatMap(({ seq, event }) => (event.type === 'entry' ? [[seq, event.message]] : [])))
  }

  /**
   * Reads every event from the store and checks the chain and all contents. A head that was kept elsewhere must be in
   * the chain, too: without it, a ledger that was cut short or rewritten passes.
   */
  async verify(kept?: Head): Promise<Placed[]> {
    const rows = await this.#store.read(this.id)
    let prev = GENESIS
    for (const [index, row] of rows.entries()) {
      if (row.seq !== index) throw corrupt(`event ${index} is missing`, { seq: index })
      if (chainHash(prev, row) !== row.hash) throw corrupt(`event ${index} does not match its hash`, { seq: index })
      prev = row.hash
    }
    if (kept) checkHead(rows, kept)
    if (rows.length <= this.#head) throw corrupt(`event ${rows.length} is missing`, { seq: rows.length })
    return this.#decode(rows)
  }

  async #decode(rows: readonly Row[]): Promise<Placed[]> {
    const contents = await this.#contentsOf(rows)
    return rows.map(({ seq, at, body }) => ({ seq, at, event: decodeEvent(body ?? '', contents) }))
  }

  /** The large texts that rows refer to. A text that does not fit its hash is damage. */
  async #contentsOf(rows: readonly Row[]): Promise<Map<string, string>> {
    const hashes = rows.flatMap(row => referencesIn(row.body ?? ''))
    if (hashes.length === 0) return new Map()
    const contents = await this.#store.contents(hashes)
    for (const [hash, text] of contents) {
      if (contentHash(text) !== hash) throw corrupt(`content ${hash} does not match its hash`, { hash })
    }
    return contents
  }

  #moveTo(rows: readonly Pick<Row, 'seq' | 'hash'>[]): void {
    const last = rows.at(-1)
    if (!last) return
    this.#head = last.seq
    this.#hash = last.hash
  }
}

function checkHead(rows: readonly Row[], { events, hash }: Head): void {
  if (rows.length < events) {
    throw corrupt(`it has ${amount(rows.length, 'event')}, but the kept head has ${events}`, { seq: rows.length })
  }
  if (events > 0 && rows[events - 1]!.hash !== hash && !isRedacted(rows, { events, hash })) {
    throw corrupt('it was rewritten: the chain does not lead to the kept head', { seq: events - 1 })
  }
}

/** Whether a redaction in the chain says that the events before a head were changed. */
function isRedacted(rows: readonly Row[], kept: Omit<Head, 'session'>): boolean {
  return rows.some(({ type, body }) => {
    const event = type === 'redact' ? decodeEvent(body ?? '', new Map()) : undefined
    if (event?.type !== 'redact' || event.from >= kept.events || event.events < kept.events) return false
    return event.events > kept.events || event.head === kept.hash
  })
}

function timeOf(event: Event, at: number): number {
  return Math.round((event.type === 'entry' ? event.message.at : undefined) ?? at)
}

function corrupt(what: string, data: Record<string, unknown>): PalimpsestError {
  return new PalimpsestError('LEDGER_CORRUPT', `The ledger does not verify: ${what}. Restore it from a backup.`, data)
}
