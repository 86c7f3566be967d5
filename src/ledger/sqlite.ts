/**
 * The ledger on `node:sqlite`: one file, WAL, any number of sessions and processes.
 *
 * A commit is synced to disk before an append resolves. Strings over 16 KB are stored once, by their hash. A
 * fork shares its parent's rows. The full-text index is filled when somebody searches, in one transaction, so
 * appends do not pay for it.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { isPalimpsestError, PalimpsestError } from '../model/errors.ts'
import { referencesIn } from './codec.ts'
import { guard, inTransaction, type Migrations, migrate, openDatabase, type SqlValue } from './database.ts'
import type { Hit, LedgerStore, NewRow, ReadOptions, Row, SearchOptions, SessionRow } from './store.ts'

/** Named steps, applied in order on open; append only. */
const MIGRATIONS: Migrations = [
  [
    'sessions, events, contents',
    `CREATE TABLE sessions (
       key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, parent INTEGER REFERENCES sessions(key), fork_seq INTEGER,
       created_at INTEGER NOT NULL, meta TEXT NOT NULL
     ) STRICT;
     CREATE TABLE events (
       id INTEGER PRIMARY KEY, type TEXT NOT NULL, at INTEGER NOT NULL, hash TEXT NOT NULL, light TEXT NOT NULL,
       body TEXT NOT NULL
     ) STRICT;
     CREATE TABLE contents (hash TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID;`,
  ],
  [
    'full-text index',
    `CREATE TABLE docs (id INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL, part INTEGER NOT NULL) STRICT;
     CREATE TABLE indexed (session INTEGER PRIMARY KEY, seq INTEGER NOT NULL) STRICT;
     CREATE VIRTUAL TABLE texts USING fts5(text, content='', tokenize="unicode61 tokenchars '_'");`,
  ],
]

/**
 * Events lie in the order of session and sequence number: both are in their id, so that one B-tree holds them and
 * an append writes nothing else. A session's key has 21 bits, a sequence number 32.
 */
const SESSION_SIZE = 2 ** 32
const idOf = (session: number, seq: number) => session * SESSION_SIZE + seq
const OWN = 'id BETWEEN s.key << 32 AND (s.key << 32) + 0xffffffff'

/** A session with its last event: two seeks in the key of `events`, so that appends need not keep a copy. */
const SESSION = `SELECT s.key, s.id, s.fork_seq, s.created_at, s.meta, p.id AS parent_id,
    coalesce((SELECT max(id) FROM events WHERE ${OWN}) & 0xffffffff, s.fork_seq, -1) AS head,
    coalesce((SELECT at FROM events WHERE ${OWN} ORDER BY id DESC LIMIT 1), s.created_at) AS updated_at
  FROM sessions s LEFT JOIN sessions p ON p.key = s.parent`

type Lineage = { key: number; upTo: number }

export type SqliteOptions = {
  /** `full` (the default) survives a power cut; `normal` only the end of the process. */
  sync?: 'full' | 'normal'
  /** How long to wait for another process. */
  busyMs?: number
  /** A limit to the size of the file, in pages. */
  maxPages?: number
  /** Whether a commit may move the log into the file, which takes its time; if not, somebody else has to. */
  checkpoints?: boolean
  readOnly?: boolean
}

/** So many rows go into one statement. */
const FEW = 8

export class SqliteLedger implements LedgerStore {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  /** Sessions never move in the table, so their keys and parents can be remembered. */
  readonly #lineages = new Map<string, Lineage[]>()

  /** Opens (or makes) the database at a path, or one in memory. */
  constructor(path: string, options: SqliteOptions = {}) {
    const { readOnly = false } = options
    this.#db = openDatabase(path, { readOnly })
    guard(() => {
      this.#db.exec(`PRAGMA busy_timeout = ${options.busyMs ?? 5000}`)
      if (options.maxPages) this.#db.exec(`PRAGMA max_page_count = ${options.maxPages}`)
      if (readOnly) return
      this.#db.exec('PRAGMA journal_mode = WAL')
      this.#db.exec(`PRAGMA synchronous = ${options.sync === 'normal' ? 'NORMAL' : 'FULL'}`)
      this.#db.exec('PRAGMA foreign_keys = ON')
      if (options.checkpoints === false) this.#db.exec('PRAGMA wal_autocheckpoint = 0')
      migrate(this.#db, path, MIGRATIONS)
    })
  }

  async open(
    id: string,
    init: { at: number; meta: string; parent?: { id: string; seq: number } },
  ): Promise<SessionRow> {
    return guard(() => {
      const parent = init.parent ? this.#lineage(init.parent.id) : undefined
      this.#run(
        `INSERT INTO sessions (id, parent, fork_seq, created_at, meta) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (id) DO NOTHING`,
        [id, parent?.at(-1)?.key ?? null, init.parent?.seq ?? null, init.at, init.meta],
      )
      return this.#find(id)!
    })
  }

