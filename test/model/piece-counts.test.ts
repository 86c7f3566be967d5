/** Counts of pieces: each is the tokenizer's count, which is computed once while there is room to cache it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PieceCounts } from '../../src/model/piece-counts.ts'
import { Pieces } from '../../src/model/pieces.ts'
import * as fc from '../property.ts'

function counting(text: string) {
  const asked: string[] = []
  const pieces = new Pieces(text.length)
  pieces.read(text)
  const counts = new PieceCounts(pieces.codes, piece => {
    asked.push(piece)
    return weigh(piece)
  })
  return { asked, countOf: (from: number, end: number) => counts.countOf(text, from, end) }
}

/** Different for pieces that differ in one character or in their length. */
const weigh = (piece: string) =>
  [...piece].reduce((sum, _, i) => (sum * 31 + piece.charCodeAt(i)) % 1_000_003, piece.length)

test('every piece counts as in the tokenizer, and each distinct one is tokenized once', () =>
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', 'b', '\0', 'é', '\ufeff'), maxLength: 60 }), text => {
      const { asked, countOf } = counting(text)
      for (let round = 0; round < 2; round++) {
        for (let from = 0; from < text.length; from++) {
          for (let end = from + 1; end <= Math.min(text.length, from + 10); end++) {
            assert.equal(countOf(from, end), weigh(text.slice(from, end)))
          }
        }
      }
      assert.equal(new Set(asked).size, asked.length)
    }),
  ))

test('half a character is a different piece from its replacement character', () =>
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', '\ud800', '\udc00', '\ufffd'), maxLength: 12 }), text => {
      const { countOf } = counting(text)
      for (let from = 0; from < text.length; from++) {
        for (let end = from + 1; end <= text.length; end++) {
          assert.equal(countOf(from, end), weigh(text.slice(from, end)))
        }
      }
    }),
  ))

test('more pieces than fit the cache are still counted correctly, in ASCII and beyond', () => {
  for (const [first, beyond] of [
    [0, 32],
    [32, 300],
  ] as const) {
    const text = Array.from({ length: 70_000 }, (_, i) => {
      return String.fromCharCode(first + (i % 90), beyond + (Math.floor(i / 90) % 90), first + Math.floor(i / 8100))
    }).join('')
    const { asked, countOf } = counting(text)
    for (let from = 0; from < text.length; from += 3) countOf(from, from + 3)
    assert.equal(asked.length, 70_000)
    for (let from = 0; from < 600; from += 3) assert.equal(countOf(from, from + 3), weigh(text.slice(from, from + 3)))
    assert.ok(asked.length > 70_000)
    const before = asked.length
    for (let from = 0; from < 600; from += 3) countOf(from, from + 3)
    assert.ok(asked.length < before + 20, 'and are remembered again')
    assert.equal(countOf(0, 100_000), weigh(text.slice(0, 100_000)))
  }
})
