/**
 * A PostgreSQL server: a pool of connections, parameterised statements, and failures under our error codes.
 *
 * Every call answers in bounded time. While the server is unavailable, a statement that changes nothing is retried;
 * so is a transaction whose commit was not sent yet, and one that lost against another. If the outcome of a call is
 * unknown, the error says so, unless the caller allows doing it twice (`again`).
 *
 * A connection has no state between two calls, so a pooler may use another one for each transaction.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool, PoolClient, QueryConfig } from 'pg'
import type { Environment } from '../../model/defaults.ts'
import { isPalimpsestError, PalimpsestError } from '../../model/errors.ts'
import { asSpokenBy, COMMITS_EARLY } from './dialect.ts'
import { addressIn, asStoreError, isAway, isLostRace } from './errors.ts'

export type PgValue = string | number | bigint | boolean | null | Uint8Array | readonly (string | number | Uint8Array)[]
export type PgRow = Record<string, unknown>
/**
 * Named steps, applied in order, each in a transaction; append only. They are written for PostgreSQL (see dialect.ts).
 * CockroachDB has a column that a step adds to an existing table only after that step.
 */
export type PgMigrations = readonly (readonly [name: string, sql: string])[]

export type PgOptions = {
  /** How long a statement may take, and how long an unavailable server is retried. */
  timeoutMs?: number
  connections?: number
}

const TIMEOUT_MS = 10_000
/** A migration may have to rewrite a large table. */
const MIGRATION_TIMEOUT_MS = 3_600_000
const CONNECTIONS = 10
const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 500

/** The variable that names the database. It contains a password, so it is not in palimpsest.json. */
export function databaseUrl(env: Environment = process.env): string | undefined {
  return env['PALIMPSEST_DATABASE_URL'] || undefined
}

const OPENED = new Map<string, { users: number; postgres: Promise<Postgres> }>()

/** Statements on one connection. */
export class PgSession {
  readonly #client: PoolClient
  readonly #names: Names | undefined
  readonly #timeoutMs: number

  constructor(client: PoolClient, { names, timeoutMs }: { names: Names | undefined; timeoutMs: number }) {
    this.#client = client
    this.#names = names
    this.#timeoutMs = timeoutMs
  }

