import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addAll, replaceIn } from '../../src/model/lists.ts'
import * as fc from '../property.ts'

test('a stretch is replaced as splice replaces it', () => {
  const list = fc.array(fc.nat(9), { maxLength: 6 })
  fc.assert(
    fc.property(list, fc.nat(7), fc.nat(7), list, (items, at, remove, insert) => {
      const expected = items.toSpliced(at, remove, ...insert)
      replaceIn(items, { at, remove, insert })
      assert.deepEqual(items, expected)
    }),
  )
})

test('more items than a function takes arguments can be inserted', () => {
  const items = [1, 2, 3]
  const insert = Array.from({ length: 300_000 }, (_, i) => i)
  replaceIn(items, { at: 1, remove: 1, insert })
  assert.equal(items.length, 300_002)
  assert.deepEqual([...items.slice(0, 3), ...items.slice(-2)], [1, 0, 1, 299_999, 3])
})

test('more items than a function takes arguments can be added', () => {
  const items = [1]
  addAll(items, Array(300_000).fill(2))
  assert.equal(items.length, 300_001)
})
