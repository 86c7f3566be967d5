import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CallBook } from '../../src/calls/call-book.ts'
import { defineTools } from '../../src/calls/tool-kinds.ts'

const FILE = 'import a from "a"\n\nexport const b = a + 1\n'

/** The kinds of a call and of its result. */
function step(book: CallBook, name: string, input: object, output: string, more: object = {}): string[] {
  const id = `${name}-${JSON.stringify(input)}-${output.length}`
  const { kind } = book.call({ type: 'tool-call', id, name, input })
  return [kind, book.result({ type: 'tool-result', id, name, output, ...more }).info.kind]
}

test("an unknown tool that returns a file's text counts as a read from its first result on", () => {
  const book = new CallBook()
  assert.deepEqual(step(book, 'peruse', { file_path: 'src/a.ts', from: 1 }, FILE), ['other', 'read'])
  assert.deepEqual(step(book, 'peruse', { file_path: 'src/b.ts' }, 'one line'), ['read', 'read'])
})

test('the kind learned from the first result does not change later', () => {
  const book = new CallBook()
  assert.deepEqual(step(book, 'touch_up', { path: 'src/a.ts' }, 'done'), ['other', 'other'])
  assert.deepEqual(step(book, 'touch_up', { path: 'src/a.ts' }, FILE), ['other', 'other'])
})

test('nothing is learned from an error result', () => {
  const book = new CallBook()
  assert.deepEqual(step(book, 'peruse', { path: 'a.ts' }, FILE, { isError: true }), ['other', 'other'])
  assert.deepEqual(step(book, 'peruse', { path: 'b.ts' }, FILE), ['other', 'read'])
})

test('a tool with a text or a folder as argument is not classified as a read', () => {
  const book = new CallBook()
  assert.deepEqual(step(book, 'amend', { path: 'a.ts', with: 'text' }, FILE), ['other', 'other'])
  assert.deepEqual(step(book, 'enumerate', { path: 'src' }, FILE), ['other', 'other'])
})

test('a tool with a command argument is classified by the command', () => {
  const book = new CallBook()
  assert.deepEqual(step(book, 'mcp__box__invoke', { command: 'cat src/a.ts' }, FILE), ['shell-read', 'shell-read'])
  const info = book.call({ type: 'tool-call', id: 'x', name: 'invoke', input: { cmd: 'npm test' } })
  assert.deepEqual([info.kind, info.command], ['shell', 'npm test'])
  assert.deepEqual(step(book, 'editor_of_mine', { command: 'view', path: 'a.md' }, 'x'), ['other', 'other'])
})

test("the user's table overrides what was learned", () => {
  const book = new CallBook(defineTools({ peruse: { kind: 'search' } }))
  assert.deepEqual(step(book, 'peruse', { file_path: 'src/a.ts' }, FILE), ['search', 'search'])
})
