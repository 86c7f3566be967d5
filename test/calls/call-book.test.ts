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

test('a tool that no table has and that gives the text of a file reads, from its first result on', () => {
  const book = new CallBook()
  assert.deepEqual(step(book, 'peruse', { file_path: 'src/a.ts', from: 1 }, FILE), ['other', 'read'])
  assert.deepEqual(step(book, 'peruse', { file_path: 'src/b.ts' }, 'one line'), ['read', 'read'])
})

test('what the first result showed holds, whatever comes later', () => {
  const book = new CallBook()
  assert.deepEqual(step(book, 'touch_up', { path: 'src/a.ts' }, 'done'), ['other', 'other'])
  assert.deepEqual(step(book, 'touch_up', { path: 'src/a.ts' }, FILE), ['other', 'other'])
})

test('an error teaches nothing', () => {
  const book = new CallBook()
  assert.deepEqual(step(book, 'peruse', { path: 'a.ts' }, FILE, { isError: true }), ['other', 'other'])
  assert.deepEqual(step(book, 'peruse', { path: 'b.ts' }, FILE), ['other', 'read'])
})

test('a tool that takes a text, or a folder, is not taken for one that reads', () => {
  const book = new CallBook()
  assert.deepEqual(step(book, 'amend', { path: 'a.ts', with: 'text' }, FILE), ['other', 'other'])
  assert.deepEqual(step(book, 'enumerate', { path: 'src' }, FILE), ['other', 'other'])
})

test('a tool that takes a command runs it; its words say what it does', () => {
  const book = new CallBook()
  assert.deepEqual(step(book, 'mcp__box__invoke', { command: 'cat src/a.ts' }, FILE), ['shell-read', 'shell-read'])
  const info = book.call({ type: 'tool-call', id: 'x', name: 'invoke', input: { cmd: 'npm test' } })
  assert.deepEqual([info.kind, info.command], ['shell', 'npm test'])
  assert.deepEqual(step(book, 'editor_of_mine', { command: 'view', path: 'a.md' }, 'x'), ['other', 'other'])
})

test("the user's own table comes first", () => {
  const book = new CallBook(defineTools({ peruse: { kind: 'search' } }))
  assert.deepEqual(step(book, 'peruse', { file_path: 'src/a.ts' }, FILE), ['search', 'search'])
})
