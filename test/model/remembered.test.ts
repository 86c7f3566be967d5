import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Remembered } from '../../src/model/remembered.ts'

test('the entry that was unused longest is forgotten first', () => {
  const map = new Remembered<string, number>(3)
  for (const [i, key] of ['a', 'b', 'c'].entries()) map.set(key, i)
  assert.equal(map.get('a'), 0)
  map.set('d', 3)
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map(key => map.has(key)),
    [true, false, true, true],
  )
  map.set('c', 9)
  map.set('e', 4)
  assert.deepEqual([map.get('c'), map.has('a'), map.has('d')], [9, false, true])
})
