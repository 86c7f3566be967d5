/**
 * A SQLite file: opened with a write-ahead log and migrated to the newest schema; its failures get our error codes.
 * Statements are prepared once. A commit is on disk before the call returns.
 */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { type ErrorCode, messageOf, PalimpsestError } from '../model/errors.ts'

/** Named steps, applied in order on open; append only. */
export type Migrations = readonly (readonly [name: string, sql: string])[]
export type SqlValue = string | number | bigint | null
export type SqlRow = Record<string, unknown>

/** The statements of a database, each prepared once. */
export class Statements {
  readonly #db: DatabaseSync
  readonly #prepared = new Map<string, StatementSync>()

  constructor(db: DatabaseSync) {
    this.#db = db
  }

  prepare(sql: string): StatementSync {
    let statement = this.#prepared.get(sql)
    if (!statement) this.#prepared.set(sql, (statement = this.#db.prepare(sql)))
    return statement
  }

  all(sql: string, values: readonly (SqlValue | Uint8Array)[] = []): SqlRow[] {
    return this.prepare(sql).all(...values)
  }

  /** The number of rows that changed. */
  run(sql: string, values: readonly (SqlValue | Uint8Array)[] = []): number {
    return Number(this.prepare(sql).run(...values).changes)
  }
}

export class SqliteFile {
  readonly #db: DatabaseSync
  readonly #statements: Statements
  readonly #files: OpenedFiles
  #closed = false

