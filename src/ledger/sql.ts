/**
 * The database interface of the stores beside the ledger: memory, the server's own tables, kept files. A store is
 * written once, in SQL that SQLite and PostgreSQL share, with `?` for values; only its tables are declared for each.
 *
 * When `run` or `transaction` resolves, the change is committed. A transaction is a generator of statements: SQLite
 * runs them without a pause, so that two handles in one process cannot wait for each other; PostgreSQL awaits each.
 * Others may write meanwhile, so a store names the expected state in its update (`UPDATE … WHERE version = ?`) and
 * checks how many rows changed.
 */
import { type Migrations, SqliteFile, type SqlRow, type SqlValue } from './database.ts'
import { runNow, type Steps } from './steps.ts'

export type { Migrations, SqlRow, SqlValue, Steps }

export type Statement = { sql: string; values: readonly SqlValue[]; answer: 'rows' | 'count' }

export interface Sql {
  all(sql: string, values?: readonly SqlValue[]): Promise<SqlRow[]>
  get(sql: string, values?: readonly SqlValue[]): Promise<SqlRow | undefined>
  /** The number of rows that changed. */
  run(sql: string, values?: readonly SqlValue[]): Promise<number>
  /** All or nothing; an exception rolls it back. The work may be run again from the beginning. */
  transaction<T>(work: () => Steps<T>): Promise<T>
  /** A transaction that removes rows. If the database can do it, their bytes leave the disk as well. */
  erase(work: () => Steps<void>): Promise<void>
  close(): Promise<void>
}

/** A step of a transaction: the rows. */
export function* rowsOf(sql: string, values: readonly SqlValue[] = []): Steps<SqlRow[]> {
  return (yield { sql, values, answer: 'rows' } satisfies Statement) as SqlRow[]
}

/** A step of a transaction: how many rows changed. */
export function* countOf(sql: string, values: readonly SqlValue[] = []): Steps<number> {
  return (yield { sql, values, answer: 'count' } satisfies Statement) as number
}

export class SqliteSql implements Sql {
  readonly #file: SqliteFile

  constructor(path: string, options: { migrations: Migrations; busyMs?: number }) {
    this.#file = new SqliteFile(path, options)
  }

  async all(sql: string, values?: readonly SqlValue[]): Promise<SqlRow[]> {
    return this.#file.all(sql, values)
  }

  async get(sql: string, values?: readonly SqlValue[]): Promise<SqlRow | undefined> {
    return this.#file.get(sql, values)
  }

  async run(sql: string, values?: readonly SqlValue[]): Promise<number> {
    return this.#file.run(sql, values)
  }

  async transaction<T>(work: () => Steps<T>): Promise<T> {
    return this.#file.transaction(() => runNow(work(), asked => this.#answer(asked as Statement)))
  }

  async erase(work: () => Steps<void>): Promise<void> {
    await this.transaction(work)
    this.#file.scrub()
  }

  async close(): Promise<void> {
    this.#file.close()
  }

  #answer({ sql, values, answer }: Statement): SqlRow[] | number {
    return answer === 'count' ? this.#file.run(sql, values) : this.#file.all(sql, values)
  }
}
