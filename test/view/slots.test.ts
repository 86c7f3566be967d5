/** Replacing a stretch of a list: as `splice` does it, for any number of items. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replaceIn } from '../../src/view/slots.ts'
import * as fc from '../property.ts'

test('a stretch is replaced as splice replaces it', () => {
  const list = fc.array(fc.nat(9), { maxLength: 6 })
  fc.assert(
    fc.property(list, fc.nat(7), fc.nat(7), list, (items, at, remove, insert) => {
      const expected = items.toSpliced(at, remove, ...insert)
      replaceIn(items, { at: Math.min(at, items.length), remove, insert })
      assert.deepEqual(items, expected)
    }),
  )
})

test('more items than a call can have arguments are put in as well', () => {
  const items = [1, 2, 3]
  const insert = Array.from({ length: 300_000 }, (_, i) => i)
  replaceIn(items, { at: 1, remove: 1, insert })
  assert.equal(items.length, 300_002)
  assert.deepEqual([...items.slice(0, 3), ...items.slice(-2)], [1, 0, 1, 299_999, 3])
})
