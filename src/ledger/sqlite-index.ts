/**
 * The index of recall in SQLite: segments of postings (recall/postings.ts), filled from the events in bounded steps.
 *
 * A step indexes some events of one session in one short transaction, or merges a few small segments. It may be taken
 * at any time and by any process: a step that finds its work done by another does nothing. What is in the index is
 * derived, so its commits do not wait for the disk.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { parseJson } from '../model/json.ts'
import type { Message, ToolCallPart } from '../model/types.ts'
import { type Document, documentsOf, type FindCall } from '../recall/documents.ts'
import type { DocumentKey, Place, Posting } from '../recall/index.ts'
import { blocksInAll, gramsIn, termsHolding, type Vocabulary, vocabularyOf } from '../recall/inside.ts'
import {
  columnsOf,
  joinColumns,
  joinPostings,
  joinRuns,
  KINDS,
  type Placed,
  postingsOf,
  type Run,
  type Segment,
  thinColumns,
  thinPostings,
  toSegment,
  withoutSessions,
} from '../recall/postings.ts'
import { decodeEvent, referencesIn } from './codec.ts'
import { inTransaction, type SqlValue } from './database.ts'

/** Events of a session lie in its own range of ids; so do its documents. A session's key has 21 bits, a number 32. */
export const SESSION_SIZE = 2 ** 32
export const idOf = (session: number, number: number) => session * SESSION_SIZE + number
export const OWN = 'id BETWEEN s.key << 32 AND (s.key << 32) + 0xffffffff'

/** Made anew when they change: what is in them is derived. */
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

/** One step takes so many events, or events with so many characters. */
const EVENTS_PER_STEP = 512
const CHARS_PER_STEP = 300_000
const USUAL_LARGE_TEXT = 40_000
/** Eight segments of a size class become one; a segment of this many documents is left alone. */
const MERGED_AT_ONCE = 8
const LARGEST_SEGMENT = 4096
/** Few enough that the statements for all smaller numbers can be kept. */
const ROWS_PER_STATEMENT = 32
/** A call is looked for among so many events before its result. */
const CALL_WITHIN_EVENTS = 400
/** Looking for a text inside words reads at most so many blocks of them. */
const MAX_BLOCKS_READ = 4000

const OF_SEGMENTS = ['recall_postings', 'recall_words', 'recall_grams']

type Lineage = readonly { key: number; upTo: number }[]

export class SqliteIndex {
  readonly #db: DatabaseSync
  readonly #lineageOf: (key: number) => Lineage
  readonly #statements = new Map<string, StatementSync>()
  /** Segments never change, so those that were read once are kept. */
  readonly #segments = new Map<number, Segment>()
  readonly #sync: string

  constructor(db: DatabaseSync, options: { sync: 'FULL' | 'NORMAL'; lineageOf: (key: number) => Lineage }) {
    this.#db = db
    this.#sync = options.sync
    this.#lineageOf = options.lineageOf
  }

