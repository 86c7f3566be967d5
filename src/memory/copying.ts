/**
 * Copies memory from one database to another: blocks with all their versions, and proposals.
 *
 * A block is continued if its versions at the target are the first of those at the source. A block that was changed
 * at the target is left as it is and named; so is a proposal that differs.
 */
import { type CopyTally, copyRows, putRow, rowText } from '../ledger/copy-rows.ts'
import { countOf, rowsOf, type Sql, type SqlRow, type Steps } from '../ledger/sql.ts'

type Block = { user: string; label: string }

/** The users who have anything in memory, by name. */
export async function memoryUsers(from: Sql): Promise<string[]> {
  const rows = await from.all('SELECT user_id FROM versions UNION SELECT user_id FROM proposals ORDER BY user_id')
  return rows.map(row => String(row['user_id']))
}

export async function copyMemory(from: Sql, to: Sql, user: string, tally: CopyTally): Promise<void> {
  const labels = await from.all('SELECT DISTINCT label FROM versions WHERE user_id = ? ORDER BY label', [user])
  for (const row of labels) await copyBlock(from, to, { user, label: String(row['label']) }, tally)
  const proposals = { table: 'proposals', key: ['user_id', 'id'], where: 'user_id = ?', values: [user] }
  await copyRows(from, to, proposals, tally)
}

async function copyBlock(from: Sql, to: Sql, { user, label }: Block, tally: CopyTally): Promise<void> {
  const own = [user, label]
  const rows = await from.all('SELECT * FROM versions WHERE user_id = ? AND label = ? ORDER BY number', own)
  const versions = rows.map(({ seq: _, ...version }) => version)
  const now = await from.get(
    'SELECT v.id FROM blocks b JOIN versions v ON v.seq = b.seq WHERE b.user_id = ? AND b.label = ?',
    own,
  )
  const added = await to.transaction(function* (): Steps<number | undefined> {
    const there = yield* rowsOf('SELECT id FROM versions WHERE user_id = ? AND label = ? ORDER BY number', own)
    if (there.some(({ id }, i) => id !== versions[i]?.['id'])) return undefined
    for (const version of versions) if ((yield* putRow('versions', version, KEY)) === 'differs') return undefined
    yield* pointTo(own, now)
    return versions.length - there.length
  })
  const name = `block ${label} of ${user}`
  for (const [i, version] of versions.entries()) {
    const isNew = added !== undefined && i >= versions.length - added
    if (added !== undefined) tally.note(isNew ? 'added' : 'same', name, rowText(version))
  }
  if (added === undefined) tally.note('differs', name, '')
}

const KEY = ['user_id', 'label', 'id']

/** Points the block to that version, or removes it if there is none. */
function* pointTo(own: readonly string[], version: SqlRow | undefined): Steps<void> {
  yield* countOf('DELETE FROM blocks WHERE user_id = ? AND label = ?', own)
  if (!version) return
  const newest = 'SELECT user_id, label, seq FROM versions WHERE user_id = ? AND label = ? AND id = ?'
  yield* countOf(`INSERT INTO blocks (user_id, label, seq) ${newest}`, [...own, String(version['id'])])
}
