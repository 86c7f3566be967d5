/** Byte pairs over small tables, against the definition: the pair of the lowest rank is merged, until none is left. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BytePairs } from '../../src/model/byte-pairs.ts'
import * as fc from '../property.ts'

/** A table in the form of scripts/build-tokens.ts: the number of tokens, their lengths, and their bytes. */
function packed(tokens: readonly string[]): string {
  const size = Buffer.alloc(4)
  size.writeUInt32BE(tokens.length)
  const bytes = tokens.map(token => Buffer.from(token, 'latin1'))
  return Buffer.concat([size, Buffer.from(bytes.map(({ length }) => length)), ...bytes]).toString('base64')
}

function countByDefinition(ranks: ReadonlyMap<string, number>, piece: string): number {
  const parts = [...Buffer.from(piece).toString('latin1')]
  for (;;) {
    const pairs = parts.slice(1).map((part, i) => ranks.get(parts[i]! + part) ?? Number.POSITIVE_INFINITY)
    const lowest = Math.min(...pairs)
    if (lowest === Number.POSITIVE_INFINITY) return parts.length
    const at = pairs.indexOf(lowest)
    parts.splice(at, 2, parts[at]! + parts[at + 1]!)
  }
}

/** Every byte, then all words of the letters a and b up to some length: each is a prefix of others. */
const words = (length: number): string[] =>
  length === 0 ? [''] : words(length - 1).flatMap(word => [`${word}a`, `${word}b`])
const BYTES = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte))
const WORDS = Array.from({ length: 9 }, (_, i) => words(i + 2)).flat()

test('a piece has as many tokens as the definition gives, for any order of the table', () => {
  const table = fc.tuple(
    fc.shuffledSubarray(WORDS, { minLength: 100 }),
    fc.shuffledSubarray(['é', '中'], { minLength: 0 }),
  )
  const piece = fc.string({ unit: fc.constantFrom('a', 'b', 'a', 'b', 'c', 'é', '中'), minLength: 1, maxLength: 40 })
  fc.assert(
    fc.property(table, fc.array(piece, { minLength: 20, maxLength: 40 }), ([letters, signs], pieces) => {
      const tokens = [...BYTES, ...letters, ...signs.map(sign => Buffer.from(sign).toString('latin1'))]
      const ranks = new Map(tokens.map((token, rank) => [token, rank]))
      const pairs = new BytePairs(packed(tokens))
      for (const one of pieces) {
        // A token of the table is one token; in tables that are made by merging, merging gives it too.
        const whole = ranks.has(Buffer.from(one).toString('latin1'))
        assert.equal(pairs.count(one), whole ? 1 : countByDefinition(ranks, one), one)
      }
    }),
    { numRuns: 25 },
  )
})

test('a long piece is counted like a short one, even with characters of three bytes', () => {
  const tokens = [...BYTES, 'aa']
  const ranks = new Map(tokens.map((token, rank) => [token, rank]))
  const pairs = new BytePairs(packed(tokens))
  for (const piece of ['a'.repeat(1501), '中'.repeat(500), `${'中'.repeat(700)}aaa`]) {
    assert.equal(pairs.count(piece), countByDefinition(ranks, piece))
  }
})
