/**
 * A lock per file, between all tasks and all processes of a user, which ends with its holder.
 *
 * The lock is an open SQLite transaction on an empty database, which is a record lock of the operating system. So a
 * killed process leaves no stale lock. Files share 256 locks by hash, so the lock folder never grows; two files with
 * the same lock only wait for each other.
 *
 * Boundary: processes agree only if they see the same lock folder (`PALIMPSEST_LOCKS`, else `~/.agent/locks`).
 * Against writers that do not lock, atomic.ts compares hashes.
 */

import { createHash } from 'node:crypto'
import { lstat, mkdir } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { DEFAULT_HOME } from '../model/defaults.ts'
import { PalimpsestError } from '../model/errors.ts'
import { codeOf } from './root.ts'

const PATIENCE_MS = 60_000
const SQLITE_BUSY = 5

/** The last holder or waiter of each lock in this process: resolves when it is done. */
const turns = new Map<string, Promise<void>>()

/** Runs `work` while holding the locks of all keys. Locks are taken in one order, so no two callers deadlock. */
export async function withLocks<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
  const locks = [...new Set(keys.map(lockOf))].sort()
  return locks.reduceRight((inner, lock) => () => withLock(lock, inner), work)()
}

async function withLock<T>(lock: string, work: () => Promise<T>): Promise<T> {
  const before = turns.get(lock)
  const { promise: mine, resolve: done } = Promise.withResolvers<void>()
  turns.set(lock, mine)
  try {
    await before
    const release = await acquire(lock)
    try {
      return await work()
    } finally {
      release()
    }
  } finally {
    done()
    if (turns.get(lock) === mine) turns.delete(lock)
  }
}

async function acquire(lock: string): Promise<() => void> {
  const database = new DatabaseSync(join(await lockFolder(), `${lock}.lock`))
  const giveUp = performance.now() + PATIENCE_MS
  try {
    for (let wait = 1; ; wait = Math.min(wait * 2, 32)) {
      if (begin(database)) return () => database.close()
      if (performance.now() > giveUp) {
        throw new PalimpsestError('STORE_LOCKED', 'Another process is writing to this file. Try again later.', { lock })
      }
      await delay(Math.random() * wait + 0.5)
    }
  } catch (error) {
    database.close()
    throw error
  }
}

function begin(database: DatabaseSync): boolean {
  try {
    database.exec('BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return false
    throw error
  }
}

function lockOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 2)
}

async function lockFolder(): Promise<string> {
  const folder = process.env.PALIMPSEST_LOCKS ?? join(homedir(), DEFAULT_HOME, 'locks')
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return folder
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) throw error
    return temporaryFolder()
  }
}

/** For users without a writable home. The folder must be ours, because another user may have made it. */
async function temporaryFolder(): Promise<string> {
  const uid = process.getuid?.() ?? 0
  const folder = join(tmpdir(), `palimpsest-locks-${uid}`)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const stat = await lstat(folder)
  if (stat.isDirectory() && (process.platform === 'win32' || stat.uid === uid)) return folder
  throw new PalimpsestError(
    'STORE_FAILED',
    `The lock folder ${folder} belongs to another user. Set PALIMPSEST_LOCKS to another folder.`,
  )
}
