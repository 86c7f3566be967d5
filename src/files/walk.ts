/**
 * A walk through the folders below the root, in order of names. Symbolic links are reported and not followed, so a
 * walk ends and stays inside; `.git` and `node_modules` are reported and not entered.
 */

import { readdir } from 'node:fs/promises'
import { boundedTo } from '../model/text.ts'
import { isTemporary } from './atomic.ts'
import { readGlob } from './glob.ts'
import { codeOf, type Folder, openFolderIn, refusal } from './root.ts'

export type Entry = {
  folder: Folder
  name: string
  /** The names below the folder where the walk began. */
  parts: string[]
  kind: 'file' | 'folder' | 'link' | 'special'
  /** A folder that is not entered. */
  closed?: boolean
}

/** Limits the time and the recursion depth of reading a glob with many brackets. */
const LONGEST_GLOB = 1000
const NOT_ENTERED = new Set(['.git', 'node_modules'])

/** Yields every entry; a folder before its content. `depth` 1 is the folder's own entries. */
export async function* walk(folder: Folder, depth: number, above: string[] = []): AsyncGenerator<Entry> {
  const entries = await readdir(folder.at('.'), { withFileTypes: true })
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const entry of entries) {
    if (isTemporary(entry.name)) continue
    const parts = [...above, entry.name]
    const kind = kindOf(entry)
    const closed = kind === 'folder' && (NOT_ENTERED.has(entry.name) || depth === 1)
    yield { folder, name: entry.name, parts, kind, ...(closed ? { closed } : {}) }
    if (kind === 'folder' && !closed) yield* walkInto(folder, entry.name, depth - 1, parts)
  }
}

/** Gives a test whether names below a folder match a glob; a glob without a slash matches names at any depth. */
export function globFilter(glob: string | undefined): (parts: readonly string[]) => boolean {
  if (glob === undefined || glob === '') return () => true
  if (glob.length > LONGEST_GLOB) throw refusal(boundedTo(glob, 80), `a glob has at most ${LONGEST_GLOB} characters`)
  const fits = readGlob(glob.includes('/') ? glob.replace(/^\.?\//, '') : `**/${glob}`)
  return parts => fits(parts.join('/'))
}

async function* walkInto(parent: Folder, name: string, depth: number, parts: string[]): AsyncGenerator<Entry> {
  const folder = await openFolderIn(parent, name).catch(error => {
    // Gone, replaced by a link, or not readable: then there is nothing to walk.
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES'].includes(codeOf(error) ?? '')) return undefined
    throw error
  })
  if (!folder) return
  try {
    yield* walk(folder, depth, parts)
  } finally {
    await folder.handle.close()
  }
}

function kindOf(entry: { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean }): Entry['kind'] {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'folder'
  return entry.isSymbolicLink() ? 'link' : 'special'
}
