/** Memory on PostgreSQL: in the database that all servers share. */
import type { PgMigrations } from '../ledger/postgres/database.ts'
import { PostgresSql } from '../ledger/postgres/sql.ts'
import { SqlMemory } from './sql.ts'

const MIGRATIONS: PgMigrations = [
  [
    'versions, blocks, proposals',
    `CREATE TABLE versions (
       seq bigserial PRIMARY KEY, id text NOT NULL, user_id text COLLATE "C" NOT NULL, label text COLLATE "C" NOT NULL,
       title text, body text, schema_ref text,
       at bigint NOT NULL, actor text NOT NULL, action text NOT NULL, why text NOT NULL, proposal text
     );
     CREATE INDEX versions_of_block ON versions (user_id, label, seq);
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
]

export async function openPostgresMemory(url: string): Promise<SqlMemory> {
  return new SqlMemory(await openPostgresTables(url))
}

export function openPostgresTables(url: string): Promise<PostgresSql> {
  return PostgresSql.open(url, 'memory', MIGRATIONS)
}
