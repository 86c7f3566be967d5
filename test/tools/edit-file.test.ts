import assert from 'node:assert/strict'
import { chmodSync, chownSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { replaceUnique } from '../../src/files/replace.ts'
import { editFile } from '../../src/tools/edit-files.ts'
import * as fc from '../property.ts'
import { makeSandbox } from './sandbox.ts'

const edit = async (content: string | Uint8Array, old_string: string, new_string: string) => {
  const { run, put, get } = await makeSandbox()
  await put('notes.md', content)
  const result = await run(editFile, { path: 'notes.md', old_string, new_string })
  return { ...result, content: await get('notes.md') }
}

test('a single match is replaced, and the result says how much changed', async () => {
  const result = await edit('Status: Initializing\n', 'Initializing', 'Phase 2 complete')
  assert.deepEqual(result, {
    text: 'Edited notes.md: replaced 12 chars with 16 chars',
    content: 'Status: Phase 2 complete\n',
  })
})

test('arguments may have names that models know from other tools, and unknown ones are reported', async () => {
  const { run, put, get } = await makeSandbox()
  await put('notes.md', 'one two')
  await run(editFile, { file_path: 'notes.md', old_str: 'one', new_str: '1' })
  assert.equal(await get('notes.md'), '1 two')
  const { text } = await run(editFile, { path: 'notes.md', old_string: 'two', new_string: '2', replace_all: true })
  assert.match(
    text,
    /^Edited notes\.md.*\n\[replace_all is no argument of edit_file and was ignored\. It takes: path, /,
  )
})

test('characters are counted as code points', async () => {
  const { text } = await edit('a😀b', '😀b', '👩‍🚀')
  assert.equal(text, 'Edited notes.md: replaced 2 chars with 3 chars')
})

test('an empty new_string deletes', async () => {
  assert.equal((await edit('a b c', ' b', '')).content, 'a c')
})

const LITERAL = [
  '$&',
  '$$',
  '$1',
  "$'",
  '$`',
  '$<name>',
  '\\n',
  '\\\\',
  '.*',
  '[a-z]+',
  '(',
  '^',
  '#{x}',
  '%s',
  '{{x}}',
]

test('patterns and escapes are plain text in both strings', async () => {
  for (const text of LITERAL) {
    assert.equal((await edit('<x>', 'x', text)).content, `<${text}>`)
    assert.equal((await edit(`<${text}>`, text, '$&')).content, '<$&>')
  }
})

test('no match is an error that shows the nearest lines', async () => {
  const result = await edit('alpha\nconst total = sum(values)\nomega\n', 'const total = sum(value)', 'x')
  assert.equal(result.isError, true)
  assert.deepEqual(result.text.split('\n'), [
    'old_string not found in notes.md. Make sure it matches exactly (including whitespace).',
    'Nearest lines:',
    '2: const total = sum(values)',
  ])
  assert.equal(result.content, 'alpha\nconst total = sum(values)\nomega\n')
})

test('without a match the usual reason is named', async () => {
  const reasons: [string, string, RegExp][] = [
    ['if (a) {\n\treturn b\n}\n', 'if (a) {\n    return b\n}', /Line 1 has it with other whitespace/],
    ['x\n\n  y  z\n', 'y z', /Line 3 has it with other whitespace/],
    ['caf\u00e9 au lait\n', 'cafe\u0301 au lait', /Unicode normalization \(NFC\/NFD\)/],
    ['cafe\u0301 au lait\n', 'caf\u00e9 au lait', /Unicode normalization \(NFC\/NFD\)/],
    ['one\ntwo\n', '     1\tone\n     2\ttwo', /without the line numbers/],
    ['one\ntwo\n', 'one\\ntwo', /escaped once too often/],
    ['one\ntwo\n', 'one\r\ntwo', /leave the carriage returns/],
  ]
  for (const [content, old, reason] of reasons) {
    const result = await edit(content, old, 'new')
    assert.match(result.text, reason)
    assert.equal(result.content, content)
  }
})

test('several matches are an error with their number and lines', async () => {
  const result = await edit('x = 1\ny\nx = 1\n', 'x = 1', 'x = 2')
  assert.equal(result.isError, true)
  assert.deepEqual(result.text.split('\n'), [
    'old_string appears 2 times in notes.md. Include more surrounding context to make it unique.',
    'It begins in lines 1, 3.',
  ])
  assert.equal(result.content, 'x = 1\ny\nx = 1\n')
})

test('two matches on one line count as two, and overlapping ones count too', async () => {
  assert.match((await edit('ab ab', 'ab', 'x')).text, /appears 2 times/)
  assert.match((await edit('aaa', 'aa', 'x')).text, /appears 2 times/)
  assert.match((await edit('ababa', 'aba', 'x')).text, /appears 2 times/)
  assert.match((await edit('\n\n\n', '\n\n', 'x')).text, /appears 2 times/)
})

test('an empty old_string, or one that equals new_string, is refused', async () => {
  assert.match((await edit('', '', 'x')).text, /old_string is empty/)
  assert.match((await edit('x', 'x', 'x')).text, /are the same/)
})

test('a missing file is not created', async () => {
  const { root, run } = await makeSandbox()
  const result = await run(editFile, { path: 'a/notes.md', old_string: 'a', new_string: 'b' })
  assert.deepEqual(result, { text: 'File not found: a/notes.md', isError: true })
  assert.deepEqual(readdirSync(root), [])
})

test('CRLF is kept: plain line breaks match it and are written as CRLF', async () => {
  assert.equal((await edit('a\r\nb\r\nc\r\n', 'a\nb', 'x\ny\nz')).content, 'x\r\ny\r\nz\r\nc\r\n')
  assert.equal((await edit('a\r\nb\r\n', 'b', 'x\ny')).content, 'a\r\nx\r\ny\r\n')
  assert.equal((await edit('a\r\nb\r\n', 'a\r\nb', 'x\r\ny')).content, 'x\r\ny\r\n')
})

test('mixed line endings are matched literally', async () => {
  assert.equal((await edit('a\r\nb\nc\n', 'b\nc', 'x\ny')).content, 'a\r\nx\ny\n')
  assert.equal((await edit('a\r\nb\nc\n', 'a\nb', 'x')).isError, true)
})

test('a byte order mark stays in place', async () => {
  assert.equal((await edit('\uFEFFtitle\n', 'title', 'Title')).content, '\uFEFFTitle\n')
  assert.equal((await edit('\uFEFFall', 'all', '')).content, '\uFEFF')
})

test('mode and owner are kept', async t => {
  const { root, run, put } = await makeSandbox()
  await put('run.sh', 'echo one\n')
  chmodSync(join(root, 'run.sh'), 0o754)
  if (process.getuid?.() === 0) chownSync(join(root, 'run.sh'), 1234, 1235)
  else t.diagnostic('not root: the owner is the same anyway')
  const before = statSync(join(root, 'run.sh'))
  await run(editFile, { path: 'run.sh', old_string: 'one', new_string: 'two' })
  const after = statSync(join(root, 'run.sh'))
  assert.deepEqual([after.mode, after.uid, after.gid], [before.mode, before.uid, before.gid])
})

test('a read-only file is not changed', async () => {
  const { root, run, put, get } = await makeSandbox()
  await put('notes.md', 'one')
  chmodSync(join(root, 'notes.md'), 0o444)
  const result = await run(editFile, { path: 'notes.md', old_string: 'one', new_string: 'two' })
  assert.deepEqual(result, { text: 'Permission denied: notes.md is read-only.', isError: true })
  assert.equal(await get('notes.md'), 'one')
})

test('a file that is not UTF-8 text is refused and not changed', async () => {
  const cases: [Uint8Array, RegExp][] = [
    [Uint8Array.of(0x61, 0xff, 0x62), /not valid UTF-8/],
    [Uint8Array.of(0x61, 0xc0, 0x80, 0x62), /not valid UTF-8/],
    [Uint8Array.of(0x61, 0, 0x62), /a binary file/],
    [Uint8Array.of(0xff, 0xfe, 0x61, 0), /UTF-16/],
  ]
  for (const [bytes, reason] of cases) {
    const { root, run, put } = await makeSandbox()
    await put('data', bytes)
    const result = await run(editFile, { path: 'data', old_string: 'a', new_string: 'b' })
    assert.equal(result.isError, true)
    assert.match(result.text, reason)
    assert.equal(statSync(join(root, 'data')).size, bytes.length)
  }
})

test('half a surrogate pair and NUL are refused', async () => {
  assert.match((await edit('x', 'x', '\ud83d')).text, /a lone surrogate/)
  assert.match((await edit('x', 'x', 'a\0b')).text, /NUL/)
})

test('a long line and a long run of one character take at most linear time', async () => {
  const long = 'a'.repeat(1_000_000)
  assert.match((await edit(`${long}b`, 'ab', 'c')).text, /replaced 2 chars with 1 chars/)
  assert.match((await edit(long, 'a'.repeat(400_000), 'c')).text, /appears 600001 times/)
  assert.equal((await edit(long, `b${'a'.repeat(400_000)}`, 'c')).isError, true)
})

/** Small alphabets make repeats, overlaps and line endings likely. */
const texts = fc.string({
  unit: fc.constantFrom('a', 'b', '\n', '\r\n', '$&', '$', '\\', '😀', 'é', 'e\u0301', ' '),
  maxLength: 40,
})

test('law: the result is the text before the match, the new text, and the text after it', () => {
  fc.assert(
    fc.property(texts, texts, texts, texts, (before, old, after, fresh) => {
      fc.pre(old !== '' && !old.includes('\n') && !fresh.includes('\n'))
      const text = before + old + after
      const matches = naiveMatches(text, old)
      const result = replaceUnique(text, old, fresh)
      if (matches.length === 1) {
        assert.equal(result.type === 'replaced' && result.text, before + fresh + after)
      } else assert.equal(result.type === 'ambiguous' && result.lines.length, matches.length)
    }),
  )
})

test('in a file with CRLF, plain line breaks mean CRLF, but a text with a carriage return is taken literally', () => {
  const text = 'one\r\ntwo\r\nthree\r\n'
  const replaced = (old: string, fresh: string) => {
    const result = replaceUnique(text, old, fresh)
    return result.type === 'replaced' ? result.text : result.type
  }
  assert.equal(replaced('one\ntwo', '1\n2'), '1\r\n2\r\nthree\r\n')
  assert.equal(replaced('one\r\ntwo', '1\n2'), '1\n2\r\nthree\r\n')
  assert.equal(replaced('one\r\ntwo\n', 'x'), 'not-found')
})

test('law: replacing and replacing back restores the text', () => {
  fc.assert(
    fc.property(texts, texts, texts, (text, old, fresh) => {
      // New text gets the line endings of the file; in a file with mixed ones, replacing back gives others.
      fc.pre(old !== '' && fresh !== '' && !(text.includes('\r\n') && /(^|[^\r])\n/.test(text)))
      // A text that begins or ends between \r and \n cannot be distinguished from one with its own line ending.
      fc.pre(![old, fresh].some(piece => /^\n|\r$/.test(piece)) || !text.includes('\r'))
      const there = replaceUnique(text, old, fresh)
      if (there.type !== 'replaced') return
      const back = replaceUnique(
        there.text,
        there.inserted,
        text.slice(there.at, there.at + text.length - there.text.length + there.inserted.length),
      )
      if (back.type === 'replaced') assert.equal(back.text, text)
      else assert.equal(back.type, 'ambiguous')
    }),
  )
})

test('law: a file with only CRLF keeps only CRLF', () => {
  const lines = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', ' '), maxLength: 4 }), {
    minLength: 1,
    maxLength: 6,
  })
  fc.assert(
    fc.property(lines, lines, lines, (file, old, fresh) => {
      const text = `${file.join('\r\n')}\r\n`
      const result = replaceUnique(text, old.join('\n'), fresh.join('\n'))
      if (result.type === 'replaced') assert.doesNotMatch(result.text, /[^\r]\n|^\n/)
    }),
  )
})

function naiveMatches(text: string, part: string): number[] {
  return Array.from({ length: text.length }, (_, i) => i).filter(i => text.startsWith(part, i))
}
