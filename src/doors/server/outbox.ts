/**
 * The events of all servers that share a database, in one order. A server writes its events, several at once; every
 * server that has listeners reads the new ones.
 *
 * No number is used after a higher one: a writer locks the row of the last number until its events are committed, so a
 * reader that has seen a number has seen all before it. Events say that something changed, but not the change itself:
 * if a server dies before it writes an event, a listener loses only the notice.
 */
import type { PgMigrations } from '../../ledger/postgres/database.ts'
import { PostgresSql } from '../../ledger/postgres/sql.ts'
import type { Sql } from '../../ledger/sql.ts'
import { parseJson } from '../../model/json.ts'
import type { LiveEvent } from './live-event.ts'

const MIGRATIONS: PgMigrations = [
  [
    'outbox',
    `CREATE TABLE outbox (seq bigint PRIMARY KEY, event text NOT NULL);
     CREATE TABLE outbox_last (id integer PRIMARY KEY CHECK (id = 1), seq bigint NOT NULL, start text NOT NULL);
     INSERT INTO outbox_last VALUES (1, 0, substr(md5(clock_timestamp()::text || random()::text), 1, 8)) ON CONFLICT DO NOTHING;`,
  ],
]

/** How often old events are deleted while as many are added as are kept. */
const SWEEPS = 4

export type Numbered = { seq: number; event: LiveEvent }

export class Outbox {
  readonly #sql: Sql
  readonly #kept: number
  #added = 0

  constructor(sql: Sql, kept: number) {
    this.#sql = sql
    this.#kept = kept
  }

  /** `kept`: the number of last events that stay. */
  static async open(url: string, { kept }: { kept: number }): Promise<Outbox> {
    return new Outbox(await PostgresSql.open(url, 'outbox', MIGRATIONS), kept)
  }

  async add(events: readonly LiveEvent[]): Promise<void> {
    // One statement, so that the row of the last number is locked for no longer than it takes.
    await this.#sql.run(
      `WITH last AS (UPDATE outbox_last SET seq = seq + ?::bigint RETURNING seq)
       INSERT INTO outbox (seq, event) SELECT last.seq - ?::bigint + e.number, e.event
       FROM last CROSS JOIN json_array_elements_text(?::json) WITH ORDINALITY AS e (event, number)`,
      [events.length, events.length, JSON.stringify(events.map(event => JSON.stringify(event)))],
    )
    this.#added += events.length
    if (this.#added * SWEEPS < this.#kept) return
    this.#added = 0
    await this.#sql.run('DELETE FROM outbox WHERE seq <= (SELECT seq FROM outbox_last) - ?::bigint', [this.#kept])
  }

  /** The id that distinguishes this database's numbers from those of another, and the last used number. */
  async last(): Promise<{ start: string; seq: number }> {
    const row = await this.#sql.get('SELECT start, seq FROM outbox_last')
    return { start: String(row!['start']), seq: Number(row!['seq']) }
  }

  async after(seq: number): Promise<Numbered[]> {
    const rows = await this.#sql.all('SELECT seq, event FROM outbox WHERE seq > ? ORDER BY seq', [seq])
    return rows.map(row => ({ seq: Number(row['seq']), event: parseJson(String(row['event'])) }))
  }

  close(): Promise<void> {
    return this.#sql.close()
  }
}
