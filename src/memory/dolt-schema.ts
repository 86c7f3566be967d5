/**
 * The tables on Dolt, and their repair after changes from outside.
 *
 * `blocks` and `proposals` are versioned: a proposal's branch has its row in both, and a decision brings the row to
 * main. `open_proposals` is not versioned (Dolt ignores it): it is an index in main's working set, so that a user's
 * open proposals are found without reading other users' branches. It can be rebuilt from the branches.
 */
import { PalimpsestError } from '../model/errors.ts'
import { type DoltConnections, type DoltRow, type DoltSession, untilWon } from './dolt-connections.ts'
import { authorOf, idInBranch, noteMessage, timeOfId } from './dolt-names.ts'

const NAME = 'VARCHAR(100) COLLATE utf8mb4_0900_bin NOT NULL'
const ID = 'VARCHAR(60) COLLATE utf8mb4_0900_bin'
const PROPOSAL = `user_id ${NAME}, id ${ID} NOT NULL, label ${NAME}, kind VARCHAR(20) NOT NULL, state VARCHAR(20) NOT NULL,
  base_version ${ID}, base_title TEXT, base_body LONGTEXT, title TEXT NOT NULL, body LONGTEXT NOT NULL,
  agent_id ${NAME}, reasoning TEXT NOT NULL, confidence VARCHAR(20) NOT NULL, entries TEXT NOT NULL,
  created_at BIGINT NOT NULL, decided_at BIGINT, decided_by VARCHAR(120), decided_why TEXT,
  before_version ${ID}, after_version ${ID}, decision ${ID}, PRIMARY KEY (user_id, id)`

/** Named steps, applied in order; append only. */
const MIGRATIONS: readonly [name: string, statements: string[]][] = [
  [
    'blocks, proposals',
    [
      `CREATE TABLE IF NOT EXISTS blocks (user_id ${NAME}, label ${NAME}, title TEXT NOT NULL, body LONGTEXT NOT NULL,
         schema_ref LONGTEXT, updated_at BIGINT NOT NULL, version ${ID} NOT NULL, PRIMARY KEY (user_id, label))`,
      `CREATE TABLE IF NOT EXISTS proposals (${PROPOSAL}, KEY in_state (user_id, state, id))`,
      `INSERT IGNORE INTO dolt_ignore VALUES ('open_proposals', true)`,
    ],
  ],
  ['operation of a proposal', ['ALTER TABLE proposals ADD COLUMN operation LONGTEXT']],
]

/** After this time, a branch without its commit counts as abandoned. */
const HALF_MADE_MS = 10 * 60_000

/** Creates the database and its tables if they are missing, and repairs the index of open proposals. */
export async function prepareDolt(connections: DoltConnections, clock: () => number): Promise<void> {
  await connections.run(null, session => session.plain(`CREATE DATABASE IF NOT EXISTS \`${connections.database}\``))
  await untilWon(() => connections.run('main', migrate))
  await repair(connections, clock())
}

async function migrate(session: DoltSession): Promise<void> {
  await session.plain(`CREATE TABLE IF NOT EXISTS migrations (step INT PRIMARY KEY, name VARCHAR(100) NOT NULL)`)
  await session.plain(`CREATE TABLE IF NOT EXISTS open_proposals (${PROPOSAL})`)
  const done = Number((await session.row('SELECT COUNT(*) AS n FROM migrations'))?.['n'])
  if (done > MIGRATIONS.length) {
    throw new PalimpsestError(
      'LEDGER_NEWER',
      `The Dolt database was made by a newer version of Palimpsest (schema ${done}, this one knows ${MIGRATIONS.length}). Update Palimpsest.`,
    )
  }
  if (done === MIGRATIONS.length) return matchIndex(session)
  for (const [step, [name, statements]] of MIGRATIONS.entries()) {
    if (step < done) continue
    for (const sql of statements) await unlessThere(session, sql)
    await session.change('INSERT IGNORE INTO migrations VALUES (?, ?)', [step + 1, name])
  }
  await commitIfAny(session, 'Tables for memory blocks and proposals')
  await matchIndex(session)
}

/** The index is not versioned: it may have the columns of the first migration, or be new. */
async function matchIndex(session: DoltSession): Promise<void> {
  if (await session.row("SHOW COLUMNS FROM open_proposals LIKE 'operation'")) return
  await unlessThere(session, 'ALTER TABLE open_proposals ADD COLUMN operation LONGTEXT')
}

/** Ignores the error if another process has just added it. */
async function unlessThere(session: DoltSession, sql: string): Promise<void> {
  try {
    await session.plain(sql)
  } catch (error) {
    if (!(error instanceof Error && /already exists/i.test(error.message))) throw error
  }
}

/**
 * Repairs the index after a crash between two steps, or after work with plain `dolt`: a branch missing in the index is
 * added, one whose proposal is decided or unfinished is deleted, a proposal whose branch was merged is approved, and
 * one whose branch was deleted is rejected.
 */
