/**
 * The tables of recall's index in PostgreSQL, for filling.ts, on one connection in a transaction.
 *
 * A process that indexes a session locks its row of `recall_done` until the end, so nothing is indexed twice. It also
 * locks the row of `sessions` against removing and redacting, but not against appends. A segment holds sessions of
 * one owner.
 */
import { parseJson } from '../../model/json.ts'
import { type Segment, toSegment } from '../../recall/postings.ts'
import type { Done, FreshDocument, FreshEvent, IndexTables, Lineage, NewSegment } from '../filling.ts'
import { runLater, type Steps } from '../steps.ts'
import { contentsIn } from './contents.ts'
import { asBuffer, type PgRow, type PgSession } from './database.ts'

/** The number of rows in one statement. */
const ROWS_PER_STATEMENT = 2000
/** The number of small segments that merging considers. */
const SMALL_AT_ONCE = 1000

/** A session and its ancestors, each with the last event that is shared. */
export const LINEAGE = `WITH RECURSIVE line (key, parent, fork_seq, up_to) AS (
    SELECT key, parent, fork_seq, ${2 ** 31 - 1}::bigint FROM sessions WHERE START
    UNION ALL
    SELECT p.key, p.parent, p.fork_seq, least(l.up_to, l.fork_seq) FROM line l JOIN sessions p ON p.key = l.parent
  )`

export class PgIndexTables implements IndexTables {
  readonly #session: PgSession

  constructor(session: PgSession) {
    this.#session = session
  }

