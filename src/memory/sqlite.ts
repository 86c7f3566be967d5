/**
 * Memory on `node:sqlite`: one file of its own in the home, any number of users and processes.
 *
 * Versions are rows that are never changed; a block points to its newest one. A proposal's row holds what a branch
 * holds in Dolt. A user's lists are ranges of an index that begins with the user, so that other users' blocks and
 * proposals cost nothing.
 */
import { type Migrations, SqliteFile, type SqlRow, type SqlValue } from '../ledger/database.ts'
import { toProposal, toVersion } from './rows.ts'
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

const MIGRATIONS: Migrations = [
  [
    'versions, blocks, proposals',
    `CREATE TABLE versions (
       seq INTEGER PRIMARY KEY, id TEXT NOT NULL, user_id TEXT NOT NULL, label TEXT NOT NULL,
       title TEXT, body TEXT, schema_ref TEXT,
       at INTEGER NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, why TEXT NOT NULL, proposal TEXT
     ) STRICT;
     CREATE INDEX versions_of_block ON versions (user_id, label, seq);
     CREATE UNIQUE INDEX versions_by_id ON versions (user_id, label, id);
     CREATE TABLE blocks (
       user_id TEXT NOT NULL, label TEXT NOT NULL, seq INTEGER NOT NULL REFERENCES versions(seq),
       PRIMARY KEY (user_id, label)
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE proposals (
       user_id TEXT NOT NULL, id TEXT NOT NULL, label TEXT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL,
       base_version TEXT, base_title TEXT, base_body TEXT, title TEXT NOT NULL, body TEXT NOT NULL,
       agent_id TEXT NOT NULL, reasoning TEXT NOT NULL, confidence TEXT NOT NULL, entries TEXT NOT NULL,
       created_at INTEGER NOT NULL, decided_at INTEGER, decided_by TEXT, decided_why TEXT,
       before_version TEXT, after_version TEXT,
       PRIMARY KEY (user_id, id)
     ) STRICT;
     CREATE INDEX proposals_in_state ON proposals (user_id, state, id);`,
  ],
  ['operation of a proposal', 'ALTER TABLE proposals ADD COLUMN operation TEXT'],
]

const BLOCK = `SELECT v.user_id, v.label, v.id AS version, v.title, v.body, v.schema_ref, v.at
  FROM blocks b JOIN versions v ON v.seq = b.seq`

export class SqliteMemory implements MemoryStore {
  readonly #file: SqliteFile

  /** Opens (or makes) the database at a path, or one in memory. */
  constructor(path: string, options: { busyMs?: number } = {}) {
    this.#file = new SqliteFile(path, { migrations: MIGRATIONS, ...options })
  }

