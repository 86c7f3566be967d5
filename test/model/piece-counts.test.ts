/** Counts of pieces: each is what the tokenizer says of it, which is asked once while there is room to remember. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PieceCounts } from '../../src/model/piece-counts.ts'
import * as fc from '../property.ts'

function counting(text: string) {
  const asked: string[] = []
  const codes = Uint16Array.from(text, (_, i) => text.charCodeAt(i))
  const counts = new PieceCounts(codes, piece => {
    asked.push(piece)
    return weigh(piece)
  })
  return { asked, countOf: (from: number, end: number) => counts.countOf(text, from, end) }
}

/** Different for pieces that differ in one character or in their length. */
const weigh = (piece: string) =>
  [...piece].reduce((sum, _, i) => (sum * 31 + piece.charCodeAt(i)) % 1_000_003, piece.length)

test('every piece counts as the tokenizer counts it, and each distinct one is tokenized once', () =>
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', 'b', '\0', 'é'), maxLength: 60 }), text => {
      const { asked, countOf } = counting(text)
      for (let round = 0; round < 2; round++) {
        for (let from = 0; from < text.length; from++) {
          for (let end = from + 1; end <= Math.min(text.length, from + 5); end++) {
            assert.equal(countOf(from, end), weigh(text.slice(from, end)))
          }
        }
      }
      assert.equal(new Set(asked).size, asked.length)
    }),
  ))

test('more pieces than there is room for still count right, in number and in characters', () => {
  const text = Array.from({ length: 70_000 }, (_, i) => String.fromCharCode(32 + (i % 251), 300 + (i >> 8))).join('')
  const { asked, countOf } = counting(text)
  for (let from = 0; from + 4 <= text.length; from += 2) countOf(from, from + 4)
  const before = asked.length
  assert.ok(before > 65_536)
  for (let from = 0; from < 400; from += 2) assert.equal(countOf(from, from + 4), weigh(text.slice(from, from + 4)))
  const long = counting(text)
  for (let from = 0; from < 12; from++) {
    assert.equal(long.countOf(from, from + 100_000), weigh(text.slice(from, from + 100_000)))
    assert.equal(long.countOf(from, from + 100_000), weigh(text.slice(from, from + 100_000)))
  }
})
