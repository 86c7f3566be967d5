/**
 * Copies files from one place beside a ledger to another. A file that differs at the target is left as it is and
 * named.
 */
import type { CopyTally } from '../ledger/copy-rows.ts'
import { isPalimpsestError } from '../model/errors.ts'
import type { FileStore } from './store.ts'

/** The folders, besides the workspace, in which Palimpsest keeps files. */
export const KEPT_FOLDERS = ['overflow', 'archive'] as const

export async function copyFiles(from: FileStore, to: FileStore, below: string, tally: CopyTally): Promise<void> {
  for (const path of (await from.list(below)).sort()) {
    const name = `file ${path} of ${to.folder}`
    const text = await from.read(path).then(
      found => found?.text,
      error => {
        // A file that is not text, or too large, is not ours.
        if (isPalimpsestError(error)) return undefined
        throw error
      },
    )
    if (text === undefined) {
      tally.note('differs', name, '')
      continue
    }
    const { before } = await to.change(path, now => now ?? text)
    const there = await to.read(path)
    const put = there?.text !== text ? 'differs' : before === null ? 'added' : 'same'
    tally.note(put, name, JSON.stringify([path, text]))
  }
}
