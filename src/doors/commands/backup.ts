/**
 * `backup`: copies a home to another folder while it is in use, and restores it. SQLite copies the databases, so each
 * copy is consistent; files are copied after that.
 */
import { databaseUrl } from '../../ledger/postgres/database.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { amount } from '../../model/text.ts'
import { type Context, defineCommand, type Report } from '../terminal/command.ts'
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

const DATABASE = /\.sqlite$/
/** SQLite's files beside a database, and files that only a running process needs. */
const LEFT_OUT = /\.sqlite-(?:wal|shm|journal)$|^locks$|\.lock$|\.pid$/

async function copyHome(from: string, to: string, { io }: Context<typeof OPTIONS>): Promise<Report> {
  const { existsSync } = await import('node:fs')
  const { mkdir, readdir } = await import('node:fs/promises')
  const { join } = await import('node:path')
  if (!existsSync(join(from, 'ledger.sqlite'))) {
    throw new PalimpsestError('FILE_NOT_FOUND', `There is no ledger in ${from}.`, { path: from })
  }
  if (existsSync(to) && (await readdir(to)).length > 0) {
    throw new PalimpsestError('ALREADY', `${to} is not empty. Choose a new folder.`, { path: to })
  }
  await mkdir(to, { recursive: true, mode: 0o700 })
  const entries = await readdir(from, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile() && !LEFT_OUT.test(entry.name))
  const progress = startProgress(io, files.length)
  for (const file of files) {
    const below = file.parentPath.slice(from.length)
    const [source, target] = [join(from, below, file.name), join(to, below, file.name)]
    progress.step(file.name)
    await mkdir(join(to, below), { recursive: true, mode: 0o700 })
    await (DATABASE.test(file.name) ? copyDatabase : copyFile)(source, target)
  }
  progress.done()
  const sessions = await verified(to)
  return {
    json: { from, to, files: files.length, sessions },
    text: () => `${to}: ${amount(sessions, 'session')}, ${amount(files.length, 'file')}, verified\n`,
  }
}

/** The copy is readable only by its owner from the first byte. */
async function copyFile(source: string, target: string): Promise<void> {
  const { readFile, writeFile } = await import('node:fs/promises')
  await writeFile(target, await readFile(source), { mode: 0o600 })
}

async function copyDatabase(source: string, target: string): Promise<void> {
  const { DatabaseSync } = await import('node:sqlite')
  const { open } = await import('node:fs/promises')
  await using file = await open(target, 'wx', 0o600)
  const database = new DatabaseSync(source, { readOnly: true })
  try {
    database.prepare('VACUUM INTO ?').run(target)
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
