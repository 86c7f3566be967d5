import assert from 'node:assert/strict'
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { hashContent, lastStandingWrite, memoryJournal } from '../../src/files/journal.ts'
import type { FileEvent } from '../../src/model/types.ts'
import {
  appendToFile,
  editFile,
  prependToFile,
  undoEdit,
  updateSection,
  writeFile,
} from '../../src/tools/edit-files.ts'
import { listFiles, readFile, searchFiles } from '../../src/tools/read-files.ts'
import * as fc from '../property.ts'
import { makeSandbox } from './sandbox.ts'

test('write_file creates a file with its folders and reports its size', async () => {
  const { run, get } = await makeSandbox()
  const result = await run(writeFile, { path: 'a/b/notes.md', content: `${'ä'.repeat(617)}` })
  assert.deepEqual(result, { text: 'Written: a/b/notes.md (1,234 bytes)' })
  assert.equal(await get('a/b/notes.md'), 'ä'.repeat(617))
})

test('write_file replaces an unread file, with a warning that names the atomic tools', async () => {
  const { run, put, get } = await makeSandbox()
  await put('notes.md', 'old')
  const { text, isError } = await run(writeFile, { path: 'notes.md', content: 'new' })
  assert.equal(isError, undefined)
  assert.match(text, /^Written: notes\.md \(3 bytes\)\nWarning: notes\.md already existed \(3 bytes\)/)
  assert.match(text, /edit_file, append_to_file or update_section/)
  assert.equal(await get('notes.md'), 'new')
})

test('write_file replaces a file that was read without a warning', async () => {
  const { run, put } = await makeSandbox()
  await put('notes.md', 'old')
  await run(readFile, { path: './notes.md' })
  assert.equal((await run(writeFile, { path: 'notes.md', content: 'new' })).text, 'Written: notes.md (3 bytes)')
})

test('write_file still warns if only a part of the file was read', async () => {
  const { run, put } = await makeSandbox()
  await put('notes.md', 'one\ntwo\n')
  await run(readFile, { path: 'notes.md', limit: 1 })
  assert.match((await run(writeFile, { path: 'notes.md', content: 'new' })).text, /Warning/)
})

test('write_file reports changed line endings and a removed byte order mark', async () => {
  const { run, put } = await makeSandbox()
  await put('notes.md', '\uFEFFone\r\ntwo\r\n')
  const { text } = await run(writeFile, { path: 'notes.md', content: 'one\ntwo\n' })
  assert.match(text, /had a byte order mark/)
  assert.match(text, /had CRLF line endings; now it has LF/)
})

test('write_file does not replace a binary file, because it could not be restored', async () => {
  const { root, run, put } = await makeSandbox()
  await put('image.png', Uint8Array.of(0x89, 0x50, 0, 1))
  assert.match((await run(writeFile, { path: 'image.png', content: 'x' })).text, /binary file/)
  assert.equal(statSync(join(root, 'image.png')).size, 4)
})

test('append_to_file and prepend_to_file add exactly the given text, and create missing files', async () => {
  const { run, get } = await makeSandbox()
  assert.equal((await run(appendToFile, { path: 'log.md', content: 'b\n' })).text, 'Appended 2 chars to log.md')
  assert.equal((await run(appendToFile, { path: 'log.md', content: '$&\n' })).text, 'Appended 3 chars to log.md')
  assert.equal((await run(prependToFile, { path: 'log.md', content: 'a\n' })).text, 'Prepended 2 chars to log.md')
  assert.equal(await get('log.md'), 'a\nb\n$&\n')
})

test('append_to_file reports that the text continues the last line', async () => {
  const { run, put, get } = await makeSandbox()
  await put('log.md', 'one')
  const { text } = await run(appendToFile, { path: 'log.md', content: 'two' })
  assert.match(text, /^Appended 3 chars to log\.md\nNote: the file did not end in a line break/)
  assert.equal(await get('log.md'), 'onetwo')
})

test('append, prepend and update_section keep CRLF and the byte order mark', async () => {
  const { run, put, get } = await makeSandbox()
  await put('log.md', '\uFEFF# A\r\n\r\nold\r\n')
  await run(appendToFile, { path: 'log.md', content: '\n## B\n' })
  await run(prependToFile, { path: 'log.md', content: 'top\n\n' })
  await run(updateSection, { path: 'log.md', section_header: '# A', new_content: 'new\nlines' })
  assert.equal(await get('log.md'), '\uFEFFtop\r\n\r\n# A\r\n\r\nnew\r\nlines\r\n')
})

