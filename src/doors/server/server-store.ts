/**
 * What the server itself must remember, in `server.sqlite` in the home: tokens (as hashes), the answers to requests
 * that came with an idempotency key, and the numbers of sessions that were read once (a copy: the ledger has the truth).
 *
 * Several processes may hold it, as they may the ledger. A token is 256 random bits, so one round of SHA-256 hides
 * it well; the token itself is known only to whoever was given it.
 */
import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type Migrations, SqliteFile, type SqlRow } from '../../ledger/database.ts'
import { PalimpsestError } from '../../model/errors.ts'
import type { KeptSummary } from '../../session/timelines.ts'

export const ROLES = ['user', 'agent', 'admin'] as const
export type Role = (typeof ROLES)[number]

export type TokenInfo = {
  id: string
  user: string
  role: Role
  /** What it is for; of an agent, the name that its proposals carry. */
  name: string
  createdAt: number
  lastUsedAt: number | null
  revokedAt: number | null
}

export type KeptAnswer = { status: number; type: string; body: string }
export type KeyState =
  | { state: 'new' }
  | { state: 'pending' }
  | { state: 'other-request' }
  | { state: 'answered'; answer: KeptAnswer }

/** Named steps, applied in order on open; append only. */
const MIGRATIONS: Migrations = [
  [
    'tokens, owners, keys',
    `CREATE TABLE tokens (
       id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, user TEXT NOT NULL, role TEXT NOT NULL, name TEXT NOT NULL,
       created_at INTEGER NOT NULL, last_used_at INTEGER, revoked_at INTEGER
     ) STRICT;
     CREATE TABLE owners (session TEXT PRIMARY KEY, user TEXT NOT NULL) STRICT, WITHOUT ROWID;
     CREATE INDEX owners_by_user ON owners (user);
     CREATE TABLE keys (
       scope TEXT NOT NULL, key TEXT NOT NULL, request TEXT NOT NULL, at INTEGER NOT NULL,
       status INTEGER, type TEXT, body TEXT, PRIMARY KEY (scope, key)
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX keys_by_time ON keys (at);`,
  ],
  [
    'summaries',
    `CREATE TABLE summaries (
       session TEXT PRIMARY KEY, length INTEGER NOT NULL, model TEXT NOT NULL, version INTEGER NOT NULL, summary TEXT NOT NULL
     ) STRICT, WITHOUT ROWID;`,
  ],
]

const PREFIX = 'pal_'
const DAY = 24 * 60 * 60 * 1000
const MINUTE = 60_000

export class ServerStore {
  readonly #file: SqliteFile

  /** Opens (or makes) the file in a home; `':memory:'` keeps nothing. */
  constructor(home: string) {
    const path = home === ':memory:' ? home : join(home, 'server.sqlite')
    this.#file = new SqliteFile(path, { migrations: MIGRATIONS })
  }

