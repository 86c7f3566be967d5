/**
 * Our adaptations to CockroachDB and YugabyteDB, on a real PostgreSQL that reports their `version()`: their tables, the
 * whole contracts on them, and, as in CockroachDB, integers of 64 bits for `integer`.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { PostgresServer } from '../../../scripts/postgres.ts'
import { TurnBoard } from '../../../src/agent/turn-board.ts'
import { Outbox } from '../../../src/doors/server/outbox.ts'
import { openPostgresStore } from '../../../src/doors/server/server-store.ts'
import { HomeTable } from '../../../src/files/table.ts'
import { Postgres } from '../../../src/ledger/postgres/database.ts'
import { asSpokenBy } from '../../../src/ledger/postgres/dialect.ts'
import { PostgresLedger } from '../../../src/ledger/postgres/ledger.ts'
import { Memory } from '../../../src/memory/memory.ts'
import { openPostgresMemory } from '../../../src/memory/postgres.ts'
import { ledgerStoreContract } from '../../contracts/ledger-store.ts'
import { memoryStoreContract } from '../../contracts/memory-store.ts'
import { serverStoreContract } from '../../contracts/server-store.ts'
import { noPostgres, startPostgres } from '../../postgres.ts'

const COCKROACH = 'CockroachDB CCL v25.2.1 (x86_64-pc-linux-gnu, built 2025/06/11)'
const YUGABYTE = 'PostgreSQL 15.12-YB-2025.1.0.0-b0 on x86_64-pc-linux-gnu'

describe('servers that are not PostgreSQL', { skip: noPostgres }, () => {
  let server: PostgresServer
  const made = new Map<string, Promise<string>>()
  // New databases are copies of the first, with the tables for CockroachDB.
  before(async () => {
    server = await startPostgres()
    const first = server.url('template1')
    await change(first, [
      `CREATE SCHEMA disguise`,
      versionIs(COCKROACH),
      `ALTER ROLE palimpsest SET search_path = public, disguise, pg_catalog`,
    ])
    await openAll(first)
    await widenIntegers(first)
  })

  function database(name: string): Promise<string> {
    const url = made.get(name) ?? server.create(`d${made.size}`)
    made.set(name, url)
    return url
  }

  ledgerStoreContract('as on CockroachDB', async name => PostgresLedger.open(await database(`ledger ${name}`)))
  memoryStoreContract('as on CockroachDB', async name => openPostgresMemory(await database(`memory ${name}`)))
  serverStoreContract('as on CockroachDB', async name => openPostgresStore(await database(`server ${name}`)))

  test('on CockroachDB no table has partitions, and no column a collation', async () => {
    const db = await Postgres.open(await database('bare'))
    assert.deepEqual(await db.read(`SELECT 1 FROM pg_class WHERE relkind = 'p' OR relispartition`), [])
    const collations = `SELECT 1 FROM pg_attribute a JOIN pg_class t ON t.oid = a.attrelid AND t.relkind = 'r'
      JOIN pg_collation c ON c.oid = a.attcollation WHERE t.relnamespace = 'public'::regnamespace AND c.collname <> 'default'`
    assert.deepEqual(await db.read(collations), [])
    assert.equal((await db.read(`SELECT 1 FROM pg_class WHERE relname = 'events'`)).length, 1)
    await db.close()
  })

  test('on YugabyteDB an interrupted migration is repeated over its partial result', async () => {
    const url = await database('interrupted')
    await change(url, ['DROP SCHEMA public CASCADE', 'CREATE SCHEMA public', versionIs(YUGABYTE)])
    await openAll(url)
    const db = await Postgres.open(url)
    assert.equal((await db.read('SELECT 1 FROM pg_class WHERE relispartition')).length > 0, true)
    await change(url, ['UPDATE palimpsest_schema SET version = 0'])
    await openAll(url)
    assert.deepEqual(await db.read('SELECT 1 FROM palimpsest_schema WHERE version = 0'), [])
    await db.close()
  })

  test('versions of a block are in order even if each server reserves numbers of a sequence', async () => {
    const url = await database('unordered')
    await change(url, ['ALTER SEQUENCE version_keys CACHE 100'])
    // Two servers, each with one connection.
    const servers = await Promise.all([1, 2].map(n => openPostgresMemory(`${url}?connections=1&timeout=${10_000 + n}`)))
    const memories = servers.map(store => new Memory(store))
    for (let n = 0; n < 6; n++) await memories[n % 2]!.set('ann', 'goals', { body: String(n), by: 'user:ann' })
    const versions = await memories[0]!.store.versions('ann', 'goals')
    const bodies = versions.map(({ content }) => content?.body)
    assert.deepEqual(bodies, ['5', '4', '3', '2', '1', '0'])
    const before = await memories[1]!.store.versions('ann', 'goals', { before: versions[3]!.id })
    assert.deepEqual(before, versions.slice(4))
    for (const memory of memories) await memory.close()
  })

  test('a migration for PostgreSQL is not changed', () => {
    const step = 'CREATE TABLE t (a text COLLATE "C") PARTITION BY HASH (a);'
    assert.equal(asSpokenBy('PostgreSQL 15.14 (Debian 15.14-0+deb12u1)', step), step)
  })
})

function versionIs(version: string): string {
  return `CREATE OR REPLACE FUNCTION disguise.version() RETURNS text LANGUAGE sql AS $$ SELECT '${version}' $$`
}

/** Opens every part of a home with tables, once. */
async function openAll(url: string): Promise<void> {
  const opened = await Promise.all([
    PostgresLedger.open(url),
    openPostgresMemory(url),
    openPostgresStore(url),
    TurnBoard.open(url),
    Outbox.open(url, { kept: 10 }),
    HomeTable.open(url, '/home'),
  ])
  for (const one of opened) await one.close()
}

async function change(url: string, statements: readonly string[]): Promise<void> {
  const db = await Postgres.open(url, { connections: 1 })
  for (const sql of statements) await db.run(session => session.plain(sql))
  await db.close()
}

async function widenIntegers(url: string): Promise<void> {
  const db = await Postgres.open(url, { connections: 2 })
  const columns = await db.read(
    `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' AND data_type = 'integer'`,
  )
  await db.close()
  await change(
    url,
    columns.map(row => `ALTER TABLE ${row['table_name']} ALTER COLUMN "${row['column_name']}" TYPE bigint`),
  )
}
