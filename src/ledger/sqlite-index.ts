/**
 * The index of recall in SQLite: segments of postings (recall/postings.ts), filled by filling.ts.
 *
 * The index is derived, so its commits do not wait for the disk.
 */
import type { DatabaseSync } from 'node:sqlite'
import { firstIndex } from '../model/first-index.ts'
import { parseJson } from '../model/json.ts'
import type { DocumentKey, Place, Posting } from '../recall/index.ts'
import { blocksInAll, gramsIn, termsHolding } from '../recall/inside.ts'
import { type Segment, toSegment } from '../recall/postings.ts'
import { inTransaction, type SqlValue, Statements } from './database.ts'
import {
  type Done,
  type FreshDocument,
  type FreshEvent,
  forgetSessions,
  type IndexTables,
  indexSome,
  type Lineage,
  MAX_BLOCKS_READ,
  mergeSome,
  type NewSegment,
  toPlace,
} from './filling.ts'
import { runNow, type Steps } from './steps.ts'

/** Each session has its own range of event ids and document ids. A session's key has 21 bits, a number 32. */
export const SESSION_SIZE = 2 ** 32
export const idOf = (session: number, number: number) => session * SESSION_SIZE + number
export const OWN = 'id BETWEEN s.key << 32 AND (s.key << 32) + 0xffffffff'

/** These tables are dropped and rebuilt when their schema changes: their content is derived. */
export const RECALL_TABLES = `
  DROP TABLE IF EXISTS recall_segments;
  DROP TABLE IF EXISTS recall_postings;
  DROP TABLE IF EXISTS recall_documents;
  DROP TABLE IF EXISTS recall_done;
  CREATE TABLE recall_segments (id INTEGER PRIMARY KEY AUTOINCREMENT, documents INTEGER NOT NULL, runs TEXT NOT NULL, columns BLOB NOT NULL) STRICT;
  CREATE TABLE recall_postings (segment INTEGER NOT NULL, term TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY (segment, term)) STRICT, WITHOUT ROWID;
  CREATE TABLE recall_words (segment INTEGER NOT NULL, block INTEGER NOT NULL, words TEXT NOT NULL, PRIMARY KEY (segment, block)) STRICT, WITHOUT ROWID;
  CREATE TABLE recall_grams (segment INTEGER NOT NULL, gram TEXT NOT NULL, blocks BLOB NOT NULL, PRIMARY KEY (segment, gram)) STRICT, WITHOUT ROWID;
  CREATE TABLE recall_documents (id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, part INTEGER NOT NULL, start INTEGER NOT NULL, size INTEGER NOT NULL, print INTEGER NOT NULL) STRICT;
  CREATE TABLE recall_done (session INTEGER PRIMARY KEY, seq INTEGER NOT NULL, documents INTEGER NOT NULL) STRICT;`

/** Few enough that the statements for all smaller numbers can be kept. */
const ROWS_PER_STATEMENT = 32
const OF_SEGMENTS = ['recall_postings', 'recall_words', 'recall_grams']

export class SqliteIndex implements IndexTables {
  readonly #db: DatabaseSync
  readonly #lineageOf: (key: number) => Lineage
  readonly #sql: Statements
  /** Segments never change, so they are cached once read. The list stays the same one while no segment comes or goes. */
  #segments = new Map<number, Segment>()
  #list: readonly Segment[] = []
  #version = -1
  readonly #sync: string

  constructor(db: DatabaseSync, options: { sync: 'FULL' | 'NORMAL'; lineageOf: (key: number) => Lineage }) {
    this.#db = db
    this.#sql = new Statements(db)
    this.#sync = options.sync
    this.#lineageOf = options.lineageOf
  }

