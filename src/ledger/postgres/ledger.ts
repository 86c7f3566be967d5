/**
 * The ledger on PostgreSQL: any number of servers on one database.
 *
 * An append is one statement (appends.ts) and resolves when the server has committed it, as durable as its
 * `synchronous_commit` says. Events are partitioned by session; strings over 16 KB are stored once, by their hash. A
 * fork shares its parent's rows. Nothing that another server could change is cached between two calls.
 */
import { type RecallIndex, type Scope, type Span, sessionIn } from '../../recall/index.ts'
import { LAST_SEQ } from '../family.ts'
import { indexSome, mergeSome } from '../filling.ts'
import { type Advance, Indexer, LATER_MS } from '../indexer.ts'
import { ownerPrefix } from '../owners.ts'
import { redactSessions } from '../redacting.ts'
import type { Redacted, ToRedact } from '../redaction.ts'
import { removeSessions } from '../removing.ts'
import { runLater, type Steps } from '../steps.ts'
import {
  type LedgerStore,
  type ListOptions,
  type NewRow,
  noSession,
  type ReadOptions,
  type Row,
  type SessionRow,
  toRow,
  toSession,
} from '../store.ts'
import { type Removal, type Tombstone, toTombstone } from '../tombstones.ts'
import { Appends } from './appends.ts'
import { contentsIn } from './contents.ts'
import { isUniqueViolation, type PgOptions, type PgValue, Postgres } from './database.ts'
import { PgFamily } from './family.ts'
import { LINEAGE, PgIndexTables } from './index-tables.ts'
import { PgRecall } from './recall.ts'
import { LEDGER_MIGRATIONS, MINUTE_NOW } from './schema.ts'

const SESSION = `SELECT s.id, s.fork_seq, s.length, s.created_at, s.updated_at, s.meta, p.id AS parent_id
  FROM sessions s LEFT JOIN sessions p ON p.key = s.parent`
/** How many sessions with missing index entries are looked up at once. */
const BEHIND_AT_ONCE = 200
/** How often a removal is retried when another removal takes the same place among the tombstones. */
const MAX_REMOVAL_TRIES = 20

export class PostgresLedger implements LedgerStore {
  readonly #db: Postgres
  readonly #appends: Appends
  readonly #recall: PgRecall
  readonly #indexer: Indexer
  #isOpen = true

  private constructor(db: Postgres) {
    this.#db = db
    this.#appends = new Appends(db)
    this.#recall = new PgRecall(db)
    this.#indexer = new Indexer((...args) => this.#advance(...args), { soonMs: LATER_MS })
  }

  static async open(url: string, options: PgOptions = {}): Promise<PostgresLedger> {
    const db = await Postgres.open(url, options)
    try {
      await db.migrate('ledger', LEDGER_MIGRATIONS)
    } catch (error) {
      await db.close()
      throw error
    }
    return new PostgresLedger(db)
  }