  async rows(sql: string, values: readonly PgValue[] = [], { timeoutMs = this.#timeoutMs } = {}): Promise<PgRow[]> {
    return (await this.#run(sql, values, timeoutMs)).rows
  }

  async row(sql: string, values?: readonly PgValue[], options?: { timeoutMs: number }): Promise<PgRow | undefined> {
    return (await this.rows(sql, values, options))[0]
  }

  /** The number of rows that changed. */
  async change(sql: string, values: readonly PgValue[] = []): Promise<number> {
    return (await this.#run(sql, values, this.#timeoutMs)).rowCount ?? 0
  }

  /** Runs one or several statements without values. */
  async plain(sql: string, { timeoutMs = this.#timeoutMs } = {}): Promise<void> {
    const query: QueryConfig & { query_timeout: number } = { text: sql, query_timeout: timeoutMs }
    await this.#client.query(query)
  }

  #run(sql: string, values: readonly PgValue[], timeoutMs: number) {
    const name = this.#names?.of(sql)
    const query = { text: sql, values: values.map(asBuffer), query_timeout: timeoutMs }
    return this.#client.query<PgRow>(name === undefined ? query : { ...query, name })
  }
}

export class Postgres {
  readonly place: string
  readonly #pool: Pool
  readonly #timeoutMs: number
  readonly #names: Names | undefined
  #closed: () => Promise<void> = async () => {}

  private constructor(
    pool: Pool,
    { place, timeoutMs, prepares }: { place: string; timeoutMs: number; prepares: boolean },
  ) {
    this.#pool = pool
    this.place = place
    this.#timeoutMs = timeoutMs
    this.#names = prepares ? new Names() : undefined
  }

  /**
   * Connects with the first statement. Callers in one process that open the same address share its connections until
   * the last of them closes. The driver is loaded here, so only users of PostgreSQL pay for it.
   */
  static async open(url: string, options: PgOptions = {}): Promise<Postgres> {
    const key = JSON.stringify([url, options.timeoutMs, options.connections])
    const opened = OPENED.get(key) ?? { users: 0, postgres: Postgres.#connect(url, options) }
    OPENED.set(key, opened)
    opened.users++
    const postgres = await opened.postgres
    postgres.#closed = async () => {
      if (--opened.users > 0 || postgres.#pool.ending) return
      OPENED.delete(key)
      await postgres.#pool.end()
    }
    return postgres
  }

  static async #connect(url: string, options: PgOptions): Promise<Postgres> {
    const { place, address, prepares, ...said } = addressIn(url)
    const { timeoutMs, connections } = { timeoutMs: TIMEOUT_MS, connections: CONNECTIONS, ...options, ...said }
    const { default: pg } = await import('pg')
    const pool = new pg.Pool({
      connectionString: address,
      max: connections,
      allowExitOnIdle: true,
      connectionTimeoutMillis: timeoutMs,
      keepAlive: true,
      application_name: 'palimpsest',
    })
    // An idle connection that dies leaves the pool by itself.
    pool.on('error', () => {})
    // A connection may die while it is taken or given back: its statement fails by itself, and nothing else handles
    // the event.
    pool.on('connect', client => client.on('error', () => {}))
    return new Postgres(pool, { place, timeoutMs, prepares })
  }

  /** The rows of a statement that changes nothing, or that may be done twice. */
  read(sql: string, values: readonly PgValue[] = []): Promise<PgRow[]> {
    return this.run(session => session.rows(sql, values), { again: true })
  }

  /** One statement that changes something; gives the returned rows. It is its own transaction. */
  write(sql: string, values: readonly PgValue[] = []): Promise<PgRow[]> {
    return this.run(session => session.rows(sql, values))
  }

  /** All or nothing. `again`: the work may be done twice, so it is also retried if a commit was not answered. */
  transaction<T>(work: (session: PgSession) => Promise<T>, { again = false } = {}): Promise<T> {
    let isCommitting = false
    return this.#patiently(
      session => async () => {
        isCommitting = false
        await session.plain('BEGIN')
        const result = await work(session)
        isCommitting = true
        await session.plain('COMMIT')
        return result
      },
      { mayRepeat: error => isLostRace(error) || again || !isCommitting },
    )
  }

  /** Runs work on one connection; each statement is its own transaction. */
  run<T>(work: (session: PgSession) => Promise<T>, { again = false } = {}): Promise<T> {
    return this.#patiently(session => () => work(session), { mayRepeat: error => isLostRace(error) || again })
  }

  /** Applies the missing migrations of a part. Servers that start together wait for each other. */
  async migrate(part: string, migrations: PgMigrations): Promise<void> {
    while ((await this.#version(part)) !== migrations.length) {
      await this.transaction(session => this.#applyNext(session, part, migrations), { again: true })
    }
  }

  /** Call it once for each `open`. */
  async close(): Promise<void> {
    await this.#closed()
  }

  /** The number of migrations that a part has had. Creates their table and its row, which two servers may do at once. */
  async #version(part: string): Promise<number> {
    const made = 'CREATE TABLE IF NOT EXISTS palimpsest_schema (part text PRIMARY KEY, version integer NOT NULL)'
    const there = await this.read(`SELECT to_regclass('palimpsest_schema') IS NOT NULL AS there`)
    if (there[0]?.['there'] !== true) {
      await this.run(session => session.plain(made), { again: true }).catch(error => {
        if (!ALREADY_MADE.includes(codeOf(error))) throw error
      })
    }
    const [row] = await this.read('SELECT version FROM palimpsest_schema WHERE part = $1', [part])
    if (row) return Number(row['version'])
    await this.read('INSERT INTO palimpsest_schema (part, version) VALUES ($1, 0) ON CONFLICT DO NOTHING', [part])
    return this.#version(part)
  }

  /** Applies one migration of a part, unless another server has applied the last one meanwhile. */
  async #applyNext(session: PgSession, part: string, migrations: PgMigrations): Promise<void> {
    const timeoutMs = MIGRATION_TIMEOUT_MS
    const row = await session.row('SELECT version FROM palimpsest_schema WHERE part = $1 FOR UPDATE', [part], {
      timeoutMs,
    })
    const version = Number(row!['version'])
    if (version > migrations.length) {
      throw new PalimpsestError(
        'LEDGER_NEWER',
        `The database at ${this.place} was made by a newer version of Palimpsest (${part} ${version}, this one knows ${migrations.length}). Update Palimpsest.`,
        { place: this.place },
      )
    }
    const next = migrations[version]
    if (!next) return
    const server = await session.row(`SELECT version() AS version, ${COMMITS_EARLY} AS early`)
    if (server!['early'] === 'on') await session.plain('SET LOCAL autocommit_before_ddl = off')
    await session.plain(asSpokenBy(String(server!['version']), next[1]), { timeoutMs })
    await session.change('UPDATE palimpsest_schema SET version = $2 WHERE part = $1', [part, version + 1])
  }

  async #patiently<T>(
    work: (session: PgSession) => () => Promise<T>,
    { mayRepeat }: { mayRepeat: (error: unknown) => boolean },
  ): Promise<T> {
    const until = Date.now() + this.#timeoutMs
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      const tried = await this.#once(work)
      if ('result' in tried) return tried.result
      const { error, wasSent } = tried
      const isWorthIt = isLostRace(error) || isAway(error)
      if (!isWorthIt || (wasSent && !mayRepeat(error)) || Date.now() + pause > until) {
        throw asStoreError(error, { place: this.place, wasSent: wasSent && !isLostRace(error) })
      }
      await sleep(pause * (0.5 + Math.random() / 2))
    }
  }

