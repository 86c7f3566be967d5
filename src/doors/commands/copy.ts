/** `copy`: copies all of a home, or of one of its users, to another home or database; verified and resumable. */
import type { HomeFiles } from '../../files/store.ts'
import type { CopyTally } from '../../ledger/copy-rows.ts'
import type { Copied } from '../../ledger/copying.ts'
import type { Sql } from '../../ledger/sql.ts'
import { MEMORY } from '../../model/defaults.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { amount, withCommas } from '../../model/text.ts'
import { type Context, defineCommand, type Io, type Report } from '../terminal/command.ts'
import { printable } from '../terminal/output.ts'
import { startProgress } from '../terminal/progress.ts'

const OPTIONS = {
  user: { type: 'string', value: 'NAME', about: 'copy only what belongs to this user' },
} as const

export const copy = defineCommand({
  name: 'copy',
  summary: 'copy a home to a PostgreSQL database, or back',
  usage: 'FROM TO',
  details:
    'FROM and TO are home folders, or addresses like postgres://user@host:5432/palimpsest (better keep the password in\n' +
    'PGPASSWORD or ~/.pgpass). Copies sessions, memory with its history and proposals, workspaces, kept\n' +
    'files and tokens; copy personas, schemas and palimpsest.json yourself, as files. Every session is verified\n' +
    'at TO: its hash chain must end in the same hash as at FROM. Everything else is read back and\n' +
    'compared. What is already at TO is not copied again, so run the command again to continue after an interruption.\n' +
    'Nothing at TO is overwritten: a session that differs there stops the copy with its name; other differences are\n' +
    'left alone and listed at the end (exit code 1). Memory in Dolt is not copied.',
  examples: [
    'palimpsest copy .agent postgres://palimpsest@db.internal/palimpsest',
    'palimpsest copy postgres://palimpsest@db.internal/palimpsest alice-home --user alice',
  ],
  options: OPTIONS,
  run: copyAll,
})

async function copyAll({ args, values: { user }, io }: Context<typeof OPTIONS>): Promise<Report> {
  const [from, to] = [await placed(args[0]!), await placed(args[1]!)]
  if (from.name === to.name) throw new PalimpsestError('INVALID_INPUT', 'FROM and TO are the same.', { place: to.name })
  const { copyLedger } = await import('../../ledger/copying.ts')
  await using source = await openPlace(from, { mustExist: true })
  await using target = await openPlace(to, { mustExist: false })
  let progress: ReturnType<typeof startProgress> | undefined
  const sessions = await copyLedger(source.ledger, target.ledger, {
    user,
    progress: (session, _, all) => {
      progress ??= startProgress(io, all)
      progress.step(session)
    },
  }).finally(() => progress?.done())
  const rest = await copyRest({ source, target, io, user })
  return reportOf({ from, to, sessions, rest })
}

type Rest = Record<'memory' | 'files' | 'server', CopyTally>

/** Copies everything beside the ledger. */
async function copyRest({ source, target, io, user }: Both & { io: Io; user: string | undefined }): Promise<Rest> {
  const { CopyTally } = await import('../../ledger/copy-rows.ts')
  const { copyMemory, memoryUsers } = await import('../../memory/copying.ts')
  const { copyServerStore } = await import('../server/copy-store.ts')
  const rest = { memory: new CopyTally(), files: new CopyTally(), server: new CopyTally() }
  const inMemory = user === undefined ? await memoryUsers(source.memory) : [user]
  const withFiles = user === undefined ? await ownersIn(source, inMemory) : [user]
  const progress = startProgress(io, inMemory.length + withFiles.length + 1)
  try {
    for (const one of inMemory) {
      progress.step(`memory of ${one}`)
      await copyMemory(source.memory, target.memory, one, rest.memory)
    }
    for (const one of withFiles) {
      progress.step(`files of ${one ?? 'the home'}`)
      await copyFilesOf(one, { source, target, io }, rest.files)
    }
    progress.step('tokens')
    await copyServerStore(source.server, target.server, user, rest.server)
  } finally {
    progress.done()
  }
  return rest
}

/** The home itself, and all users who may have files: some of their folders are named by a hash. */
async function ownersIn({ ledger, files }: Opened, others: readonly string[]): Promise<(string | undefined)[]> {
  const { ownerIn } = await import('../../ledger/owners.ts')
  const rows = await ledger.list({ limit: 2 ** 31 - 1 })
  const owners = rows.flatMap(({ id }) => ownerIn(id).owner ?? [])
  return [undefined, ...new Set([...(await files.users()), ...owners, ...others])]
}

