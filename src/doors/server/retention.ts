/**
 * Removes sessions by the rules of retention: archives them first if configured, then deletes them. The archive of a
 * session is its export, compressed, in a folder of its owner; `palimpsest import` restores the session from it.
 */
import { createHash } from 'node:crypto'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { removeUserFolder, renameUserFolders } from '../../files/folder.ts'
import { ownerIn, userFolder } from '../../ledger/owners.ts'
import { amount } from '../../model/text.ts'
import { safeName } from '../../policies/offload.ts'
import type { Palimpsest, SessionInfo } from '../../session/engine.ts'
import { everySession } from '../../session/every-session.ts'
import { type Retention, type Retired, toRetire } from '../../session/retention.ts'
import { EXPORT, exportSession } from '../../session/whole-session.ts'
import type { ServerStore } from './server-store.ts'

const pack = promisify(gzip)
/** The number of sessions that are archived, then deleted together. */
const BATCH = 50

export async function retiredNow(pal: Palimpsest, rules: Retention['rules'], now: number): Promise<Retired[]> {
  const sessions: SessionInfo[] = []
  for await (const info of everySession(pal)) sessions.push(info)
  return toRetire(sessions, rules, { now, sizeOf: async ({ id }) => sizeOf(pal, id) })
}

async function sizeOf(pal: Palimpsest, id: string): Promise<number> {
  const session = await pal.session(id, { mustExist: true, asGuest: true })
  return Buffer.byteLength(JSON.stringify(await session.events()))
}

type Retiring = { archive?: string | undefined; step?: (session: string) => void }

export async function retire(
  { pal, store }: { pal: Palimpsest; store: ServerStore },
  retired: readonly Retired[],
  { archive, step = () => {} }: Retiring,
): Promise<void> {
  if (archive !== undefined) await renameUserFolders(archive)
  for (let from = 0; from < retired.length; from += BATCH) {
    const ids: string[] = []
    for (const { info } of retired.slice(from, from + BATCH)) {
      step(info.id)
      if (archive !== undefined) await archiveSession(pal, info.id, archive)
      // A session that was used or deleted meanwhile is skipped.
      if ((await pal.find(info.id))?.length === info.length) ids.push(info.id)
    }
    await pal.remove(ids, { by: 'admin:retention', more: from + BATCH < retired.length })
    await store.forgetSessions(ids)
  }
}

async function archiveSession(pal: Palimpsest, id: string, archive: string): Promise<void> {
  const whole = await exportSession(pal, id)
  const path = `${archivePath(archive, id)}${stamp(whole.updatedAt)}.json.gz`
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const part = `${path}.part`
  await writeFile(part, await pack(JSON.stringify({ ...EXPORT, sessions: [whole] })), { mode: 0o600, flush: true })
  await rename(part, path)
}

/** The beginning of the path of every archive of a session; no two sessions share one. */
function archivePath(archive: string, id: string): string {
  const { owner, name } = ownerIn(id)
  const folder = owner === undefined ? archive : userFolder(archive, owner)
  return join(folder, `${safeName(name)}-${createHash('sha256').update(id).digest('hex').slice(0, 16)}-`)
}

function stamp(at: number): string {
  return new Date(at).toISOString().replaceAll(/[-:]|\.\d+/g, '')
}

/** Deletes the archives of permanently deleted sessions. */
export async function dropArchives(archive: string | undefined, ids: readonly string[]): Promise<void> {
  if (archive === undefined) return
  await renameUserFolders(archive)
  for (const id of ids) {
    const path = archivePath(archive, id)
    for (const file of await readdir(dirname(path)).catch(() => []))
      if (join(dirname(path), file).startsWith(path)) await rm(join(dirname(path), file), { force: true })
  }
}

export async function dropArchivesOf(archive: string | undefined, user: string): Promise<void> {
  if (archive !== undefined) await removeUserFolder(archive, user)
}

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * Runs at the start of a server and then once a day, until the returned function is called. Other servers may run it
 * too.
 */
export function keepRetention(
  keepers: { pal: Palimpsest; store: ServerStore },
  { clock = Date.now, log }: { clock?: () => number; log: (line: string) => void },
): () => Promise<void> {
  const { pal } = keepers
  let running = Promise.resolve()
  const round = async () => {
    const { retention } = pal.settings
    if (!retention) return
    const retired = await retiredNow(pal, retention.rules, clock())
    await retire(keepers, retired, retention)
    if (retired.length === 0) return
    const what = retention.archive === undefined ? 'deleted' : `archived in ${retention.archive} and deleted`
    log(`Retention: ${amount(retired.length, 'session')} ${what}.`)
  }
  const start = () => {
    running = running.then(round).catch(error => log(`Retention failed: ${error}`))
  }
  start()
  const timer = setInterval(start, DAY_MS)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await running
  }
}
