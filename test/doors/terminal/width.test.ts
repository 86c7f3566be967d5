import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clip, clipStart, padEnd, widthOf } from '../../../src/doors/terminal/width.ts'

test('wide characters take two columns, combining marks none', () => {
  const cases: [string, number][] = [
    ['abc', 3],
    ['日本', 4],
    ['e\u0301', 1],
    ['👍', 2],
    ['👩‍👩‍👧', 2],
    ['☑', 1],
    ['❤️', 2],
    ['한글', 4],
    ['', 0],
  ]
  for (const [text, width] of cases) assert.equal(widthOf(text), width, text)
})

test('a text is cut between whole characters, with an ellipsis', () => {
  assert.equal(clip('abcdef', 4), 'abc…')
  assert.equal(clip('日本語', 4), '日…')
  assert.equal(clip('abc', 3), 'abc')
  assert.equal(clipStart('src/doors/terminal/width.ts', 10), '…/width.ts')
  assert.equal(padEnd('日', 4), '日  ')
})
