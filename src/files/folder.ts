/** Files in folders: those of the home are in it, and each of its users has a folder. */
import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { userFolder, userOfFolder } from '../ledger/owners.ts'
import { isPalimpsestError } from '../model/errors.ts'
import { changeFile, readWhole } from './atomic.ts'
import { openRoot, withFolder } from './root.ts'
import type { ChangedText, ChangeText, FileStore, Files, HomeFiles, StoredFile } from './store.ts'
import { walk } from './walk.ts'

const MAX_DEPTH = 3

class FolderFiles implements FileStore {
  readonly folder: string
  readonly isTable = false

  constructor(folder: string) {
    this.folder = resolve(folder)
  }

  async read(path: string): Promise<StoredFile | undefined> {
    if (!existsSync(this.folder)) return undefined
    try {
      const { text, hash } = await readWhole({ root: await openRoot(this.folder), path })
      return { text, version: hash }
    } catch (error) {
      if (isPalimpsestError(error) && error.code === 'FILE_NOT_FOUND') return undefined
      throw error
    }
  }

  async change(path: string, change: ChangeText): Promise<ChangedText> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 })
    const root = await openRoot(this.folder)
    const { before, after } = await changeFile({ root, path, make: true }, { isPrivate: true }, change)
    return { before, after }
  }

  async list(below = '.'): Promise<string[]> {
    if (!existsSync(join(this.folder, below))) return []
    const found: string[] = []
    await withFolder({ root: await openRoot(this.folder), path: below }, async open => {
      for await (const { kind, parts } of walk(open, MAX_DEPTH)) {
        if (kind === 'file') found.push([...open.parts, ...parts].join('/'))
      }
    })
    return found
  }
}

/** The store for `files`: a path means a folder. */
export function storeOf(files: Files): FileStore {
  return typeof files === 'string' ? new FolderFiles(files) : files
}

/** Gives the folders of users the names of this version. A folder that cannot be renamed is left as it is. */
export async function renameUserFolders(place: string): Promise<void> {
  for (const { folder, user } of await namedFolders(place)) {
    if (folder !== userFolder(place, user)) await rename(folder, userFolder(place, user)).catch(() => {})
  }
}

/** Also under the name that an earlier version gave it. */
export async function removeUserFolder(place: string, user: string): Promise<void> {
  const named = (await namedFolders(place)).filter(one => one.user === user)
  const folders = [userFolder(place, user), ...named.map(({ folder }) => folder)]
  for (const folder of folders) await rm(folder, { recursive: true, force: true })
}

async function namedFolders(place: string): Promise<{ folder: string; user: string }[]> {
  const names = await readdir(join(place, 'users')).catch(() => [])
  return names.flatMap(name => {
    const user = userOfFolder(name)
    return user === undefined ? [] : [{ folder: join(place, 'users', name), user }]
  })
}

export class HomeFolder implements HomeFiles {
  readonly #home: string
  readonly isTable = false

  constructor(home: string) {
    this.#home = home
  }

  of(user: string | undefined, part = '.'): FileStore {
    return new FolderFiles(join(user === undefined ? this.#home : userFolder(this.#home, user), part))
  }

  async users(): Promise<string[]> {
    return [...new Set((await namedFolders(this.#home)).map(({ user }) => user))].sort()
  }

  async forget(user: string): Promise<void> {
    await removeUserFolder(this.#home, user)
  }

  async close(): Promise<void> {}
}