  async blocks(
    userId: string,
    { limit = PAGE, after = '' }: { limit?: number; after?: string } = {},
  ): Promise<Block[]> {
    const rows = this.#file.all(`${BLOCK} WHERE b.user_id = ? AND b.label > ? ORDER BY b.label LIMIT ?`, [
      userId,
      after,
      limit,
    ])
    return rows.map(toBlock)
  }

  async block(userId: string, label: string): Promise<Block | undefined> {
    const row = this.#file.get(`${BLOCK} WHERE b.user_id = ? AND b.label = ?`, [userId, label])
    return row && toBlock(row)
  }

  async write(changes: readonly Change[], note: Note): Promise<boolean> {
    return this.#file.transaction(() => {
      if (!changes.every(change => this.#isAsExpected(change))) return false
      for (const change of changes) this.#apply(change, note)
      return true
    })
  }

  async versions(
    userId: string,
    label: string,
    { limit = PAGE, before }: { limit?: number; before?: string } = {},
  ): Promise<Version[]> {
    const rows = this.#file.all(
      `SELECT * FROM versions WHERE user_id = ?1 AND label = ?2
         AND (?3 IS NULL OR seq < (SELECT seq FROM versions WHERE user_id = ?1 AND label = ?2 AND id = ?3))
       ORDER BY seq DESC LIMIT ?4`,
      [userId, label, before ?? null, limit],
    )
    return rows.map(toVersion)
  }

  async version(userId: string, label: string, id: string): Promise<Version | undefined> {
    const row = this.#file.get('SELECT * FROM versions WHERE user_id = ? AND label = ? AND id = ?', [userId, label, id])
    return row && toVersion(row)
  }

  async propose(proposal: Proposal): Promise<Proposal> {
    const { base } = proposal
    this.#file.run(
      `INSERT INTO proposals (user_id, id, label, kind, state, base_version, base_title, base_body, title, body,
         agent_id, reasoning, confidence, entries, created_at, operation)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        ...[proposal.userId, proposal.id, proposal.label, proposal.kind, proposal.state],
        ...[base?.version ?? null, base?.title ?? null, base?.body ?? null, proposal.title, proposal.body],
        ...[proposal.agentId, proposal.reasoning, proposal.confidence, JSON.stringify(proposal.entries)],
        proposal.createdAt,
        proposal.operation ? JSON.stringify(proposal.operation) : null,
      ],
    )
    return proposal
  }

  async proposals(userId: string, { state, label, limit = PAGE, after }: ProposalFilter = {}): Promise<Proposal[]> {
    const tests: [sql: string, value: SqlValue | undefined][] = [
      ['state = ?', state],
      ['id < ?', after],
      ['label = ?', label],
    ]
    const given = tests.filter(([, value]) => value !== undefined)
    const rows = this.#file.all(
      `SELECT * FROM proposals WHERE user_id = ? ${given.map(([sql]) => `AND ${sql} `).join('')}ORDER BY id DESC LIMIT ?`,
      [userId, ...given.map(([, value]) => value ?? null), limit],
    )
    return rows.map(toProposal)
  }

  async proposal(userId: string, id: string): Promise<Proposal | undefined> {
    const row = this.#file.get('SELECT * FROM proposals WHERE user_id = ? AND id = ?', [userId, id])
    return row && toProposal(row)
  }

  async decide(userId: string, id: string, { from, to, note, change }: Decision): Promise<boolean> {
    return this.#file.transaction(() => {
      if (change && !this.#isAsExpected(change)) return false
      const decided = this.#file.run(
        `UPDATE proposals SET state = ?, decided_at = ?, decided_by = ?, decided_why = ? WHERE user_id = ? AND id = ? AND state = ?`,
        [to, note.at, note.by, note.why, userId, id, from],
      )
      if (decided === 0) return false
      if (change) this.#apply(change, note)
      if (change && to === 'approved') {
        this.#file.run('UPDATE proposals SET before_version = ?, after_version = ? WHERE user_id = ? AND id = ?', [
          change.expected,
          change.version,
          userId,
          id,
        ])
      }
      return true
    })
  }

  async users({ limit = PAGE, after = '' }: { limit?: number; after?: string } = {}): Promise<string[]> {
    const rows = this.#file.all(
      `SELECT user_id FROM blocks WHERE user_id > ?1 UNION
       SELECT user_id FROM proposals WHERE user_id > ?1 AND state = 'open' ORDER BY user_id LIMIT ?2`,
      [after, limit],
    )
    return rows.map(row => String(row['user_id']))
  }

  /** What was written is overwritten in the file. */
  async forget(userId: string): Promise<void> {
    this.#file.get('PRAGMA secure_delete = ON')
    this.#file.transaction(() => {
      for (const table of ['blocks', 'versions', 'proposals'])
        this.#file.run(`DELETE FROM ${table} WHERE user_id = ?`, [userId])
    })
    this.#file.get('PRAGMA wal_checkpoint(TRUNCATE)')
  }

  async ping(): Promise<void> {
    this.#file.get('SELECT 1')
  }

  async close(): Promise<void> {
    this.#file.close()
  }

  #isAsExpected({ userId, label, expected }: Change): boolean {
    const row = this.#file.get(
      'SELECT v.id FROM blocks b JOIN versions v ON v.seq = b.seq WHERE b.user_id = ? AND b.label = ?',
      [userId, label],
    )
    return (row ? String(row['id']) : null) === expected
  }

  #apply({ userId, label, version, content }: Change, { at, by, action, why, proposal }: Note): void {
    const row = this.#file.get(
      `INSERT INTO versions (id, user_id, label, title, body, schema_ref, at, actor, action, why, proposal)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq`,
      [
        ...[version, userId, label, content?.title ?? null, content?.body ?? null, content?.schemaRef ?? null],
        ...[at, by, action, why, proposal ?? null],
      ],
    )
    if (!content) this.#file.run('DELETE FROM blocks WHERE user_id = ? AND label = ?', [userId, label])
    else {
      this.#file.run(
        'INSERT INTO blocks (user_id, label, seq) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq',
        [userId, label, Number(row?.['seq'])],
      )
    }
  }
}

function toBlock(row: SqlRow): Block {
  return {
    userId: String(row['user_id']),
    label: String(row['label']),
    title: String(row['title']),
    body: String(row['body']),
    schemaRef: row['schema_ref'] === null ? null : String(row['schema_ref']),
    updatedAt: Number(row['at']),
    version: String(row['version']),
  }
}
