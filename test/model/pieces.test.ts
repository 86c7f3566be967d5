import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pieces } from '../../src/model/pieces.ts'
import * as fc from '../property.ts'

/** The published pattern of o200k. */
const O200K =
  /[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?:'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE]))?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?:'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE]))?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+/gu

const reader = new Pieces(1000)

function piecesOf(text: string): string[] {
  const pieces: string[] = []
  reader.read(text)
  for (let from = 0; from < text.length; ) {
    const end = reader.end(from)
    pieces.push(text.slice(from, end))
    from = end
  }
  return pieces
}

test('a text is cut into the pieces of the published pattern, in ASCII and beyond', () => {
  const odd = fc.constantFrom(
    ...["'s", "'LL", "'ve", "'x", ' ', '  ', '\t', '\n', '\r\n', '\v', '/', '//', '}', '(', '12', '1234', 'ab', 'AB'],
    ...[
      'é',
      'É',
      'ǅ',
      'ʰ',
      '中',
      '\u0301',
      '٣',
      '½',
      '\u00a0',
      '\u2028',
      '\ufeff',
      '🙂',
      '\ud800',
      '\udc00',
      '→',
      '\0',
      '\x7f',
    ],
  )
  const text = fc.array(fc.oneof(odd, fc.string({ unit: 'binary', maxLength: 3 }), fc.string({ maxLength: 4 })), {
    maxLength: 20,
  })
  fc.assert(
    fc.property(text, parts => {
      const whole = parts.join('')
      assert.deepEqual(piecesOf(whole), whole.match(O200K) ?? [])
    }),
    { numRuns: 5000 },
  )
})
