import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findFileVersions } from '../../bench/file-versions.ts'
import type { Message } from '../../src/model/types.ts'

const lines = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => `export const value${from + i} = ${from + i}`)

test('the version before an edit is the text that was read, with later edits', () => {
  const [first, ...rest] = lines(1, 9)
  const evidence = findFileVersions([
    call('r1', 'read_file', { path: 'a.ts' }),
    answer('r1', 'read_file', [first, ...rest].join('\n')),
    edit('e1', first!, 'export const renamed = 1'),
    answer('e1', 'edit_file', 'ok'),
    edit('e2', 'export const value2 = 2', 'export const value2 = 3'),
  ])
  const texts = (evidence.quotes.get(2) ?? []).map(({ text }) => text)
  assert.ok(texts.length >= 3)
  assert.ok(!texts.includes(first!), 'a line that was replaced is not part of the version')
  for (const { text, sources } of evidence.quotes.get(2)!) {
    assert.ok(sources.length > 0)
    for (const number of sources) assert.ok(evidence.sources[number]!.text.includes(text))
  }
})

test('a new read of the whole file replaces what was known', () => {
  const evidence = findFileVersions([
    call('r1', 'read_file', { path: 'a.ts' }),
    answer('r1', 'read_file', lines(1, 6).join('\n')),
    call('r2', 'read_file', { path: 'a.ts' }),
    answer('r2', 'read_file', lines(101, 106).join('\n')),
    edit('e1', 'export const value101 = 101', 'export const value101 = 0'),
  ])
  const quotes = evidence.quotes.get(2)!
  assert.ok(quotes.length > 0)
  for (const { text } of quotes) assert.match(text, /value10\d/)
})

test('an edit of a file that was never read needs no evidence', () => {
  assert.equal(findFileVersions([edit('e1', 'a line of the file', 'another line')]).quotes.size, 0)
})

function call(id: string, name: string, input: object): Message {
  return { role: 'assistant', parts: [{ type: 'tool-call', id, name, input }] }
}

function answer(id: string, name: string, output: string): Message {
  return { role: 'tool', parts: [{ type: 'tool-result', id, name, output }] }
}

function edit(id: string, oldText: string, newText: string): Message {
  return call(id, 'edit_file', { path: 'a.ts', old_string: oldText, new_string: newText })
}
