/**
 * `backup`: copies a home to another folder while it is in use, and restores it. SQLite copies the databases, so each
 * copy is consistent; files are copied after that.
 */
import { databaseUrl } from '../../ledger/postgres/database.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { amount } from '../../model/text.ts'
import { type Context, defineCommand, type Io, type Report } from '../terminal/command.ts'
import { startProgress } from '../terminal/progress.ts'

const OPTIONS = {
  restore: { type: 'boolean', about: 'create the home from a backup; the home must not exist yet' },
} as const

export const backup = defineCommand({
  name: 'backup',
  summary: 'back up the home to a folder while it is in use, or restore it from one',
  usage: 'FOLDER',
  details:
    'Copies sessions, memory, tokens, personas, the workspace and kept files. The folder must be new or empty. The copy is\n' +
    'verified at the end. Memory in Dolt is backed up with Dolt itself: dolt backup, or a push to a remote.',
  examples: ['palimpsest backup ../palimpsest-2026-11-18', 'palimpsest backup --restore ../palimpsest-2026-11-18'],
  options: OPTIONS,
  async run(context) {
    const { args, values, home, io } = context
    const folder = args[0]!
    if (databaseUrl(io.env)) {
      const message =
        'The sessions are in PostgreSQL. Back them up with pg_dump, or copy them to a home with: palimpsest copy'
      throw new PalimpsestError('UNSUPPORTED', message)
    }
    const { from, to } = values.restore ? { from: folder, to: home } : { from: home, to: folder }
    return copyHome(from, to, context)
  },
})

const LEDGER = 'ledger.sqlite'
/** The ledger's copy gets its name last, so that an unfinished copy of a home is neither restored nor used. */
const UNFINISHED = `${LEDGER}.part`
const DATABASE = /\.sqlite$/
/** SQLite's files beside a database, and files that only a running process needs. */
const LEFT_OUT = /\.sqlite-(?:wal|shm|journal)$|^locks$|\.lock$|\.pid$/

async function copyHome(from: string, to: string, { io }: Context<typeof OPTIONS>): Promise<Report> {
  const { existsSync } = await import('node:fs')
  const { mkdir, readdir, rename, rm, writeFile } = await import('node:fs/promises')
  const { join } = await import('node:path')
  if (!existsSync(join(from, LEDGER))) {
    const why = existsSync(join(from, UNFINISHED)) ? 'The copy was not finished' : 'There is no ledger'
    throw new PalimpsestError('FILE_NOT_FOUND', `${why} in ${from}.`, { path: from })
  }
  if (existsSync(to) && (await readdir(to)).length > 0) {
    throw new PalimpsestError('ALREADY', `${to} is not empty. Choose a new folder.`, { path: to })
  }
  await mkdir(to, { recursive: true, mode: 0o700 })
  // Fails if another copy to this folder has begun meanwhile.
  await writeFile(join(to, UNFINISHED), '', { flag: 'wx', mode: 0o600 })
  try {
    await copyDatabase(join(from, LEDGER), join(to, UNFINISHED))
    const files = await copyRest(from, to, io)
    await rename(join(to, UNFINISHED), join(to, LEDGER))
    const sessions = await verified(to)
    return {
      json: { from, to, files, sessions },
      text: () => `${to}: ${amount(sessions, 'session')}, ${amount(files, 'file')}, verified\n`,
    }
  } catch (error) {
    for (const name of await readdir(to)) await rm(join(to, name), { recursive: true })
    throw error
  }
}

/** Copies everything besides the ledger; the number of all files. */
async function copyRest(from: string, to: string, io: Io): Promise<number> {
  const { mkdir, readdir } = await import('node:fs/promises')
  const { dirname, join, relative } = await import('node:path')
  const { ignoreMissing } = await import('../../files/root.ts')
  const { isTemporary } = await import('../../files/atomic.ts')
  const entries = await readdir(from, { recursive: true, withFileTypes: true })
  const files = entries
    .filter(entry => entry.isFile() && !LEFT_OUT.test(entry.name) && !isTemporary(entry.name))
    .map(entry => relative(from, join(entry.parentPath, entry.name)))
    .filter(path => path !== LEDGER)
  const progress = startProgress(io, files.length)
  for (const path of files) {
    progress.step(path)
    await mkdir(dirname(join(to, path)), { recursive: true, mode: 0o700 })
    const copy = DATABASE.test(path) ? copyDatabase : copyFile
    await copy(join(from, path), join(to, path)).catch(ignoreMissing)
  }
  progress.done()
  return files.length + 1
}

/** The copy is readable only by its owner from the first byte. */
async function copyFile(source: string, target: string): Promise<void> {
  const { readFile, writeFile } = await import('node:fs/promises')
  await writeFile(target, await readFile(source), { mode: 0o600 })
}

async function copyDatabase(source: string, target: string): Promise<void> {
  const { guard, openDatabase } = await import('../../ledger/database.ts')
  const { open } = await import('node:fs/promises')
  await using file = await open(target, 'a', 0o600)
  const database = openDatabase(source, { readOnly: true })
  try {
    guard(() => database.prepare('VACUUM INTO ?').run(target), target)
  } finally {
    database.close()
  }
  // SQLite does not wait until its copy is on disk.
  await file.sync()
}

/** Throws if a session of the copy does not verify. */
async function verified(home: string): Promise<number> {
  const { openPalimpsest } = await import('../../session/engine.ts')
  const { allNames } = await import('../../session/every-session.ts')
  await using pal = await openPalimpsest({ home, config: false, databaseUrl: false })
  const names = await allNames(pal)
  for (const name of names) await pal.head(name)
  return names.length
}
