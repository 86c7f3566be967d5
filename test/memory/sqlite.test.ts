import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { SqliteMemory } from '../../src/memory/sqlite.ts'
import { memoryStoreContract } from '../contracts/memory-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
after(() => rmSync(folder, { recursive: true, force: true }))

memoryStoreContract('sqlite', async name => new SqliteMemory(join(folder, `${name}.sqlite`)))

test("a user's lists are read from an index that begins with the user", () => {
  const path = join(folder, 'plan.sqlite')
  new SqliteMemory(path).close()
  const db = new DatabaseSync(path)
  const plan = (sql: string) =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(row => String(row['detail']))
      .join('; ')
  const blocks = plan(
    "SELECT * FROM blocks b JOIN versions v ON v.seq = b.seq WHERE b.user_id = 'u' AND b.label > 'a' ORDER BY b.label LIMIT 9",
  )
  const proposals = plan(
    "SELECT * FROM proposals WHERE user_id = 'u' AND state = 'open' AND id < 'z' ORDER BY id DESC LIMIT 9",
  )
  db.close()
  for (const used of [blocks, proposals]) {
    assert.match(used, /SEARCH .* USING .*\(user_id=\?/)
    assert.doesNotMatch(used, /SCAN|TEMP B-TREE/)
  }
})

test('a database of a newer version is refused and left alone', () => {
  const path = join(folder, 'newer.sqlite')
  const db = new DatabaseSync(path)
  db.exec('PRAGMA user_version = 999')
  db.close()
  assert.throws(() => new SqliteMemory(path), { code: 'LEDGER_NEWER', message: /Update Palimpsest/ })
})

test('a locked database is an error after the waiting time', async () => {
  const path = join(folder, 'locked.sqlite')
  const store = new SqliteMemory(path, { busyMs: 50 })
  const other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE')
  const note = { at: 0, by: 'user:a', action: 'set', why: '' } as const
  const content = { title: '', body: '', schemaRef: null }
  const change = { userId: 'a', label: 'b', expected: null, version: 'v', content }
  await assert.rejects(store.write([change], note), { code: 'STORE_LOCKED' })
  other.exec('ROLLBACK')
  other.close()
  assert.equal(await store.write([change], note), true)
  await store.close()
})
