import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { PostgresServer } from '../../../scripts/postgres.ts'
import { isUniqueViolation, type PgMigrations, Postgres } from '../../../src/ledger/postgres/database.ts'
import { noPostgres, startPostgres } from '../../postgres.ts'

const STEPS: PgMigrations = [
  ['a table', 'CREATE TABLE numbers (n integer PRIMARY KEY)'],
  ['its first row', 'INSERT INTO numbers VALUES (1)'],
]

describe('a PostgreSQL database', { skip: noPostgres }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })

  test('applies migrations once, even if many servers start together', async () => {
    const url = await server.create('migrations')
    const servers = await Promise.all([1, 2, 3, 4, 5].map(n => Postgres.open(url, { connections: n })))
    await Promise.all(servers.map(one => one.migrate('numbers', STEPS)))
    await servers[0]!.migrate('numbers', [...STEPS, ['more', 'INSERT INTO numbers VALUES (2)']])
    assert.deepEqual(await servers[1]!.read('SELECT n FROM numbers ORDER BY n'), [{ n: 1 }, { n: 2 }])
    await assert.rejects(servers[0]!.migrate('numbers', STEPS), { code: 'LEDGER_NEWER' })
    for (const one of servers) await one.close()
  })

  test('rolls back a failed migration and keeps those before it', async () => {
    const url = await server.create('failing')
    const db = await Postgres.open(url)
    const wrong = 'CREATE TABLE half (n integer); INSERT INTO nowhere VALUES (1)'
    await assert.rejects(db.migrate('numbers', [...STEPS, ['wrong', wrong]]), { code: 'STORE_FAILED' })
    assert.deepEqual(await db.read(`SELECT to_regclass('half') AS there`), [{ there: null }])
    await db.migrate('numbers', [...STEPS, ['right', 'INSERT INTO numbers VALUES (2)']])
    assert.deepEqual(await db.read('SELECT n FROM numbers ORDER BY n'), [{ n: 1 }, { n: 2 }])
    await db.close()
  })

  test("waits longer for another server's migration than for a statement", async () => {
    const url = await server.create('waiting')
    const slow = await Postgres.open(url, { connections: 1 })
    const hasty = await Postgres.open(url, { connections: 1, timeoutMs: 2000 })
    const steps: PgMigrations = [['slow', 'CREATE TABLE slow (n integer); SELECT pg_sleep(3)']]
    await Promise.all([slow.migrate('slow', steps), hasty.migrate('slow', steps)])
    assert.equal((await slow.read(`SELECT to_regclass('slow') IS NOT NULL AS there`))[0]!['there'], true)
    await Promise.all([slow.close(), hasty.close()])
  })

  test('shares connections between users of one address until the last one closes', async () => {
    const url = await server.create('shared')
    const [one, two] = [await Postgres.open(url), await Postgres.open(url)]
    assert.equal(one, two)
    await one.close()
    assert.deepEqual(await two.read('SELECT 1 AS one'), [{ one: 1 }])
    await two.close()
    await assert.rejects(two.read('SELECT 1'))
  })

  test('commits a transaction whole or not at all, and repeats it after a lost race', async () => {
    const url = await server.create('transactions')
    const db = await Postgres.open(url)
    await db.migrate('numbers', STEPS)
    await assert.rejects(
      db.transaction(async session => {
        await session.change('INSERT INTO numbers VALUES (5)')
        await session.change('INSERT INTO numbers VALUES (1)')
      }),
      isUniqueViolation,
    )
    assert.deepEqual(await db.read('SELECT n FROM numbers'), [{ n: 1 }])
    const add = () =>
      db.transaction(async session => {
        await session.plain('SET TRANSACTION ISOLATION LEVEL SERIALIZABLE')
        const row = await session.row('SELECT max(n) AS n FROM numbers')
        await session.change('INSERT INTO numbers VALUES ($1)', [Number(row!['n']) + 1])
      })
    const tried = await Promise.allSettled([add(), add(), add(), add()])
    const failed = tried.filter(one => one.status === 'rejected')
    // A taken key is for the caller to handle; a lost race is not visible.
    assert.ok(failed.every(one => isUniqueViolation(one.reason)))
    const [row] = await db.read('SELECT count(*)::integer AS n FROM numbers')
    assert.equal(row!['n'], 5 - failed.length)
    await db.close()
  })

  test('reconnects after a restart of the server, and reports one that stays away', async () => {
    const own = await startPostgres()
    const db = await Postgres.open(own.url(), { timeoutMs: 60_000 })
    const impatient = await Postgres.open(own.url(), { timeoutMs: 500 })
    assert.deepEqual(await db.read('SELECT 1 AS one'), [{ one: 1 }])
    await impatient.read('SELECT 1')
    await own.end('SIGKILL')
    await assert.rejects(impatient.read('SELECT 1'), { code: 'STORE_UNAVAILABLE' })
    const waiting = db.read('SELECT 2 AS two')
    await own.run()
    assert.deepEqual(await waiting, [{ two: 2 }])
    own.pause(true)
    await assert.rejects(impatient.read('SELECT 1'), { code: 'STORE_UNAVAILABLE' })
    own.pause(false)
    assert.equal((await impatient.read('SELECT 1')).length, 1)
    await Promise.all([db.close(), impatient.close()])
  })

  test('reports a wrong address without the password', async () => {
    await assert.rejects(Postgres.open('mysql://u:secret@h/d'), { code: 'CONFIG_INVALID' })
    const db = await Postgres.open(server.url('nowhere').replace('palimpsest@', 'palimpsest:secret@'))
    await assert.rejects(db.read('SELECT 1'), error => {
      assert.ok(error instanceof Error && 'code' in error && error.code === 'CONFIG_INVALID')
      assert.ok(!`${error.message}${JSON.stringify(error)}`.includes('secret'))
      return true
    })
    await db.close()
  })
})
