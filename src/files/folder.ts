/** Files in folders: those of the home are in it, and each of its users has a folder. */
import { existsSync } from 'node:fs'
import { mkdir, readdir, rm } from 'node:fs/promises'
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
    const names = await readdir(join(this.#home, 'users')).catch(() => [])
    return names.flatMap(name => userOfFolder(name) ?? []).sort()
  }

  async forget(user: string): Promise<void> {
    await rm(userFolder(this.#home, user), { recursive: true, force: true })
  }

  async close(): Promise<void> {}
}
