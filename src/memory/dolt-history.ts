/**
 * A block's versions as Dolt has them: main's commits from the newest to the oldest, each compared with the one
 * before it. What somebody committed with plain SQL is in it too. The log and `dolt_history_blocks` say where the block
 * changed, `AS OF` what it was.
 */
import type { DoltRow, DoltSession } from './dolt-connections.ts'
import { readMessage } from './dolt-names.ts'
import { toVersion } from './rows.ts'
import type { Version } from './store.ts'

type Commit = { hash: string; message: string; author: string; at: number }
type Place = { userId: string; label: string }
/** A commit that changed the block; `version` is undefined where it deleted it. */
type Step = { commit: Commit; id: string; deleted: boolean }

export async function readVersions(
  session: DoltSession,
  { userId, label }: Place,
  { limit, before, only }: { limit: number; before?: string; only?: string },
): Promise<Version[]> {
  const rows = await session.rows(
    `SELECT commit_hash, version, MD5(CONCAT_WS(CHAR(0), title, COALESCE(schema_ref, ''), body)) AS content
     FROM dolt_history_blocks WHERE user_id = ? AND label = ?`,
    [userId, label],
  )
  if (rows.length === 0) return []
  const steps = stepsOf(await readMain(session), rows)
  const from = before === undefined ? 0 : steps.findIndex(({ id }) => id === before) + 1
  const wanted =
    only === undefined ? steps.slice(from) : steps.filter(({ id, commit }) => [id, commit.hash].includes(only))
  const versions: Version[] = []
  for (const step of wanted.slice(0, limit)) versions.push(await readStep(session, step, { userId, label }))
  return versions
}

/** The commits of main, without those of the branches that were merged into it. */
async function readMain(session: DoltSession): Promise<Commit[]> {
  const rows = await session.rows(
    "SELECT commit_hash, parents, message, committer, date FROM dolt_log('main', '--parents')",
  )
  const byHash = new Map(rows.map(row => [String(row['commit_hash']), row]))
  const main: Commit[] = []
  for (let row = rows[0]; row; row = byHash.get(String(row['parents']).split(', ')[0] ?? '')) main.push(toCommit(row))
  return main
}

function stepsOf(main: readonly Commit[], rows: readonly DoltRow[]): Step[] {
  const byCommit = new Map(rows.map(row => [String(row['commit_hash']), row]))
  return main.flatMap((commit, i): Step[] => {
    const now = byCommit.get(commit.hash)
    const earlier = byCommit.get(main[i + 1]?.hash ?? '')
    const changed = now?.['version'] !== earlier?.['version'] || now?.['content'] !== earlier?.['content']
    if (!changed) return []
    if (!now) return [{ commit, id: readMessage(commit.message).fields.get('Version') ?? commit.hash, deleted: true }]
    const fresh = now['version'] !== earlier?.['version']
    return [{ commit, id: fresh ? String(now['version']) : commit.hash, deleted: false }]
  })
}

async function readStep(
  session: DoltSession,
  { commit, id, deleted }: Step,
  { userId, label }: Place,
): Promise<Version> {
  const content = deleted
    ? undefined
    : await session.row(
        `SELECT title, body, schema_ref FROM blocks AS OF '${commit.hash}' WHERE user_id = ? AND label = ?`,
        [userId, label],
      )
  const { why, fields } = readMessage(commit.message)
  return toVersion({
    ...content,
    id,
    user_id: userId,
    label,
    at: Number(fields.get('At') ?? commit.at),
    actor: fields.get('By') ?? `admin:${commit.author}`,
    action: fields.get('Action') ?? (deleted ? 'delete' : 'set'),
    why,
    proposal: fields.get('Proposal'),
    commit_hash: commit.hash,
  })
}

function toCommit(row: DoltRow): Commit {
  const date = row['date']
  return {
    hash: String(row['commit_hash']),
    message: String(row['message']),
    author: String(row['committer']),
    at: date instanceof Date ? date.getTime() : 0,
  }
}
