/** A SQLite file for the stores beside the ledger: how it is opened, and its state after a failed transaction. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type Migrations, SqliteFile } from '../../src/ledger/database.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-database-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const migrations: Migrations = [
  ['one', 'CREATE TABLE parents (id INTEGER PRIMARY KEY)'],
  ['two', 'CREATE TABLE children (parent INTEGER REFERENCES parents (id))'],
]

test('it uses a log, waits for the disk and for locks, and checks references', () => {
  const file = new SqliteFile(join(folder, 'pragmas.sqlite'), { migrations, busyMs: 123 })
  const settings = ['journal_mode', 'synchronous', 'busy_timeout', 'foreign_keys'].map(name => {
    return Object.values(file.get(`PRAGMA ${name}`)!)[0]
  })
  assert.deepEqual(settings, ['wal', 2, 123, 1])
  assert.throws(() => file.run('INSERT INTO children VALUES (1)'), { code: 'STORE_FAILED', message: /FOREIGN KEY/ })
  file.close()
  file.close()
  assert.throws(() => file.get('SELECT 1'), { code: 'STORE_FAILED' })
})

test('an up-to-date file can be opened while another process writes it', () => {
  const path = join(folder, 'busy.sqlite')
  const one = new SqliteFile(path, { migrations })
  one.transaction(() => {
    const two = new SqliteFile(path, { migrations, busyMs: 0 })
    assert.deepEqual(two.all('SELECT * FROM parents'), [])
    two.close()
  })
  one.close()
})

test('a failed transaction changes nothing, and does not block the next', () => {
  const file = new SqliteFile(':memory:', { migrations })
  const add = (id: number) => file.run('INSERT INTO parents VALUES (?)', [id])
  const failing = () =>
    file.transaction(() => {
      add(1)
      throw new RangeError('no')
    })
  assert.throws(failing, { code: 'STORE_FAILED', message: 'no' })
  assert.equal(
    file.transaction(() => add(2)),
    1,
  )
  assert.deepEqual(file.all('SELECT id FROM parents').map(Object.values), [[2]])
  file.close()
})
