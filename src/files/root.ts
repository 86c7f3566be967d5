/**
 * Confinement: a path from a model must lead to a place inside the root, or it is refused.
 *
 * A path is resolved through symbolic links, checked, and then opened again from the root, folder by folder, without
 * following links. Later steps use the open folder, not its name. So a link that appears between the check and the use
 * is refused. (On Linux this uses /proc/self/fd, which works like openat. Elsewhere the opened file is compared with
 * the one at the path: reads are safe; for a write, a short race remains.)
 */

import { constants, existsSync } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, realpath } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { PalimpsestError } from '../model/errors.ts'
import { boundedTo } from '../model/text.ts'
import type { FileStore, Files } from './store.ts'

export type Root = {
  /** The real path. */
  folder: string
  /** The root's path as it was given; a model may use it in absolute paths. */
  given: string
  /** The models' name for this folder, if it is not its path (`/memories`). */
  alias?: string
  /** Set if the files are in a table: then the folder only gives them their names. */
  store?: FileStore
}

/** An open folder inside the root. */
export type Folder = {
  handle: FileHandle
  /** The path of an entry of this folder, even if the folder is renamed. */
  at: (name: string) => string
  /** The folder's names below the root. */
  parts: string[]
}

/** An entry of an open folder: a file that exists or can be made. */
export type Place = {
  folder: Folder
  name: string
  /** The path as the model gave it; messages use it. */
  given: string
  /** The path below the root with links resolved; the journal uses it. */
  key: string
}

/** The longest path that Linux accepts. */
const LONGEST_PATH = 4096
const PROC = process.platform === 'linux' && existsSync('/proc/self/fd')
const NOFOLLOW = constants.O_NOFOLLOW ?? 0
const FOLDER_FLAGS = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | NOFOLLOW
const FILE_FLAGS = constants.O_RDONLY | NOFOLLOW | (constants.O_NONBLOCK ?? 0)

export async function openRoot(files: Files, alias?: string): Promise<Root> {
  if (typeof files !== 'string' && files.isTable) return { folder: files.folder, given: files.folder, store: files }
  const given = resolve(typeof files === 'string' ? files : files.folder)
  try {
    return { folder: await realpath(given), given, ...(alias ? { alias } : {}) }
  } catch (cause) {
    throw new PalimpsestError('FILE_NOT_FOUND', `The root folder ${given} does not exist.`, { folder: given }, cause)
  }
}

/** A path as a model gave it; `make` creates the folders on the way to a file. */
export type Where = { root: Root; path: string; make?: boolean }

export async function withPlace<T>(where: Where, use: (place: Place) => Promise<T>): Promise<T> {
  const { root, path } = where
  if (root.store) throw inTable(path)
  const parts = await resolveInRoot(root, path)
  const name = parts.at(-1)
  if (name === undefined || /[/\\]$/.test(path)) throw refusal(path, 'it names a folder, not a file')
  return withParts(where, parts.slice(0, -1), folder => use({ folder, name, given: path, key: keyOf(root, parts) }))
}

/** Calls `use` with an open folder that exists. */
export async function withFolder<T>(where: Where, use: (folder: Folder) => Promise<T>): Promise<T> {
  if (where.root.store) throw inTable(where.path)
  return withParts({ ...where, make: false }, await resolveInRoot(where.root, where.path), use)
}

/** A hint for choosing an operation; the file or folder is checked again when it is opened. */
export async function isFolder({ root, path }: Where): Promise<boolean> {
  if (root.store) return (await root.store.list(path)).length > 0
  const stat = await lstat(join(root.folder, ...(await resolveInRoot(root, path)))).catch(ignoreMissing)
  return stat?.isDirectory() ?? false
}

/** Opens a plain file for reading; undefined if it does not exist. Anything but a plain file is refused. */
export async function openFile(place: Place): Promise<FileHandle | undefined> {
  const path = place.folder.at(place.name)
  try {
    // Use lstat first, because opening a device can have effects, and opening a FIFO can block.
    refuseSpecial(place.given, await lstat(path))
    const handle = await open(path, FILE_FLAGS)
    try {
      refuseSpecial(place.given, await handle.stat())
      if (!PROC && !(await isStill(path, handle))) throw swapped(place.given)
      return handle
    } catch (error) {
      await handle.close()
      throw error
    }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    if (codeOf(error) === 'ELOOP') throw swapped(place.given)
    throw error
  }
}

