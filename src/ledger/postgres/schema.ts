/**
 * The tables of the ledger in PostgreSQL.
 *
 * Every append changes the row of its session. The time of last use is indexed by the minute, so that most of these
 * changes touch no index; a list sorts within each minute. The time of the last change of any kind is from the
 * database's clock, and is kept by the minute for the same reason.
 *
 * The minute is computed without a division of integers, which CockroachDB does not round down.
 */
import type { PgMigrations } from './database.ts'

export const MINUTE_NOW = 'floor(extract(epoch FROM now()) / 60)::bigint'

const PARTITIONS = 8
const numbers = Array.from({ length: PARTITIONS }, (_, i) => i)

export const LEDGER_MIGRATIONS: PgMigrations = [
  [
    'sessions, events, contents, tombstones',
    `CREATE SEQUENCE session_keys;
     CREATE TABLE sessions (
       key bigint PRIMARY KEY DEFAULT nextval('session_keys'), id text COLLATE "C" NOT NULL UNIQUE,
       owner text COLLATE "C" NOT NULL, parent bigint REFERENCES sessions (key), fork_seq integer,
       length integer NOT NULL, created_at bigint NOT NULL, updated_at bigint NOT NULL, meta text NOT NULL,
       used_minute bigint GENERATED ALWAYS AS (((updated_at - updated_at % 60000) / 60000)::bigint) STORED,
       changed_minute bigint NOT NULL DEFAULT 0
     ) WITH (fillfactor = 70);
     CREATE INDEX sessions_by_use ON sessions (used_minute);
     CREATE INDEX sessions_of_owner ON sessions (owner, used_minute);
     CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent IS NOT NULL;
     CREATE TABLE events (
       session bigint NOT NULL, seq integer NOT NULL, type text NOT NULL, at bigint NOT NULL, hash text NOT NULL,
       light text NOT NULL, body text NOT NULL, PRIMARY KEY (session, seq)
     ) PARTITION BY HASH (session);
     ${numbers.map(i => `CREATE TABLE events_${i} PARTITION OF events FOR VALUES WITH (MODULUS ${PARTITIONS}, REMAINDER ${i});`).join('\n')}
     CREATE TABLE contents (hash text PRIMARY KEY, text bytea NOT NULL);
     CREATE TABLE content_uses (hash text NOT NULL, session bigint NOT NULL, seq integer NOT NULL, PRIMARY KEY (session, seq, hash));
     CREATE INDEX content_uses_by_hash ON content_uses (hash);
     CREATE TABLE tombstones (
       seq integer PRIMARY KEY, session text NOT NULL, key bigint NOT NULL, at bigint NOT NULL, by text NOT NULL,
       events integer NOT NULL, head text NOT NULL, hash text NOT NULL
     );`,
  ],
  [
    'the index of recall',
    `CREATE SEQUENCE recall_segment_ids;
     CREATE TABLE recall_segments (
       id bigint PRIMARY KEY DEFAULT nextval('recall_segment_ids'), owner text COLLATE "C" NOT NULL, documents integer NOT NULL,
       runs text NOT NULL, columns bytea NOT NULL
     );
     CREATE INDEX recall_segments_of_owner ON recall_segments (owner, id);
     CREATE TABLE recall_postings (segment bigint NOT NULL, term bytea NOT NULL, data bytea NOT NULL, PRIMARY KEY (segment, term));
     CREATE TABLE recall_words (segment bigint NOT NULL, block integer NOT NULL, words bytea NOT NULL, PRIMARY KEY (segment, block));
     CREATE TABLE recall_grams (segment bigint NOT NULL, gram bytea NOT NULL, blocks bytea NOT NULL, PRIMARY KEY (segment, gram));
     CREATE TABLE recall_documents (
       session bigint NOT NULL, number integer NOT NULL, seq integer NOT NULL, part integer NOT NULL, start integer NOT NULL,
       size integer NOT NULL, print bigint NOT NULL, PRIMARY KEY (session, number)
     );
     CREATE TABLE recall_done (session bigint PRIMARY KEY, owner text COLLATE "C" NOT NULL, seq integer NOT NULL, documents integer NOT NULL);`,
  ],
  [
    'sessions by their last change, to the minute',
    `ALTER TABLE sessions ADD COLUMN IF NOT EXISTS changed_minute bigint NOT NULL DEFAULT 0;
     CREATE INDEX sessions_by_change ON sessions (changed_minute);`,
  ],
]
