/** The list of sessions in a SQLite ledger, most recently used first: read from an index, page by page. */
import type { SqlValue } from './database.ts'
import { ownerPrefix } from './owners.ts'
import { OWN } from './sqlite-index.ts'
import type { ListOptions, SessionRow } from './store.ts'

/** The prefix of an owner's session ids (owners.ts); empty for a session of the home itself. */
export const ownerOf = (id: string) =>
  `CASE WHEN substr(${id}, 1, 1) = '@' THEN substr(${id}, 1, instr(${id}, '/')) ELSE '' END`

/**
 * The time of a session's last use, by a seek in the key of `events`: that of its last event, or of its creation if that
 * was later (a fork has older events of its parent once the parent is removed). The column that orders the list is
 * updated later.
 */
export const LAST_USE = `max(s.created_at, coalesce((SELECT at FROM events WHERE ${OWN} ORDER BY id DESC LIMIT 1), 0))`

export const SESSION = `SELECT s.key, s.id, s.fork_seq, s.created_at, ${LAST_USE} AS updated_at, s.meta, p.id AS parent_id,
    coalesce((SELECT max(id) FROM events WHERE ${OWN}) & 0xffffffff, s.fork_seq, -1) + 1 AS length
  FROM sessions s LEFT JOIN sessions p ON p.key = s.parent`

type Wanted = Required<Pick<ListOptions, 'limit' | 'prefix'>> & {
  anchor: SessionRow | undefined
  contains: string | undefined
  changedWithin?: number | undefined
}

export const MINUTE_NOW = 'unixepoch() / 60'

/**
 * The statement contains only the conditions that were asked for, so that the list is read from an index, in order,
 * up to its limit.
 */
export function listStatement({ limit, anchor, contains, prefix, changedWithin }: Wanted): {
  sql: string
  values: SqlValue[]
} {
  const owner = ownerPrefix(prefix) || undefined
  const conditions: string[] = []
  const values: SqlValue[] = []
  const add = (sql: string, ...given: SqlValue[]) => {
    conditions.push(sql)
    values.push(...given)
  }
  if (owner !== undefined) add(`${ownerOf('s.id')} = ?`, owner)
  if (prefix !== (owner ?? '')) add('substr(s.id, 1, length(?)) = ?', prefix, prefix)
  // Pages follow the column that orders the list. It does not have the latest uses yet, so a walk over all pages
  // ends.
  if (anchor) add('(s.updated_at, s.id) < (SELECT updated_at, id FROM sessions WHERE id = ?)', anchor.id)
  if (changedWithin !== undefined) add(`s.changed_minute >= ${MINUTE_NOW} - ?`, Math.ceil(changedWithin / 60_000))
  if (contains !== undefined) {
    add('(instr(substr(s.id, length(?) + 1), ?) > 0 OR instr(s.meta, ?) > 0)', prefix, contains, contains)
  }
  const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''
  return { sql: `${SESSION} ${where} ORDER BY s.updated_at DESC, s.id DESC LIMIT ?`, values: [...values, limit] }
}
