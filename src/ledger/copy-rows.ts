/**
 * Rows of the stores beside the ledger, copied from one database to another of whatever kind. A row that is there
 * already is compared and never overwritten; one that was written is read back. What is equal is counted and hashed, so
 * that two copies can be compared by a number and a hash.
 */
import { createHash, type Hash } from 'node:crypto'
import { countOf, rowsOf, type Sql, type SqlRow, type SqlValue, type Steps } from './sql.ts'

export type Put = 'added' | 'same' | 'differs'

/** What a copy came to. */
export class CopyTally {
  /** Rows or files that were missing at the target. */
  added = 0
  /** Those that were there already, the same. */
  already = 0
  /** Names of what is at the target with something else in it, or could not be read. Nothing of it was changed. */
  readonly differing: string[] = []
  readonly #hash: Hash = createHash('sha256')

  /** `what` is hashed where it is at the target as at the source; `name` may say where that is. */
  note(put: Put, name: string, what: string): void {
    if (put === 'differs') this.differing.push(name)
    else {
      this[put === 'added' ? 'added' : 'already']++
      this.#hash.update(`${what}\n`)
    }
  }

  /** Of everything that is equal now, in the order of the source. */
  get hash(): string {
    return this.#hash.copy().digest('hex')
  }
}

type RowsToCopy = {
  table: string
  key: readonly string[]
  /** The condition of those that are wanted; all unless given. */
  where?: string
  values?: readonly SqlValue[]
}

const ROWS_PER_PAGE = 200

/** Copies rows of a table, in the order of their key. */
export async function copyRows(from: Sql, to: Sql, rows: RowsToCopy, tally: CopyTally): Promise<void> {
  const { table, key, where = '1 = 1', values = [] } = rows
  const order = key.map(quoted).join(', ')
  for (let after: SqlValue[] | undefined; ; ) {
    const beyond = after ? ` AND (${order}) > (${after.map(() => '?').join(', ')})` : ''
    const sql = `SELECT * FROM ${table} WHERE ${where}${beyond} ORDER BY ${order} LIMIT ${ROWS_PER_PAGE}`
    const page = await from.all(sql, [...values, ...(after ?? [])])
    const puts = await to.transaction(function* () {
      const done: Put[] = []
      for (const row of page) done.push(yield* putRow(table, row, key))
      return done
    })
    for (const [i, row] of page.entries()) tally.note(puts[i]!, nameOf(table, row, key), textOf(row))
    const last = page.at(-1)
    if (!last || page.length < ROWS_PER_PAGE) return
    after = valuesIn(last, key)
  }
}

/** Writes a row where none of its key is, and says how it is there now. */
export function* putRow(table: string, row: SqlRow, key: readonly string[]): Steps<Put> {
  const columns = Object.keys(row)
  const places = columns.map(() => '?').join(', ')
  const insert = `INSERT INTO ${table} (${columns.map(quoted).join(', ')}) VALUES (${places}) ON CONFLICT DO NOTHING`
  const added = yield* countOf(insert, valuesIn(row, columns))
  const is = key.map(column => `${quoted(column)} = ?`).join(' AND ')
  const [there] = yield* rowsOf(
    `SELECT ${columns.map(quoted).join(', ')} FROM ${table} WHERE ${is}`,
    valuesIn(row, key),
  )
  if (!there || textOf(there) !== textOf(row)) return 'differs'
  return added > 0 ? 'added' : 'same'
}

export function nameOf(table: string, row: SqlRow, key: readonly string[]): string {
  return `${table} ${key.map(column => String(row[column])).join(' ')}`
}

/** A database gives back what it takes. */
function valuesIn(row: SqlRow, columns: readonly string[]): SqlValue[] {
  return columns.map(column => (row[column] ?? null) as SqlValue)
}

/** A row as text, whichever database it is from: one gives numbers where the other gives their digits. */
export function textOf(row: SqlRow): string {
  return JSON.stringify(Object.keys(row).map(column => [column, row[column] === null ? null : String(row[column])]))
}

function quoted(column: string): string {
  return `"${column}"`
}
