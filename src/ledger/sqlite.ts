/**
 * The ledger on `node:sqlite`: one file, WAL, any number of sessions and processes.
 *
 * A commit is synced to disk before an append resolves. Strings over 16 KB are stored once, by their hash. A fork
 * shares its parent's rows. The index of recall (sqlite-index.ts) is filled after appends, in idle time, so that
 * neither an append nor a search waits for it.
 */
import type { DatabaseSync } from 'node:sqlite'
import { isPalimpsestError } from '../model/errors.ts'
import { type RecallIndex, type Scope, type Span, sessionIn } from '../recall/index.ts'
import {
  guard,
  inTransaction,
  type Migrations,
  migrate,
  OpenedFiles,
  openDatabase,
  type SqlValue,
  Statements,
  scrub,
} from './database.ts'
import type { Lineage } from './filling.ts'
import { type Advance, Indexer } from './indexer.ts'
import { redactSessions } from './redacting.ts'
import type { Redacted, ToRedact } from './redaction.ts'
import { removeSessions } from './removing.ts'
import { SqliteFamily } from './sqlite-family.ts'
import { idOf, RECALL_TABLES, SESSION_SIZE, SqliteIndex } from './sqlite-index.ts'
import { LAST_USE, listStatement, MINUTE_NOW, ownerOf, SESSION } from './sqlite-list.ts'
import { runNow } from './steps.ts'
import {
  type LedgerStore,
  type ListOptions,
  type NewRow,
  noSession,
  type ReadOptions,
  type Row,
  type SessionRow,
  toRow,
  toSession,
} from './store.ts'
import { type Removal, type Tombstone, toTombstone } from './tombstones.ts'

/** The database's error for an append to a session that was removed meanwhile. */
const REMOVED = 'the session was removed'

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
  // Databases of this version have an index that the next step drops. SQLite in Node 22.13 could not make it (no FTS5).
  ['full-text index', ''],
  [
    'recall: segments in place of the full-text index',
    'DROP TABLE IF EXISTS texts; DROP TABLE IF EXISTS docs; DROP TABLE IF EXISTS indexed;',
  ],
  [
    'tombstones of removed sessions, whose keys are never used again',
    `CREATE TABLE tombstones (
       seq INTEGER PRIMARY KEY, session TEXT NOT NULL, key INTEGER NOT NULL, at INTEGER NOT NULL, by TEXT NOT NULL,
       events INTEGER NOT NULL, head TEXT NOT NULL, hash TEXT NOT NULL
     ) STRICT;
     CREATE TRIGGER events_need_a_session BEFORE INSERT ON events
       WHEN NOT EXISTS (SELECT 1 FROM sessions WHERE key = NEW.id >> 32)
       BEGIN SELECT RAISE(ABORT, '${REMOVED}'); END;`,
  ],
  ['recall: words in segments', RECALL_TABLES],
  [
    'sessions by last use, and those of each owner',
    `ALTER TABLE sessions ADD COLUMN updated_at INTEGER NOT NULL DEFAULT 0;
     UPDATE sessions AS s SET updated_at = ${LAST_USE};
     CREATE INDEX sessions_by_use ON sessions (updated_at, id);
     CREATE INDEX sessions_of_owner ON sessions (${ownerOf('id')}, updated_at, id);
     CREATE TRIGGER events_are_use AFTER INSERT ON events
       BEGIN UPDATE sessions SET updated_at = NEW.at WHERE key = NEW.id >> 32; END;`,
  ],
  ['the order of use, brought up to date after appends', 'DROP TRIGGER events_are_use;'],
  [
    'sessions by their last change, to the minute',
    `ALTER TABLE sessions ADD COLUMN changed_minute INTEGER NOT NULL DEFAULT 0;
     CREATE INDEX sessions_by_change ON sessions (changed_minute);
     CREATE TRIGGER sessions_made AFTER INSERT ON sessions
       BEGIN UPDATE sessions SET changed_minute = ${MINUTE_NOW} WHERE key = NEW.key; END;
     CREATE TRIGGER sessions_changed AFTER UPDATE OF id, parent, meta, updated_at ON sessions
       BEGIN UPDATE sessions SET changed_minute = ${MINUTE_NOW} WHERE key = NEW.key; END;`,
  ],
]

export type SqliteOptions = {
  /** `full` (the default) survives a power cut; `normal` only the end of the process. */
  sync?: 'full' | 'normal'
  /** How long to wait for another process. */
  busyMs?: number
  /** A limit to the size of the file, in pages. */
  maxPages?: number
  /** Whether a commit may checkpoint the log, which takes time; otherwise call `checkpoint`. */
  checkpoints?: boolean
  readOnly?: boolean
  /** Whether this handle fills the index of recall by itself; otherwise call `advanceIndex`. */
  indexes?: boolean
}

