/** Sessions of a SQLite ledger with those that they were forked from: what removing and redacting share. */
import type { DatabaseSync } from 'node:sqlite'
import { GENESIS, referencesIn } from './codec.ts'
import { idOf, SESSION_SIZE } from './sqlite-index.ts'

export type Session = { key: number; id: string; parent: number | null; forkSeq: number }

const COLUMNS = 'SELECT key, id, parent, fork_seq FROM sessions'

export function sessionsIn(db: DatabaseSync): Session[] {
  return db.prepare(COLUMNS).all().map(toSession)
}

export function findSession(db: DatabaseSync, id: string): Session | undefined {
  const row = db.prepare(`${COLUMNS} WHERE id = ?`).get(id)
  return row && toSession(row)
}

export function forksOf(db: DatabaseSync, { key }: Session): Session[] {
  return db.prepare(`${COLUMNS} WHERE parent = ? ORDER BY fork_seq DESC`).all(key).map(toSession)
}

/** The last event of a session: its own, or the one of an ancestor at which it was forked. */
export function headOf(
  db: DatabaseSync,
  { key, parent, forkSeq }: Session,
  upTo = SESSION_SIZE - 1,
): { seq: number; hash: string } {
  const row = db
    .prepare('SELECT id, hash FROM events WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1')
    .get(idOf(key, 0), idOf(key, upTo))
  if (row) return { seq: Number(row['id']) % SESSION_SIZE, hash: String(row['hash']) }
  if (parent === null) return { seq: -1, hash: GENESIS }
  const above = db.prepare(`${COLUMNS} WHERE key = ?`).get(parent)
  return headOf(db, toSession(above!), Math.min(upTo, forkSeq))
}

/** Drops large texts that no event refers to any more. Reads every event that refers to one, once for all. */
export function dropContents(db: DatabaseSync, hashes: ReadonlySet<string>): void {
  const unused = new Set(hashes)
  if (unused.size === 0) return
  for (const { body } of db.prepare(`SELECT body FROM events WHERE instr(body, '"$content"') > 0`).iterate()) {
    for (const hash of referencesIn(String(body))) unused.delete(hash)
    if (unused.size === 0) return
  }
  for (const hash of unused) db.prepare('DELETE FROM contents WHERE hash = ?').run(hash)
}

function toSession(row: Record<string, unknown>): Session {
  const { key, id, parent, fork_seq: forkSeq } = row
  return {
    key: Number(key),
    id: String(id),
    parent: parent === null ? null : Number(parent),
    forkSeq: Number(forkSeq ?? -1),
  }
}
