/**
 * A block's versions from Dolt: the commits of main from newest to oldest, and the block `AS OF` each commit that may
 * have touched it. Our commits name the blocks that they touched, so other blocks' commits cost nothing; commits made
 * with plain SQL, or merged by hand, are read and found too.
 */
import { codeOf } from '../files/root.ts'
import type { DoltRow, DoltSession } from './dolt-connections.ts'
import { mayTouch, readMessage } from './dolt-names.ts'
import { toVersion } from './rows.ts'
import type { Version } from './store.ts'

type Commit = { hash: string; message: string; author: string; at: number }
type Place = { userId: string; label: string }
type Page = { limit: number; before?: string; only?: string }

export async function readVersions(
  session: DoltSession,
  place: Place,
  { limit, before, only }: Page,
): Promise<Version[]> {
  const versions: Version[] = []
  let waiting = before
  for await (const version of changesOf(session, place)) {
    const names = [version.id, version.commit]
    if (only !== undefined && !names.includes(only)) continue
    if (waiting === undefined) versions.push(version)
    else if (names.includes(waiting)) waiting = undefined
    if (versions.length >= limit) break
  }
  return versions
}

/** Newest first. */
async function* changesOf(session: DoltSession, place: Place): AsyncGenerator<Version> {
  const main = await readMain(session)
  const candidates = main.filter(({ message }) => mayTouch(message, place))
  let now = candidates[0] && (await blockAt(session, candidates[0], place))
  for (const [i, commit] of candidates.entries()) {
    const next = candidates[i + 1]
    const earlier = next && (await blockAt(session, next, place))
    if (!isSame(now, earlier)) yield asVersion(commit, place, { now, earlier })
    now = earlier
  }
}

/** The commits of main, without those of branches merged into it. */
async function readMain(session: DoltSession): Promise<Commit[]> {
  const rows = await session.rows(
    "SELECT commit_hash, parents, message, committer, date FROM dolt_log('main', '--parents')",
  )
  const byHash = new Map(rows.map(row => [String(row['commit_hash']), row]))
  const main: Commit[] = []
  for (let row = rows[0]; row; row = byHash.get(String(row['parents']).split(', ')[0] ?? '')) main.push(toCommit(row))
  return main
}

/** The block at a commit; `undefined` if it did not exist, or before there were tables. */
async function blockAt(session: DoltSession, { hash }: Commit, { userId, label }: Place): Promise<DoltRow | undefined> {
  const sql = `SELECT title, body, schema_ref, version FROM blocks AS OF '${hash}' WHERE user_id = ? AND label = ?`
  try {
    return await session.row(sql, [userId, label])
  } catch (error) {
    if (codeOf(error) === 'ER_NO_SUCH_TABLE') return undefined
    throw error
  }
}

function isSame(a: DoltRow | undefined, b: DoltRow | undefined): boolean {
  if (!a || !b) return a === b
  return ['version', 'title', 'body', 'schema_ref'].every(column => a[column] === b[column])
}

function asVersion(
  commit: Commit,
  { userId, label }: Place,
  { now, earlier }: { now: DoltRow | undefined; earlier: DoltRow | undefined },
): Version {
  const { why, fields } = readMessage(commit.message)
  const known = now ? now['version'] : fields.get('Version')
  return toVersion({
    ...now,
    id: known === undefined || known === earlier?.['version'] ? commit.hash : String(known),
    user_id: userId,
    label,
    at: Number(fields.get('At') ?? commit.at),
    actor: fields.get('By') ?? `admin:${commit.author}`,
    action: fields.get('Action') ?? (now ? 'set' : 'delete'),
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
