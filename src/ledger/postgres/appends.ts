/**
 * Appends to PostgreSQL: one statement each, or one for all appends that wait at the same time, so that they share a
 * commit.
 *
 * The row of a session has its length. An append updates the row only if the length is as expected, so of two appends
 * for one place the second changes nothing and is refused. If the connection is lost during a statement, the event
 * found at the place afterwards tells whether the append has happened.
 */

import { isPalimpsestError } from '../../model/errors.ts'
import { referencesIn } from '../codec.ts'
import { type NewRow, noSession } from '../store.ts'
import { isUniqueViolation, type PgValue, type Postgres } from './database.ts'
import { MINUTE_NOW } from './schema.ts'

type Append = { id: string; rows: readonly NewRow[]; resolve: (won: boolean) => void; reject: (error: unknown) => void }

/** Concurrent statements: few enough that appends share one under load, enough that none waits long for the others. */
const MAX_STATEMENTS = 8
const MAX_APPENDS = 128
const MAX_CHARS = 2_000_000
/** How often an append is sent again when its outcome is unknown. */
const MAX_APPEND_TRIES = 3

const TAKEN = `WITH wanted AS (
    SELECT * FROM unnest($1::text[], $2::integer[], $3::integer[], $4::bigint[]) AS w (id, first, count, at)
  ), taken AS (
    UPDATE sessions s SET length = w.first + w.count, updated_at = greatest(s.created_at, w.at), changed_minute = ${MINUTE_NOW}
    FROM wanted w
    WHERE s.id = w.id AND s.length = w.first RETURNING s.key, s.id
  ), added AS (
    INSERT INTO events (session, seq, type, at, hash, light, body)
    SELECT t.key, r.seq, r.type, r.at, r.hash, r.light, r.body
    FROM unnest($5::text[], $6::integer[], $7::text[], $8::bigint[], $9::text[], $10::text[], $11::text[])
      AS r (id, seq, type, at, hash, light, body) JOIN taken t ON t.id = r.id
  )`
const APPEND = `${TAKEN} SELECT id FROM taken`
// The conflict writes an existing text again, so that nobody drops it before the event that needs it is committed. (In
// PostgreSQL a conflict alone locks the row; in YugabyteDB only a write does.)
const APPEND_WITH_CONTENTS = `${TAKEN}, uses AS (
    INSERT INTO content_uses (hash, session, seq)
    SELECT u.hash, t.key, u.seq FROM unnest($12::text[], $13::integer[], $14::text[]) AS u (id, seq, hash)
    JOIN taken t ON t.id = u.id RETURNING hash
  ), texts AS (
    INSERT INTO contents (hash, text) SELECT c.hash, c.text FROM unnest($15::text[], $16::bytea[]) AS c (hash, text)
    WHERE c.hash IN (SELECT hash FROM uses) ON CONFLICT (hash) DO UPDATE SET hash = excluded.hash
  ) SELECT id FROM taken`

export class Appends {
  readonly #db: Postgres
  #waiting: Append[] = []
  #busy = 0

  constructor(db: Postgres) {
    this.#db = db
  }