  async open(
    id: string,
    { at, meta, parent }: { at: number; meta: string; parent?: { id: string; seq: number } },
  ): Promise<SessionRow> {
    const [key, from] = parent
      ? ['p.key', 'FROM sessions p WHERE p.id = $6 FOR KEY SHARE']
      : ['NULL::bigint', 'WHERE $6::text IS NULL']
    await this.#db.run(
      session =>
        session.change(
          `INSERT INTO sessions (id, owner, parent, fork_seq, length, created_at, updated_at, meta, changed_minute)
           SELECT $1::text, $2::text, ${key}, $3::integer, coalesce($3::integer, -1) + 1, $4::bigint, $4::bigint, $5::text, ${MINUTE_NOW} ${from} ON CONFLICT (id) DO NOTHING`,
          [id, ownerPrefix(id), parent?.seq ?? null, at, meta, parent?.id ?? null],
        ),
      { again: true },
    )
    const row = await this.find(id)
    if (!row) throw noSession(parent?.id ?? id)
    return row
  }

  async find(id: string): Promise<SessionRow | undefined> {
    const [row] = await this.#db.read(`${SESSION} WHERE s.id = $1`, [id])
    return row && toSession(row)
  }

  async list({ limit = 100, after, contains, prefix = '', changedWithin }: ListOptions = {}): Promise<SessionRow[]> {
    const anchor = after === undefined ? undefined : await this.find(after)
    const owner = ownerPrefix(prefix)
    const conditions: string[] = []
    const values: PgValue[] = []
    const add = (condition: (...places: string[]) => string, ...given: PgValue[]) => {
      conditions.push(condition(...given.map((_, i) => `$${values.length + i + 1}`)))
      values.push(...given)
    }
    if (owner !== '') add(own => `s.owner = ${own}`, owner)
    if (prefix !== owner) add(beginning => `substr(s.id, 1, length(${beginning}::text)) = ${beginning}`, prefix)
    if (anchor) {
      add((at, id) => `(s.updated_at, s.id) < (${at}, ${id})`, anchor.updatedAt, anchor.id)
      add(minute => `s.used_minute <= ${minute}`, Math.floor(anchor.updatedAt / 60_000))
    }
    if (changedWithin !== undefined) {
      add(minutes => `s.changed_minute >= ${MINUTE_NOW} - ${minutes}::bigint`, Math.ceil(changedWithin / 60_000))
    }
    if (contains !== undefined) {
      const isThere = (beginning: string, text: string) =>
        `(strpos(substr(s.id, length(${beginning}::text) + 1), ${text}) > 0 OR strpos(s.meta, ${text}) > 0)`
      add(isThere, prefix, contains)
    }
    const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''
    const sql = `${SESSION} ${where} ORDER BY s.used_minute DESC, s.updated_at DESC, s.id DESC LIMIT $${values.length + 1}`
    return (await this.#db.read(sql, [...values, limit])).map(toSession)
  }

  async setMeta(id: string, meta: string): Promise<void> {
    const sql = `UPDATE sessions SET meta = $2, changed_minute = ${MINUTE_NOW} WHERE id = $1`
    await this.#db.run(session => session.change(sql, [id, meta]), { again: true })
  }

  async append(id: string, rows: readonly NewRow[]): Promise<boolean> {
    if (rows.length === 0) {
      if (!(await this.find(id))) throw noSession(id)
      return true
    }
    const won = await this.#appends.append(id, rows)
    if (won) this.#indexer.appended(id)
    return won
  }

  /** One statement, so that a session that is being removed is read whole or not at all. */
  async read(
    id: string,
    { from = 0, to = LAST_SEQ, lightType, only, besidesEntries }: ReadOptions = {},
  ): Promise<Row[]> {
    const [low, high] = [Math.max(0, from), Math.min(to, LAST_SEQ)]
    // PostgreSQL expects many ancestors, and would read all partitions to join them; the OFFSET makes it look up each one.
    const rows = await this.#db.read(
      `${LINEAGE.replace('START', 'id = $1')}
       SELECT e.* FROM line l LEFT JOIN LATERAL (
         SELECT seq, type, at, hash, light, CASE WHEN type = $4 THEN NULL ELSE body END AS body FROM events
         WHERE session = l.key AND seq BETWEEN $2 AND least($3, l.up_to)
           ${besidesEntries ? "AND type <> 'entry'" : ''} ${only ? 'AND seq = ANY($5::integer[])' : ''} OFFSET 0
       ) e ON true`,
      [id, low, high, lightType ?? null, ...(only ? [only.filter(seq => seq <= LAST_SEQ)] : [])],
    )
    if (rows.length === 0) throw noSession(id)
    return rows
      .filter(row => row['seq'] !== null)
      .map(row => toRow(row))
      .sort((a, b) => a.seq - b.seq)
  }

  contents(hashes: readonly string[]): Promise<Map<string, string>> {
    return contentsIn({ rows: (...args) => this.#db.read(...args) }, hashes)
  }

  async remove(ids: readonly string[], removal: Removal): Promise<Tombstone[]> {
    const { buried, heirs } = await this.#inFamily(family => removeSessions(family, ids, removal))
    for (const key of heirs) while (await this.#step(key));
    return buried
  }

  async redact(ids: readonly string[], what: ToRedact, removal: Removal): Promise<Redacted[]> {
    const { redacted, keys } = await this.#inFamily(family => redactSessions(family, ids, { what, removal }))
    for (const key of keys) while (await this.#step(key));
    return redacted
  }

  /** Does nothing: removed rows stay in the server's files until it vacuums, and in its backups. */
  async scrub(): Promise<void> {}

  async tombstones(from = 0): Promise<Tombstone[]> {
    return (await this.#db.read('SELECT * FROM tombstones WHERE seq >= $1 ORDER BY seq', [from])).map(toTombstone)
  }

  /** Takes over the tombstones of sessions that were removed from another store. */
  async addTombstones(tombstones: readonly Tombstone[]): Promise<void> {
    await this.#db.transaction(async session => {
      for (const one of tombstones) await new PgFamily(session).addTombstone(one, 0)
    })
  }

  async index(scope: Scope): Promise<RecallIndex> {
    const session = sessionIn(scope)
    if (session !== undefined && !(await this.find(session))) throw noSession(session)
    const behind = await this.#indexer.catchUp(session)
    const owner = ownerIn(scope)
    const place = (name: string) => session ?? name
    return {
      spans: await this.#spans(scope),
      behind,
      segments: () => this.#recall.segments(owner),
      postings: (terms, segments) => this.#recall.postings(terms, segments),
      termsBeginning: (text, options) => this.#recall.termsBeginning(text, options),
      termsInside: (text, options) => this.#recall.termsInside(text, options),
      // A hit in events that a fork shares is reported in the fork.
      places: async documents =>
        (await this.#recall.places(documents)).map(one => one && { ...one, session: place(one.session) }),
    }
  }

  /** Indexes what was appended here, then closes. */
  async close(): Promise<void> {
    if (!this.#isOpen) return
    this.#isOpen = false
    await this.#indexer.close()
    await this.#db.close()
  }

  async #inFamily<T>(steps: (family: PgFamily) => Steps<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#db.transaction(session => runLater(steps(new PgFamily(session))))
      } catch (error) {
        if (!isUniqueViolation(error) || tries >= MAX_REMOVAL_TRIES) throw error
      }
    }
  }

  async #advance(...[sessions, { steps, merge }]: Parameters<Advance>): Promise<boolean> {
    let left = steps
    for (let keys = await this.#behind(sessions); left > 0 && keys.length > 0; keys = await this.#behind(sessions)) {
      for (const key of keys.slice(0, left)) {
        await this.#step(key)
        left--
      }
    }
    while (left > 0 && merge && (await this.#merge())) left--
    return left <= 0
  }

  #step(key: number): Promise<boolean> {
    return this.#inIndex(tables => indexSome(tables, key))
  }

  #merge(): Promise<boolean> {
    return this.#inIndex(mergeSome)
  }

  /** The index is derived, so its commits do not wait for the disk. */
  #inIndex(steps: (tables: PgIndexTables) => Steps<boolean>): Promise<boolean> {
    return this.#db.transaction(
      async session => {
        await session.plain('SET LOCAL synchronous_commit TO off')
        return runLater(steps(new PgIndexTables(session)))
      },
      { again: true },
    )
  }

  /** Some sessions with events that are not in the index yet: of these and their ancestors, or of all. */
  async #behind(ids?: readonly string[]): Promise<number[]> {
    const family = ids && `${LINEAGE.replace('START', 'id = ANY($2::text[])')} `
    const rows = await this.#db.read(
      `${family ?? ''}SELECT s.key FROM sessions s LEFT JOIN recall_done d ON d.session = s.key
       WHERE s.length - 1 > coalesce(d.seq, s.fork_seq, -1) ${family ? 'AND s.key IN (SELECT key FROM line)' : ''} LIMIT $1`,
      [BEHIND_AT_ONCE, ...(ids ? [ids] : [])],
    )
    return rows.map(row => Number(row['key']))
  }

  async #spans(scope: Scope): Promise<Span[] | undefined> {
    if (scope === 'all') return undefined
    if ('session' in scope) {
      const sql = `${LINEAGE.replace('START', 'id = $1')} SELECT key, up_to FROM line`
      const rows = await this.#db.read(sql, [scope.session])
      const spans = rows.map(async row => {
        const [session, upTo] = [Number(row['key']), Number(row['up_to'])]
        return { session, upTo: upTo === LAST_SEQ ? LAST_SEQ : await this.#recall.lastDocument(session, upTo) }
      })
      return Promise.all(spans)
    }
    const owner = ownerIn(scope)
    const [where, values] = owner === undefined ? ['', []] : ['WHERE owner = $1', [owner]]
    const rows = await this.#db.read(`SELECT key, id FROM sessions ${where}`, values)
    return rows
      .filter(row => scope.among(String(row['id'])))
      .map(row => ({ session: Number(row['key']), upTo: LAST_SEQ }))
  }
}

/** The owner whose segments a search needs; undefined for all. */
function ownerIn(scope: Scope): string | undefined {
  if (scope === 'all') return undefined
  if ('session' in scope) return ownerPrefix(scope.session)
  return ownerPrefix(scope.prefix ?? '') || undefined
}
