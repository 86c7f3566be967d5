/** Copying rows: missing rows are added, existing ones are not changed, and the tally counts both. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CopyTally, copyRows } from '../../src/ledger/copy-rows.ts'
import { SqliteSql } from '../../src/ledger/sql.ts'
import * as fc from '../property.ts'

type Things = Map<number, string | null>

const TABLE: [string, string] = [
  'things',
  'CREATE TABLE things (kind TEXT, n INTEGER, body TEXT, PRIMARY KEY (kind, n))',
]
const KEY = ['kind', 'n']

async function tableOf(things: Things, kind = 'a'): Promise<SqliteSql> {
  const sql = new SqliteSql(':memory:', { migrations: [TABLE] })
  for (const [n, body] of things) await sql.run('INSERT INTO things VALUES (?, ?, ?)', [kind, n, body])
  return sql
}

async function thingsIn(sql: SqliteSql): Promise<Things> {
  const rows = await sql.all("SELECT n, body FROM things WHERE kind = 'a' ORDER BY n")
  return new Map(rows.map(({ n, body }) => [Number(n), body as string | null]))
}

const things = fc
  .array(fc.tuple(fc.nat(9), fc.constantFrom('x', 'y', 'null', null)), { maxLength: 8 })
  .map(pairs => new Map(pairs))

test('the copy keeps its rows and gets the missing ones, and every row is counted once', () =>
  fc.assert(
    fc.asyncProperty(things, things, async (source, target) => {
      const [from, to] = [await tableOf(source), await tableOf(target)]
      const tally = new CopyTally()
      await copyRows(from, to, { table: 'things', key: KEY }, tally)
      assert.deepEqual(await thingsIn(to), new Map([...source, ...target].sort(([a], [b]) => a - b)))
      const shared = [...source.keys()].filter(n => target.has(n))
      const differing = shared.filter(n => target.get(n) !== source.get(n))
      assert.equal(tally.added, source.size - shared.length)
      assert.equal(tally.already, shared.length - differing.length)
      assert.deepEqual(
        tally.differing,
        differing.sort((a, b) => a - b).map(n => `things a ${n}`),
      )
      await Promise.all([from.close(), to.close()])
    }),
  ))

test('rows of many pages are copied, and only the requested ones', async () => {
  const source: Things = new Map(Array.from({ length: 450 }, (_, n) => [n, `body ${n}`]))
  const [from, to] = [await tableOf(source), await tableOf(new Map())]
  await from.run("INSERT INTO things VALUES ('b', 1, 'of another kind')")
  const wanted = { table: 'things', key: KEY, where: 'kind = ?', values: ['a'] }
  const [first, second] = [new CopyTally(), new CopyTally()]
  await copyRows(from, to, wanted, first)
  assert.deepEqual(await thingsIn(to), source)
  assert.deepEqual(await to.all("SELECT * FROM things WHERE kind = 'b'"), [])
  await copyRows(from, to, wanted, second)
  assert.deepEqual([first.added, first.already, second.added, second.already], [450, 0, 0, 450])
  assert.equal(second.hash, first.hash)
})

test('the copy and a copy back have the same hash, for any order of the columns', async () => {
  const from = await tableOf(new Map([[1, 'x']]))
  const columns = 'CREATE TABLE things (body TEXT, n INTEGER, kind TEXT, PRIMARY KEY (kind, n))'
  const to = new SqliteSql(':memory:', { migrations: [['things', columns]] })
  const [there, back] = [new CopyTally(), new CopyTally()]
  await copyRows(from, to, { table: 'things', key: KEY }, there)
  await copyRows(to, from, { table: 'things', key: KEY }, back)
  assert.equal(back.hash, there.hash)
  await Promise.all([from.close(), to.close()])
})
