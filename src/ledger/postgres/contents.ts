/** Large texts in PostgreSQL, stored as bytes: our texts may contain a NUL, which PostgreSQL's text type may not. */
import type { PgRow, PgValue } from './database.ts'

type Rows = { rows(sql: string, values: readonly PgValue[]): Promise<PgRow[]> }

/** The texts that exist, in the order asked for. */
export async function contentsIn(session: Rows, hashes: readonly string[]): Promise<Map<string, string>> {
  if (hashes.length === 0) return new Map()
  const sql = 'SELECT hash, text FROM contents WHERE hash = ANY($1::text[])'
  const rows = await session.rows(sql, [[...new Set(hashes)]])
  const found = new Map(rows.map(row => [String(row['hash']), String(row['text'])]))
  return new Map(hashes.flatMap(hash => (found.has(hash) ? [[hash, found.get(hash)!]] : [])))
}