async function repair(connections: DoltConnections, now: number): Promise<void> {
  const apart = (work: (session: DoltSession) => Promise<void>) => untilWon(() => connections.run('main', work))
  await apart(session => closeMerged(session, now))
  const { known, branches, decided } = await connections.run('main', readState)
  const indexed = idsOf(known)
  for (const [id, branch] of branches) {
    if (decided.has(id)) await apart(session => dropBranch(session, branch))
    else if (!indexed.has(id)) await apart(session => adopt(session, branch, id, now))
  }
  for (const row of known) {
    if (!branches.has(String(row['id']))) await apart(session => closeDeleted(session, row, now, decided))
  }
}

/**
 * The order matters because others work meanwhile: a branch is created before its row in the index, and its decision
 * is recorded before it is deleted.
 */
async function readState(session: DoltSession) {
  const known = await session.rows('SELECT user_id, id FROM open_proposals')
  const names = await session.rows("SELECT name FROM dolt_branches WHERE name LIKE 'agent/%'")
  const decided = idsOf(await session.rows("SELECT id FROM proposals WHERE state <> 'open'"))
  const branches = new Map<string, string>()
  for (const { name } of names) {
    const id = idInBranch(String(name))
    if (id) branches.set(id, String(name))
  }
  return { known, branches, decided }
}

/** Deletes a branch that may already be gone. */
export async function dropBranch(session: DoltSession, branch: string): Promise<void> {
  try {
    await session.call('BRANCH', '-D', branch)
  } catch (error) {
    if (!(error instanceof Error && /not found/i.test(error.message))) throw error
  }
}

/** Closes "open" rows on main: they came with a branch that somebody merged by hand. */
async function closeMerged(session: DoltSession, now: number): Promise<void> {
  const merged = await session.rows(
    "SELECT p.id, p.label, p.user_id, b.version FROM proposals p LEFT JOIN blocks b ON b.user_id = p.user_id AND b.label = p.label WHERE p.state = 'open'",
  )
  if (merged.length === 0) return
  await session.plain('START TRANSACTION')
  for (const row of merged) {
    const [user, id] = [String(row['user_id']), String(row['id'])]
    await session.change(
      `UPDATE proposals SET state = 'approved', decided_at = ?, decided_by = ?, decided_why = 'merged with dolt',
         before_version = base_version, after_version = ? WHERE user_id = ? AND id = ?`,
      [now, `user:${user}`, row['version'] ? String(row['version']) : id, user, id],
    )
    await session.change('DELETE FROM open_proposals WHERE user_id = ? AND id = ?', [user, id])
  }
  await commitIfAny(session, 'Record proposals that were merged with dolt')
}

async function adopt(session: DoltSession, branch: string, id: string, now: number): Promise<void> {
  const [row] = await session.rows(`SELECT * FROM proposals AS OF '${branch}' WHERE id = ?`, [id])
  if (row) {
    // A branch has the columns of the time when it was made.
    const columns = Object.keys(row).join(', ')
    await session.change(
      `INSERT IGNORE INTO open_proposals (${columns}) SELECT ${columns} FROM proposals AS OF '${branch}' WHERE user_id = ? AND id = ?`,
      [String(row['user_id']), id],
    )
  } else if (now - timeOfId(id) > HALF_MADE_MS) await dropBranch(session, branch)
}

async function closeDeleted(
  session: DoltSession,
  row: DoltRow,
  now: number,
  decided: ReadonlySet<string>,
): Promise<void> {
  const [user, id] = [String(row['user_id']), String(row['id'])]
  await session.plain('START TRANSACTION')
  if (!decided.has(id)) {
    await session.change('INSERT IGNORE INTO proposals SELECT * FROM open_proposals WHERE user_id = ? AND id = ?', [
      user,
      id,
    ])
    await session.change(
      `UPDATE proposals SET state = 'rejected', decided_at = ?, decided_by = ?, decided_why = 'branch deleted with dolt' WHERE user_id = ? AND id = ?`,
      [now, `user:${user}`, user, id],
    )
  }
  await session.change('DELETE FROM open_proposals WHERE user_id = ? AND id = ?', [user, id])
  await commitIfAny(session, 'Record a proposal whose branch was deleted with dolt')
}

async function commitIfAny(session: DoltSession, why: string): Promise<void> {
  const message = noteMessage({ at: 0, by: 'admin:palimpsest', action: 'set', why }, [])
  try {
    await session.commit(message, authorOf('admin:palimpsest'), { newTables: true })
  } catch (error) {
    if (!(error instanceof Error && /nothing to commit/i.test(error.message))) throw error
    await session.plain('COMMIT')
  }
}

function idsOf(rows: readonly DoltRow[]): Set<string> {
  return new Set(rows.map(row => String(row['id'])))
}
