/** The place of the ledger of a home. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openLedger } from '../../src/ledger/open.ts'

test('the ledger is a file of the home, unless a database is named; a home in memory needs none', async t => {
  const home = mkdtempSync(join(tmpdir(), 'palimpsest-open-'))
  t.after(() => rmSync(home, { recursive: true, force: true }))
  const nowhere = 'postgres://127.0.0.1:1/none?connect_timeout=1'
  await (await openLedger(':memory:', nowhere)).close()
  await assert.rejects(openLedger(home, nowhere), 'it is looked for')
  assert.ok(!existsSync(join(home, 'ledger.sqlite')))
  await (await openLedger(home, false)).close()
  assert.ok(existsSync(join(home, 'ledger.sqlite')))
})
