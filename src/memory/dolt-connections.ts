/**
 * Connections to a Dolt server, each used for one piece of work with a deadline.
 *
 * Every call answers in bounded time: a connection that is late is destroyed, never put back. One that died while
 * idle (because the server was restarted) is replaced before any work is done on it. Values are passed as parameters,
 * so they are never part of a statement's text.
 */
import { createPool, type Pool, type PoolConnection, type ResultSetHeader, type RowDataPacket } from 'mysql2/promise'
import { codeOf } from '../files/root.ts'
import { type ErrorCode, isPalimpsestError, PalimpsestError } from '../model/errors.ts'

export type DoltOptions = {
  /** `mysql://user:password@host:port/database`. */
  url: string
  /** How long a call may take at most. */
  timeoutMs?: number
  connections?: number
}

type DoltValue = string | number | null
export type DoltRow = Record<string, unknown>

/** A transaction that lost against another one; it had no effect. */
export class LostRace extends Error {}

export class DoltConnections {
  readonly database: string
  readonly #pool: Pool
  readonly #timeoutMs: number
  readonly #place: string

  constructor({ url, timeoutMs = 10_000, connections = 10 }: DoltOptions) {
    const { host, port, user, password, database } = readUrl(url)
    this.database = database
    this.#timeoutMs = timeoutMs
    this.#place = `${host}:${port}`
    this.#pool = createPool({
      ...{ host, port, user, password, connectionLimit: connections, connectTimeout: timeoutMs },
      ...{ charset: 'utf8mb4', timezone: 'Z', enableKeepAlive: true, maxPreparedStatements: 100 },
    })
  }

  /** Runs work on one connection, on a branch or (`null`) without a database. */
  async run<T>(branch: string | null, work: (session: DoltSession) => Promise<T>): Promise<T> {
    const { deadline, clear } = this.#deadline()
    let connection: PoolConnection | undefined
    try {
      connection = await this.#connect(branch, deadline)
      const result = await Promise.race([work(new DoltSession(connection, this.database)), deadline])
      connection.release()
      return result
    } catch (error) {
      const known = this.#asStoreError(error)
      if (known instanceof LostRace) await giveBack(connection, deadline)
      else connection?.destroy()
      throw known
    } finally {
      clear()
    }
  }

  async close(): Promise<void> {
    const { deadline, clear } = this.#deadline()
    await Promise.race([this.#pool.end(), deadline]).catch(() => {})
    clear()
  }

  /** A connection that answers. Connections that the server has closed are thrown away. */
  async #connect(branch: string | null, deadline: Promise<never>): Promise<PoolConnection> {
    for (let attempt = 0; ; attempt++) {
      const waiting = this.#pool.getConnection()
      const connection = await Promise.race([waiting, deadline]).catch(error => {
        waiting.then(late => late.destroy()).catch(() => {})
        throw error
      })
      try {
        const first = branch === null ? 'SELECT 1' : `USE ${branchName(this.database, branch)}`
        await Promise.race([connection.query(first), deadline])
        return connection
      } catch (error) {
        connection.destroy()
        if (attempt >= MAX_ATTEMPTS || !isLost(error)) throw error
      }
    }
  }

  #deadline(): { deadline: Promise<never>; clear: () => void } {
    const { promise, reject } = Promise.withResolvers<never>()
    promise.catch(() => {})
    const late = () =>
      new PalimpsestError(
        'STORE_UNAVAILABLE',
        `The Dolt server at ${this.#place} did not answer within ${this.#timeoutMs} ms. A write may have happened: check before you try again.`,
        { place: this.#place },
      )
    const timer = setTimeout(() => reject(late()), this.#timeoutMs)
    return { deadline: promise, clear: () => clearTimeout(timer) }
  }

  #asStoreError(error: unknown): unknown {
    if (!(error instanceof Error) || isPalimpsestError(error) || error instanceof LostRace) return error
    const code = codeOf(error) ?? ''
    if (code === 'ER_LOCK_DEADLOCK') return new LostRace(error.message, { cause: error })
    const [name, message] = wordsFor(code, error.message, this.#place)
    return new PalimpsestError(name, message, { dolt: error.message, place: this.#place }, error)
  }
}

export class DoltSession {
  readonly #connection: PoolConnection
  readonly #database: string

  constructor(connection: PoolConnection, database: string) {
    this.#connection = connection
    this.#database = database
  }

  async rows(sql: string, values: readonly DoltValue[] = []): Promise<DoltRow[]> {
    const [rows] = await this.#connection.execute<RowDataPacket[]>(sql, [...values])
    return rows
  }

  async row(sql: string, values: readonly DoltValue[] = []): Promise<DoltRow | undefined> {
    return (await this.rows(sql, values))[0]
  }

  /** The number of rows that the statement found to change. */
  async change(sql: string, values: readonly DoltValue[] = []): Promise<number> {
    const [result] = await this.#connection.execute<ResultSetHeader>(sql, [...values])
    return result.affectedRows
  }

  /** One of Dolt's own procedures. */
  async call(name: 'BRANCH' | 'MERGE' | 'COMMIT', ...values: string[]): Promise<void> {
    await this.#connection.execute(`CALL DOLT_${name}(${values.map(() => '?').join(', ')})`, values)
  }

  /**
   * Ends a transaction with a Dolt commit of all changes. The second statement tells the server that the transaction
   * is over: without it the connection stays in the transaction, and sees and saves nothing new.
   */
  async commit(message: string, author: string, { newTables = false } = {}): Promise<void> {
    await this.call('COMMIT', newTables ? '-A' : '-a', '-m', message, '--author', author)
    await this.plain('COMMIT')
  }

  async use(branch: string): Promise<void> {
    await this.#connection.query(`USE ${branchName(this.#database, branch)}`)
  }

  /** A statement without values; some cannot be prepared. */
  async plain(sql: string): Promise<void> {
    await this.#connection.query(sql)
  }
}

const MAX_ATTEMPTS = 20

/** Retries work that lost against another process. */
export async function untilWon(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      const isLost = error instanceof LostRace || codeOf(error) === 'ER_LOCK_DEADLOCK'
      if (!isLost || attempt === MAX_ATTEMPTS) throw error
    }
  }
}

/** After a lost race, a connection is usable again once its transaction is over. */
async function giveBack(connection: PoolConnection | undefined, deadline: Promise<never>): Promise<void> {
  try {
    if (connection) await Promise.race([connection.query('ROLLBACK'), deadline])
    connection?.release()
  } catch {
    connection?.destroy()
  }
}

/** Quotes the name of a branch; refuses a name with characters that need escaping. */
function branchName(database: string, branch: string): string {
  if (!/^[\w=/-]+$/.test(branch))
    throw new PalimpsestError('INVALID_INPUT', `${branch} is not a branch made by Palimpsest.`)
  return `\`${database}/${branch}\``
}

function readUrl(text: string): { host: string; port: number; user: string; password: string; database: string } {
  const url = URL.parse(text)
  const database = decodeURIComponent(url?.pathname.slice(1) ?? '') || 'palimpsest'
  if (!url || !['mysql:', 'dolt:'].includes(url.protocol) || !/^\w[\w-]{0,60}$/.test(database)) {
    throw new PalimpsestError(
      'CONFIG_INVALID',
      'The address of a Dolt server looks like mysql://user:password@host:3306/palimpsest.',
    )
  }
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || 3306),
    user: decodeURIComponent(url.username) || 'root',
    password: decodeURIComponent(url.password),
    database,
  }
}

