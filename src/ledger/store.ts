/**
 * What a ledger needs of a database. Every implementation passes test/contracts/ledger-store.ts.
 *
 * A store keeps events as opaque text in a hash chain per session; it never interprets them beyond `light`, a
 * short description that is read without the body. An append is atomic and durable before it resolves, and is
 * refused when somebody else has appended since: the caller then reads on and tries again.
 */
import { PalimpsestError } from '../model/errors.ts'
import type { RecallIndex, Scope } from '../recall/index.ts'
import type { Redacted, ToRedact } from './redaction.ts'
import type { Removal, Tombstone } from './tombstones.ts'

export type SessionRow = {
  id: string
  /** Where this session was forked from: it shares the parent's events up to and including `seq`. */
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
  /** What is needed of an event whose body is not loaded. */
  light: string
  /** `undefined` when only the light form was asked for. */
  body: string | undefined
}

/** A row to be added, with the large texts that its body refers to by their hashes. */
export type NewRow = Omit<Row, 'body'> & { body: string; contents?: ReadonlyMap<string, string> }

export type ReadOptions = {
  /** First and last sequence number, both included. */
  from?: number
  to?: number
  /** Leave out the bodies of events of this type. */
  lightType?: string
  /** Only these sequence numbers. */
  only?: readonly number[]
}

export type ListOptions = {
  limit?: number
  /** The id behind which the list goes on. */
  after?: string
  /** Only with this text in their id (behind the prefix) or in what their meta says. */
  contains?: string
  /** Only those whose id begins so. */
  prefix?: string
  /** Only those that were made or changed in so many milliseconds, to the minute, by the clock of the database. */
  changedWithin?: number
}

export interface LedgerStore {
  /** The session, made if there is none. */
  open(id: string, init: { at: number; meta: string; parent?: { id: string; seq: number } }): Promise<SessionRow>
  find(id: string): Promise<SessionRow | undefined>
  /** The last used first. */
  list(options?: ListOptions): Promise<SessionRow[]>
  setMeta(id: string, meta: string): Promise<void>
  /** Adds rows behind the last one, all or none; `false` when their place is taken already. */
  append(id: string, rows: readonly NewRow[]): Promise<boolean>
  read(id: string, options?: ReadOptions): Promise<Row[]>
  /**
   * Removes sessions for good, all or none: their events, the large texts that nothing else holds, and what the index
   * has of them. Forks keep the events that they share. Gives a tombstone for each; names without a session are left out.
   */
  remove(ids: readonly string[], removal: Removal): Promise<Tombstone[]>
  /** Of all sessions that were removed, the first one first; from a place among them on. */
  tombstones(from?: number): Promise<Tombstone[]>
  /**
   * Covers texts in the events of sessions, all or none: in what they share with forks too. The chains of all sessions
   * that hold a changed event are computed anew, and each gets an event that says so. Gives these sessions.
   */
  redact(ids: readonly string[], what: ToRedact, removal: Removal): Promise<Redacted[]>
  /** Takes what was removed or covered from the disk too, where the database can be told to. */
  scrub(): Promise<void>
  /** Large texts by their hashes; one that is not there is left out. */
  contents(hashes: readonly string[]): Promise<Map<string, string>>
  /**
   * The index of recall, with everything in it that was appended before: for one session always, for several as far
   * as it could be filled at once (`behind` says so).
   */
  index(scope: Scope): Promise<RecallIndex>
  close(): Promise<void>
  /** For callers who wait for the disk themselves; a store that gains nothing by it leaves it out. */
  early?(): EarlyStore
}

/** A store whose writes resolve when they outlive this process, and a promise of those so far outliving the machine. */
export type EarlyStore = { store: LedgerStore; synced(): Promise<void> }

/** The `early` of a store that wraps another one, wrapped in the same way; nothing where the other has none. */
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

/** An event from its row in a database. */
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

/** A session from its row in a database; `length` is a column of that row. */
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
