/** Reads recall's index in PostgreSQL for ranking (recall/rank.ts). Reads only segments of the owners in scope. */
import { Remembered } from '../../model/remembered.ts'
import type { DocumentKey, Place, Posting } from '../../recall/index.ts'
import { blocksInAll, gramsIn, termsHolding } from '../../recall/inside.ts'
import type { Segment } from '../../recall/postings.ts'
import { MAX_BLOCKS_READ, toPlace } from '../filling.ts'
import type { Postgres } from './database.ts'
import { bytes, toPgSegment } from './index-tables.ts'

/** Segments never change, so some are cached; a large one takes some 25 KB. */
const MAX_SEGMENTS_KEPT = 2000
/** The number of segments whose blocks are read at once. */
const SEGMENTS_AT_ONCE = 50

type Wanted = { segments: readonly number[]; limit: number }

export class PgRecall {
  readonly #db: Postgres
  readonly #segments = new Remembered<number, Segment>(MAX_SEGMENTS_KEPT)

  constructor(db: Postgres) {
    this.#db = db
  }

  /** The segments of an owner, or all. */
  async segments(owner: string | undefined): Promise<Segment[]> {
    const [where, values] = owner === undefined ? ['', []] : ['WHERE owner = $1', [owner]]
    const rows = await this.#db.read(`SELECT id FROM recall_segments ${where} ORDER BY id`, values)
    const ids = rows.map(row => Number(row['id']))
    const missing = ids.filter(id => !this.#segments.has(id))
    const read = new Map<number, Segment>()
    if (missing.length > 0) {
      const sql = 'SELECT id, runs, columns FROM recall_segments WHERE id = ANY($1::bigint[])'
      for (const row of await this.#db.read(sql, [missing])) read.set(Number(row['id']), toPgSegment(row))
    }
    const found = ids.flatMap(id => this.#segments.get(id) ?? read.get(id) ?? [])
    for (const segment of found) this.#segments.set(segment.id, segment)
    return found
  }

  async postings(terms: readonly string[], segments: readonly number[]): Promise<Map<string, Posting[]>> {
    const found = new Map<string, Posting[]>(terms.map(term => [term, []]))
    const rows = await this.#db.read(
      `SELECT term, segment, data FROM recall_postings
       WHERE segment = ANY($1::bigint[]) AND term = ANY($2::bytea[])`,
      [segments, [...found.keys()].map(term => Buffer.from(term))],
    )
    for (const row of rows) {
      found.get(String(row['term']))?.push({ segment: Number(row['segment']), data: bytes(row['data']) })
    }
    return found
  }

  async termsBeginning(text: string, { segments, limit }: Wanted): Promise<string[]> {
    const rows = await this.#db.read(
      `SELECT p.term FROM unnest($1::bigint[]) WITH ORDINALITY AS s (id, place)
       CROSS JOIN LATERAL (SELECT term FROM recall_postings WHERE segment = s.id AND term >= $2 AND term < $3
         ORDER BY term LIMIT $4) p ORDER BY s.place LIMIT $5`,
      [segments.toReversed(), Buffer.from(text), Buffer.from(`${text}\u{10ffff}`), limit, limit * limit],
    )
    return [...new Set(rows.map(row => String(row['term'])))].slice(0, limit)
  }

  async termsInside(text: string, { segments, limit }: Wanted): Promise<string[]> {
    const found = new Set<string>()
    let left = MAX_BLOCKS_READ
    const newest = segments.toReversed()
    for (let i = 0; i < newest.length && found.size < limit && left > 0; i += SEGMENTS_AT_ONCE) {
      const blocks = (await this.#blocksWith(newest.slice(i, i + SEGMENTS_AT_ONCE), text)).slice(0, left)
      left -= blocks.length
      const rows = await this.#db.read(
        `SELECT w.words FROM unnest($1::bigint[], $2::integer[]) WITH ORDINALITY AS b (segment, block, place)
         JOIN recall_words w ON w.segment = b.segment AND w.block = b.block ORDER BY b.place`,
        [blocks.map(({ segment }) => segment), blocks.map(({ block }) => block)],
      )
      for (const row of rows) for (const term of termsHolding(String(row['words']), text)) found.add(term)
    }
    return [...found].slice(0, limit)
  }

  /** The blocks of words that can contain a text; all blocks of a segment that has no index of them. */
  async #blocksWith(segments: readonly number[], text: string): Promise<{ segment: number; block: number }[]> {
    const grams = gramsIn(text)
    const lists = await this.#db.read(
      'SELECT segment, blocks FROM recall_grams WHERE segment = ANY($1::bigint[]) AND gram = ANY($2::bytea[])',
      [segments, grams.map(gram => Buffer.from(gram))],
    )
    const plain = await this.#db.read(
      `SELECT w.segment, w.block FROM recall_words w WHERE w.segment = ANY($1::bigint[])
         AND NOT EXISTS (SELECT 1 FROM recall_grams g WHERE g.segment = w.segment)`,
      [segments],
    )
    const indexed = Map.groupBy(lists, row => Number(row['segment']))
    const all = Map.groupBy(plain, row => Number(row['segment']))
    return segments.flatMap(segment => {
      const own = indexed.get(segment) ?? []
      const blocks =
        own.length === grams.length
          ? blocksInAll(own.map(row => bytes(row['blocks'])))
          : (all.get(segment) ?? []).map(row => Number(row['block'])).sort((a, b) => a - b)
      return blocks.map(block => ({ segment, block }))
    })
  }

  async places(documents: readonly DocumentKey[]): Promise<(Place | undefined)[]> {
    const rows = await this.#db.read(
      `SELECT s.id, d.seq, d.part, d.start, d.size, d.print
       FROM unnest($1::bigint[], $2::integer[]) WITH ORDINALITY AS w (session, number, place)
       LEFT JOIN recall_documents d ON d.session = w.session AND d.number = w.number LEFT JOIN sessions s ON s.key = d.session
       ORDER BY w.place`,
      [documents.map(({ session }) => session), documents.map(({ number }) => number)],
    )
    return rows.map(row => (row['id'] === null ? undefined : toPlace(row, String(row['id']))))
  }

  /** The number of a session's last document up to an event, or -1: documents are numbered as events are. */
  async lastDocument(key: number, seq: number): Promise<number> {
    const sql = 'SELECT max(number) AS last FROM recall_documents WHERE session = $1 AND seq <= $2'
    const [row] = await this.#db.read(sql, [key, seq])
    return Number(row?.['last'] ?? -1)
  }
}
