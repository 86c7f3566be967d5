/** The tables of a SQLite ledger for removing and redacting (family.ts); it answers synchronously. */
import type { DatabaseSync } from 'node:sqlite'
import { referencesIn } from './codec.ts'
import type { SqlValue } from './database.ts'
import { type FamilySession, type FamilyTables, type StoredEvent, toFamilySession } from './family.ts'
import { idOf, SESSION_SIZE, type SqliteIndex } from './sqlite-index.ts'
import type { NewRow } from './store.ts'
import { type Tombstone, toTombstone } from './tombstones.ts'

const COLUMNS = 'SELECT key, id, parent, fork_seq FROM sessions'

export class SqliteFamily implements FamilyTables {
  readonly #db: DatabaseSync
  readonly #index: SqliteIndex

  constructor(db: DatabaseSync, index: SqliteIndex) {
    this.#db = db
    this.#index = index
  }

  session(id: string): FamilySession | undefined {
    const [row] = this.#all(`${COLUMNS} WHERE id = ?`, [id])
    return row && toFamilySession(row)
  }

  sessionOf(key: number): FamilySession {
    return toFamilySession(this.#all(`${COLUMNS} WHERE key = ?`, [key])[0]!)
  }

  forksOf(key: number): FamilySession[] {
    return this.#all(`${COLUMNS} WHERE parent = ? ORDER BY fork_seq DESC`, [key]).map(toFamilySession)
  }

  lastEvent(key: number, upTo: number): { seq: number; hash: string } | undefined {
    const range = [idOf(key, 0), idOf(key, upTo)]
    const [row] = this.#all('SELECT id, hash FROM events WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1', range)
    return row && { seq: Number(row['id']) % SESSION_SIZE, hash: String(row['hash']) }
  }

  events(key: number, from: number, to: number): StoredEvent[] {
    const range = [idOf(key, from), idOf(key, to)]
    return this.#all('SELECT * FROM events WHERE id BETWEEN ? AND ? ORDER BY id', range).map(row => ({
      ...{ seq: Number(row['id']) % SESSION_SIZE, type: String(row['type']), at: Number(row['at']) },
      ...{ hash: String(row['hash']), light: String(row['light']), body: String(row['body']) },
    }))
  }

  contents(hashes: readonly string[]): Map<string, string> {
    const rows = hashes.flatMap(hash => this.#all('SELECT hash, text FROM contents WHERE hash = ?', [hash]))
    return new Map(rows.map(row => [String(row['hash']), String(row['text'])]))
  }

  addEvent(key: number, row: NewRow): void {
    this.#addContents(row)
    this.#run('INSERT INTO events (id, type, at, hash, light, body) VALUES (?, ?, ?, ?, ?, ?)', [
      ...[idOf(key, row.seq), row.type, row.at, row.hash, row.light, row.body],
    ])
  }

  changeEvent(key: number, row: NewRow): void {
    this.#addContents(row)
    this.#run('UPDATE events SET body = ?, light = ? WHERE id = ?', [row.body, row.light, idOf(key, row.seq)])
  }

  setHashes(key: number, rows: readonly { seq: number; hash: string }[]): void {
    for (const { seq, hash } of rows) this.#run('UPDATE events SET hash = ? WHERE id = ?', [hash, idOf(key, seq)])
  }

  meta(key: number): string {
    return String(this.#all('SELECT meta FROM sessions WHERE key = ?', [key])[0]!['meta'])
  }

  setMeta(key: number, meta: string): void {
    this.#run('UPDATE sessions SET meta = ? WHERE key = ?', [meta, key])
  }

  setParent(key: number, parent: number | null, forkSeq: number | null): void {
    this.#run('UPDATE sessions SET parent = ?, fork_seq = ? WHERE key = ?', [parent, forkSeq, key])
  }

  moveEvents(from: number, to: number, upTo: number): void {
    this.#run('UPDATE events SET id = id + ? WHERE id BETWEEN ? AND ?', [
      ...[idOf(to, 0) - idOf(from, 0), idOf(from, 0), idOf(from, upTo)],
    ])
  }

  removeEvents(key: number): string[] {
    const own = [idOf(key, 0), idOf(key, SESSION_SIZE - 1)]
    const contents = new Set<string>()
    for (const { body } of this.#db.prepare('SELECT body FROM events WHERE id BETWEEN ? AND ?').iterate(...own)) {
      for (const hash of referencesIn(String(body))) contents.add(hash)
    }
    this.#run('DELETE FROM events WHERE id BETWEEN ? AND ?', own)
    return [...contents]
  }

  removeSession(key: number): void {
    this.#run('DELETE FROM sessions WHERE key = ?', [key])
  }

  /** Reads every event that refers to a large text once, for all hashes together. */
  dropContents(hashes: ReadonlySet<string>): void {
    const unused = new Set(hashes)
    if (unused.size === 0) return
    for (const { body } of this.#db.prepare(`SELECT body FROM events WHERE instr(body, '"$content"') > 0`).iterate()) {
      for (const hash of referencesIn(String(body))) unused.delete(hash)
      if (unused.size === 0) return
    }
    for (const hash of unused) this.#run('DELETE FROM contents WHERE hash = ?', [hash])
  }

  lastTombstone(): Tombstone | undefined {
    const [last] = this.#all('SELECT * FROM tombstones ORDER BY seq DESC LIMIT 1')
    return last && toTombstone(last)
  }

  addTombstone({ seq, session, at, by, events, head, hash }: Tombstone, key: number): void {
    const values = [seq, session, key, at, by, events, head, hash]
    this.#run(
      'INSERT INTO tombstones (seq, session, key, at, by, events, head, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
      values,
    )
  }

  forget(keys: readonly number[]): void {
    this.#index.forgetAll(keys)
  }

  #addContents({ contents }: NewRow): void {
    for (const [hash, text] of contents ?? [])
      this.#run('INSERT INTO contents (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING', [hash, text])
  }

  #run(sql: string, values: SqlValue[]): void {
    this.#db.prepare(sql).run(...values)
  }

  #all(sql: string, values: SqlValue[] = []): Record<string, unknown>[] {
    return this.#db.prepare(sql).all(...values)
  }
}