/** Opens a folder inside an open one. The caller closes it. */
export async function openFolderIn(parent: Folder, name: string): Promise<Folder> {
  const handle = await open(parent.at(name), FOLDER_FLAGS)
  const base = PROC ? `/proc/self/fd/${handle.fd}` : parent.at(name)
  return { handle, parts: [...parent.parts, name], at: entry => `${base}${sep}${entry}` }
}

/** The journal's name for the entry with these names below the root. */
function keyOf(root: Root, parts: readonly string[]): string {
  const below = parts.join('/')
  return root.alias ? `${root.alias}/${below}` : below
}

/** The path below the root for files in a table, where there are no links. */
export function keyBelow(root: Root, path: string): string {
  return lexicalParts(root, path).join('/')
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}

/** For `catch`: gives `undefined` if the file does not exist. */
export function ignoreMissing(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error
}

export function notFound(path: string): PalimpsestError {
  return new PalimpsestError('FILE_NOT_FOUND', `File not found: ${path}`, { path })
}

export function refusal(path: string, why: string): PalimpsestError {
  return new PalimpsestError('PATH_REFUSED', `Path refused: ${JSON.stringify(path)}: ${why}.`, { path })
}

/** The names below the root that a path leads to, with symbolic links resolved; the last ones need not exist. */
async function resolveInRoot(root: Root, path: string): Promise<string[]> {
  const parts = lexicalParts(root, path)
  const whole = await realIfThere(root, parts, path)
  if (whole) return whole
  // The prefixes that exist are shorter than those that do not, so a binary search finds the longest.
  let [found, exists, missing]: [string[], number, number] = [[], 0, parts.length]
  while (missing - exists > 1) {
    const middle = (exists + missing) >> 1
    const real = await realIfThere(root, parts.slice(0, middle), path)
    if (real) [found, exists] = [real, middle]
    else missing = middle
  }
  if (await isLink(join(root.folder, ...parts.slice(0, missing)))) {
    throw refusal(path, 'it has a symbolic link that leads nowhere')
  }
  return [...found, ...parts.slice(exists)]
}

/** The real names below the root of an existing path. */
async function realIfThere(root: Root, parts: readonly string[], path: string): Promise<string[] | undefined> {
  const real = await realpath(join(root.folder, ...parts)).catch(error => {
    if (codeOf(error) === 'ENOENT') return undefined
    if (codeOf(error) === 'ENOTDIR') throw refusal(path, 'one of its parts is a file, not a folder')
    if (codeOf(error) === 'ELOOP') throw refusal(path, 'its symbolic links lead in a circle')
    throw error
  })
  if (real === undefined) return undefined
  const below = partsBelow(root.folder, real)
  if (!below) throw refusal(path, 'it has a symbolic link that leads outside the root')
  return below
}

/** Checks the text of a path and gives its names below the root. */
function lexicalParts(root: Root, path: string): string[] {
  checkText(path)
  const below = path.startsWith('/') && root.alias ? withoutAlias(root.alias, path) : path
  const absolute = isAbsolute(below) ? resolve(below) : resolve(root.folder, below)
  const parts = partsBelow(root.folder, absolute) ?? partsBelow(root.given, absolute)
  if (!parts) throw refusal(path, `it leads outside the root ${root.alias ?? root.given}`)
  return parts
}

function withoutAlias(alias: string, path: string): string {
  if (path !== alias && !path.startsWith(`${alias}/`)) throw refusal(path, `it leads outside ${alias}`)
  return `.${path.slice(alias.length)}`
}