const LOST = ['PROTOCOL_CONNECTION_LOST', 'ECONNRESET', 'EPIPE', 'ECONNABORTED']

function isLost(error: unknown): boolean {
  return error instanceof Error && (LOST.includes(codeOf(error) ?? '') || error.message.includes('closed state'))
}

function wordsFor(code: string, message: string, place: string): [ErrorCode, string] {
  if (code === 'ECONNREFUSED') {
    return ['STORE_UNAVAILABLE', `No Dolt server answers at ${place}. Start one with: palimpsest dolt start`]
  }
  if (code.startsWith('E') && !code.startsWith('ER_')) {
    return ['STORE_UNAVAILABLE', `The connection to the Dolt server at ${place} failed (${code}). Try again.`]
  }
  if (LOST.includes(code) || message.includes('closed state')) {
    return [
      'STORE_UNAVAILABLE',
      `The Dolt server at ${place} closed the connection. A write may have happened: check before you try again.`,
    ]
  }
  if (code === 'ER_ACCESS_DENIED_ERROR')
    return ['STORE_FAILED', `The Dolt server at ${place} refuses this user or password.`]
  if (/read.?only/i.test(message)) return ['STORE_READONLY', `The Dolt server at ${place} is read-only.`]
  return ['STORE_FAILED', `The Dolt server at ${place} reports: ${message}`]
}
