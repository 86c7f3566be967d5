/**
 * Copies the server's own state: tokens, and for a whole home also the key that signs links and the answers that are
 * kept for a day. Statistics of sessions are left out, because they are computed from the ledger.
 */
import { type CopyTally, copyRows } from '../../ledger/copy-rows.ts'
import type { Sql } from '../../ledger/sql.ts'

const OF_USERS = [
  { table: 'tokens', key: ['id'] },
  { table: 'owners', key: ['session'] },
  { table: 'told', key: ['user', 'proposal'] },
] as const
const OF_THE_HOME = [
  { table: 'secrets', key: ['name'] },
  { table: 'keys', key: ['scope', 'key'] },
] as const

export async function copyServerStore(from: Sql, to: Sql, user: string | undefined, tally: CopyTally): Promise<void> {
  const chosen = user === undefined ? {} : { where: '"user" = ?', values: [user] }
  for (const rows of OF_USERS) await copyRows(from, to, { ...rows, ...chosen }, tally)
  for (const rows of user === undefined ? OF_THE_HOME : []) await copyRows(from, to, rows, tally)
}
