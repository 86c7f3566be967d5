/**
 * Finds out whether other users of the machine can read a home. New files are readable only by their owner; a home that
 * was created by an earlier version, copied or unpacked may be readable by others without a sign of it. Its permissions
 * are not changed, because a group may share it on purpose.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Io } from './command.ts'

const GROUP_AND_OTHERS = 0o077
const NAMED = 5

/** Prints one line if others can read the home; called by commands that start something on it. */
export function warnOfReaders(home: string, { stderr }: Pick<Io, 'stderr'>): void {
  const found = readableByOthers(home)
  if (found.length === 0) return
  const named = found.slice(0, NAMED).join(', ') + (found.length > NAMED ? `, and ${found.length - NAMED} more` : '')
  stderr.write(`Other users of this machine can read ${named} in ${home}. To prevent this: chmod -R go= ${home}\n`)
}

/** The files and folders at the top of a home that users other than its owner can reach; none if the home is closed. */
export function readableByOthers(home: string): string[] {
  if (process.platform === 'win32' || !isOpen(home)) return []
  return readdirSync(home)
    .filter(name => isOpen(join(home, name)))
    .sort()
}

function isOpen(path: string): boolean {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
  return (mode & GROUP_AND_OTHERS) !== 0
}
