/** The account of every recorded session; test/replay/account.test.ts looks at a few. */
import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkDoors, RECORDED, skip, TRACES } from '../replay/doors.ts'

test('every door says the same of every recorded session with usage, to the cent', { skip }, async () => {
  const files = globSync(`{${RECORDED}}/*`, { cwd: TRACES }).map(file => join(TRACES, file))
  const checked = await checkDoors(files)
  assert.ok(checked > 40, `${checked} sessions`)
})
