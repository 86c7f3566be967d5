import assert from 'node:assert/strict'
import { test } from 'node:test'
import { has, placeOf, placesOf, separatePlacesOf, splitBy } from '../../src/model/search.ts'
import * as fc from '../property.ts'

test('law: a text is found as by a search at every place, whatever its length', () => {
  const unit = fc.constantFrom('a', 'b')
  const parts = fc
    .tuple(
      fc.string({ unit, minLength: 1, maxLength: 9 }),
      fc.constantFrom(1, 1, 30),
      fc.string({ unit, maxLength: 2 }),
    )
    .map(([piece, times, end]) => piece.repeat(times) + end)
  // The part itself, repeated and cut off: matches that overlap, and beginnings of matches.
  const around = parts.chain(part => {
    const pieces = fc.array(
      fc.oneof(
        fc.nat(part.length).map(length => part.slice(0, length)),
        fc.constant(part),
        unit,
      ),
      { maxLength: 9 },
    )
    return fc.record({ part: fc.constant(part), text: pieces.map(all => all.join('')), from: fc.nat(20) })
  })
  fc.assert(
    fc.property(around, ({ part, text, from }) => {
      const places = Array.from({ length: text.length }, (_, i) => i).filter(i => text.startsWith(part, i))
      assert.deepEqual(placesOf(text, part), places)
      assert.equal(placeOf(text, part, from), text.indexOf(part, from))
      assert.equal(has(text, part, from), text.includes(part, from))
      assert.deepEqual(splitBy(text, part), text.split(part))
      assert.equal(separatePlacesOf(text, part).length, text.split(part).length - 1)
    }),
    { numRuns: 1000, examples: [[{ part: 'ab'.repeat(60), text: 'ab'.repeat(130), from: 3 }]] },
  )
})

test('an empty text is nowhere', () => {
  assert.deepEqual([placesOf('ab', ''), separatePlacesOf('ab', ''), splitBy('ab', '')], [[], [], ['ab']])
})