/** The most rows in one statement. */
const MOST_ROWS = 8
/** The statement for each number of rows. */
const INSERTS = Array.from({ length: MOST_ROWS + 1 }, (_, rows) => {
  return `INSERT INTO events (id, type, at, hash, light, body) VALUES ${Array(rows).fill('(?, ?, ?, ?, ?, CAST(? AS TEXT))').join(', ')}`
})

export class SqliteLedger implements LedgerStore {
  readonly #db: DatabaseSync
  readonly #sql: Statements
  /** Keys and parents of sessions, valid until the next removal. `#removals` counts the removals seen so far. */
  readonly #lineages = new Map<string, Lineage>()
  #removals = 0
  /** Keys of sessions with appends since the order of use was last updated. */
  readonly #used = new Set<number>()
  readonly #index: SqliteIndex
  readonly #indexer: Indexer | undefined
  readonly #files: OpenedFiles
  #closed = false

  /** Opens or creates the database at a path, or one in memory. */
  constructor(path: string, options: SqliteOptions = {}) {
    const { readOnly = false } = options
    this.#db = openDatabase(path, { readOnly })
    this.#sql = new Statements(this.#db)
    guard(() => {
      this.#db.exec(`PRAGMA busy_timeout = ${options.busyMs ?? 5000}`)
      if (options.maxPages) this.#db.exec(`PRAGMA max_page_count = ${options.maxPages}`)
      if (readOnly) return
      this.#db.exec('PRAGMA journal_mode = WAL')
      this.#db.exec(`PRAGMA synchronous = ${options.sync === 'normal' ? 'NORMAL' : 'FULL'}`)
      if (options.checkpoints === false) this.#db.exec('PRAGMA wal_autocheckpoint = 0')
      migrate(this.#db, path, MIGRATIONS)
    }, path)
    this.#files = new OpenedFiles(path)
    this.#index = new SqliteIndex(this.#db, {
      sync: options.sync === 'normal' ? 'NORMAL' : 'FULL',
      lineageOf: key => this.#lineage(this.#nameOf(key)),
    })
    const indexes = !readOnly && options.indexes !== false
    this.#indexer = indexes ? new Indexer((...args) => this.advanceIndex(...args)) : undefined
  }

  async open(
    id: string,
    init: { at: number; meta: string; parent?: { id: string; seq: number } },
  ): Promise<SessionRow> {
    return this.#files.write(() => {
      const parent = init.parent ? this.#lineage(init.parent.id) : undefined
      this.#sql.run(
        `INSERT INTO sessions (key, id, parent, fork_seq, created_at, updated_at, meta)
         VALUES (1 + max(coalesce((SELECT max(key) FROM sessions), 0), coalesce((SELECT max(key) FROM tombstones), 0)),
           ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
        [id, parent?.at(-1)?.key ?? null, init.parent?.seq ?? null, init.at, init.at, init.meta],
      )
      return this.#find(id)!
    })
  }

  async find(id: string): Promise<SessionRow | undefined> {
    return this.#files.read(() => this.#find(id))
  }

  async list({ limit = 100, after, contains, prefix = '', changedWithin }: ListOptions = {}) {
    this.#noteUseIfPossible()
    return this.#files.read(() => {
      const anchor = after === undefined ? undefined : this.#find(after)
      const { sql, values } = listStatement({ limit, anchor, contains, prefix, changedWithin })
      return this.#sql.all(sql, values).map(toSession)
    })
  }

  async setMeta(id: string, meta: string): Promise<void> {
    this.#files.write(() => this.#sql.run('UPDATE sessions SET meta = ? WHERE id = ?', [meta, id]))
  }

  async append(id: string, rows: readonly NewRow[]): Promise<boolean> {
    // If the session was removed meanwhile, the database refuses the append, so no append has to check first.
    const key = (this.#lineages.get(id) ?? this.#files.read(() => this.#lineage(id))).at(-1)!.key
    if (rows.length === 0) return true
    try {
      this.#files.write(() =>
        // A single statement is a transaction already.
        rows.length <= MOST_ROWS && rows.every(({ contents }) => !contents)
          ? this.#insert(key, rows)
          : inTransaction(this.#db, () => {
              for (const row of rows) this.#insertWhole(key, row)
            }),
      )
      this.#used.add(key)
      this.#indexer?.appended(id)
      return true
    } catch (error) {
      const said = isPalimpsestError(error) ? error.data['sqlite'] : undefined
      if (said === 'UNIQUE constraint failed: events.id') return false
      if (said !== REMOVED) throw error
      this.#files.read(() => this.#noticeRemovals())
      throw noSession(id)
    }
  }

  async read(
    id: string,
    { from = 0, to = Number.MAX_SAFE_INTEGER, lightType, only, besidesEntries = false }: ReadOptions = {},
  ): Promise<Row[]> {
    return this.#files.read(() => {
      return segments(this.#lineage(id)).flatMap(({ key, upTo, first }) => {
        const low = Math.max(from, first)
        const high = Math.min(to, upTo)
        if (low > high) return []
        return only
          ? this.#readOnly(key, only, low, high)
          : this.#readRange(key, low, high, { lightType, besidesEntries })
      })
    })
  }

  async contents(hashes: readonly string[]): Promise<Map<string, string>> {
    return this.#files.read(() => this.#index.contents(hashes))
  }

  /** The index with everything that was appended here or, for one session, by anybody. */
  async index(scope: Scope): Promise<RecallIndex> {
    return this.readIndex(scope, { behind: this.#indexer ? await this.#indexer.catchUp(sessionIn(scope)) : false })
  }

  /** The index in its present state. `behind`: whether the caller knows of events that are not in it. */
  readIndex(scope: Scope, { behind }: { behind: boolean }): RecallIndex {
    const session = sessionIn(scope)
    return {
      spans: this.#files.read(() => this.#spans(scope)),
      behind,
      segments: async () => this.#files.read(() => this.#index.segments()),
      postings: async (terms, segments) => this.#files.read(() => this.#index.postings(terms, segments)),
      termsBeginning: async (text, options) => this.#files.read(() => this.#index.termsBeginning(text, options)),
      termsInside: async (text, options) => this.#files.read(() => this.#index.termsInside(text, options)),
      places: async documents =>
        this.#files.read(() => this.#index.places(documents, key => session ?? this.#nameOf(key))),
    }
  }

  /** See `Advance` (indexer.ts). */
  async advanceIndex(...[sessions, { steps, merge }]: Parameters<Advance>): Promise<boolean> {
    return this.#files.write(() => {
      let left = steps
      // A session that was removed meanwhile needs no indexing.
      const there = sessions?.filter(id => this.#find(id))
      const keys = there?.flatMap(id => this.#lineage(id).map(({ key }) => key)) ?? this.#index.behind()
      for (const key of new Set(keys)) while (left > 0 && this.#index.step(key)) left--
      this.#noteUse(keys)
      while (left > 0 && merge && this.#index.merge()) left--
      return left <= 0
    })
  }

  async remove(ids: readonly string[], removal: Removal): Promise<Tombstone[]> {
    const { buried, heirs } = this.#files.write(() =>
      inTransaction(this.#db, () => runNow(removeSessions(this.#family, ids, removal))),
    )
    this.#noticeRemovals()
    // Index at once, since no other process knows that these forks have events which are not in the index.
    for (const key of heirs) while (this.#index.step(key));
    this.#files.read(() => this.#noteUse(heirs))
    return buried
  }

  async redact(ids: readonly string[], what: ToRedact, removal: Removal): Promise<Redacted[]> {
    const { redacted, keys } = this.#files.write(() =>
      inTransaction(this.#db, () => runNow(redactSessions(this.#family, ids, { what, removal }))),
    )
    for (const key of keys) while (this.#index.step(key));
    this.#files.read(() => this.#noteUse(keys))
    return redacted
  }

  async scrub(): Promise<void> {
    this.#files.write(() => scrub(this.#db))
  }

  async tombstones(from = 0): Promise<Tombstone[]> {
    return this.#files.read(() =>
      this.#sql.all('SELECT * FROM tombstones WHERE seq >= ? ORDER BY seq', [from]).map(toTombstone),
    )
  }

  /** Takes over the tombstones of sessions that were removed from another store. */
  async addTombstones(tombstones: readonly Tombstone[]): Promise<void> {
    this.#files.write(() =>
      inTransaction(this.#db, () => {
        for (const one of tombstones) this.#family.addTombstone(one, 0)
      }),
    )
  }

  /** Gives a session another id; `false` if there is no such session or the id is taken. */
  rename(id: string, to: string): boolean {
    const taken = '(SELECT 1 FROM sessions WHERE id = ?)'
    this.#lineages.clear()
    const statement = `UPDATE sessions SET id = ? WHERE id = ? AND NOT EXISTS ${taken}`
    return this.#files.write(() => this.#sql.run(statement, [to, id, to])) > 0
  }

  /** Moves the log into the file and starts a new log: most of it while others write, the rest exclusively. */
  async checkpoint(): Promise<void> {
    this.#files.write(() => this.#db.exec('PRAGMA wal_checkpoint(PASSIVE); PRAGMA wal_checkpoint(RESTART)'))
  }

  /** Indexes what was appended here, then closes. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#indexer?.close()
    this.#noteUseIfPossible()
    this.#db.close()
    this.#files.close()
  }

  #find(id: string): SessionRow | undefined {
    const [row] = this.#sql.all(`${SESSION} WHERE s.id = ?`, [id])
    return row && toSession(row)
  }

  /** The session's ancestors, oldest first, and itself; each with the last sequence number that is shared. */
  #lineage(id: string): Lineage {
    this.#noticeRemovals()
    const known = this.#lineages.get(id)
    if (known) return known
    const [row] = this.#sql.all(
      'SELECT s.key, s.fork_seq, p.id AS parent_id FROM sessions s LEFT JOIN sessions p ON p.key = s.parent WHERE s.id = ?',
      [id],
    )
    if (!row) throw noSession(id)
    const forkSeq = Number(row['fork_seq'] ?? -1)
    const parents = row['parent_id'] === null ? [] : this.#lineage(String(row['parent_id']))
    const shared = parents.map(({ key, upTo }) => ({ key, upTo: Math.min(upTo, forkSeq) }))
    const lineage = [...shared, { key: Number(row['key']), upTo: Number.MAX_SAFE_INTEGER }]
    this.#lineages.set(id, lineage)
    return lineage
  }

  /** Updates the order of use. An append postpones this: it would have to sync three more pages. */
  #noteUse(keys: Iterable<number>): void {
    for (const key of keys) {
      this.#sql.run(
        `UPDATE sessions AS s SET updated_at = ${LAST_USE} WHERE s.key = ? AND s.updated_at <> ${LAST_USE}`,
        [key],
      )
      this.#used.delete(key)
    }
  }

  /**
   * Leaves the order as it is while another process writes or the disk is full. The order is derived, and the next
   * process that fills the index updates it.
   */
  #noteUseIfPossible(): void {
    try {
      this.#files.write(() => this.#noteUse(this.#used))
    } catch {}
  }

  get #family(): SqliteFamily {
    return new SqliteFamily(this.#sql, this.#index)
  }

  #noticeRemovals(): void {
    const [row] = this.#sql.all('SELECT coalesce(max(seq) + 1, 0) AS removals FROM tombstones', [])
    const removals = Number(row!['removals'])
    if (removals !== this.#removals) this.#lineages.clear()
    this.#removals = removals
  }

  #insertWhole(key: number, row: NewRow): void {
    for (const [hash, text] of row.contents ?? []) {
      this.#sql.run('INSERT INTO contents (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING', [hash, text])
    }
    this.#insert(key, [row])
  }

  #insert(key: number, rows: readonly NewRow[]): void {
    const values: (SqlValue | Uint8Array)[] = []
    for (const { seq, type, at, hash, light, body, bytes } of rows) {
      values.push(idOf(key, seq), type, at, hash, light, bytes ?? body)
    }
    this.#sql.run(INSERTS[rows.length]!, values)
  }

  #readRange(
    key: number,
    from: number,
    to: number,
    { lightType, besidesEntries }: { lightType: string | undefined; besidesEntries: boolean },
  ): Row[] {
    const rows = this.#sql.all(
      `SELECT id, type, at, hash, light, CASE WHEN type = ? THEN NULL ELSE body END AS body FROM events
       WHERE id BETWEEN ? AND ? ${besidesEntries ? "AND type <> 'entry'" : ''} ORDER BY id`,
      [lightType ?? null, idOf(key, from), idOf(key, Math.min(to, SESSION_SIZE - 1))],
    )
    return rows.map(rowOf)
  }

  #readOnly(key: number, only: readonly number[], from: number, to: number): Row[] {
    return only
      .filter(seq => seq >= from && seq <= to)
      .flatMap(seq =>
        this.#sql.all('SELECT id, type, at, hash, light, body FROM events WHERE id = ?', [idOf(key, seq)]),
      )
      .map(rowOf)
  }

  #spans(scope: Scope): Span[] | undefined {
    if (scope === 'all') return undefined
    if ('session' in scope) {
      return this.#lineage(scope.session).map(({ key, upTo }) => {
        return { session: key, upTo: upTo === Number.MAX_SAFE_INTEGER ? upTo : this.#index.lastDocument(key, upTo) }
      })
    }
    return this.#sql
      .all('SELECT key, id FROM sessions', [])
      .filter(row => scope.among(String(row['id'])))
      .map(row => ({ session: Number(row['key']), upTo: Number.MAX_SAFE_INTEGER }))
  }

  #nameOf(key: number): string {
    const [row] = this.#sql.all('SELECT id FROM sessions WHERE key = ?', [key])
    return String(row?.['id'])
  }
}

function rowOf(row: Record<string, unknown>): Row {
  return toRow(row, Number(row['id']) % SESSION_SIZE)
}

/** Which session holds which range of sequence numbers. */
function segments(lineage: Lineage): (Lineage[number] & { first: number })[] {
  return lineage.map((own, i) => ({ ...own, first: i === 0 ? 0 : lineage[i - 1]!.upTo + 1 }))
}
