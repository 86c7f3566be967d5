/**
 * Copies rows of the stores beside the ledger between databases of any kind. A row that exists already is compared
 * and never overwritten; a written row is read back. Equal rows are counted and hashed, so that two copies can be
 * compared by a number and a hash.
 */
import { createHash, type Hash } from 'node:crypto'
import { countOf, rowsOf, type Sql, type SqlRow, type SqlValue, type Steps } from './sql.ts'

export type Put = 'added' | 'same' | 'differs'

export class CopyTally {
  /** Rows or files that were missing at the target. */
  added = 0
  /** Rows or files that the target already had, with equal content. */
  already = 0
  /** Names of rows or files that differ at the target or could not be read. They were not changed. */
  readonly differing: string[] = []
  readonly #hash: Hash = createHash('sha256')

  /**
   * `what` is hashed if source and target are equal. `name` identifies the row or file and may include its location.
   */
  note(put: Put, name: string, what: string): void {
    if (put === 'differs') this.differing.push(name)
    else {
      this[put === 'added' ? 'added' : 'already']++
      this.#hash.update(`${what}\n`)
    }
  }

  /** The hash of everything that is equal now, in the order of the source. */
  get hash(): string {
    return this.#hash.copy().digest('hex')
  }
}

type RowsToCopy = {
  table: string
  key: readonly string[]
  /** The condition of the wanted rows; the default is all. */
  where?: string
  values?: readonly SqlValue[]
}

const ROWS_PER_PAGE = 200

/** Copies the rows of a table, in key order. */
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
    for (const [i, row] of page.entries()) tally.note(puts[i]!, rowName(table, row, key), rowText(row))
    if (page.length < ROWS_PER_PAGE) return
    after = valuesIn(page.at(-1)!, key)
  }
}

/** Inserts a row unless its key exists, and compares the stored row with it. */
export function* putRow(table: string, row: SqlRow, key: readonly string[]): Steps<Put> {
  const columns = Object.keys(row)
  const places = columns.map(() => '?').join(', ')
  const insert = `INSERT INTO ${table} (${columns.map(quoted).join(', ')}) VALUES (${places}) ON CONFLICT DO NOTHING`
  const added = yield* countOf(insert, valuesIn(row, columns))
  const is = key.map(column => `${quoted(column)} = ?`).join(' AND ')
  const [stored] = yield* rowsOf(
    `SELECT ${columns.map(quoted).join(', ')} FROM ${table} WHERE ${is}`,
    valuesIn(row, key),
  )
  if (!stored || rowText(stored) !== rowText(row)) return 'differs'
  return added > 0 ? 'added' : 'same'
}

function rowName(table: string, row: SqlRow, key: readonly string[]): string {
  return `${table} ${key.map(column => String(row[column])).join(' ')}`
}

/** A row that a database gives is a valid input for one. */
function valuesIn(row: SqlRow, columns: readonly string[]): SqlValue[] {
  return columns.map(column => (row[column] ?? null) as SqlValue)
}

/** A row as text, the same for every database: they differ in the order of columns, and some give digits for numbers. */
export function rowText(row: SqlRow): string {
  return JSON.stringify(
    Object.keys(row)
      .sort()
      .map(column => [column, row[column] === null ? null : String(row[column])]),
  )
}

function quoted(column: string): string {
  return `"${column}"`
}
