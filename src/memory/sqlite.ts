/** Memory on `node:sqlite`: a separate file in the home. */
import { type Migrations, SqliteSql } from '../ledger/sql.ts'
import { SqlMemory } from './sql.ts'

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
  [
    'numbers of the versions of a block',
    `ALTER TABLE versions ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
     UPDATE versions SET number = n.number FROM (
       SELECT seq, row_number() OVER (PARTITION BY user_id, label ORDER BY seq) AS number FROM versions
     ) n WHERE n.seq = versions.seq;
     CREATE INDEX versions_in_order ON versions (user_id, label, number);
     DROP INDEX versions_of_block;`,
  ],
]

export class SqliteMemory extends SqlMemory {
  /** Opens (or makes) the database at a path, or one in memory. */
  constructor(path: string, options: { busyMs?: number } = {}) {
    super(openSqliteTables(path, options))
  }
}

export function openSqliteTables(path: string, options: { busyMs?: number } = {}): SqliteSql {
  return new SqliteSql(path, { migrations: MIGRATIONS, ...options })
}