  /** The sessions with events that are not in the index yet. */
  behind(): number[] {
    const rows = this.#sql.all(
      `SELECT s.key FROM sessions s LEFT JOIN recall_done d ON d.session = s.key
       WHERE EXISTS (SELECT 1 FROM events WHERE ${OWN} AND id > (s.key << 32) + coalesce(d.seq, s.fork_seq, -1))`,
    )
    return rows.map(row => Number(row['key']))
  }

  /** Indexes some events of a session; `false` if none were left. */
  step(key: number): boolean {
    return runNow(indexSome(this, key))
  }

  /** Merges segments of one size class if there are enough of them; otherwise `false`. */
  merge(): boolean {
    return runNow(mergeSome(this))
  }

  forgetAll(keys: readonly number[]): void {
    runNow(forgetSessions(this, keys))
  }

  segments(): readonly Segment[] {
    // Other connections' commits change this number; our own clear the list.
    const version = Number(this.#sql.all('PRAGMA data_version')[0]!['data_version'])
    if (version === this.#version) return this.#list
    this.#version = version
    const ids = this.#sql.all('SELECT id FROM recall_segments ORDER BY id').map(row => Number(row['id']))
    if (ids.length === this.#list.length && ids.every((id, i) => this.#list[i]!.id === id)) return this.#list
    this.#list = ids.flatMap(id => this.#segments.get(id) ?? this.segment(id) ?? [])
    this.#segments = new Map(this.#list.map(segment => [segment.id, segment]))
    return this.#list
  }

  postings(terms: readonly string[], segments: readonly number[]): Map<string, Posting[]> {
    const statement = this.#sql.prepare(
      `SELECT p.segment, p.data FROM json_each(?) j JOIN recall_postings p ON p.segment = j.value AND p.term = ?`,
    )
    // Rows as arrays: 11 ms for 20,000 of them, instead of 41 as objects. Node has this since 22.16.
    statement.setReturnArrays?.(true)
    const within = JSON.stringify(segments)
    const postingsOf = (term: string) =>
      statement.all(within, term).map((row: unknown): Posting => {
        const [segment, data] = Array.isArray(row) ? row : Object.values(row as Record<string, unknown>)
        return { segment: Number(segment), data: bytes(data) }
      })
    return new Map(terms.map(term => [term, postingsOf(term)]))
  }

  termsBeginning(text: string, { segments, limit }: { segments: readonly number[]; limit: number }): string[] {
    const found = new Set<string>()
    for (const segment of [...segments].reverse()) {
      if (found.size >= limit) break
      const rows = this.#sql.all(
        'SELECT term FROM recall_postings WHERE segment = ? AND term >= ? AND term < ? LIMIT ?',
        [segment, text, `${text}\u{10ffff}`, limit],
      )
      for (const row of rows) found.add(String(row['term']))
    }
    return [...found].slice(0, limit)
  }

  termsInside(text: string, { segments, limit }: { segments: readonly number[]; limit: number }): string[] {
    const found = new Set<string>()
    let left = MAX_BLOCKS_READ
    for (const segment of [...segments].reverse()) {
      if (found.size >= limit || left <= 0) break
      const blocks = this.#blocksWith(segment, text).slice(0, left)
      left -= blocks.length
      const rows = this.#sql.all(
        'SELECT w.words FROM json_each(?) j JOIN recall_words w ON w.segment = ? AND w.block = j.value',
        [JSON.stringify(blocks), segment],
      )
      for (const row of rows) for (const term of termsHolding(String(row['words']), text)) found.add(term)
    }
    return [...found].slice(0, limit)
  }

  /** The blocks of a segment's words that can contain a text; all blocks if there are few. */
  #blocksWith(segment: number, text: string): number[] {
    const lists: Uint8Array[] = []
    for (const gram of gramsIn(text)) {
      const [row] = this.#sql.all('SELECT blocks FROM recall_grams WHERE segment = ? AND gram = ?', [segment, gram])
      if (row) lists.push(bytes(row['blocks']))
      else if (this.#sql.all('SELECT 1 FROM recall_grams WHERE segment = ? LIMIT 1', [segment]).length > 0) return []
      else
        return this.#sql
          .all('SELECT block FROM recall_words WHERE segment = ?', [segment])
          .map(own => Number(own['block']))
    }
    return blocksInAll(lists)
  }

  places(documents: readonly DocumentKey[], nameOf: (key: number) => string): (Place | undefined)[] {
    const names = new Map([...new Set(documents.map(({ session }) => session))].map(key => [key, nameOf(key)]))
    return documents.map(({ session, number }) => {
      const [row] = this.#sql.all('SELECT seq, part, start, size, print FROM recall_documents WHERE id = ?', [
        idOf(session, number),
      ])
      return row && toPlace(row, names.get(session)!)
    })
  }

  /** The number of a session's last document up to an event, or -1: documents are numbered as events are. */
  lastDocument(key: number, seq: number): number {
    const isAfter = (number: number) => {
      const [row] = this.#sql.all('SELECT seq FROM recall_documents WHERE id = ?', [idOf(key, number)])
      return !row || Number(row['seq']) > seq
    }
    return firstIndex(this.done(key)?.documents ?? 0, isAfter) - 1
  }

  done(key: number): Done | undefined {
    const [row] = this.#sql.all(
      `SELECT coalesce(d.seq, s.fork_seq, -1) AS seq, coalesce(d.documents, 0) AS documents
       FROM sessions s LEFT JOIN recall_done d ON d.session = s.key WHERE s.key = ?`,
      [key],
    )
    return row && { seq: Number(row['seq']), documents: Number(row['documents']) }
  }

  setDone(key: number, { seq, documents }: Done): void {
    this.#sql.run(
      `INSERT INTO recall_done (session, seq, documents) VALUES (?, ?, ?)
       ON CONFLICT (session) DO UPDATE SET seq = excluded.seq, documents = excluded.documents`,
      [key, seq, documents],
    )
  }

  /** A home has one group. */
  groupOf(): string {
    return ''
  }

  groupOfSegment(): string {
    return ''
  }

  lineageOf(key: number): Lineage {
    return this.#lineageOf(key)
  }

  eventsAfter(key: number, seq: number, limit: number): FreshEvent[] {
    return this.#sql
      .all(
        'SELECT id, at, type, CASE type WHEN ? THEN body END AS body FROM events WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?',
        ['entry', idOf(key, seq + 1), idOf(key, SESSION_SIZE - 1), limit],
      )
      .map(row => ({
        seq: Number(row['id']) % SESSION_SIZE,
        at: Number(row['at']),
        type: String(row['type']),
        body: String(row['body'] ?? ''),
      }))
  }

  contents(hashes: readonly string[]): Map<string, string> {
    const found = new Map<string, string>()
    for (const hash of hashes) {
      const [row] = this.#sql.all('SELECT text FROM contents WHERE hash = ?', [hash])
      if (row) found.set(hash, String(row['text']))
    }
    return found
  }

  lastHolding(key: number, text: string, { from, to }: { from: number; to: number }): string | undefined {
    const [row] = this.#sql.all(
      'SELECT body FROM events WHERE id BETWEEN ? AND ? AND instr(light, ?) > 0 ORDER BY id DESC LIMIT 1',
      [idOf(key, from), idOf(key, to), text],
    )
    return row && String(row['body'])
  }

  addDocuments(key: number, first: number, documents: readonly FreshDocument[]): void {
    for (const [i, { seq, document }] of documents.entries()) {
      this.#sql.run('INSERT INTO recall_documents (id, seq, part, start, size, print) VALUES (?, ?, ?, ?, ?, ?)', [
        ...[idOf(key, first + i), seq, document.part, document.from, document.to - document.from, document.print],
      ])
    }
  }

  small(largest: number): { id: number; documents: number; group: string }[] {
    const rows = this.#sql.all('SELECT id, documents FROM recall_segments WHERE documents <= ? ORDER BY id', [largest])
    return rows.map(row => ({ id: Number(row['id']), documents: Number(row['documents']), group: '' }))
  }

  segmentsOf(keys: ReadonlySet<number>): Segment[] {
    const ids = this.#sql.all('SELECT id FROM recall_segments').map(row => Number(row['id']))
    return ids.flatMap(id => {
      const segment = this.segment(id)
      return segment?.runs.some(({ session }) => keys.has(session)) ? [segment] : []
    })
  }

  postingsIn(segment: number): [string, Uint8Array][] {
    const rows = this.#sql.all('SELECT term, data FROM recall_postings WHERE segment = ?', [segment])
    return rows.map(row => [String(row['term']), bytes(row['data'])])
  }

  dropSegment(segment: number): void {
    this.#version = -1
    for (const table of OF_SEGMENTS) this.#sql.run(`DELETE FROM ${table} WHERE segment = ?`, [segment])
    this.#sql.run('DELETE FROM recall_segments WHERE id = ?', [segment])
  }

  forget(key: number): void {
    this.#sql.run('DELETE FROM recall_documents WHERE id BETWEEN ? AND ?', [idOf(key, 0), idOf(key, SESSION_SIZE - 1)])
    this.#sql.run('DELETE FROM recall_done WHERE session = ?', [key])
  }

  addSegment({ runs, columns, postings, vocabulary }: NewSegment): void {
    this.#version = -1
    const documents = runs.reduce((sum, { count }) => sum + count, 0)
    const [row] = this.#sql.all(
      'INSERT INTO recall_segments (documents, runs, columns) VALUES (?, ?, ?) RETURNING id',
      [documents, JSON.stringify(runs), columns],
    )
    const id = Number(row!['id'])
    this.#insertRows('recall_postings (segment, term, data)', id, sortedRows(postings))
    this.#insertRows('recall_words (segment, block, words)', id, [...vocabulary.blocks.entries()])
    this.#insertRows('recall_grams (segment, gram, blocks)', id, sortedRows(vocabulary.grams))
  }

  #insertRows(into: string, segment: number, rows: readonly (readonly [SqlValue, SqlValue | Uint8Array])[]): void {
    for (let i = 0; i < rows.length; i += ROWS_PER_STATEMENT) {
      const some = rows.slice(i, i + ROWS_PER_STATEMENT)
      this.#sql.run(
        `INSERT INTO ${into} VALUES ${some.map(() => '(?, ?, ?)').join(', ')}`,
        some.flatMap(row => [segment, ...row]),
      )
    }
  }

  linesIn(segment: number): string[] {
    const rows = this.#sql.all('SELECT words FROM recall_words WHERE segment = ?', [segment])
    return rows.flatMap(row => String(row['words']).split('\n'))
  }

  segment(id: number): Segment | undefined {
    const [row] = this.#sql.all('SELECT runs, columns FROM recall_segments WHERE id = ?', [id])
    return row && toSegment(id, parseJson(String(row['runs'])), bytes(row['columns']))
  }

  /** A transaction that does not wait for the disk. */
  write(steps: () => Steps<void>): void {
    this.#db.exec('PRAGMA synchronous = NORMAL')
    try {
      inTransaction(this.#db, () => runNow(steps()))
    } finally {
      this.#db.exec(`PRAGMA synchronous = ${this.#sync}`)
    }
  }
}

function sortedRows(lists: ReadonlyMap<string, Uint8Array>): [string, Uint8Array][] {
  return [...lists].sort(([a], [b]) => (a < b ? -1 : 1))
}

function bytes(value: unknown): Uint8Array {
  return value instanceof Uint8Array ? value : new Uint8Array()
}