  constructor(path: string, { migrations, busyMs = 5000 }: { migrations: Migrations; busyMs?: number }) {
    this.#db = openDatabase(path)
    this.#statements = new Statements(this.#db)
    guard(() => {
      this.#db.exec(`PRAGMA busy_timeout = ${busyMs}`)
      this.#db.exec('PRAGMA journal_mode = WAL')
      this.#db.exec('PRAGMA synchronous = FULL')
      migrate(this.#db, path, migrations)
    }, path)
    this.#files = new OpenedFiles(path)
  }

  all(sql: string, values: readonly SqlValue[] = []): SqlRow[] {
    return this.#files.read(() => this.#statements.all(sql, values))
  }

  get(sql: string, values: readonly SqlValue[] = []): SqlRow | undefined {
    return this.#files.read(() => this.#statements.prepare(sql).get(...values))
  }

  /** The number of rows that changed. */
  run(sql: string, values: readonly SqlValue[] = []): number {
    return this.#files.write(() => this.#statements.run(sql, values))
  }

  /** All or nothing. Reads inside the transaction see the state that it will commit. */
  transaction<T>(work: () => T): T {
    return this.#files.write(() => inTransaction(this.#db, work))
  }

  scrub(): void {
    scrub(this.#db)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#db.close()
    this.#files.close()
  }
}

/** Opens a database file; creates it with its folder if it does not exist. */
export function openDatabase(path: string, options: { readOnly?: boolean } = {}): DatabaseSync {
  try {
    if (path !== ':memory:' && options.readOnly !== true) makePrivate(path)
    return new DatabaseSync(options.readOnly && isImmutable(path) ? immutable(path) : path, options)
  } catch (error) {
    throw asStoreError(error, path)
  }
}

/** SQLite does not open a closed database in a folder where it cannot make a log, unless it is told that nobody writes. */
function isImmutable(path: string): boolean {
  if (existsSync(`${path}-wal`)) return false
  try {
    accessSync(dirname(path), constants.W_OK)
    return false
  } catch {
    return true
  }
}

function immutable(path: string): URL {
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  return url
}

/** A new database is readable only by its owner from the first byte; SQLite gives the files beside it the same mode. */
function makePrivate(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
}

/**
 * Checks that a database, its log and the index of the log are still the files that were opened. SQLite goes on writing
 * into files that were deleted or replaced, and such commits are lost when the process ends. Without the same index,
 * two processes do not see each other's locks and overwrite each other's commits. Call `close` after the database is
 * closed.
 */
export class OpenedFiles {
  readonly #path: string
  readonly #files: readonly OpenedFile[]
  readonly #folder: string | undefined
  /** The state of the folder in which the files were found to be the same. */
  #known: FolderState | undefined

  constructor(path: string) {
    this.#path = path
    const whole = resolve(path)
    const files = [byInode(whole), byLink(`${whole}-wal`), byInode(`${whole}-shm`)]
    this.#files = files.filter(file => file !== undefined)
    const tells = process.platform === 'linux' && this.#files.length > 0 && realpathSync(whole) === whole
    this.#folder = tells ? dirname(whole) : undefined
  }

  read<T>(work: () => T): T {
    return guard(work, this.#path)
  }

  /** Runs a write. It is not begun if the files have changed, and not reported if they changed during it. */
  write<T>(work: () => T): T {
    this.check()
    const result = guard(work, this.#path)
    this.check()
    return result
  }

  /** A file cannot be deleted or replaced without a change to its folder: one look at the folder is usually enough. */
  check(): void {
    const folder = this.#folder === undefined ? undefined : folderState(this.#folder)
    if (folder && isSameState(folder, this.#known)) return
    for (const { file, isSame } of this.#files) {
      if (isSame()) continue
      const what = existsSync(file) ? 'replaced' : 'deleted'
      const advice = 'Nothing written from now on is kept. Put the file back, and restart Palimpsest.'
      throw new PalimpsestError('STORE_FAILED', `${file} was ${what} while it was open. ${advice}`, { path: file })
    }
    this.#known = folder && isSettled(folder) ? folder : undefined
  }

  close(): void {
    for (const { close } of this.#files) close?.()
  }
}

/** `ctimeMs`: when a file in it was last created, renamed or deleted. Unlike other times, nobody can set it. */
type FolderState = Pick<Stats, 'dev' | 'ino' | 'ctimeMs'>

function folderState(folder: string): FolderState | undefined {
  return statSync(folder, { throwIfNoEntry: false })
}

function isSameState(now: FolderState, before: FolderState | undefined): boolean {
  return now.ctimeMs === before?.ctimeMs && now.ino === before.ino && now.dev === before.dev
}

/**
 * Whether the next change gets another time. Clocks of file systems tick every few milliseconds; some file systems keep
 * whole seconds, or every second one.
 */
function isSettled({ ctimeMs }: FolderState): boolean {
  return Date.now() - ctimeMs > (ctimeMs % 1000 === 0 ? 3000 : 50)
}

type OpenedFile = { file: string; isSame: () => boolean; close?: () => void }

function byInode(file: string): OpenedFile | undefined {
  const opened = inodeOf(file)
  return opened === undefined ? undefined : { file, isSame: () => inodeOf(file) === opened }
}

function inodeOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}

/**
 * For a log, which every commit writes. Linux records the exact time of the next write to a file whose times were asked
 * for, and the sync then writes that, too: `stat` on the log would add a quarter to an append. The link of an open file
 * gets another name when the file is deleted or replaced. A database must not be opened here: closing any handle to it
 * releases the locks of SQLite.
 */
function byLink(file: string): OpenedFile | undefined {
  if (process.platform !== 'linux' || !existsSync(file)) return byInode(file)
  const handle = openSync(file, 'r')
  const link = `/proc/self/fd/${handle}`
  const opened = readlinkSync(link)
  return { file, isSame: () => readlinkSync(link) === opened, close: () => closeSync(handle) }
}

/** Applies the migrations that a database has not had yet. */
export function migrate(db: DatabaseSync, path: string, migrations: Migrations): void {
  const version = () => Number(db.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0)
  if (version() === migrations.length) return
  if (version() > migrations.length) {
    throw new PalimpsestError(
      'LEDGER_NEWER',
      `${path} was made by a newer version of Palimpsest (schema ${version()}, this one knows ${migrations.length}). Update Palimpsest.`,
      { path },
    )
  }
  inTransaction(db, () => {
    for (const [, sql] of migrations.slice(version())) db.exec(sql)
    db.exec(`PRAGMA user_version = ${migrations.length}`)
  })
}

/**
 * Rewrites a database without deleted rows: pages that SQLite has split or emptied keep old bytes, whatever
 * `secure_delete` says. It takes time proportional to the file, and writers wait.
 */
export function scrub(db: DatabaseSync): void {
  try {
    db.exec('VACUUM')
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch (cause) {
    const message = 'It is deleted, but its bytes stay in the file until the next deletion, because the file could not'
    throw new PalimpsestError('STORE_FAILED', `${message} be rewritten (${messageOf(cause)}).`, {}, cause)
  }
}

/** Runs work on a database; failures are thrown with our error codes. */
export function guard<T>(work: () => T, path?: string): T {
  try {
    return work()
  } catch (error) {
    throw asStoreError(error, path)
  }
}

const LOCKED = 'Another process has locked the database. Wait for it to finish, or end it.'
const KNOWN: Record<number, [ErrorCode, string]> = {
  5: ['STORE_LOCKED', LOCKED],
  6: ['STORE_LOCKED', LOCKED],
  8: ['STORE_READONLY', 'The database cannot be written. Check the permissions of its folder.'],
  10: ['STORE_FAILED', 'The disk could not be read or written. Check it; nothing acknowledged was lost.'],
  11: ['LEDGER_CORRUPT', 'The database file is damaged. Restore it from a backup.'],
  13: ['STORE_FULL', 'The disk is full. Free some space; nothing acknowledged was lost.'],
  14: ['STORE_FAILED', 'The database cannot be opened. Check that its folder exists and can be written.'],
  26: ['LEDGER_CORRUPT', 'The file is not a database.'],
}

/** Translates SQLite's failures to our error codes, with advice. */
function asStoreError(error: unknown, path?: string): unknown {
  if (error instanceof PalimpsestError || !(error instanceof Error)) return error
  const code = 'errcode' in error ? Number(error.errcode) & 0xff : -1
  const [name, message] = KNOWN[code] ?? (['STORE_FAILED', error.message] as const)
  return new PalimpsestError(
    name,
    message + (path && path !== ':memory:' ? ` (${path})` : ''),
    { sqlite: error.message },
    error,
  )
}

export function inTransaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    db.exec('COMMIT')
    return result
  } catch (error) {
    rollBack(db)
    throw error
  }
}

/** After some failures, such as a full disk, SQLite has rolled back by itself; then there is nothing to roll back. */
function rollBack(db: DatabaseSync): void {
  try {
    db.exec('ROLLBACK')
  } catch {}
}