  /** Makes a token. It is given here, once, and cannot be read again. */
  createToken(given: { user: string; role: Role; name?: string; at: number }): TokenInfo & { token: string } {
    const token = PREFIX + randomBytes(32).toString('base64url')
    const { user, role, at, name = '' } = given
    const id = `t_${randomBytes(8).toString('hex')}`
    this.#file.run('INSERT INTO tokens (id, hash, user, role, name, created_at) VALUES (?, ?, ?, ?, ?, ?)', [
      id,
      hashOf(token),
      user,
      role,
      name,
      at,
    ])
    return { id, user, role, name, createdAt: at, lastUsedAt: null, revokedAt: null, token }
  }

  /** The token that a caller shows, if it is known and not revoked. */
  findToken(token: string, at: number): TokenInfo | undefined {
    if (!token.startsWith(PREFIX) || token.length > 100) return undefined
    const row = this.#file.get('SELECT * FROM tokens WHERE hash = ? AND revoked_at IS NULL', [hashOf(token)])
    if (!row) return undefined
    const found = toToken(row)
    // To the minute: a write for each request would cost more than it tells.
    if (at - (found.lastUsedAt ?? 0) > MINUTE) {
      this.#file.run('UPDATE tokens SET last_used_at = ? WHERE id = ?', [at, found.id])
    }
    return found
  }

  /** All of them, revoked ones too, the newest first. */
  tokens({ limit = 100, after }: { limit?: number; after?: string } = {}): TokenInfo[] {
    const rows = this.#file.all(
      `SELECT * FROM tokens WHERE ?1 IS NULL OR (created_at, id) < (SELECT created_at, id FROM tokens WHERE id = ?1)
       ORDER BY created_at DESC, id DESC LIMIT ?2`,
      [after ?? null, limit],
    )
    return rows.map(toToken)
  }

  token(id: string): TokenInfo | undefined {
    const row = this.#file.get('SELECT * FROM tokens WHERE id = ?', [id])
    return row && toToken(row)
  }

  revokeToken(id: string, at: number): TokenInfo {
    this.#file.run('UPDATE tokens SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?', [at, id])
    const token = this.token(id)
    if (token) return token
    throw new PalimpsestError('TOKEN_NOT_FOUND', `There is no token ${id}. List them with: palimpsest token list`, {
      id,
    })
  }

  /** Owners as earlier versions noted them, by a name that was the session's for everybody; see adopt-owners.ts. */
  formerOwners(): { session: string; user: string }[] {
    const rows = this.#file.all('SELECT session, user FROM owners ORDER BY session')
    return rows.map(row => ({ session: String(row['session']), user: String(row['user']) }))
  }

  dropFormerOwner(session: string): void {
    this.#file.run('DELETE FROM owners WHERE session = ?', [session])
  }

  /** Whether a user has tokens, and all of them are an admin's. */
  isOnlyAdmin(user: string): boolean {
    const roles = this.#file.all('SELECT DISTINCT role FROM tokens WHERE user = ?', [user])
    return roles.length > 0 && roles.every(({ role }) => role === 'admin')
  }

  /** Takes a key for a request, or says what became of the one that has it. */
  takeKey(scope: string, key: string, request: { hash: string; at: number }): KeyState {
    this.#file.run('DELETE FROM keys WHERE at < ?', [request.at - DAY])
    const taken = this.#file.run(
      'INSERT INTO keys (scope, key, request, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
      [scope, key, request.hash, request.at],
    )
    if (taken > 0) return { state: 'new' }
    const row = this.#file.get('SELECT request, status, type, body FROM keys WHERE scope = ? AND key = ?', [scope, key])
    if (!row) return { state: 'pending' }
    if (row['request'] !== request.hash) return { state: 'other-request' }
    if (row['status'] === null) return { state: 'pending' }
    const answer = { status: Number(row['status']), type: String(row['type']), body: String(row['body']) }
    return { state: 'answered', answer }
  }

  /** Keeps the answer for a day; without one the key is free again. */
  settleKey(scope: string, key: string, answer: KeptAnswer | undefined): void {
    if (!answer) this.#file.run('DELETE FROM keys WHERE scope = ? AND key = ?', [scope, key])
    else {
      this.#file.run('UPDATE keys SET status = ?, type = ?, body = ? WHERE scope = ? AND key = ?', [
        answer.status,
        answer.type,
        answer.body,
        scope,
        key,
      ])
    }
  }

  /** The numbers of every session, as they were at a length. */
  /** Removes what is kept of sessions, by their ids in the ledger. */
  forgetSessions(ids: readonly string[]): void {
    for (const id of ids) this.#file.run('DELETE FROM summaries WHERE session = ?', [id])
  }

  /** Removes a user's tokens, and the answers that were kept for them. */
  forgetUser(user: string): void {
    this.#file.run('DELETE FROM keys WHERE scope IN (SELECT id FROM tokens WHERE user = ?)', [user])
    this.#file.run('DELETE FROM tokens WHERE user = ?', [user])
    this.#file.run('DELETE FROM owners WHERE user = ?', [user])
  }

  summaries(version: number): KeptSummary[] {
    const rows = this.#file.all('SELECT session, length, model, summary FROM summaries WHERE version = ?', [version])
    return rows.map(row => ({
      session: String(row['session']),
      length: Number(row['length']),
      model: String(row['model']),
      summary: String(row['summary']),
    }))
  }

  keepSummary({ session, length, model, summary }: KeptSummary, version: number): void {
    this.#file.run(
      'INSERT OR REPLACE INTO summaries (session, length, model, version, summary) VALUES (?, ?, ?, ?, ?)',
      [session, length, model, version, summary],
    )
  }

  close(): void {
    this.#file.close()
  }
}

function toToken(row: SqlRow): TokenInfo {
  const time = (value: unknown) => (value === null ? null : Number(value))
  return {
    id: String(row['id']),
    user: String(row['user']),
    role: ROLES.find(role => role === row['role']) ?? 'agent',
    name: String(row['name']),
    createdAt: Number(row['created_at']),
    lastUsedAt: time(row['last_used_at']),
    revokedAt: time(row['revoked_at']),
  }
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
