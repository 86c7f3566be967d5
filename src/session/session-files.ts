/** The files beside the ledger that belong to a session: results that edits point to, and archives of what a summary replaced. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ownerIn } from '../ledger/owners.ts'
import type { LedgerStore } from '../ledger/store.ts'
import { isRecord, parseJson } from '../model/json.ts'
import { OVERFLOW_FILE, safeName } from '../policies/offload.ts'
import { ARCHIVE } from '../policies/summarize.ts'

/** Their paths in the folder of the session. */
export async function filesOf(store: LedgerStore, folder: string, id: string): Promise<Set<string>> {
  if (!(await store.find(id))) return new Set()
  const rows = await store.read(id, { lightType: 'entry' })
  const named = rows.flatMap(({ type, body }) => (type === 'edit' ? (body?.match(OVERFLOW_FILE) ?? []) : []))
  return new Set([...named, ...(await archivesOf(folder, id))])
}

/** Nothing points to an archive, but it says whose it is. */
async function archivesOf(folder: string, id: string): Promise<string[]> {
  const names = new Set([id, ownerIn(id).name])
  const found: string[] = []
  for (const file of await readdir(join(folder, ARCHIVE)).catch(() => [])) {
    if (![...names].some(name => file.startsWith(safeName(name)))) continue
    const archive: unknown = parseJson(await readFile(join(folder, ARCHIVE, file), 'utf8'))
    if (isRecord(archive) && names.has(String(archive['session']))) found.push(`${ARCHIVE}/${file}`)
  }
  return found
}

/** Changes the texts of those that say something else then. */
export async function rewriteFiles(
  folder: string,
  paths: ReadonlySet<string>,
  change: (text: string) => string,
): Promise<void> {
  for (const path of paths) {
    const before = await readFile(join(folder, path), 'utf8').catch(() => '')
    // An archive is JSON; what is covered is quoted in it at most twice.
    const after = change(before)
    if (after !== before) await writeFile(join(folder, path), after, { mode: 0o600 })
  }
}

type Unnamed<T> = {
  folder: string
  paths: ReadonlySet<string>
  /** The sessions that are left, and which of them keep their files in this folder. */
  others: AsyncIterable<T>
  isNeighbour: (session: T) => boolean
}

/** Removes those files that no session points to any more. */
export async function dropUnnamed<T extends { id: string }>(store: LedgerStore, unnamed: Unnamed<T>): Promise<void> {
  const { folder, paths, others, isNeighbour } = unnamed
  const left = new Set(paths)
  if (left.size === 0) return
  for await (const session of others) {
    if (isNeighbour(session)) for (const path of await filesOf(store, folder, session.id)) left.delete(path)
  }
  for (const path of left) await rm(join(folder, path), { force: true })
}
