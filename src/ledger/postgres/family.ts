/** The tables of a PostgreSQL ledger for removing and redacting (../family.ts), on one connection in a transaction. */

import { referencesIn } from '../codec.ts'
import { type FamilySession, type FamilyTables, type StoredEvent, toFamilySession } from '../family.ts'
import { forgetSessions } from '../filling.ts'
import { runLater } from '../steps.ts'
import { type NewRow, toRow } from '../store.ts'
import { type Tombstone, toTombstone } from '../tombstones.ts'
import { contentsIn } from './contents.ts'
import type { PgSession, PgValue } from './database.ts'
import { PgIndexTables } from './index-tables.ts'
import { MINUTE_NOW } from './schema.ts'

const COLUMNS = 'SELECT key, id, parent, fork_seq FROM sessions'

const CHANGED = `changed_minute = ${MINUTE_NOW}`

export class PgFamily implements FamilyTables {
  readonly #session: PgSession

  constructor(session: PgSession) {
    this.#session = session
  }

  async session(id: string): Promise<FamilySession | undefined> {
    const row = await this.#session.row(`${COLUMNS} WHERE id = $1 FOR UPDATE`, [id])
    return row && toFamilySession(row)
  }

  async sessionOf(key: number): Promise<FamilySession> {
    return toFamilySession((await this.#session.row(`${COLUMNS} WHERE key = $1 FOR UPDATE`, [key]))!)
  }

  async forksOf(key: number): Promise<FamilySession[]> {
    const rows = await this.#session.rows(`${COLUMNS} WHERE parent = $1 ORDER BY fork_seq DESC, key FOR UPDATE`, [key])
    return rows.map(toFamilySession)
  }

  async lastEvent(key: number, upTo: number): Promise<{ seq: number; hash: string } | undefined> {
    const sql = 'SELECT seq, hash FROM events WHERE session = $1 AND seq <= $2 ORDER BY seq DESC LIMIT 1'
    const row = await this.#session.row(sql, [key, upTo])
    return row && { seq: Number(row['seq']), hash: String(row['hash']) }
  }

  async events(key: number, from: number, to: number): Promise<StoredEvent[]> {
    const sql =
      'SELECT seq, type, at, hash, light, body FROM events WHERE session = $1 AND seq BETWEEN $2 AND $3 ORDER BY seq'
    return (await this.#session.rows(sql, [key, from, to])).map(row => ({ ...toRow(row), body: String(row['body']) }))
  }

  contents(hashes: readonly string[]): Promise<Map<string, string>> {
    return contentsIn(this.#session, hashes)
  }

  async addEvent(key: number, row: NewRow): Promise<void> {
    await this.#session.change(
      'INSERT INTO events (session, seq, type, at, hash, light, body) VALUES ($1, $2, $3, $4, $5, $6, $7)',
      [key, row.seq, row.type, row.at, row.hash, row.light, row.body],
    )
    await this.#session.change(
      `UPDATE sessions SET length = $2, updated_at = greatest(created_at, $3), ${CHANGED} WHERE key = $1`,
      [key, row.seq + 1, row.at],
    )
    await this.#addContents(key, row)
  }

  async changeEvent(key: number, row: NewRow): Promise<void> {
    const { seq, body, light } = row
    await this.#session.change('UPDATE events SET body = $3, light = $4 WHERE session = $1 AND seq = $2', [
      key,
      seq,
      body,
      light,
    ])
    await this.#session.change('DELETE FROM content_uses WHERE session = $1 AND seq = $2', [key, seq])
    await this.#addContents(key, row)
  }

  async setHashes(key: number, rows: readonly { seq: number; hash: string }[]): Promise<void> {
    await this.#session.change(
      `UPDATE events e SET hash = h.hash FROM unnest($2::integer[], $3::text[]) AS h (seq, hash)
       WHERE e.session = $1 AND e.seq = h.seq`,
      [key, rows.map(({ seq }) => seq), rows.map(({ hash }) => hash)],
    )
  }

  async meta(key: number): Promise<string> {
    return String((await this.#session.row('SELECT meta FROM sessions WHERE key = $1', [key]))!['meta'])
  }

  async setMeta(key: number, meta: string): Promise<void> {
    await this.#session.change(`UPDATE sessions SET meta = $2, ${CHANGED} WHERE key = $1`, [key, meta])
  }

  async setParent(key: number, parent: number | null, forkSeq: number | null): Promise<void> {
    const sql = `UPDATE sessions SET parent = $2, fork_seq = $3, ${CHANGED} WHERE key = $1`
    await this.#session.change(sql, [key, parent, forkSeq])
  }

  async moveEvents(from: number, to: number, upTo: number): Promise<void> {
    for (const table of ['events', 'content_uses'])
      await this.#session.change(`UPDATE ${table} SET session = $2 WHERE session = $1 AND seq <= $3`, [from, to, upTo])
  }

  async removeEvents(key: number): Promise<string[]> {
    await this.#session.change('DELETE FROM events WHERE session = $1', [key])
    const rows = await this.#session.rows('DELETE FROM content_uses WHERE session = $1 RETURNING hash', [key])
    return rows.map(row => String(row['hash']))
  }

  async removeSession(key: number): Promise<void> {
    await this.#session.change('DELETE FROM sessions WHERE key = $1', [key])
  }

  /** An append locks the texts that it needs. So a text that we could lock, and that no event refers to, is unused. */
  async dropContents(hashes: ReadonlySet<string>): Promise<void> {
    if (hashes.size === 0) return
    const own = [...hashes].sort()
    await this.#session.rows('SELECT 1 FROM contents WHERE hash = ANY($1::text[]) ORDER BY hash FOR UPDATE', [own])
    await this.#session.change(
      `DELETE FROM contents c WHERE c.hash = ANY($1::text[])
         AND NOT EXISTS (SELECT 1 FROM content_uses u WHERE u.hash = c.hash)`,
      [own],
    )
  }

  async lastTombstone(): Promise<Tombstone | undefined> {
    const row = await this.#session.row('SELECT * FROM tombstones ORDER BY seq DESC LIMIT 1')
    return row && toTombstone(row)
  }

  async addTombstone({ seq, session, at, by, events, head, hash }: Tombstone, key: number): Promise<void> {
    const values: PgValue[] = [seq, session, key, at, by, events, head, hash]
    await this.#session.change(
      'INSERT INTO tombstones (seq, session, key, at, by, events, head, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)',
      values,
    )
  }

  async forget(keys: readonly number[]): Promise<void> {
    await runLater(forgetSessions(new PgIndexTables(this.#session), keys))
  }

  async #addContents(key: number, { seq, body, contents }: NewRow): Promise<void> {
    for (const [hash, text] of contents ?? []) {
      await this.#session.change(
        `INSERT INTO contents (hash, text) VALUES ($1, $2) ON CONFLICT (hash) DO UPDATE SET hash = excluded.hash`,
        [hash, Buffer.from(text)],
      )
    }
    for (const hash of new Set(referencesIn(body))) {
      await this.#session.change('INSERT INTO content_uses (hash, session, seq) VALUES ($1, $2, $3)', [hash, key, seq])
    }
  }
}
