/** Reasons of edits in plain words. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isBookkeeping, plainReason } from '../../web/src/pages/session/reasons.ts'

test("a reason is shown in plain words, with the agent's own text", () => {
  assert.equal(plainReason('distill'), 'Shortened')
  assert.equal(plainReason('distill: the end is exclusive'), 'Shortened: the end is exclusive')
  assert.equal(plainReason('discard: $& is not needed'), 'Left out: $& is not needed')
  assert.equal(plainReason('an id for the context tool'), 'An id, so that the agent can name this part')
  assert.equal(plainReason('something else'), 'Something else')
})

test('ids, anchors and repairs are internal edits, and edits that save are not', () => {
  assert.equal(isBookkeeping({ by: 'policy:ids', saved: -10 }), true)
  assert.equal(isBookkeeping({ by: 'engine', saved: 40 }), true)
  assert.equal(isBookkeeping({ by: 'agent', saved: 40 }), false)
})
