/**
 * The same tables on servers that speak PostgreSQL's protocol but are not PostgreSQL. Statements on rows are the same
 * everywhere; only steps of a migration are adapted.
 *
 * CockroachDB divides its tables by itself and has no partitions by hash, and its texts are in the order of their bytes
 * without saying so. YugabyteDB commits each CREATE by itself, so a step that was interrupted finds its first tables.
 */

const IS_COCKROACH = /^CockroachDB/
const IS_YUGABYTE = /-YB-/

/** A step of a migration, for the server with this `version()`. */
export function asSpokenBy(version: string, sql: string): string {
  if (IS_COCKROACH.test(version)) {
    const statements = sql.split(';').filter(statement => !statement.includes(' PARTITION OF '))
    return statements
      .join(';')
      .replaceAll(/ PARTITION BY HASH \(\w+\)/g, '')
      .replaceAll(' COLLATE "C"', '')
  }
  if (!IS_YUGABYTE.test(version)) return sql
  return sql.replaceAll(/CREATE (TABLE|SEQUENCE|INDEX|UNIQUE INDEX) /g, 'CREATE $1 IF NOT EXISTS ')
}

/** CockroachDB's setting that would commit a transaction before each CREATE; null on other servers. */
export const COMMITS_EARLY = `current_setting('autocommit_before_ddl', true)`
