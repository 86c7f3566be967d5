/**
 * Renames and removes files and folders, for the memory tool. An existing destination is never overwritten. The
 * journal keeps the text of a removed file, so undo_edit can bring it back.
 */

import { link, lstat, rename, rm, unlink } from 'node:fs/promises'
import { isPalimpsestError } from '../model/errors.ts'
import { find, lockKey } from './atomic.ts'
import { type FileJournal, hashContent, NO_FILE } from './journal.ts'
import { withLocks } from './lock.ts'
import { codeOf, ignoreMissing, notFound, type Place, type Root, refusal, type Where, withPlace } from './root.ts'

/** False if the destination exists. */
export async function moveEntry(root: Root, from: string, to: string, journal: FileJournal): Promise<boolean> {
  return withPlace({ root, path: from }, async source => {
    if (!(await stat(source))) throw notFound(from)
    return withPlace({ root, path: to, make: true }, async destination =>
      withLocks([await lockKey(source), await lockKey(destination)], () => moveLocked(source, destination, journal)),
    )
  })
}

async function moveLocked(source: Place, destination: Place, journal: FileJournal): Promise<boolean> {
  const kind = await stat(source)
  if (!kind) throw notFound(source.key)
  if (await stat(destination)) return false
  const move = kind.isDirectory() ? moveFolder : moveFile
  if (!(await move(source, destination, journal))) return false
  await Promise.all([source.folder.handle.sync(), destination.folder.handle.sync()])
  return true
}

async function moveFolder(source: Place, destination: Place): Promise<boolean> {
  if (`${destination.key}/`.startsWith(`${source.key}/`))
    throw refusal(destination.key, 'it is inside the folder to move')
  await rename(source.folder.at(source.name), destination.folder.at(destination.name))
  return true
}

export async function removeEntry(where: Where, journal: FileJournal): Promise<void> {
  await withPlace(where, async place =>
    withLocks([await lockKey(place)], async () => {
      const kind = await stat(place)
      if (!kind) throw notFound(where.path)
      const path = place.folder.at(place.name)
      if (kind.isDirectory()) await rm(path, { recursive: true })
      else {
        const text = await textIn(place)
        if (text !== undefined)
          await journal.record({ action: 'write', path: place.key, hash: NO_FILE, before: text, after: null })
        await unlink(path)
      }
      await place.folder.handle.sync()
    }),
  )
}

/** Uses a link and a removal, since a rename would overwrite a file that appears meanwhile. */
async function moveFile(source: Place, destination: Place, journal: FileJournal): Promise<boolean> {
  const text = await textIn(source)
  const path = source.folder.at(source.name)
  try {
    await link(path, destination.folder.at(destination.name))
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
  if (text !== undefined) {
    await journal.record({ action: 'write', path: destination.key, hash: hashContent(text), before: null, after: text })
    await journal.record({ action: 'write', path: source.key, hash: NO_FILE, before: text, after: null })
  }
  await unlink(path)
  return true
}

function stat(place: Place) {
  return lstat(place.folder.at(place.name)).catch(ignoreMissing)
}

/** Undefined for a file that is not text: it can be moved and removed, but not brought back. */
async function textIn(place: Place): Promise<string | undefined> {
  try {
    return (await find(place))?.text
  } catch (error) {
    if (isPalimpsestError(error)) return undefined
    throw error
  }
}
