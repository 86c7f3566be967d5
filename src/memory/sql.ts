/**
 * Memory in tables, on SQLite or PostgreSQL: any number of users, processes and servers.
 *
 * Versions are rows that never change, numbered within their block (the keys of rows come from a sequence, which in a
 * cluster need not be in order); a block points to its newest version. A proposal is a row. A user's lists are ranges of
 * an index that begins with the user, so that other users' blocks and proposals cost nothing. A change is made by
 * compare-and-set: if the block no longer points to the expected version, the whole transaction is undone.
 */
import { countOf, rowsOf, type Sql, type SqlValue, type Steps } from '../ledger/sql.ts'
import { PROPOSAL_COLUMNS, proposalValues, toBlock, toProposal, toVersion } from './rows.ts'
import {
  type Block,
  type Change,
  type Decision,
  type MemoryStore,
  type Note,
  PAGE,
  type Proposal,
  type ProposalFilter,
  type Version,
} from './store.ts'

const BLOCK = `SELECT v.user_id, v.label, v.id AS version, v.title, v.body, v.schema_ref, v.at AS updated_at
  FROM blocks b JOIN versions v ON v.seq = b.seq`

export class SqlMemory implements MemoryStore {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  async blocks(
    userId: string,
    { limit = PAGE, after = '' }: { limit?: number; after?: string } = {},
  ): Promise<Block[]> {
    const rows = await this.#sql.all(`${BLOCK} WHERE b.user_id = ? AND b.label > ? ORDER BY b.label LIMIT ?`, [
      userId,
      after,
      limit,
    ])
    return rows.map(toBlock)
  }

  async block(userId: string, label: string): Promise<Block | undefined> {
    const row = await this.#sql.get(`${BLOCK} WHERE b.user_id = ? AND b.label = ?`, [userId, label])
    return row && toBlock(row)
  }

  async write(changes: readonly Change[], note: Note): Promise<boolean> {
    // Concurrent writers lock the rows in the same order, so they cannot deadlock.
    const nameOf = ({ userId, label }: Change) => `${userId}\0${label}`
    const ordered = changes.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
    return this.#allOrNothing(function* () {
      for (const change of ordered) if (!(yield* apply(change, note))) return false
      return true
    })
  }

  async versions(
    userId: string,
    label: string,
    { limit = PAGE, before }: { limit?: number; before?: string } = {},
  ): Promise<Version[]> {
    const rows = await this.#sql.all(
      `SELECT * FROM versions WHERE user_id = ? AND label = ? ${
        before === undefined
          ? ''
          : 'AND number < (SELECT number FROM versions WHERE user_id = ? AND label = ? AND id = ?) '
      }ORDER BY number DESC LIMIT ?`,
      [userId, label, ...(before === undefined ? [] : [userId, label, before]), limit],
    )
    return rows.map(toVersion)
  }

  async version(userId: string, label: string, id: string): Promise<Version | undefined> {
    const row = await this.#sql.get('SELECT * FROM versions WHERE user_id = ? AND label = ? AND id = ?', [
      userId,
      label,
      id,
    ])
    return row && toVersion(row)
  }

  async propose(proposal: Proposal): Promise<Proposal> {
    const values = proposalValues(proposal)
    const places = values.map(() => '?').join(', ')
    await this.#sql.run(`INSERT INTO proposals (${PROPOSAL_COLUMNS}) VALUES (${places})`, values)
    return proposal
  }

  async proposals(userId: string, { state, label, limit = PAGE, after }: ProposalFilter = {}): Promise<Proposal[]> {
    const tests: [sql: string, value: SqlValue | undefined][] = [
      ['state = ?', state],
      ['id < ?', after],
      ['label = ?', label],
    ]
    const given = tests.filter(([, value]) => value !== undefined)
    const rows = await this.#sql.all(
      `SELECT * FROM proposals WHERE user_id = ? ${given.map(([sql]) => `AND ${sql} `).join('')}ORDER BY id DESC LIMIT ?`,
      [userId, ...given.map(([, value]) => value ?? null), limit],
    )
    return rows.map(toProposal)
  }

  async proposal(userId: string, id: string): Promise<Proposal | undefined> {
    const row = await this.#sql.get('SELECT * FROM proposals WHERE user_id = ? AND id = ?', [userId, id])
    return row && toProposal(row)
  }

  async decide(userId: string, id: string, { from, to, note, change }: Decision): Promise<boolean> {
    const result = change && to === 'approved' ? { before: change.expected, after: change.version } : undefined
    return this.#allOrNothing(function* () {
      const decided = yield* countOf(
        `UPDATE proposals SET state = ?, decided_at = ?, decided_by = ?, decided_why = ?,
           before_version = coalesce(?, before_version), after_version = coalesce(?, after_version)
         WHERE user_id = ? AND id = ? AND state = ?`,
        [to, note.at, note.by, note.why, result?.before ?? null, result?.after ?? null, userId, id, from],
      )
      return decided > 0 && (!change || (yield* apply(change, note)))
    })
  }

  async users({ limit = PAGE, after = '' }: { limit?: number; after?: string } = {}): Promise<string[]> {
    const rows = await this.#sql.all(
      `SELECT user_id FROM blocks WHERE user_id > ? UNION
       SELECT user_id FROM proposals WHERE user_id > ? AND state = 'open' ORDER BY user_id LIMIT ?`,
      [after, after, limit],
    )
    return rows.map(row => String(row['user_id']))
  }

  async forget(userId: string): Promise<void> {
    const tables = ['blocks', 'versions', 'proposals']
    await this.#sql.erase(function* () {
      for (const table of tables) yield* countOf(`DELETE FROM ${table} WHERE user_id = ?`, [userId])
    })
  }

  async ping(): Promise<void> {
    await this.#sql.get('SELECT 1')
  }

  async close(): Promise<void> {
    await this.#sql.close()
  }

  /** A transaction that is rolled back if its work gives `false`. */
  async #allOrNothing(work: () => Steps<boolean>): Promise<boolean> {
    try {
      await this.#sql.transaction(function* () {
        if (!(yield* work())) throw BEATEN
      })
      return true
    } catch (error) {
      if (error === BEATEN) return false
      throw error
    }
  }
}