  async done(key: number): Promise<Done | undefined> {
    await this.#session.change(
      `INSERT INTO recall_done (session, owner, seq, documents)
       SELECT key, owner, coalesce(fork_seq, -1), 0 FROM sessions WHERE key = $1 FOR KEY SHARE
       ON CONFLICT (session) DO NOTHING`,
      [key],
    )
    const sql = 'SELECT d.seq, d.documents FROM recall_done d JOIN sessions s ON s.key = d.session WHERE d.session = $1'
    const row = await this.#session.row(`${sql} FOR UPDATE OF d`, [key])
    return row && { seq: Number(row['seq']), documents: Number(row['documents']) }
  }

  async setDone(key: number, { seq, documents }: Done): Promise<void> {
    await this.#session.change('UPDATE recall_done SET seq = $2, documents = $3 WHERE session = $1', [
      key,
      seq,
      documents,
    ])
  }

  async groupOf(key: number): Promise<string> {
    return String((await this.#session.row('SELECT owner FROM sessions WHERE key = $1', [key]))!['owner'])
  }

  async groupOfSegment(id: number): Promise<string> {
    return String((await this.#session.row('SELECT owner FROM recall_segments WHERE id = $1', [id]))!['owner'])
  }

  async lineageOf(key: number): Promise<Lineage> {
    const sql = `${LINEAGE.replace('START', 'key = $1')} SELECT key, up_to FROM line ORDER BY up_to, key`
    const rows = await this.#session.rows(sql, [key])
    return rows.map(row => ({ key: Number(row['key']), upTo: Number(row['up_to']) }))
  }

  async eventsAfter(key: number, seq: number, limit: number): Promise<FreshEvent[]> {
    const rows = await this.#session.rows(
      `SELECT seq, at, type, CASE type WHEN 'entry' THEN body ELSE '' END AS body FROM events
       WHERE session = $1 AND seq > $2 ORDER BY seq LIMIT $3`,
      [key, seq, limit],
    )
    return rows.map(row => {
      const { seq, at, type, body } = row
      return { seq: Number(seq), at: Number(at), type: String(type), body: String(body) }
    })
  }

  contents(hashes: readonly string[]): Promise<Map<string, string>> {
    return contentsIn(this.#session, hashes)
  }

  async lastHolding(
    key: number,
    text: string,
    { from, to }: { from: number; to: number },
  ): Promise<string | undefined> {
    const row = await this.#session.row(
      `SELECT body FROM events WHERE session = $1 AND seq BETWEEN $2 AND $3 AND strpos(light, $4) > 0
       ORDER BY seq DESC LIMIT 1`,
      [key, from, to, text],
    )
    return row && String(row['body'])
  }

  async addDocuments(key: number, first: number, documents: readonly FreshDocument[]): Promise<void> {
    await this.#session.change(
      `INSERT INTO recall_documents (session, number, seq, part, start, size, print)
       SELECT $1::bigint, d.* FROM unnest($2::integer[], $3::integer[], $4::integer[], $5::integer[], $6::integer[], $7::bigint[]) d`,
      [
        key,
        documents.map((_, i) => first + i),
        documents.map(({ seq }) => seq),
        documents.map(({ document }) => document.part),
        documents.map(({ document }) => document.from),
        documents.map(({ document }) => document.to - document.from),
        documents.map(({ document }) => document.print),
      ],
    )
  }

  async addSegment({ group, runs, columns, postings, vocabulary }: NewSegment): Promise<void> {
    const row = await this.#session.row(
      'INSERT INTO recall_segments (owner, documents, runs, columns) VALUES ($1, $2, $3, $4) RETURNING id',
      [group, runs.reduce((sum, { count }) => sum + count, 0), JSON.stringify(runs), columns],
    )
    const id = Number(row!['id'])
    const named = (lists: ReadonlyMap<string, Uint8Array>) =>
      [...lists].map(([name, data]) => [Buffer.from(name), data] as const)
    await this.#insert('recall_postings (segment, term, data)', 'bytea', { id, rows: named(postings) })
    const words = vocabulary.blocks.map((block, i) => [i, Buffer.from(block)] as const)
    await this.#insert('recall_words (segment, block, words)', 'integer', { id, rows: words })
    await this.#insert('recall_grams (segment, gram, blocks)', 'bytea', { id, rows: named(vocabulary.grams) })
  }

  async #insert(
    into: string,
    type: 'bytea' | 'integer',
    { id, rows }: { id: number; rows: readonly (readonly [Uint8Array | number, Uint8Array])[] },
  ): Promise<void> {
    for (let i = 0; i < rows.length; i += ROWS_PER_STATEMENT) {
      const some = rows.slice(i, i + ROWS_PER_STATEMENT)
      await this.#session.change(
        `INSERT INTO ${into} SELECT $1::bigint, r.* FROM unnest($2::${type}[], $3::bytea[]) r ON CONFLICT DO NOTHING`,
        [id, some.map(([name]) => asBuffer(name)), some.map(([, data]) => asBuffer(data))],
      )
    }
  }

  async dropSegment(id: number): Promise<void> {
    for (const table of ['recall_postings', 'recall_words', 'recall_grams'])
      await this.#session.change(`DELETE FROM ${table} WHERE segment = $1`, [id])
    await this.#session.change('DELETE FROM recall_segments WHERE id = $1', [id])
  }

  async segment(id: number): Promise<Segment | undefined> {
    const row = await this.#session.row('SELECT id, runs, columns FROM recall_segments WHERE id = $1 FOR UPDATE', [id])
    return row && toPgSegment(row)
  }

  async small(largest: number): Promise<{ id: number; documents: number; group: string }[]> {
    const rows = await this.#session.rows(
      `SELECT id, documents, owner FROM recall_segments WHERE documents <= $1 AND owner IN (
         SELECT owner FROM recall_segments WHERE documents <= $1 GROUP BY owner HAVING count(*) >= 8 LIMIT 20
       ) ORDER BY id LIMIT $2`,
      [largest, SMALL_AT_ONCE],
    )
    return rows.map(row => ({
      id: Number(row['id']),
      documents: Number(row['documents']),
      group: String(row['owner']),
    }))
  }

  async postingsIn(id: number): Promise<[string, Uint8Array][]> {
    const rows = await this.#session.rows('SELECT term, data FROM recall_postings WHERE segment = $1', [id])
    return rows.map(row => [String(row['term']), bytes(row['data'])])
  }

  async linesIn(id: number): Promise<string[]> {
    const rows = await this.#session.rows('SELECT words FROM recall_words WHERE segment = $1 ORDER BY block', [id])
    return rows.flatMap(row => String(row['words']).split('\n'))
  }

  async segmentsOf(keys: ReadonlySet<number>): Promise<Segment[]> {
    const rows = await this.#session.rows(
      `SELECT id, runs, columns FROM recall_segments
       WHERE owner IN (SELECT owner FROM recall_done WHERE session = ANY($1::bigint[])) ORDER BY id FOR UPDATE`,
      [[...keys]],
    )
    return rows.map(toPgSegment).filter(({ runs }) => runs.some(({ session }) => keys.has(session)))
  }

  async forget(key: number): Promise<void> {
    await this.#session.change('DELETE FROM recall_documents WHERE session = $1', [key])
    await this.#session.change(
      'UPDATE recall_done d SET seq = coalesce(s.fork_seq, -1), documents = 0 FROM sessions s WHERE s.key = d.session AND d.session = $1',
      [key],
    )
    await this.#session.change(
      'DELETE FROM recall_done WHERE session = $1 AND NOT EXISTS (SELECT 1 FROM sessions WHERE key = $1)',
      [key],
    )
  }

  /** The steps are already in a transaction. */
  write(steps: () => Steps<void>): Promise<void> {
    return runLater(steps())
  }
}

export function toPgSegment(row: PgRow): Segment {
  return toSegment(Number(row['id']), parseJson(String(row['runs'])), bytes(row['columns']))
}

/** Not a Buffer, because `slice` of one shares its memory. */
export function bytes(value: unknown): Uint8Array {
  return value instanceof Uint8Array ? new Uint8Array(value.buffer, value.byteOffset, value.length) : new Uint8Array()
}
