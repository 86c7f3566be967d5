/**
 * Reading a file whole and changing it whole: every change is read, computed and written under the file's lock,
 * and becomes visible at once or not at all.
 *
 * Guarantee: a file is always an old or a new version, never a mix, even if the process or the machine stops; no
 * acknowledged change by these functions is lost to another one; mode and owner stay. The replaced text is in the
 * journal before the change is visible. A writer that does not lock is noticed by content hash until just before the
 * rename; then the change is computed again on the present text.
 */

import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { access, type FileHandle, link, lstat, open, readdir, realpath, rename, unlink } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { PalimpsestError } from '../model/errors.ts'
import { withCommas } from '../model/text.ts'
import { type FileJournal, hashContent } from './journal.ts'
import { withLocks } from './lock.ts'
import {
  codeOf,
  type Folder,
  ignoreMissing,
  keyBelow,
  notFound,
  openFile,
  openRoot,
  type Place,
  type Where,
  withPlace,
} from './root.ts'
import type { FileStore } from './store.ts'
import { decodeText, MAX_FILE_BYTES } from './text.ts'

/** A file as it was read. */
export type Found = { text: string; bytes: number; hash: string; mode: number; uid: number; gid: number }

/** A file that was read, with its path in the journal. */
export type Whole = Pick<Found, 'text' | 'bytes' | 'hash'> & { key: string }

export type Changed = {
  /** The file's path in the journal. */
  key: string
  /** null: there was no file. */
  before: string | null
  /** null: the file was removed. */
  after: string | null
}

type ChangeOptions = {
  journal?: FileJournal
  intent?: string
  /** Makes a new file readable only by its owner. */
  isPrivate?: boolean
}

const MAX_ATTEMPTS = 50
const TEMPORARY = /^\.palimpsest-(\d+)-[0-9a-f]{16}\.tmp$/
const SWEEP_EVERY_MS = 30_000
const ABANDONED_AFTER_MS = 3_600_000
const CREATE_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0)

/** Whether a name is that of a half-written file, which listings leave out. */
export function isTemporary(name: string): boolean {
  return TEMPORARY.test(name)
}

/** The whole text of a file that exists. */
export async function readWhole(where: Where): Promise<Whole> {
  const { root, path } = where
  if (root.store) {
    const stored = await root.store.read(path)
    if (!stored) throw notFound(path)
    const { text, version: hash } = stored
    return { text, hash, bytes: Buffer.byteLength(text), key: keyBelow(root, path) }
  }
  return withPlace(where, async place => {
    const found = await find(place)
    if (!found) throw notFound(where.path)
    return { ...found, key: place.key }
  })
}

/**
 * Replaces a file's text with the result of `change` (null means no file, in and out). Contract: `change` is called
 * again if the file changed meanwhile. If it throws, the error is passed on and nothing is changed.
 */
export async function changeFile(where: Where, options: ChangeOptions, change: Change): Promise<Changed> {
  return where.root.store
    ? changeStored(where.root.store, where, options, change)
    : withPlace(where, place => changePlace(place, options, change))
}

type Change = (now: string | null, key: string) => string | null | Promise<string | null>

/** The journal gets the event after the change, because a change that lost a race must not be recorded. */
async function changeStored(store: FileStore, where: Where, options: ChangeOptions, change: Change): Promise<Changed> {
  const key = keyBelow(where.root, where.path)
  const { before, after } = await store.change(where.path, now => change(now, key))
  const { journal, intent } = options
  const event = { action: 'write' as const, path: key, hash: hashContent(after), before, after }
  if (after !== before) await journal?.record({ ...event, ...(intent ? { intent } : {}) })
  return { key, before, after }
}

/** Like `changeFile`, for a path that does not come from a model: it may contain links to anywhere. */
export async function changeOwnFile(
  path: string,
  options: ChangeOptions,
  change: (now: string | null) => string | null,
): Promise<Changed> {
  const real = await realpath(path).catch(() => resolve(path))
  return changeFile({ root: await openRoot(dirname(real)), path: basename(real) }, options, change)
}

async function changePlace(place: Place, options: ChangeOptions, change: Change): Promise<Changed> {
  return withLocks([await lockKey(place)], async () => {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const found = await find(place)
      const before = found?.text ?? null
      const after = await change(before, place.key)
      if (after === before || (await replace(place, found, after, options))) return { key: place.key, before, after }
    }
    const message = `Another program keeps changing ${place.given}. Nothing was done; try again later.`
    throw new PalimpsestError('FILE_CHANGED', message, { path: place.given })
  })
}

/** All paths to a file have the same key. Two files whose names differ only in case or Unicode form share it. */
export async function lockKey(place: Place): Promise<string> {
  const { dev, ino } = await place.folder.handle.stat({ bigint: true })
  return `${dev}:${ino}:${place.name.normalize('NFC').toLowerCase()}`
}