  /** The sessions with events that are not in the index yet. */
  behind(): number[] {
    const rows = this.#all(
      `SELECT s.key FROM sessions s LEFT JOIN recall_done d ON d.session = s.key
       WHERE EXISTS (SELECT 1 FROM events WHERE ${OWN} AND id > (s.key << 32) + coalesce(d.seq, s.fork_seq, -1))`,
    )
    return rows.map(row => Number(row['key']))
  }

  /** Indexes some events of a session; `false` when there were none left. */
  step(key: number): boolean {
    const { seq, documents } = this.#done(key)
    const rows = this.#eventsAfter(key, seq)
    if (rows.length === 0) return false
    const fresh = this.#documentsIn(key, rows)
    const last = rows.at(-1)!.seq
    this.#write(() => {
      if (this.#done(key).seq !== seq) return
      this.#add(key, documents, fresh)
      this.#run(
        `INSERT INTO recall_done (session, seq, documents) VALUES (?, ?, ?)
         ON CONFLICT (session) DO UPDATE SET seq = excluded.seq, documents = excluded.documents`,
        [key, last, documents + fresh.length],
      )
    })
    return true
  }

  /** Merges segments of one size class, where there are enough of them; `false` where there are not. */
  merge(): boolean {
    const classes = new Map<number, number[]>()
    const sizes = new Map<number, number>()
    for (const row of this.#all('SELECT id, documents FROM recall_segments ORDER BY id')) {
      const [id, documents] = [Number(row['id']), Number(row['documents'])]
      if (documents > LARGEST_SEGMENT / 2) continue
      sizes.set(id, documents)
      const size = Math.floor(Math.log2(documents) / Math.log2(MERGED_AT_ONCE))
      classes.set(size, [...(classes.get(size) ?? []), id])
    }
    const many = [...classes.values()].find(ids => ids.length >= MERGED_AT_ONCE)
    if (!many) return false
    let sum = 0
    const ids = many.slice(0, MERGED_AT_ONCE).filter((id, i) => (sum += sizes.get(id)!) <= LARGEST_SEGMENT || i < 2)
    this.#mergeAll(ids)
    return true
  }

  /** Takes sessions out of the index. What another session has taken over of them is indexed anew. */
  forget(keys: readonly number[]): void {
    const gone = new Set(keys)
    for (const row of this.#all('SELECT id FROM recall_segments')) {
      const segment = this.#read(Number(row['id']))
      if (segment?.runs.some(({ session }) => gone.has(session))) this.#thin(segment, gone)
    }
    for (const key of gone) {
      this.#run('DELETE FROM recall_documents WHERE id BETWEEN ? AND ?', [idOf(key, 0), idOf(key, SESSION_SIZE - 1)])
      this.#run('DELETE FROM recall_done WHERE session = ?', [key])
    }
  }

  #thin(segment: Segment, gone: ReadonlySet<number>): void {
    const left = withoutSessions(segment.runs, session => gone.has(session))
    const postings = new Map<string, Uint8Array>()
    for (const row of left.runs.length === 0 ? [] : this.#postingsIn(segment.id)) {
      const data = thinPostings(bytes(row['data']), left)
      if (data.length > 0) postings.set(String(row['term']), data)
    }
    // Another form of a word that is left may be from what is removed, so only words that are terms stay.
    const vocabulary = vocabularyOf(this.#linesIn(segment.id).filter(line => postings.has(line)))
    this.#drop(segment.id)
    if (left.runs.length > 0)
      this.#insert({ runs: left.runs, columns: thinColumns(segment, left), postings, vocabulary })
  }

  #postingsIn(segment: number): Record<string, unknown>[] {
    return this.#all('SELECT term, data FROM recall_postings WHERE segment = ?', [segment])
  }

  #drop(segment: number): void {
    for (const table of OF_SEGMENTS) this.#run(`DELETE FROM ${table} WHERE segment = ?`, [segment])
    this.#run('DELETE FROM recall_segments WHERE id = ?', [segment])
  }

  segments(): Segment[] {
    const ids = this.#all('SELECT id FROM recall_segments ORDER BY id').map(row => Number(row['id']))
    const known = new Set(ids)
    for (const id of this.#segments.keys()) if (!known.has(id)) this.#segments.delete(id)
    return ids.flatMap(id => {
      const segment = this.#segments.get(id) ?? this.#read(id)
      if (segment) this.#segments.set(id, segment)
      return segment ?? []
    })
  }

  postings(term: string, segments: readonly number[]): Posting[] {
    const statement = this.#prepare(
      `SELECT p.segment, p.data FROM json_each(?) j JOIN recall_postings p ON p.segment = j.value AND p.term = ?`,
    )
    statement.setReturnArrays(true)
    const found: Posting[] = []
    // As arrays: a term of many segments is most of the time of a search.
    for (const row of statement.all(JSON.stringify(segments), term) as unknown[]) {
      if (Array.isArray(row)) found.push({ segment: Number(row[0]), data: bytes(row[1]) })
    }
    return found
  }

  termsBeginning(text: string, { segments, limit }: { segments: readonly number[]; limit: number }): string[] {
    const found = new Set<string>()
    for (const segment of [...segments].reverse()) {
      if (found.size >= limit) break
      const rows = this.#all('SELECT term FROM recall_postings WHERE segment = ? AND term >= ? AND term < ? LIMIT ?', [
        segment,
        text,
        `${text}\u{10ffff}`,
        limit,
      ])
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
      const rows = this.#all(
        'SELECT w.words FROM json_each(?) j JOIN recall_words w ON w.segment = ? AND w.block = j.value',
        [JSON.stringify(blocks), segment],
      )
      for (const row of rows) for (const term of termsHolding(String(row['words']), text)) found.add(term)
    }
    return [...found].slice(0, limit)
  }

  /** The blocks of a segment's words that can hold a text: all of them where there are few. */
  #blocksWith(segment: number, text: string): number[] {
    const lists: Uint8Array[] = []
    for (const gram of gramsIn(text)) {
      const [row] = this.#all('SELECT blocks FROM recall_grams WHERE segment = ? AND gram = ?', [segment, gram])
      if (row) lists.push(bytes(row['blocks']))
      else if (this.#all('SELECT 1 FROM recall_grams WHERE segment = ? LIMIT 1', [segment]).length > 0) return []
      else
        return this.#all('SELECT block FROM recall_words WHERE segment = ?', [segment]).map(own => Number(own['block']))
    }
    return blocksInAll(lists)
  }

  places(documents: readonly DocumentKey[], nameOf: (key: number) => string): Place[] {
    return documents.flatMap(({ session, number }) => {
      const [row] = this.#all('SELECT seq, part, start, size, print FROM recall_documents WHERE id = ?', [
        idOf(session, number),
      ])
      if (!row) return []
      const [seq, part, from, size] = [row['seq'], row['part'], row['start'], row['size']].map(Number)
      return {
        session: nameOf(session),
        seq: seq!,
        part: part!,
        from: from!,
        to: from! + size!,
        print: Number(row['print']),
      }
    })
  }

  /** The number of a session's last document up to an event, or -1: documents are numbered as events are. */
  lastDocument(key: number, seq: number): number {
    let low = -1
    let high = this.#done(key).documents - 1
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      const [row] = this.#all('SELECT seq FROM recall_documents WHERE id = ?', [idOf(key, middle)])
      if (row && Number(row['seq']) <= seq) low = middle
      else high = middle - 1
    }
    return low
  }

  #done(key: number): { seq: number; documents: number } {
    const [row] = this.#all(
      `SELECT coalesce(d.seq, s.fork_seq, -1) AS seq, coalesce(d.documents, 0) AS documents
       FROM sessions s LEFT JOIN recall_done d ON d.session = s.key WHERE s.key = ?`,
      [key],
    )
    return { seq: Number(row?.['seq'] ?? -1), documents: Number(row?.['documents'] ?? 0) }
  }

  #eventsAfter(key: number, seq: number): { seq: number; at: number; type: string; body: string }[] {
    const rows = this.#all(
      'SELECT id, at, type, CASE type WHEN ? THEN body END AS body FROM events WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?',
      ['entry', idOf(key, seq + 1), idOf(key, SESSION_SIZE - 1), EVENTS_PER_STEP],
    ).map(row => ({
      seq: Number(row['id']) % SESSION_SIZE,
      at: Number(row['at']),
      type: String(row['type']),
      body: String(row['body'] ?? ''),
    }))
    let chars = 0
    return rows.filter((row, i) => i === 0 || (chars += charsIn(row.body)) <= CHARS_PER_STEP)
  }

  #documentsIn(key: number, rows: readonly { seq: number; at: number; type: string; body: string }[]): Fresh[] {
    const calls = new Map<string, ToolCallPart>()
    return rows.flatMap(({ seq, at, type, body }) => {
      const message = type === 'entry' ? this.#messageIn(body) : undefined
      if (!message) return []
      for (const part of message.parts) if (part.type === 'tool-call') calls.set(part.id, part)
      const findCall: FindCall = id => calls.get(id) ?? this.#findCall(key, seq, id)
      return documentsOf(message, findCall).map(document => {
        const kind = KINDS.indexOf(message.parts[document.part]!.type as (typeof KINDS)[number])
        return { seq, document, at, kind: Math.max(kind, 1) }
      })
    })
  }

  #messageIn(body: string): Message | undefined {
    const contents = new Map<string, string>()
    for (const hash of referencesIn(body)) {
      const [row] = this.#all('SELECT text FROM contents WHERE hash = ?', [hash])
      contents.set(hash, String(row?.['text'] ?? ''))
    }
    try {
      const event = decodeEvent(body, contents)
      return event.type === 'entry' ? event.message : undefined
    } catch {
      // A damaged event is what `verify` reports; the rest can still be found.
      return undefined
    }
  }

  /** A call that an earlier step has indexed, in the session or in the one that it was forked from. */
  #findCall(key: number, seq: number, id: string): ToolCallPart | undefined {
    for (const own of [...this.#lineageOf(key)].reverse()) {
      const last = Math.min(seq - 1, own.upTo)
      const [row] = this.#all(
        'SELECT body FROM events WHERE id BETWEEN ? AND ? AND instr(light, ?) > 0 ORDER BY id DESC LIMIT 1',
        [idOf(own.key, Math.max(0, seq - CALL_WITHIN_EVENTS)), idOf(own.key, last), `{"id":${JSON.stringify(id)}`],
      )
      const parts = row ? (this.#messageIn(String(row['body']))?.parts ?? []) : []
      const call = parts.find((part): part is ToolCallPart => part.type === 'tool-call' && part.id === id)
      if (call) return call
    }
    return undefined
  }

  #add(key: number, first: number, fresh: readonly Fresh[]): void {
    if (fresh.length === 0) return
    for (const [i, { seq, document }] of fresh.entries()) {
      this.#run('INSERT INTO recall_documents (id, seq, part, start, size, print) VALUES (?, ?, ?, ?, ?, ?)', [
        ...[idOf(key, first + i), seq, document.part, document.from, document.to - document.from, document.print],
      ])
    }
    const runs = [{ session: key, first, count: fresh.length }]
    this.#insert({
      runs,
      columns: columnsOf(fresh),
      postings: postingsOf(fresh.map(({ document }) => document.terms)),
      vocabulary: vocabularyOf(fresh.flatMap(({ document }) => [...document.words])),
    })
  }

  /** Read and joined first, so that the transaction is short; the segments must be there still when it begins. */
  #mergeAll(ids: readonly number[]): void {
    const parts = ids.flatMap(id => this.#read(id) ?? [])
    const lists = new Map<string, { data: Uint8Array; offset: number }[]>()
    let offset = 0
    for (const { id, lengths } of parts) {
      for (const row of this.#postingsIn(id)) {
        const list = { data: bytes(row['data']), offset }
        const others = lists.get(String(row['term']))
        if (others) others.push(list)
        else lists.set(String(row['term']), [list])
      }
      offset += lengths.length
    }
    const postings = new Map([...lists].map(([term, own]) => [term, joinPostings(own)]))
    const merged = {
      runs: joinRuns(parts.flatMap(({ runs }) => runs)),
      columns: joinColumns(parts),
      postings,
      vocabulary: vocabularyOf(ids.flatMap(id => this.#linesIn(id))),
    }
    this.#write(() => {
      if (ids.some(id => !this.#read(id))) return
      for (const id of ids) this.#drop(id)
      this.#insert(merged)
    })
  }

  /** Numbers of segments are never used again, because readers keep what they have read. */
  #insert({ runs, columns, postings, vocabulary }: NewSegment): void {
    const documents = runs.reduce((sum, { count }) => sum + count, 0)
    const [row] = this.#all('INSERT INTO recall_segments (documents, runs, columns) VALUES (?, ?, ?) RETURNING id', [
      documents,
      JSON.stringify(runs),
      columns,
    ])
    const id = Number(row!['id'])
    this.#insertRows('recall_postings (segment, term, data)', id, sortedRows(postings))
    this.#insertRows('recall_words (segment, block, words)', id, [...vocabulary.blocks.entries()])
    this.#insertRows('recall_grams (segment, gram, blocks)', id, sortedRows(vocabulary.grams))
  }

  #insertRows(into: string, segment: number, rows: readonly (readonly [SqlValue, SqlValue | Uint8Array])[]): void {
    for (let i = 0; i < rows.length; i += ROWS_PER_STATEMENT) {
      const some = rows.slice(i, i + ROWS_PER_STATEMENT)
      this.#run(
        `INSERT INTO ${into} VALUES ${some.map(() => '(?, ?, ?)').join(', ')}`,
        some.flatMap(row => [segment, ...row]),
      )
    }
  }

  #linesIn(segment: number): string[] {
    const rows = this.#all('SELECT words FROM recall_words WHERE segment = ?', [segment])
    return rows.flatMap(row => String(row['words']).split('\n'))
  }

  #read(id: number): Segment | undefined {
    const [row] = this.#all('SELECT runs, columns FROM recall_segments WHERE id = ?', [id])
    return row && toSegment(id, parseJson(String(row['runs'])), bytes(row['columns']))
  }

  /** A transaction that does not wait for the disk. */
  #write(work: () => void): void {
    this.#db.exec('PRAGMA synchronous = NORMAL')
    try {
      inTransaction(this.#db, work)
    } finally {
      this.#db.exec(`PRAGMA synchronous = ${this.#sync}`)
    }
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (!statement) this.#statements.set(sql, (statement = this.#db.prepare(sql)))
    return statement
  }

  #run(sql: string, values: (SqlValue | Uint8Array)[]): void {
    this.#prepare(sql).run(...values)
  }

  #all(sql: string, values: (SqlValue | Uint8Array)[] = []): Record<string, unknown>[] {
    return this.#prepare(sql).all(...values)
  }
}

type NewSegment = {
  runs: readonly Run[]
  columns: Uint8Array
  postings: ReadonlyMap<string, Uint8Array>
  vocabulary: Vocabulary
}

function sortedRows(lists: ReadonlyMap<string, Uint8Array>): [string, Uint8Array][] {
  return [...lists].sort(([a], [b]) => (a < b ? -1 : 1))
}

type Fresh = Placed & { seq: number; document: Document }

/** With the large texts that stand elsewhere, by a guess: they are read only when they are indexed. */
function charsIn(body: string): number {
  return body.length + referencesIn(body).length * USUAL_LARGE_TEXT
}

function bytes(value: unknown): Uint8Array {
  return value instanceof Uint8Array ? value : new Uint8Array()
}
