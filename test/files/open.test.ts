/** The place of the files beside a ledger. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openHomeFiles } from '../../src/files/open.ts'

test('files are in the home, unless a database is named; a home in memory needs none', async () => {
  const nowhere = 'postgres://127.0.0.1:1/none?connect_timeout=1'
  assert.equal((await openHomeFiles('/tmp/home', false)).isTable, false)
  assert.equal((await openHomeFiles(':memory:', nowhere)).isTable, false)
  await assert.rejects(openHomeFiles('/tmp/home', nowhere), 'it is looked for')
})
