/** The error for an old_string that is not in the file: the reason, and the most similar lines. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explainMiss } from '../../src/files/nearest.ts'

const FILE = 'import a from "a"\n\nexport function total(items) {\n\treturn items.length\n}\n'

const reason = (wanted: string, text = FILE) => explainMiss(text, wanted)[0] ?? ''

test('common reasons are recognised', () => {
  assert.match(
    reason('export function   total(items) {\n  return items.length'),
    /^Line 3 has it with other whitespace/,
  )
  assert.match(reason('3: export function total(items) {\n4: \treturn items.length'), /without the line numbers/)
  assert.match(reason('    3\texport function total(items) {'), /without the line numbers/)
  assert.match(reason('total(items) {\\n\\treturn'), /escaped once too often/)
  assert.match(reason('import a from \\"a\\"'), /escaped once too often/)
  assert.match(reason('"a"\r\n\r\nexport'), /carriage returns/)
  assert.match(
    reason('cafe\u0301', 'one\nca\u0301f\u00e9 caf\u00e9'),
    /^Line 2 has it in another Unicode normalization/,
  )
})

test('lines are numbered from the start of the file, including initial blank lines', () => {
  assert.match(reason('b  c', '\n\n  a\nb c\n'), /^Line 4 /)
  assert.match(reason('a  b', '\n\n  a b\n'), /^Line 3 /)
})

test('a reason is given only if it is certain', () => {
  assert.doesNotMatch(reason('3: nothing of the kind'), /line numbers/)
  assert.doesNotMatch(reason('1: '), /line numbers/)
  assert.doesNotMatch(reason('nothing\\n'), /escaped/)
  assert.doesNotMatch(reason('nothing\r\nat all'), /carriage/)
})

test('the nearest lines come first, at most three, and only similar ones', () => {
  assert.deepEqual(explainMiss(FILE, 'export function totals(item) {'), [
    'Nearest lines:',
    '3: export function total(items) {',
  ])
  const many = Array.from({ length: 9 }, (_, i) => `const value${i} = ${i}`).join('\n')
  assert.deepEqual(explainMiss(many, 'const value4 = 5').slice(0, 2), ['Nearest lines:', '5: const value4 = 4'])
  assert.equal(explainMiss(many, 'const value4 = 5').length, 4)
  assert.deepEqual(explainMiss(many, 'zzzz qqqq'), [])
  assert.deepEqual(explainMiss('xb\n', 'ab'), [], 'one letter of two is not alike')
  assert.deepEqual(explainMiss(many, '  \n '), [])
  assert.deepEqual(explainMiss('a\n\nb', ' '), [], 'blank lines are not like anything')
})

test('of several lines the longest is searched for, and long lines are clipped', () => {
  const long = `x = [${'1234567890, '.repeat(40)}]`
  const [, line] = explainMiss(`a\n${long}\nb`, `a\n${long.slice(0, 290)}!`)
  assert.ok(line!.startsWith('2: x = [1234567890') && line!.length < 180, line)
})