  async find(id: string): Promise<SessionRow | undefined> {
    return guard(() => this.#find(id))
  }

  async list({ limit = 100, after, contains }: { limit?: number; after?: string; contains?: string } = {}) {
    return guard(() => {
      const anchor = after === undefined ? undefined : this.#find(after)
      const rows = this.#all(
        `SELECT * FROM (${SESSION} WHERE ?3 IS NULL OR instr(s.id, ?3) > 0 OR instr(s.meta, ?3) > 0)
         WHERE ?1 IS NULL OR (updated_at, id) < (?1, ?2) ORDER BY updated_at DESC, id DESC LIMIT ?4`,
        [anchor?.updatedAt ?? null, anchor?.id ?? null, contains ?? null, limit],
      )
      return rows.map(toSession)
    })
  }

  async setMeta(id: string, meta: string): Promise<void> {
    guard(() => this.#run('UPDATE sessions SET meta = ? WHERE id = ?', [meta, id]))
  }

  async append(id: string, rows: readonly NewRow[]): Promise<boolean> {
    const key = guard(() => this.#lineage(id)).at(-1)!.key
    if (rows.length === 0) return true
    try {
      guard(() =>
        // A statement by itself is a transaction already.
        rows.length <= FEW && rows.every(({ contents }) => !contents)
          ? this.#insert(key, rows)
          : inTransaction(this.#db, () => {
              for (const row of rows) this.#insertWhole(key, row)
            }),
      )
      return true
    } catch (error) {
      if (isPalimpsestError(error) && error.data['sqlite'] === 'UNIQUE constraint failed: events.id') return false
      throw error
    }
  }

  async read(
    id: string,
    { from = 0, to = Number.MAX_SAFE_INTEGER, lightType, only }: ReadOptions = {},
  ): Promise<Row[]> {
    return guard(() => {
      const rows: Row[] = []
      for (const { key, upTo, first } of segments(this.#lineage(id))) {
        const low = Math.max(from, first)
        const high = Math.min(to, upTo)
        if (low > high) continue
        if (only) rows.push(...this.#readOnly(key, only, low, high))
        else rows.push(...this.#readRange(key, low, high, lightType))
      }
      return rows
    })
  }

  async contents(hashes: readonly string[]): Promise<Map<string, string>> {
    return guard(() => this.#contents(hashes))
  }

  async search(query: string, { session, limit, docs }: SearchOptions): Promise<Hit[]> {
    const match = ftsQuery(query)
    if (!match) return []
    return guard(() => {
      const lineages = session === undefined ? undefined : this.#lineage(session)
      this.#index(
        lineages?.map(({ key }) => key),
        docs,
      )
      const hits = this.#all(
        `SELECT d.session, d.seq, d.part, s.id, t.rank FROM texts t JOIN docs d ON d.id = t.rowid JOIN sessions s ON s.key = d.session
         WHERE texts MATCH ? ${lineages ? `AND (${lineages.map(({ key, upTo }) => `(d.session = ${key} AND d.seq <= ${upTo})`).join(' OR ')})` : ''}
         ORDER BY t.rank LIMIT ?`,
        [match, limit],
      )
      return hits.map(hit => ({
        session: session ?? String(hit['id']),
        seq: Number(hit['seq']),
        part: Number(hit['part']),
        rank: Number(hit['rank']),
      }))
    })
  }

  /** Moves what is in the log into the file, and begins it anew: most of it while others write, the rest alone. */
  async checkpoint(): Promise<void> {
    guard(() => this.#db.exec('PRAGMA wal_checkpoint(PASSIVE); PRAGMA wal_checkpoint(RESTART)'))
  }

  async close(): Promise<void> {
    if (this.#db.isOpen) this.#db.close()
  }

  #find(id: string): SessionRow | undefined {
    const [row] = this.#all(`${SESSION} WHERE s.id = ?`, [id])
    return row && toSession(row)
  }

  /** The session's ancestors, oldest first, and itself; each with the last sequence number that is shared. */
  #lineage(id: string): Lineage[] {
    const known = this.#lineages.get(id)
    if (known) return known
    const [row] = this.#all(
      'SELECT s.key, s.fork_seq, p.id AS parent_id FROM sessions s LEFT JOIN sessions p ON p.key = s.parent WHERE s.id = ?',
      [id],
    )
    if (!row) throw new PalimpsestError('SESSION_NOT_FOUND', `There is no session ${id}.`, { session: id })
    const forkSeq = Number(row['fork_seq'] ?? -1)
    const parents = row['parent_id'] === null ? [] : this.#lineage(String(row['parent_id']))
    const shared = parents.map(({ key, upTo }) => ({ key, upTo: Math.min(upTo, forkSeq) }))
    const lineage = [...shared, { key: Number(row['key']), upTo: Number.MAX_SAFE_INTEGER }]
    this.#lineages.set(id, lineage)
    return lineage
  }

  #insertWhole(key: number, row: NewRow): void {
    for (const [hash, text] of row.contents ?? []) {
      this.#run('INSERT INTO contents (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING', [hash, text])
    }
    this.#insert(key, [row])
  }

  #insert(key: number, rows: readonly NewRow[]): void {
    const places = rows.map(() => '(?, ?, ?, ?, ?, ?)').join(', ')
    this.#run(
      `INSERT INTO events (id, type, at, hash, light, body) VALUES ${places}`,
      rows.flatMap(({ seq, type, at, hash, light, body }) => [idOf(key, seq), type, at, hash, light, body]),
    )
  }

  #readRange(key: number, from: number, to: number, lightType: string | undefined): Row[] {
    const rows = this.#all(
      `SELECT id, type, at, hash, light, CASE WHEN type = ?3 THEN NULL ELSE body END AS body FROM events
       WHERE id BETWEEN ?1 AND ?2 ORDER BY id`,
      [idOf(key, from), idOf(key, Math.min(to, SESSION_SIZE - 1)), lightType ?? null],
    )
    return rows.map(toRow)
  }

  #readOnly(key: number, only: readonly number[], from: number, to: number): Row[] {
    return only
      .filter(seq => seq >= from && seq <= to)
      .flatMap(seq => this.#all('SELECT id, type, at, hash, light, body FROM events WHERE id = ?', [idOf(key, seq)]))
      .map(toRow)
  }

  #contents(hashes: readonly string[]): Map<string, string> {
    const found = new Map<string, string>()
    for (const hash of hashes) {
      const [row] = this.#all('SELECT text FROM contents WHERE hash = ?', [hash])
      if (row) found.set(hash, String(row['text']))
    }
    return found
  }

  /** Brings the index up to date for the given sessions, or for all. */
  #index(keys: readonly number[] | undefined, docs: SearchOptions['docs']): void {
    const behind = this.#all(
      `SELECT s.key, coalesce(i.seq, s.fork_seq, -1) AS done FROM sessions s LEFT JOIN indexed i ON i.session = s.key
       WHERE EXISTS (SELECT 1 FROM events WHERE ${OWN} AND id > (s.key << 32) + coalesce(i.seq, s.fork_seq, -1))`,
      [],
    ).filter(row => !keys || keys.includes(Number(row['key'])))
    for (const row of behind) {
      const key = Number(row['key'])
      inTransaction(this.#db, () => this.#indexFrom(key, Number(row['done']) + 1, docs))
    }
  }

  #indexFrom(key: number, from: number, docs: SearchOptions['docs']): void {
    const batch = 500
    for (let low = from; ; ) {
      const rows = this.#all(
        'SELECT id, type, at, hash, light, body FROM events WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?',
        [idOf(key, low), idOf(key, SESSION_SIZE - 1), batch],
      ).map(toRow)
      for (const row of rows) if (row.type === 'entry') this.#indexRow(key, row, docs)
      const last = rows.at(-1)
      if (!last) return
      low = last.seq + 1
      this.#run(
        'INSERT INTO indexed (session, seq) VALUES (?, ?) ON CONFLICT (session) DO UPDATE SET seq = excluded.seq',
        [key, last.seq],
      )
    }
  }

  #indexRow(key: number, row: Row, docs: SearchOptions['docs']): void {
    for (const doc of docs(row, this.#contents(referencesIn(row.body ?? '')))) {
      const statement = this.#prepare('INSERT INTO docs (session, seq, part) VALUES (?, ?, ?)')
      const { lastInsertRowid } = statement.run(key, doc.seq, doc.part)
      this.#run('INSERT INTO texts (rowid, text) VALUES (?, ?)', [lastInsertRowid, doc.text])
    }
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (!statement) this.#statements.set(sql, (statement = this.#db.prepare(sql)))
    return statement
  }

  #run(sql: string, values: SqlValue[]): number {
    return Number(this.#prepare(sql).run(...values).changes)
  }

  #all(sql: string, values: SqlValue[]): Record<string, unknown>[] {
    return this.#prepare(sql).all(...values)
  }
}

