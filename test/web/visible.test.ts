/** How untrusted text is made safe to show. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cutText, safeHref, splitNamed, visibleText } from '../../web/src/ui/visible.ts'
import * as fc from '../property.ts'

test('terminal colours, titles and links are removed, and the words stay', () => {
  assert.equal(visibleText('\x1b[1;31mred\x1b[0m \x1b]0;title\x07plain \x1b(B\x1b[2Kline'), 'red plain line')
  assert.equal(visibleText('\x1b]8;;javascript:alert(1)\x1b\\link\x1b]8;;\x1b\\'), 'link')
})

test('line endings of other systems are recognised', () => {
  assert.equal(visibleText('a\r\nb\rc\u00e9'), 'a\nb\nc\u00e9')
})

test('no invisible character is left in any text', () => {
  const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/
  const strange = fc.constantFrom('\u202e', '\u200b', '\x1b', '\x1b[31m', '\x07', '\ufeff', '\u2066', '\r', 'a', '\n')
  fc.assert(
    fc.property(fc.array(fc.oneof(strange, fc.string({ unit: 'binary' }))), pieces => {
      assert.doesNotMatch(visibleText(pieces.join('')), hidden)
    }),
  )
})

test('named characters are separated from the text around them', () => {
  assert.deepEqual(splitNamed(visibleText('a\u202eb')), ['a', '⟨U+202E⟩', 'b'])
})

test('only web and mail addresses become links', () => {
  assert.equal(safeHref('https://example.org/a?b'), 'https://example.org/a?b')
  assert.equal(safeHref('mailto:a@example.org'), 'mailto:a@example.org')
  for (const href of [
    'javascript:alert(1)',
    ' JaVaScRiPt:alert(1)',
    'data:text/html,x',
    '/tokens',
    '#/chat',
    'file:///etc',
    '',
  ]) {
    assert.equal(safeHref(href), undefined, href)
  }
})

test('a long text is cut at the end of a line, and a short one is not cut', () => {
  assert.equal(cutText('one\ntwo'), 'one\ntwo')
  const cut = cutText(Array.from({ length: 100 }, (_, i) => `line ${i}`).join('\n'))
  assert.equal(cut.split('\n').length, 25)
  assert.ok(cut.endsWith('line 23\n'))
  assert.ok(cutText('x'.repeat(1_000_000)).length < 5000)
})