async function copyFilesOf(owner: string | undefined, { source, target, io }: Both & { io: Io }, tally: CopyTally) {
  const { copyFiles, KEPT_FOLDERS } = await import('../../files/copying.ts')
  for (const folder of KEPT_FOLDERS) await copyFiles(source.files.of(owner), target.files.of(owner), folder, tally)
  const { storeOf } = await import('../../files/folder.ts')
  const { workspaceIn } = await import('../../memory/workspace.ts')
  const own = source.files.of(owner, 'workspace')
  // A home's own knowledge files are in another folder, unless the home is the default one.
  const usual = owner === undefined && !own.isTable && (await own.list()).length === 0
  const workspace = usual ? storeOf(workspaceIn(io.env)) : own
  await copyFiles(workspace, target.files.of(owner, 'workspace'), '.', tally)
}

type Done = { from: Place; to: Place; sessions: Copied; rest: Rest }

function reportOf({ from, to, sessions, rest }: Done): Report {
  const { memory, files, server } = rest
  const figures = ({ added, already, differing, hash }: CopyTally) => ({ added, already, differing, hash })
  const differing = Object.values(rest).flatMap(tally => tally.differing)
  return {
    json: {
      ...{ from: from.name, to: to.name, ...sessions },
      ...{ memory: figures(memory), files: figures(files), server: figures(server) },
    },
    *text() {
      yield `copied ${amount(sessions.sessions, 'session')} (${amount(sessions.events, 'event')}) to ${printable(to.name)}`
      if (sessions.already > 0) yield `${amount(sessions.already, 'session')} already there`
      if (sessions.removed > 0) yield `and the record of ${amount(sessions.removed, 'removed session')}`
      yield 'verified: every hash chain ends in the same hash as at the source'
      yield `memory: ${counted(memory, 'version or proposal', 'versions and proposals')}`
      yield `files: ${counted(files, 'file', 'files')}`
      yield `tokens and keys: ${counted(server, 'row', 'rows')}`
    },
    notes: differing.length > 0 ? [`Different at ${printable(to.name)}, and left alone:`, ...differing.map(line)] : [],
    exit: differing.length > 0 ? 1 : 0,
  }
}

const line = (name: string) => `  ${printable(name)}`

function counted({ added, already, hash }: CopyTally, one: string, many: string): string {
  const all = added + already
  return `${withCommas(all)} ${all === 1 ? one : many} the same at both (${withCommas(added)} copied now), SHA-256 ${hash.slice(0, 16)}`
}

/** A folder or a database, with a name that may be shown (without a password). */
type Place = { name: string; folder: string } | { name: string; url: string }

async function placed(given: string): Promise<Place> {
  if (!/^postgres(?:ql)?:/i.test(given)) return { name: given, folder: given }
  const { addressIn } = await import('../../ledger/postgres/errors.ts')
  return { name: addressIn(given).place, url: given }
}

type Opened = Awaited<ReturnType<typeof openPlace>>
type Both = { source: Opened; target: Opened }

async function openPlace(place: Place, { mustExist }: { mustExist: boolean }) {
  const { openLedger } = await import('../../ledger/open.ts')
  if ('folder' in place && mustExist) {
    const { existsSync } = await import('node:fs')
    const { join } = await import('node:path')
    if (!existsSync(join(place.folder, 'ledger.sqlite'))) {
      throw new PalimpsestError('FILE_NOT_FOUND', `There is no ledger in ${place.folder}.`, { path: place.folder })
    }
  }
  const [folder, url] = 'folder' in place ? [place.folder, undefined] : ['', place.url]
  const ledger = await openLedger(folder, url ?? false)
  const beside = await openBeside({ folder, url, mustExist }).catch(async error => {
    await ledger.close()
    throw error
  })
  const close = async () => {
    for (const one of [ledger, ...Object.values(beside)]) await one.close()
  }
  return { ledger, ...beside, [Symbol.asyncDispose]: close }
}

type Beside = { folder: string; url: string | undefined; mustExist: boolean }

async function openBeside({ folder, url, mustExist }: Beside): Promise<{ files: HomeFiles; memory: Sql; server: Sql }> {
  const { existsSync } = await import('node:fs')
  const { join } = await import('node:path')
  // A home may have no memory and no tokens yet; reading it must not create them.
  const there = (file: string) => !mustExist || existsSync(join(folder, file))
  const { openHomeFiles } = await import('../../files/open.ts')
  const { openServerTables } = await import('../server/server-store.ts')
  const memory =
    url === undefined
      ? (await import('../../memory/sqlite.ts')).openSqliteTables(
          there('memory.sqlite') ? join(folder, 'memory.sqlite') : MEMORY,
        )
      : await (await import('../../memory/postgres.ts')).openPostgresTables(url)
  const server = await openServerTables(url !== undefined || there('server.sqlite') ? folder : MEMORY, url)
  return { files: await openHomeFiles(folder, url ?? false), memory, server }
}
