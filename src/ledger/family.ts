/** The store operations for removing and redacting sessions and their forks, in one transaction. */
import { GENESIS } from './codec.ts'
import { ask, type Now, type Steps } from './steps.ts'
import type { NewRow, Row } from './store.ts'
import type { Tombstone } from './tombstones.ts'

export type FamilySession = { key: number; id: string; parent: number | null; forkSeq: number }
export type StoredEvent = Omit<Row, 'body'> & { body: string }

/** Higher than the number of any event. */
export const LAST_SEQ = 0x7fffffff

/** Every session that is read is locked: nobody else writes to it until the transaction ends. */
export interface FamilyTables {
  session(id: string): Now<FamilySession | undefined>
  sessionOf(key: number): Now<FamilySession>
  /** The fork that shares the most events comes first. */
  forksOf(key: number): Now<FamilySession[]>
  lastEvent(key: number, upTo: number): Now<{ seq: number; hash: string } | undefined>
  events(key: number, from: number, to: number): Now<StoredEvent[]>
  contents(hashes: readonly string[]): Now<Map<string, string>>
  addEvent(key: number, row: NewRow): Now<void>
  changeEvent(key: number, row: NewRow): Now<void>
  setHashes(key: number, rows: readonly { seq: number; hash: string }[]): Now<void>
  meta(key: number): Now<string>
  setMeta(key: number, meta: string): Now<void>
  setParent(key: number, parent: number | null, forkSeq: number | null): Now<void>
  moveEvents(from: number, to: number, upTo: number): Now<void>
  /** Gives the hashes of the large texts that the events referred to. */
  removeEvents(key: number): Now<readonly string[]>
  removeSession(key: number): Now<void>
  /** Drops large texts that no event refers to any more. */
  dropContents(hashes: ReadonlySet<string>): Now<void>
  lastTombstone(): Now<Tombstone | undefined>
  addTombstone(tombstone: Tombstone, key: number): Now<void>
  /** Removes sessions from the index of recall. */
  forget(keys: readonly number[]): Now<void>
}

/** The last event of a session: its own, or the ancestor's event at which it was forked. */
export function* headOfSession(tables: FamilyTables, session: FamilySession): Steps<{ seq: number; hash: string }> {
  const own = yield* ask(tables.lastEvent(session.key, LAST_SEQ))
  return own ?? (yield* headAbove(tables, session))
}

/** The last event that a session shares with its ancestors. */
export function* headAbove(tables: FamilyTables, session: FamilySession): Steps<{ seq: number; hash: string }> {
  let { parent, forkSeq: upTo } = session
  while (parent !== null) {
    const above: FamilySession = yield* ask(tables.sessionOf(parent))
    const last = yield* ask(tables.lastEvent(above.key, upTo))
    if (last) return last
    parent = above.parent
    upTo = Math.min(upTo, above.forkSeq)
  }
  return { seq: -1, hash: GENESIS }
}

/** Reads a row of `sessions`, from either database. */
export function toFamilySession(row: Record<string, unknown>): FamilySession {
  const { key, id, parent, fork_seq: forkSeq } = row
  return {
    key: Number(key),
    id: String(id),
    parent: parent === null ? null : Number(parent),
    forkSeq: Number(forkSeq ?? -1),
  }
}