/** Reads a file; undefined if it does not exist. */
export async function find(place: Place): Promise<Found | undefined> {
  const handle = await openFile(place)
  if (!handle) return undefined
  try {
    const { size, mode, uid, gid } = await handle.stat()
    if (size > MAX_FILE_BYTES) {
      const message = `${place.given} is too large (${withCommas(size)} bytes; the limit is ${withCommas(MAX_FILE_BYTES)}).`
      throw new PalimpsestError('TOO_LARGE', message, { path: place.given, size })
    }
    const bytes = await handle.readFile()
    return { text: decodeText(bytes, place.given), bytes: bytes.length, hash: hashContent(bytes), mode, uid, gid }
  } finally {
    await handle.close()
  }
}

/** False if the file has changed since it was read. */
async function replace(
  place: Place,
  found: Found | undefined,
  after: string | null,
  options: ChangeOptions,
): Promise<boolean> {
  if (found) await refuseReadOnly(place, found)
  await sweep(place.folder)
  const temporary =
    after === null
      ? undefined
      : await writeTemporary(place.folder, after, { like: found, isPrivate: options.isPrivate === true })
  try {
    const now = await find(place)
    if (now?.hash !== found?.hash) return false
    await options.journal?.record({
      action: 'write',
      path: place.key,
      hash: hashContent(after),
      before: found?.text ?? null,
      after,
      ...(options.intent ? { intent: options.intent } : {}),
    })
    if (!(await publish(place, temporary, found !== undefined))) return false
    await place.folder.handle.sync()
    return true
  } finally {
    if (temporary) await unlink(temporary).catch(ignoreMissing)
  }
}

/**
 * A rename needs no permission to write the file itself, so we check. A file without any write bit is refused even
 * for root.
 */
async function refuseReadOnly(place: Place, found: Found): Promise<void> {
  const writable = await access(place.folder.at(place.name), constants.W_OK).then(
    () => true,
    error => codeOf(error) === 'ENOENT',
  )
  if (writable && (found.mode & 0o222) !== 0) return
  throw new PalimpsestError('PATH_REFUSED', `Permission denied: ${place.given} is read-only.`, { path: place.given })
}

/** Renames the new content to the file's name. A file that should not exist yet is never overwritten. */
async function publish(place: Place, temporary: string | undefined, exists: boolean): Promise<boolean> {
  const path = place.folder.at(place.name)
  try {
    if (temporary === undefined) await unlink(path)
    else if (exists) await rename(temporary, path)
    else await linkOrRename(temporary, path)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST' || codeOf(error) === 'ENOENT') return false
    throw error
  }
}

/** A link fails if the file exists, but a rename does not; some file systems have no links. */
async function linkOrRename(temporary: string, path: string): Promise<void> {
  try {
    await link(temporary, path)
  } catch (error) {
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EXDEV', 'EMLINK'].includes(codeOf(error) ?? '')) throw error
    await rename(temporary, path)
  }
}

/** Writes content to disk under a unique name, with the mode and owner of the file that it will replace. */
async function writeTemporary(
  folder: Folder,
  text: string,
  { like, isPrivate }: { like: Found | undefined; isPrivate: boolean },
): Promise<string> {
  const path = folder.at(`.palimpsest-${process.pid}-${randomBytes(8).toString('hex')}.tmp`)
  const handle = await open(path, CREATE_FLAGS, like || isPrivate ? 0o600 : 0o666)
  try {
    await handle.writeFile(text)
    if (like) await dressLike(handle, like)
    await handle.sync()
    return path
  } catch (error) {
    await unlink(path).catch(ignoreMissing)
    throw error
  } finally {
    await handle.close()
  }
}

async function dressLike(handle: FileHandle, { mode, uid, gid }: Found): Promise<void> {
  const own = await handle.stat()
  if (own.uid !== uid || own.gid !== gid) {
    // Only a privileged process may change a file's owner; without the right, we may still replace the content.
    await handle.chown(uid, gid).catch(error => {
      if (codeOf(error) !== 'EPERM') throw error
    })
  }
  await handle.chmod(mode & 0o7777)
}

/** When each folder was last swept, by device and inode. */
const swept = new Map<string, number>()

/** Removes temporary files that killed processes left. */
async function sweep(folder: Folder): Promise<void> {
  const { dev, ino } = await folder.handle.stat({ bigint: true })
  const id = `${dev}:${ino}`
  if (performance.now() - (swept.get(id) ?? Number.NEGATIVE_INFINITY) < SWEEP_EVERY_MS) return
  swept.set(id, performance.now())
  for (const name of await readdir(folder.at('.'))) {
    const pid = Number(TEMPORARY.exec(name)?.[1])
    if (!pid || pid === process.pid) continue
    const stat = await lstat(folder.at(name)).catch(ignoreMissing)
    if (!stat) continue
    const abandoned = !isRunning(pid) || Date.now() - stat.mtimeMs > ABANDONED_AFTER_MS
    if (abandoned) await unlink(folder.at(name)).catch(ignoreMissing)
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}
