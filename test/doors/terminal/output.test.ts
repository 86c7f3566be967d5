import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  beginning,
  createPaint,
  oneLine,
  printable,
  printableJson,
  table,
  wantsColour,
} from '../../../src/doors/terminal/output.ts'
import { amount } from '../../../src/model/text.ts'

test('colour is used on terminals, unless it is switched on or off', () => {
  assert.equal(wantsColour({}, true), true)
  assert.equal(wantsColour({}, false), false)
  assert.equal(wantsColour({ TERM: 'dumb' }, true), false)
  assert.equal(wantsColour({ NO_COLOR: '1' }, true), false)
  assert.equal(wantsColour({ NO_COLOR: '' }, true), true)
  assert.equal(wantsColour({ FORCE_COLOR: '1' }, false), true)
  assert.equal(wantsColour({ FORCE_COLOR: '0' }, true), false)
  assert.equal(wantsColour({ FORCE_COLOR: '1', NO_COLOR: '1' }, true), false)
})

test('control characters become symbols; line breaks, tabs and letters stay', () => {
  assert.equal(printable('a\tb\r\nc\u001b[1m\u0007é🙂'), 'a\tb\nc␛[1m␇é🙂')
  assert.equal(printable('x\u202ey\u009bz'), 'x\ufffdy\ufffdz')
})

test('JSON has no control characters, and the same value', () => {
  const value = { 'k\u202e': ['\u009b2J', '\u001b[1m', '\u2066x\u2069', '\u007f', 'é🙂'] }
  const text = printableJson(value)
  assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
  assert.deepEqual(JSON.parse(text), value)
})

test('long texts are cut with an ellipsis, by line and by width', () => {
  assert.equal(oneLine('a\n  b\tc', 10), 'a b c')
  assert.equal(oneLine('abcdefghijkl', 5), 'abcd…')
  assert.deepEqual(beginning('one\ntwo\nthree\nfour', { lines: 2, width: 10 }), ['one', 'two', '… 2 more lines'])
  assert.deepEqual(beginning('one\ntwo', { lines: 1, width: 10 }), ['one', '… 1 more line'])
  assert.deepEqual(beginning('abcdef', { lines: 2, width: 4 }), ['abc…'])
})

test('amounts have grouped digits and the right plural', () => {
  assert.equal(amount(1, 'token'), '1 token')
  assert.equal(amount(12_345, 'token'), '12,345 tokens')
})

test('a table has columns as wide as their widest cell', () => {
  const cells = [
    ['xyz', '1', 'b'],
    ['x', '10', ''],
  ]
  const rows = [...table(['A', '>N', '*B'], cells, createPaint(false))]
  assert.deepEqual(rows, ['A     N  B', 'xyz   1  b', 'x    10'])
  assert.deepEqual([...table(['A'], [], createPaint(false))], [])
})

test('columns are aligned by display width: wide characters take two columns, marks none', () => {
  const cells = [
    ['日本語', 'x'],
    ['e\u0301a', 'y'],
    ['plain', 'z'],
  ]
  const rows = [...table(['NAME', 'B'], cells, createPaint(false))]
  assert.deepEqual(rows, ['NAME    B', '日本語  x', 'e\u0301a      y', 'plain   z'])
})
