/**
 * Turns of agents when several servers share a database: which server runs a session's turn, its events, and the
 * answers of people.
 *
 * A turn holds a lease, which its server renews. If the server dies, the lease expires and the session is free again;
 * times are the database's, so the servers' clocks do not matter. A follower at another server reads the events here,
 * and leaves an approval or a stop here for the server that runs the turn.
 */
import { randomUUID } from 'node:crypto'
import type { PgMigrations } from '../ledger/postgres/database.ts'
import { PostgresSql } from '../ledger/postgres/sql.ts'
import { countOf, rowsOf, type Sql } from '../ledger/sql.ts'
import { parseJson } from '../model/json.ts'
import type { AgentEvent } from './events.ts'

const MIGRATIONS: PgMigrations = [
  [
    'turns, their events and what is said to them',
    `CREATE TABLE turns (session text PRIMARY KEY, turn text NOT NULL UNIQUE, held_until bigint NOT NULL);
     CREATE TABLE turn_events (
       turn text NOT NULL, seq integer NOT NULL, event text NOT NULL, at bigint NOT NULL, PRIMARY KEY (turn, seq)
     );
     CREATE INDEX turn_events_by_time ON turn_events (at);
     CREATE TABLE turn_words (
       turn text NOT NULL, word text NOT NULL, id text NOT NULL, yes boolean NOT NULL, heard boolean, at bigint NOT NULL,
       PRIMARY KEY (turn, word)
     );`,
  ],
]

/** A server that has not renewed its lease for this long counts as dead. */
export const LEASE_MS = 15_000
/** How long events are kept for readers that come back. */
const KEPT_MS = 60 * 60 * 1000
const NOW = '(extract(epoch from clock_timestamp()) * 1000)::bigint'

/** A message to a turn: yes or no to its request, or stop. */
export type Word = { id: string; yes: boolean }
export const STOP = 'stop'

export class TurnBoard {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  static async open(url: string): Promise<TurnBoard> {
    return new TurnBoard(await PostgresSql.open(url, 'turns', MIGRATIONS))
  }

  /** Takes the lease of a session for a new turn; `undefined` if another turn holds it. */
  async take(session: string): Promise<string | undefined> {
    const turn = randomUUID()
    return this.#sql.transaction(function* () {
      const taken = yield* countOf(
        `INSERT INTO turns (session, turn, held_until) VALUES (?, ?, ${NOW} + ${LEASE_MS})
         ON CONFLICT (session) DO UPDATE SET turn = excluded.turn, held_until = excluded.held_until
         WHERE turns.held_until < ${NOW}`,
        [session, turn],
      )
      if (taken === 0) return undefined
      yield* countOf(`DELETE FROM turn_events WHERE at < ${NOW} - ${KEPT_MS}`)
      yield* countOf(`DELETE FROM turn_words WHERE at < ${NOW} - ${KEPT_MS}`)
      return turn
    })
  }

  /** Renews the lease; `false` if it expired and another turn has it. */
  async renew(turn: string): Promise<boolean> {
    return (await this.#sql.run(`UPDATE turns SET held_until = ${NOW} + ${LEASE_MS} WHERE turn = ?`, [turn])) > 0
  }

  async release(turn: string): Promise<void> {
    await this.#sql.run('UPDATE turns SET held_until = 0 WHERE turn = ?', [turn])
  }

  /** The turn that runs in a session at some server. */
  async running(session: string): Promise<string | undefined> {
    const row = await this.#sql.get(`SELECT turn FROM turns WHERE session = ? AND held_until >= ${NOW}`, [session])
    return row && String(row['turn'])
  }

  async isHeld(turn: string): Promise<boolean> {
    return (await this.#sql.get(`SELECT 1 FROM turns WHERE turn = ? AND held_until >= ${NOW}`, [turn])) !== undefined
  }

  /** Adds events of a turn, the first of them at `from`; existing ones are kept. */
  async add(turn: string, from: number, events: readonly AgentEvent[]): Promise<void> {
    const rows = events.map(() => `(?, ?, ?, ${NOW})`).join(', ')
    const values = events.flatMap((event, i) => [turn, from + i, JSON.stringify(event)])
    await this.#sql.run(`INSERT INTO turn_events (turn, seq, event, at) VALUES ${rows} ON CONFLICT DO NOTHING`, values)
  }

  async events(turn: string, from: number): Promise<AgentEvent[]> {
    const rows = await this.#sql.all('SELECT event FROM turn_events WHERE turn = ? AND seq >= ? ORDER BY seq', [
      turn,
      from,
    ])
    return rows.map(({ event }) => parseJson(String(event)))
  }

  /** Leaves a message for a turn; gives a name for asking whether it was received. */
  async say(turn: string, { id, yes }: Word): Promise<string> {
    const word = randomUUID()
    await this.#sql.run(
      `INSERT INTO turn_words (turn, word, id, yes, at) VALUES (?, ?, ?, ${yes ? 'true' : 'false'}, ${NOW})`,
      [turn, word, id],
    )
    return word
  }

  /**
   * Whether a message was received: `false` if no request with its id was waiting, `undefined` until the server
   * looked.
   */
  async heard(turn: string, word: string): Promise<boolean | undefined> {
    const row = await this.#sql.get('SELECT heard FROM turn_words WHERE turn = ? AND word = ?', [turn, word])
    return typeof row?.['heard'] === 'boolean' ? row['heard'] : undefined
  }

  /** Delivers messages to the server that runs the turn, once; `take` says whether a request was waiting for it. */
  async listen(turn: string, take: (word: Word) => boolean): Promise<void> {
    const rows = await this.#sql.all(
      'SELECT word, id, yes FROM turn_words WHERE turn = ? AND heard IS NULL ORDER BY at',
      [turn],
    )
    for (const { word, id, yes } of rows) {
      const heard = take({ id: String(id), yes: yes === true })
      const update = `UPDATE turn_words SET heard = ${heard ? 'true' : 'false'} WHERE turn = ? AND word = ?`
      await this.#sql.run(update, [turn, String(word)])
    }
  }

  /** Removes the records of the turns of sessions. */
  async forget(sessions: readonly string[]): Promise<void> {
    await this.#sql.transaction(function* () {
      for (const session of sessions) {
        for (const { turn } of yield* rowsOf('SELECT turn FROM turns WHERE session = ?', [session])) {
          for (const table of ['turn_events', 'turn_words', 'turns']) {
            yield* countOf(`DELETE FROM ${table} WHERE turn = ?`, [String(turn)])
          }
        }
      }
    })
  }

  close(): Promise<void> {
    return this.#sql.close()
  }
}
