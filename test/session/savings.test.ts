/** The savings of each of several edits that are made together. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Edit, Replacement, Target } from '../../src/model/types.ts'
import { savedByCall } from '../../src/view/edits.ts'

const edit = (target: Target, replacement: Replacement): Edit => ({
  id: 'e',
  target,
  replacement,
  by: 'user',
  why: '',
  saved: 0,
})
const TEN = 10
const inserted = edit(
  { type: 'after', entry: 3 },
  { messages: [{ role: 'user', parts: [{ type: 'text', text: 'a reminder' }] }] },
)

test('an insertion costs its tokens, and the savings of the part before it do not change', () => {
  const shortened = edit({ type: 'part', entry: 3, part: 0 }, 'short')
  assert.deepEqual(
    savedByCall([inserted, shortened], [90, 90], () => TEN),
    [-10, 100],
  )
})

test('edits of one entry share their savings, and others do not', () => {
  const parts = [
    edit({ type: 'part', entry: 3, part: 0 }, ''),
    edit({ type: 'part', entry: 3, part: 1 }, ''),
    edit({ type: 'entry', entry: 5 }, { messages: [] }),
  ]
  assert.deepEqual(
    savedByCall(parts, [80, 80, 7], () => TEN),
    [40, 40, 7],
  )
})
