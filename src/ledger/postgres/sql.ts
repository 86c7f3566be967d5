/**
 * PostgreSQL behind the `Sql` interface of the stores beside the ledger. The statements are the same as for SQLite,
 * with `$1` in place of `?`.
 *
 * PostgreSQL accepts no NUL in a text. A NUL is written as two characters, and so is the escape character itself;
 * reading restores both.
 */
import type { Sql, SqlRow, SqlValue, Statement, Steps } from '../sql.ts'
import { runLater } from '../steps.ts'
import { type PgMigrations, type PgSession, Postgres } from './database.ts'

export class PostgresSql implements Sql {
  readonly #postgres: Postgres

  private constructor(postgres: Postgres) {
    this.#postgres = postgres
  }

  /** Connects, and brings the tables of this part to the newest schema. */
  static async open(url: string, part: string, migrations: PgMigrations): Promise<PostgresSql> {
    const postgres = await Postgres.open(url)
    try {
      await postgres.migrate(part, migrations)
      return new PostgresSql(postgres)
    } catch (error) {
      await postgres.close()
      throw error
    }
  }

  async all(sql: string, values: readonly SqlValue[] = []): Promise<SqlRow[]> {
    return (await this.#postgres.read(numbered(sql), values.map(toDatabase))).map(fromDatabase)
  }

  async get(sql: string, values: readonly SqlValue[] = []): Promise<SqlRow | undefined> {
    return (await this.all(sql, values))[0]
  }

  run(sql: string, values: readonly SqlValue[] = []): Promise<number> {
    return this.#postgres.run(session => session.change(numbered(sql), values.map(toDatabase)))
  }

  transaction<T>(work: () => Steps<T>): Promise<T> {
    return this.#postgres.transaction(session => runLater(work(), asked => answerTo(asked as Statement, session)))
  }

  /** Removed rows stay in the server's files until it vacuums, and in its backups. */
  erase(work: () => Steps<void>): Promise<void> {
    return this.transaction(work)
  }

  close(): Promise<void> {
    return this.#postgres.close()
  }
}

async function answerTo({ sql, values, answer }: Statement, session: PgSession): Promise<SqlRow[] | number> {
  const given = values.map(toDatabase)
  if (answer === 'count') return session.change(numbered(sql), given)
  return (await session.rows(numbered(sql), given)).map(fromDatabase)
}

/** In statements of the stores, a question mark is always a placeholder. */
function numbered(sql: string): string {
  let next = 1
  return sql.replaceAll('?', () => `$${next++}`)
}

const MARK = '\u0010'

function toDatabase(value: SqlValue): SqlValue {
  if (typeof value !== 'string' || !/[\0\u0010]/.test(value)) return value
  return value.replaceAll(MARK, `${MARK}1`).replaceAll('\0', `${MARK}0`)
}

function fromDatabase(row: SqlRow): SqlRow {
  for (const [name, value] of Object.entries(row)) {
    if (typeof value !== 'string' || !value.includes(MARK)) continue
    row[name] = value.replaceAll(/\u0010([01])/g, (_, digit) => (digit === '0' ? '\0' : MARK))
  }
  return row
}
