/** How a change is shown. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { diffOf } from '../../web/src/ui/diff-parts.ts'
import * as fc from '../property.ts'

const textOf = (parts: ReturnType<typeof diffOf>, without: 'added' | 'removed') =>
  parts.flatMap(({ type, text }) => (type === without ? [] : [text])).join('')

test('the parts give both texts back, whatever they are', () => {
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

test('a changed word is shown among those that stayed', () => {
  assert.deepEqual(diffOf('the old name stays here', 'the new name stays here'), [
    { type: 'same', text: 'the ' },
    { type: 'removed', text: 'old' },
    { type: 'added', text: 'new' },
    { type: 'same', text: ' name stays here' },
  ])
})

test('another text is not mixed into the one that it replaces', () => {
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
