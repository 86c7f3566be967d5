/** The tables of a SQLite ledger for removing and redacting (family.ts); it answers synchronously. */
import { referencesIn } from './codec.ts'
import type { Statements } from './database.ts'
import { type FamilySession, type FamilyTables, type StoredEvent, toFamilySession } from './family.ts'
import { idOf, SESSION_SIZE, type SqliteIndex } from './sqlite-index.ts'
import { type NewRow, toRow } from './store.ts'
import { type Tombstone, toTombstone } from './tombstones.ts'

const COLUMNS = 'SELECT key, id, parent, fork_seq FROM sessions'

export class SqliteFamily implements FamilyTables {
  readonly #sql: Statements
  readonly #index: SqliteIndex

  constructor(sql: Statements, index: SqliteIndex) {
    this.#sql = sql
    this.#index = index
  }

  session(id: string): FamilySession | undefined {
    const [row] = this.#sql.all(`${COLUMNS} WHERE id = ?`, [id])
    return row && toFamilySession(row)
  }

  sessionOf(key: number): FamilySession {
    return toFamilySession(this.#sql.all(`${COLUMNS} WHERE key = ?`, [key])[0]!)
  }

  forksOf(key: number): FamilySession[] {
    return this.#sql.all(`${COLUMNS} WHERE parent = ? ORDER BY fork_seq DESC`, [key]).map(toFamilySession)
  }

  lastEvent(key: number, upTo: number): { seq: number; hash: string } | undefined {
    const range = [idOf(key, 0), idOf(key, upTo)]
    const [row] = this.#sql.all('SELECT id, hash FROM events WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1', range)
    return row && { seq: Number(row['id']) % SESSION_SIZE, hash: String(row['hash']) }
  }

  events(key: number, from: number, to: number): StoredEvent[] {
    const range = [idOf(key, from), idOf(key, to)]
    const rows = this.#sql.all('SELECT * FROM events WHERE id BETWEEN ? AND ? ORDER BY id', range)
    return rows.map(row => ({ ...toRow(row, Number(row['id']) % SESSION_SIZE), body: String(row['body']) }))
  }

  contents(hashes: readonly string[]): Map<string, string> {
    return this.#index.contents(hashes)
  }

  addEvent(key: number, row: NewRow): void {
    this.#addContents(row)
    this.#sql.run('INSERT INTO events (id, type, at, hash, light, body) VALUES (?, ?, ?, ?, ?, ?)', [
      ...[idOf(key, row.seq), row.type, row.at, row.hash, row.light, row.body],
    ])
  }

  changeEvent(key: number, row: NewRow): void {
    this.#addContents(row)
    this.#sql.run('UPDATE events SET body = ?, light = ? WHERE id = ?', [row.body, row.light, idOf(key, row.seq)])
  }

  setHashes(key: number, rows: readonly { seq: number; hash: string }[]): void {
    for (const { seq, hash } of rows) this.#sql.run('UPDATE events SET hash = ? WHERE id = ?', [hash, idOf(key, seq)])
  }

  meta(key: number): string {
    return String(this.#sql.all('SELECT meta FROM sessions WHERE key = ?', [key])[0]!['meta'])
  }

  setMeta(key: number, meta: string): void {
    this.#sql.run('UPDATE sessions SET meta = ? WHERE key = ?', [meta, key])
  }

  setParent(key: number, parent: number | null, forkSeq: number | null): void {
    this.#sql.run('UPDATE sessions SET parent = ?, fork_seq = ? WHERE key = ?', [parent, forkSeq, key])
  }

  moveEvents(from: number, to: number, upTo: number): void {
    this.#sql.run('UPDATE events SET id = id + ? WHERE id BETWEEN ? AND ?', [
      ...[idOf(to, 0) - idOf(from, 0), idOf(from, 0), idOf(from, upTo)],
    ])
  }

  removeEvents(key: number): string[] {
    const own = [idOf(key, 0), idOf(key, SESSION_SIZE - 1)]
    const contents = new Set<string>()
    for (const { body } of this.#sql.prepare('SELECT body FROM events WHERE id BETWEEN ? AND ?').iterate(...own)) {
      for (const hash of referencesIn(String(body))) contents.add(hash)
    }
    this.#sql.run('DELETE FROM events WHERE id BETWEEN ? AND ?', own)
    return [...contents]
  }

  removeSession(key: number): void {
    this.#sql.run('DELETE FROM sessions WHERE key = ?', [key])
  }

  /** Reads every event that refers to a large text once, for all hashes together. */
  dropContents(hashes: ReadonlySet<string>): void {
    const unused = new Set(hashes)
    if (unused.size === 0) return
    for (const { body } of this.#sql.prepare(`SELECT body FROM events WHERE instr(body, '"$content"') > 0`).iterate()) {
      for (const hash of referencesIn(String(body))) unused.delete(hash)
      if (unused.size === 0) return
    }
    for (const hash of unused) this.#sql.run('DELETE FROM contents WHERE hash = ?', [hash])
  }

  lastTombstone(): Tombstone | undefined {
    const [last] = this.#sql.all('SELECT * FROM tombstones ORDER BY seq DESC LIMIT 1')
    return last && toTombstone(last)
  }

  addTombstone({ seq, session, at, by, events, head, hash }: Tombstone, key: number): void {
    const values = [seq, session, key, at, by, events, head, hash]
    this.#sql.run(
      'INSERT INTO tombstones (seq, session, key, at, by, events, head, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
      values,
    )
  }

  forget(keys: readonly number[]): void {
    this.#index.forgetAll(keys)
  }

  #addContents({ contents }: NewRow): void {
    for (const [hash, text] of contents ?? [])
      this.#sql.run('INSERT INTO contents (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING', [hash, text])
  }
}
