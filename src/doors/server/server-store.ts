/**
 * The server's own state: tokens (as hashes), the answers to requests that came with an idempotency key, the key that
 * signs links, and statistics of sessions (a copy: the ledger is the source). It is in `server.sqlite` in the home, or
 * in the database that all servers share.
 *
 * Several processes may open it, as they may the ledger. A token is 256 random bits, so one round of SHA-256 hides it
 * well; only its owner knows the token itself.
 */

import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { ownerIn } from '../../ledger/owners.ts'
import { databaseUrl, type PgMigrations } from '../../ledger/postgres/database.ts'
import { PostgresSql } from '../../ledger/postgres/sql.ts'
import { countOf, type Migrations, type Sql, SqliteSql, type SqlRow } from '../../ledger/sql.ts'
import { type Environment, MEMORY } from '../../model/defaults.ts'
import { PalimpsestError } from '../../model/errors.ts'
import type { KeptSummary } from '../../session/timelines.ts'

export const ROLES = ['user', 'agent', 'admin'] as const
export type Role = (typeof ROLES)[number]

export type TokenInfo = {
  id: string
  user: string
  role: Role
  /** The purpose of the token; for an agent, the name that its proposals carry. */
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
  ['secrets', 'CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID'],
  [
    'told',
    'CREATE TABLE told (user TEXT NOT NULL, proposal TEXT NOT NULL, PRIMARY KEY (user, proposal)) STRICT, WITHOUT ROWID',
  ],
]

const PREFIX = 'pal_'
/** The answers to a user, to admins, and to the local user. */
const FORGET_ANSWERS = `UPDATE keys SET status = NULL, type = NULL, body = NULL
  WHERE scope = 'local' OR scope IN (SELECT id FROM tokens WHERE role = 'admin' OR "user" = ?)`
const DAY = 24 * 60 * 60 * 1000
const MINUTE = 60_000
const SECRET_BYTES = 32

const POSTGRES: PgMigrations = [
  [
    'tokens, keys, summaries, secrets',
    `CREATE TABLE tokens (
       id text COLLATE "C" PRIMARY KEY, hash text NOT NULL UNIQUE, "user" text NOT NULL, role text NOT NULL,
       name text NOT NULL, created_at bigint NOT NULL, last_used_at bigint, revoked_at bigint
     );
     CREATE INDEX tokens_by_time ON tokens (created_at, id);
     CREATE INDEX tokens_by_user ON tokens ("user");
     CREATE TABLE owners (session text COLLATE "C" PRIMARY KEY, "user" text NOT NULL);
     CREATE TABLE keys (
       scope text NOT NULL, key text NOT NULL, request text NOT NULL, at bigint NOT NULL,
       status integer, type text, body text, PRIMARY KEY (scope, key)
     );
     CREATE INDEX keys_by_time ON keys (at);
     CREATE TABLE summaries (
       session text PRIMARY KEY, length bigint NOT NULL, model text NOT NULL, version integer NOT NULL, summary text NOT NULL
     );
     CREATE TABLE secrets (name text PRIMARY KEY, value text NOT NULL);`,
  ],
  [
    'told',
    `CREATE TABLE told ("user" text COLLATE "C" NOT NULL, proposal text COLLATE "C" NOT NULL, PRIMARY KEY ("user", proposal))`,
  ],
]

/** Opens the store of a home: the database in PALIMPSEST_DATABASE_URL, or a file. `':memory:'` keeps nothing. */
export async function openServerStore(home: string, env: Environment = process.env): Promise<ServerStore> {
  return new ServerStore(await openServerTables(home, home === MEMORY ? undefined : databaseUrl(env)))
}

export async function openPostgresStore(url: string): Promise<ServerStore> {
  return new ServerStore(await openServerTables('', url))
}

export async function openServerTables(home: string, url: string | undefined): Promise<Sql> {
  if (url !== undefined) return PostgresSql.open(url, 'server', POSTGRES)
  return new SqliteSql(home === MEMORY ? MEMORY : join(home, 'server.sqlite'), { migrations: MIGRATIONS })
}

