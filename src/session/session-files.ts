/**
 * The files of a session beside the ledger: results that edits point to, and archives of texts that a summary
 * replaced. They are kept with the files of the session's user, in a folder or in a table.
 */
import type { FileStore } from '../files/store.ts'
import { ownerIn } from '../ledger/owners.ts'
import type { LedgerStore } from '../ledger/store.ts'
import { isPalimpsestError, PalimpsestError } from '../model/errors.ts'
import { isRecord, parseJson } from '../model/json.ts'
import { OVERFLOW_FILE, safeName } from '../policies/offload.ts'
import { ARCHIVE } from '../policies/summarize.ts'

/** Keeps a file under the name that the view shows. */
export async function keepFile(files: FileStore, path: string, text: string): Promise<void> {
  await files.change(path, taken => {
    if (taken === null || taken === text) return text
    throw new PalimpsestError('ALREADY', 'there is a file with this name and other content')
  })
}

/** No edit points to an archive, so an archive whose name is taken gets a number. */
export async function keepArchive(files: FileStore, path: string, text: string): Promise<void> {
  for (let n = 1; ; n++) {
    try {
      return await keepFile(files, n === 1 ? path : path.replace(/(\.\w+)$/, `_${n}$1`), text)
    } catch (error) {
      if (!isPalimpsestError(error) || error.code !== 'ALREADY') throw error
    }
  }
}

export async function filesOf(store: LedgerStore, files: FileStore, id: string): Promise<Set<string>> {
  if (!(await store.find(id))) return new Set()
  const rows = await store.read(id, { lightType: 'entry' })
  const named = rows.flatMap(({ type, body }) => (type === 'edit' ? (body?.match(OVERFLOW_FILE) ?? []) : []))
  return new Set([...named, ...(await archivesOf(files, id))])
}

/** No edit points to an archive, but the archive names its session. */
async function archivesOf(files: FileStore, id: string): Promise<string[]> {
  const names = new Set([id, ownerIn(id).name])
  const found: string[] = []
  for (const path of await files.list(ARCHIVE)) {
    if (![...names].some(name => path.startsWith(`${ARCHIVE}/${safeName(name)}`))) continue
    const archive: unknown = parseJson((await files.read(path))?.text ?? 'null')
    if (isRecord(archive) && names.has(String(archive['session']))) found.push(path)
  }
  return found
}

/** Applies `change` to the texts of files. */
export async function rewriteFiles(
  files: FileStore,
  paths: ReadonlySet<string>,
  change: (text: string) => string,
): Promise<void> {
  // An archive is JSON, so a text to redact is JSON-quoted in it at most twice.
  for (const path of paths) await files.change(path, now => (now === null ? null : change(now)))
}

type Unnamed<T> = {
  files: FileStore
  paths: ReadonlySet<string>
  /** The remaining sessions, and which of them keep their files in the same place. */
  others: AsyncIterable<T>
  isNeighbour: (session: T) => boolean
}

/** Removes the files that no session points to any more. */
export async function dropUnnamed<T extends { id: string }>(store: LedgerStore, unnamed: Unnamed<T>): Promise<void> {
  const { files, paths, others, isNeighbour } = unnamed
  const left = new Set(paths)
  if (left.size === 0) return
  for await (const session of others) {
    if (isNeighbour(session)) for (const path of await filesOf(store, files, session.id)) left.delete(path)
  }
  for (const path of left) await files.change(path, () => null)
}
