/**
 * The database interface of the ledger. Every implementation passes test/contracts/ledger-store.ts.
 *
 * A store keeps events as opaque text in a hash chain per session. It interprets only `light`, a short description
 * that is read without the body. An append is atomic and durable before it resolves. It is refused if another writer
 * has appended since: the caller then reads on and tries again.
 */
import { PalimpsestError } from '../model/errors.ts'
import type { RecallIndex, Scope } from '../recall/index.ts'
import type { Redacted, ToRedact } from './redaction.ts'
import type { Removal, Tombstone } from './tombstones.ts'

export type SessionRow = {
  id: string
  /** The fork's origin: it shares the parent's events up to and including `seq`. */
  parent?: { id: string; seq: number }
  createdAt: number
  updatedAt: number
  /** Number of events, the parent's included. */
  length: number
  /** JSON, the caller's own: policy, model, title, … */
  meta: string
}

export type Row = {
  seq: number
  type: string
  at: number
  hash: string
  /** What is known about an event without its body. */
  light: string
  /** `undefined` when only the light form was asked for. */
  body: string | undefined
}

/** A row to be added, with the large texts that its body refers to by their hashes. */
export type NewRow = Omit<Row, 'body'> & {
  body: string
  /** The body in UTF-8, which was made for its hash: a store can take it instead of encoding the body again. */
  bytes?: Uint8Array
  contents?: ReadonlyMap<string, string>
}

export type ReadOptions = {
  /** First and last sequence number, both included. */
  from?: number
  to?: number
  /** Leave out the bodies of events of this type. */
  lightType?: string
  /** Only these sequence numbers. */
  only?: readonly number[]
  /** Only events other than entries. */
  besidesEntries?: boolean
}

export type ListOptions = {
  limit?: number
  /** The list continues after this id. */
  after?: string
  /** Only sessions with this text in their id (after the prefix) or in their meta. */
  contains?: string
  /** Only sessions whose id begins with this text. */
  prefix?: string
  /** Only sessions created or changed within so many milliseconds, to the minute, by the clock of the database. */
  changedWithin?: number
}

export interface LedgerStore {
  /** Opens a session; creates it if it does not exist. */
  open(id: string, init: { at: number; meta: string; parent?: { id: string; seq: number } }): Promise<SessionRow>
  find(id: string): Promise<SessionRow | undefined>
  /** Most recently used first. */
  list(options?: ListOptions): Promise<SessionRow[]>
  setMeta(id: string, meta: string): Promise<void>
  /** Adds rows at the end, all or none; `false` if their place is already taken. */
  append(id: string, rows: readonly NewRow[]): Promise<boolean>
  read(id: string, options?: ReadOptions): Promise<Row[]>
  /**
   * Removes sessions for good, all or none: their events, the large texts that nothing else refers to, and their
   * entries in the index. Forks keep the events that they share. Gives a tombstone for each; names without a session
   * are left out.
   */
  remove(ids: readonly string[], removal: Removal): Promise<Tombstone[]>
  /** The tombstones of removed sessions, oldest first, starting at a place among them. */
  tombstones(from?: number): Promise<Tombstone[]>
  /**
   * Redacts texts in the events of sessions, all or none, including events shared with forks. The chains of all
   * sessions with a changed event are recomputed, and each gets an event that says so. Gives these sessions.
   */
  redact(ids: readonly string[], what: ToRedact, removal: Removal): Promise<Redacted[]>
  /** Clears removed and redacted texts from the disk too, if the database can do it. */
  scrub(): Promise<void>
  /** Large texts by their hashes; missing ones are left out. */
  contents(hashes: readonly string[]): Promise<Map<string, string>>
  /**
   * The index of recall. For one session it has everything that was appended before; for several, `behind` says
   * whether it could not be filled completely at once.
   */
  index(scope: Scope): Promise<RecallIndex>
  close(): Promise<void>
  /** For callers that wait for the disk themselves. A store that gains nothing by it leaves it out. */
  early?(): EarlyStore
}

/**
 * A store whose writes resolve when they survive the process. `synced` resolves when the writes so far survive a
 * crash of the machine.
 */
export type EarlyStore = { store: LedgerStore; synced(): Promise<void> }

/** The `early` of a store that wraps another one, wrapped in the same way; empty if the inner store has none. */
export function earlyOf(store: LedgerStore, wrap: (store: LedgerStore) => LedgerStore): Pick<LedgerStore, 'early'> {
  if (!store.early) return {}
  const early = store.early.bind(store)
  return {
    early: () => {
      const { store: inner, synced } = early()
      return { store: wrap(inner), synced }
    },
  }
}

export function noSession(id: string): PalimpsestError {
  return new PalimpsestError('SESSION_NOT_FOUND', `There is no session ${id}.`, { session: id })
}

export function toRow(row: Record<string, unknown>, seq = Number(row['seq'])): Row {
  return {
    seq,
    type: String(row['type']),
    at: Number(row['at']),
    hash: String(row['hash']),
    light: String(row['light']),
    body: row['body'] === null ? undefined : String(row['body']),
  }
}

/** Reads a session from its row; `length` is a column of that row. */
export function toSession(row: Record<string, unknown>): SessionRow {
  const parent =
    row['parent_id'] === null ? {} : { parent: { id: String(row['parent_id']), seq: Number(row['fork_seq']) } }
  return {
    id: String(row['id']),
    ...parent,
    createdAt: Number(row['created_at']),
    updatedAt: Number(row['updated_at']),
    length: Number(row['length']),
    meta: String(row['meta']),
  }
}