const BEATEN = Symbol('a row was not as expected')

/** Writes a version and points its block to it; `false` if the block does not have the expected version. */
function* apply({ userId, label, expected, version, content }: Change, note: Note): Steps<boolean> {
  const { at, by, action, why, proposal } = note
  const [made] = yield* rowsOf(
    `INSERT INTO versions (number, id, user_id, label, title, body, schema_ref, at, actor, action, why, proposal)
     VALUES ((SELECT coalesce(max(number), 0) + 1 FROM versions WHERE user_id = ? AND label = ?),
       ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq`,
    [
      ...[userId, label],
      ...[version, userId, label, content?.title ?? null, content?.body ?? null, content?.schemaRef ?? null],
      ...[at, by, action, why, proposal ?? null],
    ],
  )
  const seq = Number(made?.['seq'])
  const block: SqlValue[] = [userId, label]
  if (expected === null) {
    if (content) {
      const insert = 'INSERT INTO blocks (user_id, label, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING'
      return (yield* countOf(insert, [...block, seq])) > 0
    }
    return (yield* rowsOf('SELECT 1 FROM blocks WHERE user_id = ? AND label = ?', block)).length === 0
  }
  const isThere =
    'user_id = ? AND label = ? AND seq = (SELECT seq FROM versions WHERE user_id = ? AND label = ? AND id = ?)'
  const where = [...block, ...block, expected]
  if (!content) return (yield* countOf(`DELETE FROM blocks WHERE ${isThere}`, where)) > 0
  return (yield* countOf(`UPDATE blocks SET seq = ? WHERE ${isThere}`, [seq, ...where])) > 0
}