test('update_section replaces the text under a header and reports it', async () => {
  const { run, put, get } = await makeSandbox()
  await put('workspace.md', '# W\n\n## Current State\n\nPhase: 1\n\n## Next\n\n- x\n')
  const result = await run(updateSection, {
    path: 'workspace.md',
    section_header: '## Current State',
    new_content: 'Phase: 2\nStatus: Processing requirements',
  })
  assert.match(result.text, /^Updated ## Current State in workspace\.md: replaced \d+ chars with \d+ chars$/)
  assert.equal(
    await get('workspace.md'),
    '# W\n\n## Current State\n\nPhase: 2\nStatus: Processing requirements\n\n## Next\n\n- x\n',
  )
})

test('update_section lists the existing headers if none matches', async () => {
  const { run, put } = await makeSandbox()
  await put('workspace.md', '# W\n\n## Next\n')
  const result = await run(updateSection, { path: 'workspace.md', section_header: '## Status', new_content: 'x' })
  assert.equal(result.isError, true)
  assert.match(result.text, /Section "## Status" not found\. The headers are:\n# W\n {2}## Next/)
})

test('undo_edit reverts changes one by one, back to a missing file', async () => {
  const { root, run, get } = await makeSandbox()
  await run(writeFile, { path: 'a.md', content: 'one\n' })
  await run(appendToFile, { path: 'a.md', content: 'two\n' })
  await run(editFile, { path: 'a.md', old_string: 'one', new_string: 'ONE' })
  assert.equal(
    (await run(undoEdit, { path: 'a.md' })).text,
    'Undone: a.md is as it was before the last change (8 bytes)',
  )
  assert.equal(await get('a.md'), 'one\ntwo\n')
  await run(undoEdit, { path: 'a.md' })
  assert.equal(await get('a.md'), 'one\n')
  assert.equal((await run(undoEdit, { path: 'a.md' })).text, 'Undone: a.md was removed again; it did not exist before.')
  assert.deepEqual(readdirSync(root), [])
  assert.match((await run(undoEdit, { path: 'a.md' })).text, /^Nothing to undo/)
})

test('undo_edit refuses if another program has changed the file since', async () => {
  const { root, run, get } = await makeSandbox()
  await run(writeFile, { path: 'a.md', content: 'one\n' })
  writeFileSync(join(root, 'a.md'), 'theirs\n')
  const result = await run(undoEdit, { path: 'a.md' })
  assert.equal(result.isError, true)
  assert.match(result.text, /^a\.md has changed since this session's last change to it\. Nothing was undone\./)
  assert.equal(await get('a.md'), 'theirs\n')
})

test('undo_edit restores bytes: byte order mark, line endings, missing newline', async () => {
  for (const content of ['\uFEFFa\r\nb', 'a\rb\n\n', 'x']) {
    const { run, put, get } = await makeSandbox()
    await put('a.md', content)
    await run(writeFile, { path: 'a.md', content: 'new\n' })
    await run(undoEdit, { path: 'a.md' })
    assert.equal(await get('a.md'), content)
  }
})

test('a change that the journal cannot record is not made', async () => {
  const journal = { ...memoryJournal(), record: () => Promise.reject(new Error('disk full')) }
  const { root, run } = await makeSandbox({ journal })
  await assert.rejects(run(writeFile, { path: 'a.md', content: 'x' }), /disk full/)
  assert.deepEqual(readdirSync(root), [])
})

test('law: after any changes and as many undos, the file is as before', async () => {
  const change = fc.oneof(
    fc.record({ type: fc.constant('append'), text: fc.constantFrom('a', 'b\n') }),
    fc.record({ type: fc.constant('write'), text: fc.constantFrom('a', 'b\n', 'c') }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 5 }), async changes => {
      const events: FileEvent[] = []
      let now: string | null = null
      for (const { type, text } of changes) {
        const next: string = type === 'append' ? (now ?? '') + text : text
        if (next === now) continue
        events.push({ action: 'write', path: 'a', hash: hashContent(next), before: now })
        now = next
      }
      for (let last = lastStandingWrite(events); last; last = lastStandingWrite(events)) {
        assert.equal(last.hash, hashContent(now), 'the write to undo is the one that made the file what it is')
        events.push({ action: 'write', path: 'a', hash: hashContent(last.before), before: now })
        now = last.before
      }
      assert.equal(now, null)
    }),
  )
})

test('read_file gives plain text, and a note on how to continue', async () => {
  const { run, put } = await makeSandbox()
  await put('long.txt', Array.from({ length: 5000 }, (_, i) => `line ${i + 1}\n`).join(''))
  await put('short.txt', 'a\nb')
  assert.equal((await run(readFile, { path: 'short.txt' })).text, 'a\nb')
  const first = await run(readFile, { path: 'long.txt' })
  assert.ok(first.text.startsWith('line 1\nline 2\n'))
  assert.ok(
    first.text.endsWith('line 2000\n[Lines 1-2,000 of 5,000. Read on with read_file(path="long.txt", offset=2001).]'),
  )
  assert.equal(
    (await run(readFile, { path: 'long.txt', offset: 4999, limit: 10 })).text,
    'line 4999\nline 5000\n[Lines 4,999-5,000 of 5,000.]',
  )
  assert.deepEqual(await run(readFile, { path: 'long.txt', offset: 5001 }), {
    text: 'offset 5001 is past the end: long.txt has 5,000 lines.',
    isError: true,
  })
})

test('read_file is limited in characters, even within a line', async () => {
  const { run, put } = await makeSandbox()
  await put('wide.txt', `${'x'.repeat(30_000)}\n`.repeat(3))
  await put('huge.txt', '😀'.repeat(200_000))
  const wide = (await run(readFile, { path: 'wide.txt' })).text
  assert.ok(wide.endsWith('[Lines 1-1 of 3. Read on with read_file(path="wide.txt", offset=2).]'))
  const huge = (await run(readFile, { path: 'huge.txt' })).text
  assert.match(huge, /\[Line 1 has 400,000 characters; the first 50,000 are shown\.\]$/)
  assert.ok(huge.length < 51_000 && huge.isWellFormed())
})

test('text shown by read_file can be given to edit_file', async () => {
  const { run, put, get } = await makeSandbox()
  await put('crlf.txt', '\uFEFFone\r\ntwo\r\nthree\r\n')
  const { text } = await run(readFile, { path: 'crlf.txt' })
  assert.equal(text, 'one\ntwo\nthree\n[The file has CRLF line endings; edit_file keeps them.]')
  await run(editFile, { path: 'crlf.txt', old_string: 'one\ntwo\n', new_string: '1\n2\n' })
  assert.equal(await get('crlf.txt'), '\uFEFF1\r\n2\r\nthree\r\n')
})

test('read_file reports an empty or missing file', async () => {
  const { run, put } = await makeSandbox()
  await put('empty.txt', '')
  assert.equal((await run(readFile, { path: 'empty.txt' })).text, '[empty.txt is empty]')
  assert.deepEqual(await run(readFile, { path: 'none.txt' }), { text: 'File not found: none.txt', isError: true })
})

test('list_files shows two levels, or matches of a glob at any depth', async () => {
  const { run, put } = await makeSandbox()
  for (const path of ['b.md', 'a/one.ts', 'a/deep/er/two.ts', 'node_modules/x/i.js', '.git/HEAD']) await put(path, 'x')
  assert.deepEqual((await run(listFiles, {})).text.split('\n'), [
    '.git/',
    'a/',
    'a/deep/',
    'a/one.ts',
    'b.md',
    'node_modules/ (not listed)',
  ])
  assert.equal((await run(listFiles, { glob: '*.ts' })).text, 'a/deep/er/two.ts\na/one.ts')
  assert.equal((await run(listFiles, { path: 'a', glob: 'deep/**/*.ts' })).text, 'a/deep/er/two.ts')
  assert.equal((await run(listFiles, { glob: '*.go' })).text, 'No file fits *.go.')
})

test('list_files is limited and gives the number of further files', async () => {
  const { run, put } = await makeSandbox()
  for (let i = 0; i < 520; i++) await put(`f${i}`, '')
  assert.match((await run(listFiles, {})).text, /\n\[20 more; give a path, a depth or a glob to see fewer\]$/)
})

test('search_files finds literal text with path and line', async () => {
  const { run, put } = await makeSandbox()
  await put('a.ts', 'x\nconst price = "$1.*"\n')
  await put('sub/b.md', 'PRICE\n')
  await put('bin', Uint8Array.of(0, 0x24, 0x31))
  await put('node_modules/c.ts', '$1.*')
  assert.equal((await run(searchFiles, { query: '$1.*' })).text, 'a.ts:2: const price = "$1.*"')
  assert.equal((await run(searchFiles, { query: 'price', ignore_case: true, glob: '*.md' })).text, 'sub/b.md:1: PRICE')
  assert.equal(
    (await run(searchFiles, { query: 'nowhere' })).text,
    'No match for "nowhere" in 2 files (1 binary or unreadable files left out).',
  )
  assert.equal((await run(searchFiles, { query: 'a\nb' })).isError, true)
})

test('search_files is limited in lines and in their width', async () => {
  const { run, put } = await makeSandbox()
  await put('many.txt', `${'needle\n'.repeat(150)}`)
  const many = (await run(searchFiles, { query: 'needle' })).text.split('\n')
  assert.equal(many.length, 101)
  assert.equal(many.at(-1), '[50 more matching lines; narrow the search with path or glob]')
  await put('many.txt', `${'x'.repeat(5000)}needle${'y'.repeat(5000)}`)
  const wide = (await run(searchFiles, { query: 'needle' })).text
  assert.ok(wide.includes('needle') && wide.length < 300)
})