export class ServerStore {
  readonly #sql: Sql
  /** When answers older than a day were last deleted. */
  #swept = 0

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /** Creates a token. It is returned only once, here. */
  async createToken(given: {
    user: string
    role: Role
    name?: string
    at: number
  }): Promise<TokenInfo & { token: string }> {
    const token = PREFIX + randomBytes(32).toString('base64url')
    const { user, role, at, name = '' } = given
    const id = `t_${randomBytes(8).toString('hex')}`
    await this.#sql.run('INSERT INTO tokens (id, hash, "user", role, name, created_at) VALUES (?, ?, ?, ?, ?, ?)', [
      id,
      hashOf(token),
      user,
      role,
      name,
      at,
    ])
    return { id, user, role, name, createdAt: at, lastUsedAt: null, revokedAt: null, token }
  }

  /** The token that a caller presents, if it is known and not revoked. */
  async findToken(token: string, at: number): Promise<TokenInfo | undefined> {
    if (!token.startsWith(PREFIX) || token.length > 100) return undefined
    const row = await this.#sql.get('SELECT * FROM tokens WHERE hash = ? AND revoked_at IS NULL', [hashOf(token)])
    if (!row) return undefined
    const found = toToken(row)
    // To the minute: a write for each request would cost more than it is worth.
    if (at - (found.lastUsedAt ?? 0) > MINUTE) {
      await this.#sql.run('UPDATE tokens SET last_used_at = ? WHERE id = ?', [at, found.id])
    }
    return found
  }

  /** All tokens, including revoked ones, the newest first. */
  async tokens({ limit = 100, after }: { limit?: number; after?: string } = {}): Promise<TokenInfo[]> {
    const rows = await this.#sql.all(
      `SELECT * FROM tokens ${
        after === undefined ? '' : 'WHERE (created_at, id) < (SELECT created_at, id FROM tokens WHERE id = ?) '
      }ORDER BY created_at DESC, id DESC LIMIT ?`,
      [...(after === undefined ? [] : [after]), limit],
    )
    return rows.map(toToken)
  }

  async token(id: string): Promise<TokenInfo | undefined> {
    const row = await this.#sql.get('SELECT * FROM tokens WHERE id = ?', [id])
    return row && toToken(row)
  }

  async revokeToken(id: string, at: number): Promise<TokenInfo> {
    await this.#sql.run('UPDATE tokens SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?', [at, id])
    const token = await this.token(id)
    if (token) return token
    throw new PalimpsestError('TOKEN_NOT_FOUND', `There is no token ${id}. List them with: palimpsest token list`, {
      id,
    })
  }

  /** Owners as earlier versions recorded them, by a session name that all users shared; see adopt-owners.ts. */
  async formerOwners(): Promise<{ session: string; user: string }[]> {
    const rows = await this.#sql.all('SELECT session, "user" FROM owners ORDER BY session')
    return rows.map(row => ({ session: String(row['session']), user: String(row['user']) }))
  }

  async dropFormerOwner(session: string): Promise<void> {
    await this.#sql.run('DELETE FROM owners WHERE session = ?', [session])
  }

  /** Whether a user has tokens, and all of them have the role of an admin. */
  async isOnlyAdmin(user: string): Promise<boolean> {
    const roles = await this.#sql.all('SELECT DISTINCT role FROM tokens WHERE "user" = ?', [user])
    return roles.length > 0 && roles.every(({ role }) => role === 'admin')
  }

  /** Takes a key for a request, or returns the state of the request that already has it. */
  async takeKey(scope: string, key: string, request: { hash: string; at: number }): Promise<KeyState> {
    // To the minute: a deletion for each request would cost more than it is worth.
    if (Math.abs(request.at - this.#swept) > MINUTE) {
      this.#swept = request.at
      await this.#sql.run('DELETE FROM keys WHERE at < ?', [request.at - DAY])
    }
    const taken = await this.#sql.run(
      'INSERT INTO keys (scope, key, request, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
      [scope, key, request.hash, request.at],
    )
    if (taken > 0) return { state: 'new' }
    const row = await this.#sql.get('SELECT request, status, type, body FROM keys WHERE scope = ? AND key = ?', [
      scope,
      key,
    ])
    if (!row) return { state: 'pending' }
    if (row['request'] !== request.hash) return { state: 'other-request' }
    if (row['status'] === null) return { state: 'pending' }
    const answer = { status: Number(row['status']), type: String(row['type']), body: String(row['body']) }
    return { state: 'answered', answer }
  }

  /** Keeps the answer for a day; without an answer the key is free again. */
  async settleKey(scope: string, key: string, answer: KeptAnswer | undefined): Promise<void> {
    if (!answer) await this.#sql.run('DELETE FROM keys WHERE scope = ? AND key = ?', [scope, key])
    else {
      await this.#sql.run('UPDATE keys SET status = ?, type = ?, body = ? WHERE scope = ? AND key = ?', [
        answer.status,
        answer.type,
        answer.body,
        scope,
        key,
      ])
    }
  }

  /**
   * Removes all data about sessions, by their ids in the ledger, and all kept answers to users of these sessions,
   * because they may contain their texts. The keys of these answers stay used, so that no request is carried out twice.
   */
  async forgetSessions(ids: readonly string[]): Promise<void> {
    const owners = new Set(ids.map(id => ownerIn(id).owner ?? ''))
    await this.#sql.erase(function* () {
      for (const id of ids) yield* countOf('DELETE FROM summaries WHERE session = ?', [id])
      for (const owner of owners) yield* countOf(FORGET_ANSWERS, [owner])
    })
  }

  /** Removes a user's tokens, and the answers that were kept for them. */
  async forgetUser(user: string): Promise<void> {
    await this.#sql.erase(function* () {
      yield* countOf('DELETE FROM keys WHERE scope IN (SELECT id FROM tokens WHERE "user" = ?)', [user])
      for (const table of ['tokens', 'owners', 'told']) yield* countOf(`DELETE FROM ${table} WHERE "user" = ?`, [user])
    })
  }

  /** The proposals that were not announced to the user yet, at any server. */
  async untold(user: string, proposals: readonly string[]): Promise<string[]> {
    const rows = await this.#sql.all('SELECT proposal FROM told WHERE "user" = ?', [user])
    const told = new Set(rows.map(({ proposal }) => String(proposal)))
    return proposals.filter(id => !told.has(id))
  }

  /**
   * Claims the right to announce proposals to a user; `false` if all of them were announced. Only one of several
   * servers gets it.
   */
  async claimTelling(user: string, proposals: readonly string[]): Promise<boolean> {
    return this.#sql.transaction(function* () {
      let fresh = 0
      const insert = 'INSERT INTO told ("user", proposal) VALUES (?, ?) ON CONFLICT DO NOTHING'
      for (const id of [...proposals].sort()) fresh += yield* countOf(insert, [user, id])
      return fresh > 0
    })
  }

  /** The statistics of every session, with the session's length at that time. */
  async summaries(version: number): Promise<KeptSummary[]> {
    const rows = await this.#sql.all('SELECT session, length, model, summary FROM summaries WHERE version = ?', [
      version,
    ])
    return rows.map(row => ({
      session: String(row['session']),
      length: Number(row['length']),
      model: String(row['model']),
      summary: String(row['summary']),
    }))
  }

  async keepSummary({ session, length, model, summary }: KeptSummary, version: number): Promise<void> {
    await this.#sql.run(
      `INSERT INTO summaries (session, length, model, version, summary) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (session) DO UPDATE SET
         length = excluded.length, model = excluded.model, version = excluded.version, summary = excluded.summary`,
      [session, length, model, version, summary],
    )
  }

  /** Random bytes under a name, the same at every server. */
  async secret(name: string): Promise<Buffer> {
    const made = randomBytes(SECRET_BYTES).toString('hex')
    await this.#sql.run('INSERT INTO secrets (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING', [name, made])
    const row = await this.#sql.get('SELECT value FROM secrets WHERE name = ?', [name])
    return Buffer.from(String(row?.['value']), 'hex')
  }

  async close(): Promise<void> {
    await this.#sql.close()
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
