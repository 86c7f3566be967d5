/** Text in files: what is refused, how lines end and how they are counted. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  checkFileText,
  countChars,
  decodeText,
  inLineEndingsOf,
  lineEndings,
  lineNumberAt,
  linesAt,
  MAX_FILE_BYTES,
  splitLines,
} from '../../src/files/text.ts'
import * as fc from '../property.ts'

describe('bytes', () => {
  test('that are UTF-8 are read, even with a byte order mark', () => {
    assert.equal(decodeText(Buffer.from('\uFEFFé\r\n'), 'f'), '\uFEFFé\r\n')
    assert.equal(decodeText(Buffer.from([]), 'f'), '')
  })

  test('that are not UTF-8 are refused with their kind', () => {
    const refused = (bytes: number[], message: RegExp) =>
      assert.throws(() => decodeText(Uint8Array.from(bytes), 'f'), { code: 'NOT_TEXT', message })
    refused([0xff, 0xfe, 0x41, 0], /UTF-16/)
    refused([0xfe, 0xff, 0, 0x41], /UTF-16/)
    refused([0x41, 0, 0x42], /binary/)
    refused([0xff, 0x41], /not valid UTF-8/)
    refused([0xfe, 0xfe], /not valid UTF-8/)
  })

  test('of content that a file cannot give back are refused', () => {
    checkFileText('text', 'é\n')
    assert.throws(() => checkFileText('text', '\ud800'), { code: 'INVALID_UNICODE' })
    assert.throws(() => checkFileText('text', 'a\0b'), { code: 'NOT_TEXT' })
    checkFileText('text', 'x'.repeat(MAX_FILE_BYTES))
    for (const text of ['x'.repeat(MAX_FILE_BYTES + 1), 'é'.repeat(17 * 1024 * 1024)])
      assert.throws(() => checkFileText('text', text), { code: 'TOO_LARGE' })
  })
})

test('the line ending of a text is that of all its lines', () => {
  const known = {
    '': 'none',
    a: 'none',
    '\r': 'none',
    'a\n': 'lf',
    'a\r\nb': 'crlf',
    '\n\r\n': 'mixed',
    '\r\n\n': 'mixed',
  }
  for (const [text, kind] of Object.entries(known)) assert.equal(lineEndings(text), kind, JSON.stringify(text))
  assert.equal(inLineEndingsOf('a\r\n', 'x\ny'), 'x\r\ny')
  assert.equal(inLineEndingsOf('a\r\n', 'x\r\ny'), 'x\r\ny')
  assert.equal(inLineEndingsOf('a\r\nb\n', 'x\ny'), 'x\ny')
  assert.equal(inLineEndingsOf('a\n', 'x\ny'), 'x\ny')
})

test('the line of a position is one more than the newlines before it', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', '\n') }), fc.array(fc.nat(30)), (text, places) => {
      const ascending = places.toSorted((a, b) => a - b)
      const expected = ascending.map(place => text.slice(0, place).split('\n').length)
      assert.deepEqual(linesAt(text, ascending), expected)
      for (const [i, place] of ascending.entries()) assert.equal(lineNumberAt(text, place), expected[i])
    }),
  )
})

test('lines and characters are counted as users see them', () => {
  assert.deepEqual(splitLines('a\r\nb\rc\n\n'), ['a', 'b', 'c', ''])
  assert.deepEqual(splitLines(''), [])
  assert.equal(countChars('a🙂é'), 3)
})
