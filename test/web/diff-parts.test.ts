/** The parts of a difference between two texts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { diffOf } from '../../web/src/ui/diff-parts.ts'
import * as fc from '../property.ts'

const textOf = (parts: ReturnType<typeof diffOf>, without: 'added' | 'removed') =>
  parts.flatMap(({ type, text }) => (type === without ? [] : [text])).join('')

test('both texts can be rebuilt from the parts, for any texts', () => {
  const words = fc
    .array(fc.constantFrom('one', 'two', 'three', ' ', '\n', 'é'), { maxLength: 40 })
    .map(list => list.join(''))
  fc.assert(
    fc.property(words, words, (before, after) => {
      const parts = diffOf(before, after)
      assert.equal(textOf(parts, 'added'), before)
      assert.equal(textOf(parts, 'removed'), after)
    }),
  )
})

test('a changed word is shown among unchanged ones', () => {
  assert.deepEqual(diffOf('the old name stays here', 'the new name stays here'), [
    { type: 'same', text: 'the ' },
    { type: 'removed', text: 'old' },
    { type: 'added', text: 'new' },
    { type: 'same', text: ' name stays here' },
  ])
})

test('a very different text is shown whole, not mixed into the old one', () => {
  const before = 'func main() {\n  fmt.Println("to be, or not to be")\n}'
  const after = '[cleared: 3 lines; to be recalled by id]'
  assert.deepEqual(
    diffOf(before, after).map(({ type }) => type),
    ['removed', 'added'],
  )
})

test('long texts are compared by lines', () => {
  const lines = Array.from({ length: 2000 }, (_, i) => `line ${i}`)
  const changed = lines.with(1000, 'another line')
  const kinds = diffOf(lines.join('\n'), changed.join('\n')).map(({ type }) => type)
  assert.deepEqual(kinds, ['same', 'removed', 'added', 'same'])
})