function checkText(path: string): void {
  if (path === '') throw refusal(path, 'it is empty')
  if (path.length > LONGEST_PATH) throw refusal(boundedTo(path, 80), `it is longer than ${LONGEST_PATH} characters`)
  if (!path.isWellFormed()) throw refusal(path, 'it is not valid Unicode')
  if (path.includes('\0')) throw refusal(path, 'it contains a NUL character')
  if (/[\x01-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/.test(path)) {
    throw refusal(path, 'it contains a control character')
  }
  if (/^~([/\\]|$)/.test(path)) throw refusal(path, '~ is not expanded; use a path below the root')
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(path)) throw refusal(path, 'it is a URL')
  if (process.platform !== 'win32' && /\\|^[a-z]:/i.test(path)) {
    throw refusal(path, 'it is a Windows path; use / between folders')
  }
  for (const name of path.split(/[/\\]/)) {
    if (name !== '.' && name !== '..' && /[. ]$/.test(name)) {
      throw refusal(path, `the name ${JSON.stringify(name)} ends in a dot or a space`)
    }
  }
  if (process.platform === 'win32') checkWindows(path)
}

function checkWindows(path: string): void {
  if (/:/.test(path.replace(/^[a-z]:/i, ''))) throw refusal(path, 'it names an alternate data stream')
  const device = /(^|[/\\])(con|prn|aux|nul|com\d|lpt\d)(\.[^/\\]*)?([/\\]|$)/i.exec(path)
  if (device) throw refusal(path, `${device[2]} is a device`)
}

async function withParts<T>(where: Where, parts: string[], use: (folder: Folder) => Promise<T>): Promise<T> {
  const { root, path } = where
  let handle = await open(root.folder, FOLDER_FLAGS)
  try {
    const walked: string[] = []
    for (const part of parts) {
      const next = await openSubfolder(folderAt(root, handle, walked).at(part), part, where)
      await handle.close()
      handle = next
      walked.push(part)
    }
    const folder = folderAt(root, handle, walked)
    if (!PROC && (await realpath(folder.at('.'))) !== join(root.folder, ...parts)) throw swapped(path)
    return await use(folder)
  } finally {
    await handle.close()
  }
}

function folderAt(root: Root, handle: FileHandle, parts: string[]): Folder {
  const base = PROC ? `/proc/self/fd/${handle.fd}` : join(root.folder, ...parts)
  return { handle, parts, at: name => `${base}${sep}${name}` }
}

async function openSubfolder(at: string, name: string, where: Where): Promise<FileHandle> {
  const { path } = where
  try {
    return await open(at, FOLDER_FLAGS)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ELOOP') throw swapped(path)
    if (code === 'ENOTDIR') {
      throw (await isLink(at)) ? swapped(path) : refusal(path, `${name} is a file, not a folder`)
    }
    if (code !== 'ENOENT') throw error
    if (!where.make) throw notFound(path)
    await mkdir(at).catch(failure => {
      if (codeOf(failure) !== 'EEXIST') throw failure
    })
    return openSubfolder(at, name, { ...where, make: false })
  }
}

/** Without openat: whether the path has no links and leads to the file that was opened. */
async function isStill(path: string, handle: FileHandle): Promise<boolean> {
  const [real, now, opened] = await Promise.all([realpath(path), lstat(path), handle.stat()])
  return real === path && now.ino === opened.ino && now.dev === opened.dev
}

type Kind = { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean }

function refuseSpecial(path: string, stat: Kind): void {
  if (stat.isFile()) return
  if (stat.isSymbolicLink()) throw swapped(path)
  if (stat.isDirectory()) throw refusal(path, 'it is a folder, not a file')
  throw refusal(path, 'it is a device, a pipe or a socket, not a plain file')
}

function inTable(path: string): PalimpsestError {
  return refusal(path, 'these files are in a database; only reading and changing single files works there')
}

function swapped(path: string): PalimpsestError {
  return refusal(path, 'a symbolic link appeared in it while it was being opened')
}

async function isLink(path: string): Promise<boolean> {
  const stat = await lstat(path).catch(() => undefined)
  return stat?.isSymbolicLink() ?? false
}

/** The names that lead from `folder` to `path`; undefined when `path` is not below it. */
function partsBelow(folder: string, path: string): string[] | undefined {
  const way = relative(folder, path)
  if (way === '') return []
  const parts = way.split(sep)
  return parts[0] === '..' || isAbsolute(way) ? undefined : parts
}