  append(id: string, rows: readonly NewRow[]): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ id, rows, resolve, reject })
      this.#begin()
    })
  }

  #begin(): void {
    while (this.#busy < MAX_STATEMENTS && this.#waiting.length > 0) {
      this.#busy++
      void this.#send(this.#next()).finally(() => {
        this.#busy--
        this.#begin()
      })
    }
  }

  /** The next appends to send together: at most one per session. */
  #next(): Append[] {
    const batch: Append[] = []
    const sessions = new Set<string>()
    const left: Append[] = []
    let chars = 0
    for (const append of this.#waiting) {
      chars += sizeOf(append)
      const fits = batch.length === 0 || (batch.length < MAX_APPENDS && chars <= MAX_CHARS)
      if (fits && !sessions.has(append.id)) batch.push(append)
      else left.push(append)
      sessions.add(append.id)
    }
    this.#waiting = left
    return batch
  }

  async #send(batch: readonly Append[]): Promise<void> {
    try {
      await this.#settle(batch)
    } catch (error) {
      if (batch.length > 1 && !isAwayError(error)) {
        // An error of one append does not affect the others.
        for (const one of batch) await this.#send([one])
      } else if (isUniqueViolation(error)) batch[0]!.resolve(false)
      else for (const { reject } of batch) reject(error)
    }
  }

  async #settle(batch: readonly Append[]): Promise<void> {
    let left = batch
    for (let tries = 1; ; tries++) {
      try {
        const won = await this.#write(left)
        for (const { resolve } of left.filter(({ id }) => won.has(id))) resolve(true)
        left = left.filter(({ id }) => !won.has(id))
        // An earlier try may have arrived late: then this try was refused because of it.
        await this.#refuse(tries > 1 ? await this.#withoutDone(left) : left)
        return
      } catch (error) {
        if (!isAwayError(error) || tries >= MAX_APPEND_TRIES) throw error
        left = await this.#withoutDone(left)
        if (left.length === 0) return
      }
    }
  }

  async #write(batch: readonly Append[]): Promise<Set<string>> {
    const { sql, values } = statementFor(batch)
    const rows = await this.#db.write(sql, values)
    return new Set(rows.map(row => String(row['id'])))
  }

  /** Acknowledges appends whose events are already stored, and gives the others. */
  async #withoutDone(batch: readonly Append[]): Promise<Append[]> {
    const rows = await this.#db.read(
      `SELECT w.id FROM unnest($1::text[], $2::integer[], $3::text[]) AS w (id, seq, hash) JOIN sessions s ON s.id = w.id
       JOIN events e ON e.session = s.key AND e.seq = w.seq AND e.hash = w.hash`,
      [
        batch.map(({ id }) => id),
        batch.map(({ rows: [first] }) => first!.seq),
        batch.map(({ rows: [first] }) => first!.hash),
      ],
    )
    const done = new Set(rows.map(row => String(row['id'])))
    for (const { id, resolve } of batch) if (done.has(id)) resolve(true)
    return batch.filter(({ id }) => !done.has(id))
  }

  /** Refuses appends: their place is taken, or the session does not exist. */
  async #refuse(batch: readonly Append[]): Promise<void> {
    if (batch.length === 0) return
    const ids = batch.map(({ id }) => id)
    const rows = await this.#db.read('SELECT id, length FROM sessions WHERE id = ANY($1::text[])', [ids])
    const lengths = new Map(rows.map(row => [String(row['id']), Number(row['length'])]))
    for (const {
      id,
      rows: [first],
      resolve,
      reject,
    } of batch) {
      // A session that is shorter than before was removed and created again.
      if ((lengths.get(id) ?? -1) < first!.seq) reject(noSession(id))
      else resolve(false)
    }
  }
}

function statementFor(batch: readonly Append[]): { sql: string; values: PgValue[] } {
  const rows = batch.flatMap(append => append.rows.map(row => ({ ...row, id: append.id })))
  const values: PgValue[] = [
    batch.map(({ id }) => id),
    batch.map(({ rows: [first] }) => first!.seq),
    batch.map(append => append.rows.length),
    batch.map(append => append.rows.at(-1)!.at),
    rows.map(({ id }) => id),
    rows.map(({ seq }) => seq),
    rows.map(({ type }) => type),
    rows.map(({ at }) => at),
    rows.map(({ hash }) => hash),
    rows.map(({ light }) => light),
    rows.map(({ body }) => body),
  ]
  if (rows.every(({ contents }) => contents === undefined)) return { sql: APPEND, values }
  const uses = rows.flatMap(({ id, seq, body }) => [...new Set(referencesIn(body))].map(hash => ({ id, seq, hash })))
  const texts = new Map(rows.flatMap(({ contents }) => [...(contents ?? [])]))
  return {
    sql: APPEND_WITH_CONTENTS,
    values: [
      ...values,
      uses.map(({ id }) => id),
      uses.map(({ seq }) => seq),
      uses.map(({ hash }) => hash),
      [...texts.keys()],
      [...texts.values()].map(text => Buffer.from(text)),
    ],
  }
}

function isAwayError(error: unknown): boolean {
  return isPalimpsestError(error) && error.code === 'STORE_UNAVAILABLE'
}

function sizeOf({ rows }: Append): number {
  let chars = 0
  for (const { body, contents } of rows) {
    chars += body.length
    for (const text of contents?.values() ?? []) chars += text.length
  }
  return chars
}
