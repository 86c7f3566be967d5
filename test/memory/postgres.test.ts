/** Memory and the server's own store on a real PostgreSQL server. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { PostgresServer } from '../../scripts/postgres.ts'
import { openPostgresStore } from '../../src/doors/server/server-store.ts'
import { PostgresSql } from '../../src/ledger/postgres/sql.ts'
import { countOf, rowsOf } from '../../src/ledger/sql.ts'
import { Memory } from '../../src/memory/memory.ts'
import { openPostgresMemory } from '../../src/memory/postgres.ts'
import { memoryStoreContract } from '../contracts/memory-store.ts'
import { serverStoreContract } from '../contracts/server-store.ts'
import { noPostgres, startPostgres } from '../postgres.ts'
import * as fc from '../property.ts'

describe('on PostgreSQL', { skip: noPostgres }, () => {
  let server: PostgresServer
  const databases = new Map<string, Promise<string>>()
  before(async () => {
    server = await startPostgres()
  })

  function database(name: string): Promise<string> {
    const known = databases.get(name) ?? server.create(name)
    databases.set(name, known)
    return known
  }

  memoryStoreContract('postgres', async name => openPostgresMemory(await database(`memory-${name}`)))
  serverStoreContract('postgres', async name => openPostgresStore(await database(`server-${name}`)))

  test('versions of the first schema are numbered in the order of their writing', async () => {
    const url = await database('numbered')
    const memory = new Memory(await openPostgresMemory(url))
    for (const body of ['one', 'two', 'three'])
      for (const label of ['a', 'b']) await memory.set('ann', label, { body, by: 'user:ann' })
    const before = await memory.history('ann', 'a')
    await memory.close()
    const db = await PostgresSql.open(url, 'none', [])
    await db.run('ALTER TABLE versions DROP COLUMN number')
    await db.run(`UPDATE palimpsest_schema SET version = 1 WHERE part = 'memory'`)
    await db.close()
    const later = new Memory(await openPostgresMemory(url))
    assert.deepEqual(await later.history('ann', 'a'), before)
    await later.set('ann', 'a', { body: 'four', by: 'user:ann' })
    assert.deepEqual((await later.history('ann', 'a')).slice(1), before)
    await later.close()
  })

  test('every text is read back unchanged', async () => {
    const sql = await PostgresSql.open(await database('texts'), 'texts', [
      ['texts', 'CREATE TABLE texts (n integer PRIMARY KEY, text text NOT NULL)'],
    ])
    const characters = fc.constantFrom('\0', '\u0010', '0', '1', 'a', '🙂', '\\', "'", '\n')
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: characters }), async text => {
        await sql.run('INSERT INTO texts VALUES (1, ?) ON CONFLICT (n) DO UPDATE SET text = excluded.text', [text])
        assert.equal((await sql.get('SELECT text FROM texts WHERE text = ?', [text]))?.['text'], text)
      }),
    )
    await sql.close()
  })

  test('an error in a transaction undoes it, and a lost race is repeated', async () => {
    const sql = await PostgresSql.open(await database('races'), 'races', [
      ['numbers', 'CREATE TABLE numbers (n integer PRIMARY KEY, value integer NOT NULL)'],
      ['two', 'INSERT INTO numbers VALUES (1, 0), (2, 0)'],
    ])
    const add = (n: number) => countOf('UPDATE numbers SET value = value + 1 WHERE n = ?', [n])
    await assert.rejects(
      sql.transaction(function* () {
        yield* add(1)
        throw new Error('no')
      }),
      /no/,
    )
    // In two orders, so that some of them deadlock.
    const both = (order: number[]) =>
      sql.transaction(function* () {
        for (const n of order) yield* add(n)
        return (yield* rowsOf('SELECT value FROM numbers WHERE n = 1')).length
      })
    await Promise.all(Array.from({ length: 4 }, (_, i) => both(i % 2 ? [1, 2] : [2, 1])))
    assert.deepEqual(await sql.all('SELECT value FROM numbers ORDER BY n'), [{ value: 4 }, { value: 4 }])
    await sql.close()
  })
})
