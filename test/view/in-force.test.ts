/** The edits in force, read from the events alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Edit, Event } from '../../src/model/types.ts'
import { editsInForce } from '../../src/view/in-force.ts'
import { user } from '../policies/talk.ts'

const edit = (id: string): Edit => {
  return { id, target: { type: 'part', entry: 0, part: 0 }, replacement: id, by: 'user', why: 'test', saved: 0 }
}
const made = (...ids: string[]): Event => ({ type: 'edit', edits: ids.map(edit) })
const undone = (...edits: string[]): Event => ({ type: 'revert', edits, by: 'user' })
const redone = (...edits: string[]): Event => ({ type: 'reapply', edits, by: 'user' })

test('edits are in force until they are undone, in the order in which they were last applied', () => {
  const cases: [events: Event[], inForce: string[]][] = [
    [[], []],
    [[{ type: 'entry', message: user('a') }], []],
    [
      [made('a', 'b'), made('c')],
      ['a', 'b', 'c'],
    ],
    [[made('a', 'b', 'c'), undone('a', 'c')], ['b']],
    [
      [made('a', 'b', 'c'), undone('a', 'b'), redone('b', 'a')],
      ['c', 'b', 'a'],
    ],
    [[made('a'), undone('a'), made('b'), redone('a'), undone('b')], ['a']],
  ]
  for (const [events, inForce] of cases) {
    const expected = inForce.map((id, order) => ({ ...edit(id), order }))
    assert.deepEqual(editsInForce(events), expected)
  }
})
