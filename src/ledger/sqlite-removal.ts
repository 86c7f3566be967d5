/**
 * Taking sessions out of a SQLite ledger, within one transaction.
 *
 * A fork shares the events of its parent up to where it was made. When the parent goes, the fork that shares most of
 * them takes them over, and the other forks become forks of that one; so every fork has its whole chain, and nothing of
 * the parent behind the last fork is left.
 */
import type { DatabaseSync } from 'node:sqlite'
import { referencesIn } from './codec.ts'
import type { SqlValue } from './database.ts'
import { dropContents, findSession, forksOf, headOf, type Session } from './sqlite-family.ts'
import { idOf, SESSION_SIZE, type SqliteIndex } from './sqlite-index.ts'
import { type Removal, type Tombstone, tombstoneAfter } from './tombstones.ts'

/** The tombstones, and the sessions that took over events of removed ones: these are to be indexed. */
export type Removed = { buried: Tombstone[]; heirs: number[] }

export function removeSessions(
  db: DatabaseSync,
  index: SqliteIndex,
  ids: readonly string[],
  removal: Removal,
): Removed {
  return new SqliteRemoval(db, index).remove(ids, removal)
}

class SqliteRemoval {
  readonly #db: DatabaseSync
  readonly #index: SqliteIndex
  readonly #gone = new Set<number>()
  readonly #heirs = new Set<number>()
  /** Large texts that the removed events held. */
  readonly #contents = new Set<string>()

  constructor(db: DatabaseSync, index: SqliteIndex) {
    this.#db = db
    this.#index = index
  }

  remove(ids: readonly string[], removal: Removal): Removed {
    const sessions = [...new Set(ids)].flatMap(id => findSession(this.#db, id) ?? [])
    const buried = sessions.map(({ id }) => this.#bury(findSession(this.#db, id)!, removal))
    dropContents(this.#db, this.#contents)
    if (buried.length > 0) this.#index.forget([...this.#gone, ...this.#heirs])
    return { buried, heirs: [...this.#heirs].filter(key => !this.#gone.has(key)) }
  }

  #bury(session: Session, { at, by }: Removal): Tombstone {
    const { seq, hash } = headOf(this.#db, session)
    this.#leaveToForks(session)
    this.#dropEvents(session.key)
    this.#run('DELETE FROM sessions WHERE key = ?', [session.key])
    this.#gone.add(session.key)
    const [last] = this.#all('SELECT * FROM tombstones ORDER BY seq DESC LIMIT 1')
    const tombstone = tombstoneAfter(last && toTombstone(last), {
      session: session.id,
      at,
      by,
      events: seq + 1,
      head: hash,
    })
    this.#run(
      'INSERT INTO tombstones (seq, session, key, at, by, events, head, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
      [...[tombstone.seq, tombstone.session, session.key, at, by, tombstone.events, tombstone.head, tombstone.hash]],
    )
    return tombstone
  }

  #leaveToForks(session: Session): void {
    const { key, parent, forkSeq } = session
    const forks = forksOf(this.#db, session)
    const [heir] = forks.filter(fork => fork.forkSeq > forkSeq)
    for (const fork of forks) {
      // What is shared lies with the heir, or with the ancestors that the removed session had.
      const above = heir && fork !== heir && fork.forkSeq > forkSeq ? heir.key : parent
      const upTo = fork === heir ? forkSeq : fork.forkSeq
      this.#run('UPDATE sessions SET parent = ?, fork_seq = ? WHERE key = ?', [
        above,
        above === null ? null : upTo,
        fork.key,
      ])
    }
    if (!heir) return
    this.#run('UPDATE events SET id = id + ? WHERE id BETWEEN ? AND ?', [
      ...[idOf(heir.key, 0) - idOf(key, 0), idOf(key, 0), idOf(key, heir.forkSeq)],
    ])
    this.#heirs.add(heir.key)
  }

  #dropEvents(key: number): void {
    const own = [idOf(key, 0), idOf(key, SESSION_SIZE - 1)]
    for (const { body } of this.#db.prepare('SELECT body FROM events WHERE id BETWEEN ? AND ?').iterate(...own)) {
      for (const hash of referencesIn(String(body))) this.#contents.add(hash)
    }
    this.#run('DELETE FROM events WHERE id BETWEEN ? AND ?', own)
  }

  #run(sql: string, values: SqlValue[]): void {
    this.#db.prepare(sql).run(...values)
  }

  #all(sql: string, values: SqlValue[] = []): Record<string, unknown>[] {
    return this.#db.prepare(sql).all(...values)
  }
}

export function toTombstone(row: Record<string, unknown>): Tombstone {
  const { seq, session, at, by, events, head, hash } = row
  return {
    ...{ seq: Number(seq), session: String(session), at: Number(at), by: String(by) },
    ...{ events: Number(events), head: String(head), hash: String(hash) },
  }
}
