/**
 * Checks every regular expression of ours whose verdict is not cached: about a minute of processor time in a new clone.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkPatterns } from '../../scripts/check-patterns.ts'

test('no pattern takes more than linear time', async () => {
  const { checked, problems } = await checkPatterns()
  assert.deepEqual(problems, [])
  assert.ok(checked > 300)
})
