/** Every pattern of ours, judged anew where its verdict is not kept: about a minute of processor in a new clone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkPatterns } from '../../scripts/check-patterns.ts'

test('no pattern takes more than linear time', async () => {
  const { checked, problems } = await checkPatterns()
  assert.deepEqual(problems, [])
  assert.ok(checked > 300)
})