  async #once<T>(
    work: (session: PgSession) => () => Promise<T>,
  ): Promise<{ result: T } | { error: unknown; wasSent: boolean }> {
    let client: PoolClient | undefined
    try {
      client = await this.#pool.connect()
    } catch (error) {
      return { error, wasSent: false }
    }
    try {
      const result = await work(new PgSession(client, { names: this.#names, timeoutMs: this.#timeoutMs }))()
      client.release()
      return { result }
    } catch (error) {
      const isUsable = !isAway(error) && (await isRolledBack(client))
      client.release(!isUsable)
      return { error, wasSent: true }
    }
  }
}

/** Whether a connection is usable after a failure: any transaction has been rolled back. */
async function isRolledBack(client: PoolClient): Promise<boolean> {
  try {
    const query: QueryConfig & { query_timeout: number } = { text: 'ROLLBACK', query_timeout: TIMEOUT_MS }
    await client.query(query)
    return true
  } catch {
    return false
  }
}

/** Whether a statement failed because the key exists already. */
export function isUniqueViolation(error: unknown): boolean {
  return codeOf(error) === UNIQUE_VIOLATION
}

const UNIQUE_VIOLATION = '23505'
/** The codes when another server creates the same table: unique violation, duplicate object, duplicate table. */
const ALREADY_MADE: unknown[] = [UNIQUE_VIOLATION, '42710', '42P07']

/** PostgreSQL's own code of a failure, even if the error was already translated. */
function codeOf(error: unknown): unknown {
  return isPalimpsestError(error) ? error.data['postgres'] : (error as { code?: unknown } | undefined)?.code
}

/** The driver takes bytes only as a Buffer. */
export function asBuffer<T extends PgValue>(value: T): T | Buffer {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.length) : value
}

/** A statement is prepared once per connection, under a name. */
class Names {
  readonly #names = new Map<string, string>()

  of(sql: string): string {
    let name = this.#names.get(sql)
    if (name === undefined) this.#names.set(sql, (name = `palimpsest-${this.#names.size}`))
    return name
  }
}