function toRow(row: Record<string, unknown>): Row {
  return {
    seq: Number(row['id']) % SESSION_SIZE,
    type: String(row['type']),
    at: Number(row['at']),
    hash: String(row['hash']),
    light: String(row['light']),
    body: row['body'] === null ? undefined : String(row['body']),
  }
}

function toSession(row: Record<string, unknown>): SessionRow {
  const parent =
    row['parent_id'] === null ? {} : { parent: { id: String(row['parent_id']), seq: Number(row['fork_seq']) } }
  return {
    id: String(row['id']),
    ...parent,
    createdAt: Number(row['created_at']),
    updatedAt: Number(row['updated_at']),
    length: Number(row['head']) + 1,
    meta: String(row['meta']),
  }
}

/** Which stretch of sequence numbers comes from which session. */
function segments(lineage: readonly Lineage[]): (Lineage & { first: number })[] {
  return lineage.map((own, i) => ({ ...own, first: i === 0 ? 0 : lineage[i - 1]!.upTo + 1 }))
}

/** Every word as a literal, the last one as a prefix: nothing of the query is syntax. */
function ftsQuery(query: string): string {
  const words = query.match(/[\p{L}\p{N}_]+/gu) ?? []
  return words.map((word, i) => `"${word}"${i === words.length - 1 ? '*' : ''}`).join(' ')
}
