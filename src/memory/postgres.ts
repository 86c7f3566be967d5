/** Memory on PostgreSQL: in the database that all servers share. */
import type { PgMigrations } from '../ledger/postgres/database.ts'
import { PostgresSql } from '../ledger/postgres/sql.ts'
import { SqlMemory } from './sql.ts'

const MIGRATIONS: PgMigrations = [
  [
    'versions, blocks, proposals',
    `CREATE SEQUENCE version_keys;
     CREATE TABLE versions (
       seq bigint PRIMARY KEY DEFAULT nextval('version_keys'), number integer NOT NULL DEFAULT 0, id text NOT NULL, user_id text COLLATE "C" NOT NULL, label text COLLATE "C" NOT NULL,
       title text, body text, schema_ref text,
       at bigint NOT NULL, actor text NOT NULL, action text NOT NULL, why text NOT NULL, proposal text
     );
     CREATE UNIQUE INDEX versions_by_id ON versions (user_id, label, id);
     CREATE TABLE blocks (
       user_id text COLLATE "C" NOT NULL, label text COLLATE "C" NOT NULL, seq bigint NOT NULL REFERENCES versions(seq),
       PRIMARY KEY (user_id, label)
     );
     CREATE TABLE proposals (
       user_id text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, label text NOT NULL, kind text NOT NULL,
       state text NOT NULL, base_version text, base_title text, base_body text, title text NOT NULL, body text NOT NULL,
       agent_id text NOT NULL, reasoning text NOT NULL, confidence text NOT NULL, entries text NOT NULL,
       created_at bigint NOT NULL, decided_at bigint, decided_by text, decided_why text,
       before_version text, after_version text, operation text,
       PRIMARY KEY (user_id, id)
     );
     CREATE INDEX proposals_in_state ON proposals (user_id, state, id);`,
  ],
  [
    'numbers of the versions of a block',
    `ALTER TABLE versions ADD COLUMN IF NOT EXISTS number integer NOT NULL DEFAULT 0;
     UPDATE versions v SET number = n.number FROM (
       SELECT seq, row_number() OVER (PARTITION BY user_id, label ORDER BY seq) AS number FROM versions
     ) n WHERE n.seq = v.seq;
     CREATE INDEX versions_in_order ON versions (user_id, label, number);
     DROP INDEX IF EXISTS versions_of_block;`,
  ],
]

export async function openPostgresMemory(url: string): Promise<SqlMemory> {
  return new SqlMemory(await openPostgresTables(url))
}

export function openPostgresTables(url: string): Promise<PostgresSql> {
  return PostgresSql.open(url, 'memory', MIGRATIONS)
}
