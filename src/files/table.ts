/**
 * Files in a table of PostgreSQL, for any number of servers: a row a file, by its user and path.
 *
 * A change is a compare-and-set: it is written if the row still has the version that was read; otherwise it is
 * computed again on the present text.
 */
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { userFolder } from '../ledger/owners.ts'
import type { PgMigrations } from '../ledger/postgres/database.ts'
import { PostgresSql } from '../ledger/postgres/sql.ts'
import type { Sql } from '../ledger/sql.ts'
import { PalimpsestError } from '../model/errors.ts'
import { hashContent } from './journal.ts'
import { keyBelow } from './root.ts'
import type { ChangedText, ChangeText, FileStore, HomeFiles, StoredFile } from './store.ts'

const MIGRATIONS: PgMigrations = [
  [
    'files',
    `CREATE TABLE files (
       owner text COLLATE "C" NOT NULL, path text COLLATE "C" NOT NULL, version text NOT NULL, text text NOT NULL,
       PRIMARY KEY (owner, path)
     )`,
  ],
]

/** The owner of the home's own files; no user has this name. */
const HOME = ''
const MAX_ATTEMPTS = 200
const LONGEST_PAUSE_MS = 50
const MAX_DEPTH = 3
const LAST = '\u{10ffff}'

type Place = { owner: string; folder: string; part: string }

class TableFiles implements FileStore {
  readonly folder: string
  readonly isTable = true
  readonly #sql: Sql
  readonly #owner: string
  readonly #part: string

  constructor(sql: Sql, { owner, folder, part }: Place) {
    this.#sql = sql
    this.#owner = owner
    this.#part = part
    this.folder = folder
  }

  async read(path: string): Promise<StoredFile | undefined> {
    const row = await this.#sql.get('SELECT text, version FROM files WHERE owner = ? AND path = ?', this.#key(path))
    return row && { text: String(row['text']), version: String(row['version']) }
  }

  async change(path: string, change: ChangeText): Promise<ChangedText> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const now = await this.read(path)
      const before = now?.text ?? null
      const after = await change(before)
      if (after === before || (await this.#replace(path, now, after))) return { before, after }
      await sleep(Math.random() * Math.min(2 ** attempt, LONGEST_PAUSE_MS))
    }
    const message = `Other writers keep changing ${path}. Nothing was done; try again later.`
    throw new PalimpsestError('FILE_CHANGED', message, { path })
  }

  async list(below = '.'): Promise<string[]> {
    const inside = keyBelow({ folder: this.folder, given: this.folder }, below)
    const from = `${this.#part}${inside === '' ? '' : `${inside}/`}`
    // In ASCII, a slash is followed by a zero: this is the end of the range with that prefix.
    const to = from === '' ? LAST : `${from.slice(0, -1)}0`
    const range = 'owner = ? AND path >= ? AND path < ?'
    const rows = await this.#sql.all(`SELECT path FROM files WHERE ${range} ORDER BY path`, [this.#owner, from, to])
    const paths = rows.map(row => String(row['path']).slice(this.#part.length))
    return paths.filter(path => path.slice(from.length - this.#part.length).split('/').length <= MAX_DEPTH)
  }

  /** False if the row has changed since it was read. */
  async #replace(path: string, found: StoredFile | undefined, after: string | null): Promise<boolean> {
    const key = this.#key(path)
    if (after === null) {
      const where = 'owner = ? AND path = ? AND version = ?'
      return (await this.#sql.run(`DELETE FROM files WHERE ${where}`, [...key, found!.version])) > 0
    }
    const version = hashContent(after)
    if (!found) {
      const insert = 'INSERT INTO files (owner, path, version, text) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING'
      return (await this.#sql.run(insert, [...key, version, after])) > 0
    }
    const update = 'UPDATE files SET version = ?, text = ? WHERE owner = ? AND path = ? AND version = ?'
    return (await this.#sql.run(update, [version, after, ...key, found.version])) > 0
  }

  #key(path: string): [owner: string, path: string] {
    return [this.#owner, this.#part + keyBelow({ folder: this.folder, given: this.folder }, path)]
  }
}

export class HomeTable implements HomeFiles {
  readonly #sql: Sql
  readonly #home: string
  readonly isTable = true

  private constructor(sql: Sql, home: string) {
    this.#sql = sql
    this.#home = home
  }

  /** `home` is the folder in the names of the home's own files. */
  static async open(url: string, home: string): Promise<HomeTable> {
    return new HomeTable(await PostgresSql.open(url, 'files', MIGRATIONS), resolve(home))
  }

  of(user: string | undefined, part?: 'workspace'): FileStore {
    const folder = user === undefined ? this.#home : userFolder(this.#home, user)
    const place = part === undefined ? { folder, part: '' } : { folder: join(folder, part), part: `${part}/` }
    return new TableFiles(this.#sql, { owner: user ?? HOME, ...place })
  }

  async users(): Promise<string[]> {
    const rows = await this.#sql.all('SELECT DISTINCT owner FROM files WHERE owner <> ? ORDER BY owner', [HOME])
    return rows.map(row => String(row['owner']))
  }

  async forget(user: string): Promise<void> {
    await this.#sql.run('DELETE FROM files WHERE owner = ?', [user])
  }

  close(): Promise<void> {
    return this.#sql.close()
  }
}
