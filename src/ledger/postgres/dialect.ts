/**
 * The same tables on servers that speak PostgreSQL's protocol but are not PostgreSQL. Statements on rows are the same
 * everywhere; only migration steps are adapted.
 *
 * CockroachDB partitions its tables itself and has no partitions by hash, and it orders texts by their bytes without a
 * collation. YugabyteDB commits each CREATE separately, so an interrupted step finds the tables that it has already
 * created.
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
