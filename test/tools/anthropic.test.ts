import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { memoryTool, textEditorTool } from '../../src/tools/anthropic.ts'
import { undoEdit } from '../../src/tools/edit-files.ts'
import { makeSandbox } from './sandbox.ts'

const editor = textEditorTool()

async function makeMemory() {
  const box = await makeSandbox()
  const memory = memoryTool({ folder: box.root })
  return { ...box, say: (input: Record<string, unknown>) => box.run(memory, input) }
}

test('text editor: view numbers the lines, of a range too', async () => {
  const { run, put } = await makeSandbox()
  await put('a.py', 'one\ntwo\nthree\nfour')
  assert.equal((await run(editor, { command: 'view', path: 'a.py' })).text, '1: one\n2: two\n3: three\n4: four')
  assert.equal((await run(editor, { command: 'view', path: 'a.py', view_range: [3, -1] })).text, '3: three\n4: four')
  assert.equal((await run(editor, { command: 'view', path: 'a.py', view_range: [2, 3] })).text, '2: two\n3: three')
  assert.equal((await run(editor, { command: 'view', path: 'a.py', view_range: [9, 10] })).isError, true)
})

test('text editor: view of a folder lists two levels', async () => {
  const { root, run, put } = await makeSandbox()
  await put('a/b/c.txt', 'x')
  await put('.hidden', 'x')
  const { text } = await run(editor, { command: 'view', path: root })
  assert.match(
    text,
    /^Here're the files and directories up to 2 levels deep in .*, excluding hidden items and node_modules:\n/,
  )
  assert.match(text, /\/a\/b\/$/m)
  assert.doesNotMatch(text, /hidden\n|c\.txt/)
})

test('text editor: view is cut at max_characters', async () => {
  const { run, put } = await makeSandbox()
  await put('a.txt', 'x'.repeat(100))
  const { text } = await run(textEditorTool({ maxCharacters: 20 }), { command: 'view', path: 'a.txt' })
  assert.equal(text, `1: ${'x'.repeat(17)}\n[cut at 20 characters; use view_range]`)
})

test('text editor: the recommended errors', async () => {
  const { run, put } = await makeSandbox()
  await put('a.txt', 'x x x')
  const replace = (old_str: string, path = 'a.txt') =>
    run(editor, { command: 'str_replace', path, old_str, new_str: 'y' })
  assert.deepEqual(await replace('x', 'none.txt'), { text: 'Error: File not found', isError: true })
  assert.deepEqual(await run(editor, { command: 'view', path: 'none.txt' }), {
    text: 'Error: File not found',
    isError: true,
  })
  assert.deepEqual(await replace('x'), {
    text: 'Error: Found 3 matches for replacement text. Please provide more context to make a unique match.',
    isError: true,
  })
  assert.deepEqual(await replace('z'), {
    text: 'Error: No match found for replacement. Please check your text and try again.',
    isError: true,
  })
})

test('text editor: str_replace is literal, over line breaks, and can be undone', async () => {
  const { run, put, get } = await makeSandbox()
  await put('a.txt', 'one\ntwo\nthree\n')
  const result = await run(editor, { command: 'str_replace', path: 'a.txt', old_str: 'one\ntwo', new_str: '$& $$' })
  assert.equal(result.text, 'Successfully replaced text at exactly one location.')
  assert.equal(await get('a.txt'), '$& $$\nthree\n')
  await run(undoEdit, { path: 'a.txt' })
  assert.equal(await get('a.txt'), 'one\ntwo\nthree\n')
  await run(editor, { command: 'str_replace', path: 'a.txt', old_str: 'two\n' })
  assert.equal(await get('a.txt'), 'one\nthree\n')
})

test('text editor: create and insert', async () => {
  const { run, get } = await makeSandbox()
  await run(editor, { command: 'create', path: 'sub/a.txt', file_text: 'one\nthree' })
  await run(editor, { command: 'insert', path: 'sub/a.txt', insert_line: 1, insert_text: 'two' })
  await run(editor, { command: 'insert', path: 'sub/a.txt', insert_line: 0, insert_text: 'zero\n' })
  await run(editor, { command: 'insert', path: 'sub/a.txt', insert_line: 4, insert_text: 'four' })
  assert.equal(await get('sub/a.txt'), 'zero\none\ntwo\nthree\nfour')
  const bad = await run(editor, { command: 'insert', path: 'sub/a.txt', insert_line: 6, insert_text: 'x' })
  assert.deepEqual(bad, {
    text: 'Error: Invalid `insert_line` parameter: 6. It should be within the range of lines of the file: [0, 5]',
    isError: true,
  })
})

test('text editor: a missing parameter is named', async () => {
  const { run, put } = await makeSandbox()
  await put('a.txt', 'x')
  const result = await run(editor, { command: 'str_replace', path: 'a.txt' })
  assert.deepEqual(result, { text: 'Error: Missing required parameter `old_str`.', isError: true })
  assert.match((await run(editor, { command: 'undo_edit', path: 'a.txt' })).text, /- command: /)
})

test('memory: view of the directory and of a file', async () => {
  const { say, put } = await makeMemory()
  await put('notes.md', 'one\ntwo')
  await put('deep/er/x.md', 'x')
  assert.match(
    (await say({ command: 'view', path: '/memories' })).text,
    /^Here're the files and directories up to 2 levels deep in \/memories, excluding hidden items and node_modules:\n\S+\t\/memories\n\S+\t\/memories\/deep\/\n\S+\t\/memories\/deep\/er\/\n7B\t\/memories\/notes\.md$/,
  )
  assert.equal(
    (await say({ command: 'view', path: '/memories/notes.md' })).text,
    "Here's the content of /memories/notes.md with line numbers:\n     1\tone\n     2\ttwo",
  )
  assert.deepEqual(await say({ command: 'view', path: '/memories/none.md' }), {
    text: 'The path /memories/none.md does not exist. Please provide a valid path.',
    isError: true,
  })
})

test('text editor: create over a file that was not read warns, like write_file', async () => {
  const { run, put } = await makeSandbox()
  await put('a.txt', 'old')
  const create = { command: 'create', path: 'a.txt', file_text: 'new' }
  const { text } = await run(editor, create)
  assert.match(text, /^Successfully wrote a\.txt\nWarning: a\.txt already existed \(3 bytes\) and had not been read;/)
  assert.doesNotMatch(text, /edit_file|undo_edit/)
  await run(editor, { command: 'view', path: 'a.txt' })
  assert.equal((await run(editor, { ...create, file_text: 'newer' })).text, 'Successfully wrote a.txt')
})

test('memory: create, and not over a file', async () => {
  const { say, get } = await makeMemory()
  const create = { command: 'create', path: '/memories/a/notes.md', file_text: 'one\n' }
  assert.deepEqual(await say(create), { text: 'File created successfully at: /memories/a/notes.md' })
  assert.deepEqual(await say({ ...create, file_text: 'two' }), {
    text: 'Error: File /memories/a/notes.md already exists',
    isError: true,
  })
  assert.equal(await get('a/notes.md'), 'one\n')
})

test('memory: str_replace shows a snippet, or the reason for a refusal', async () => {
  const { say, put, get } = await makeMemory()
  await put('n.md', 'a\nb\nc\nd\ne\nf\n')
  const replace = (old_str: string, new_str = 'x') =>
    say({ command: 'str_replace', path: '/memories/n.md', old_str, new_str })
  assert.equal(
    (await replace('c\nd', '$&')).text,
    'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\ta\n     2\tb\n     3\t$&\n     4\te\n     5\tf',
  )
  assert.equal(await get('n.md'), 'a\nb\n$&\ne\nf\n')
  assert.deepEqual(await replace('zz'), {
    text: 'No replacement was performed, old_str `zz` did not appear verbatim in /memories/n.md.',
    isError: true,
  })
  await put('n.md', 'x x\ny\nx\n')
  assert.deepEqual(await replace('x', 'z'), {
    text: 'No replacement was performed. Multiple occurrences of old_str `x` in lines: 1, 1, 3. Please ensure it is unique',
    isError: true,
  })
})

test('memory: insert', async () => {
  const { say, put, get } = await makeMemory()
  await put('n.md', 'a\nb\n')
  const insert = (insert_line: number) =>
    say({ command: 'insert', path: '/memories/n.md', insert_line, insert_text: 'x\n' })
  assert.equal((await insert(2)).text, 'The file /memories/n.md has been edited.')
  assert.equal(await get('n.md'), 'a\nb\nx\n')
  assert.equal(
    (await insert(9)).text,
    'Error: Invalid `insert_line` parameter: 9. It should be within the range of lines of the file: [0, 3]',
  )
})

test('memory: rename moves files and folders and overwrites nothing', async () => {
  const { say, put, get } = await makeMemory()
  await put('a.md', 'a')
  await put('b.md', 'b')
  await put('folder/c.md', 'c')
  const rename = (old_path: string, new_path: string) => say({ command: 'rename', old_path, new_path })
  assert.deepEqual(await rename('/memories/a.md', '/memories/b.md'), {
    text: 'Error: The destination /memories/b.md already exists',
    isError: true,
  })
  assert.equal(
    (await rename('/memories/a.md', '/memories/new/a.md')).text,
    'Successfully renamed /memories/a.md to /memories/new/a.md',
  )
  assert.equal(await get('new/a.md'), 'a')
  assert.equal((await rename('/memories/folder', '/memories/new/folder')).isError, undefined)
  assert.equal(await get('new/folder/c.md'), 'c')
  assert.equal((await rename('/memories/new', '/memories/new/inner')).isError, true)
  assert.equal((await rename('/memories', '/memories/x')).isError, true)
  assert.match((await rename('/memories/none', '/memories/x')).text, /does not exist/)
  assert.equal(await get('b.md'), 'b')
})

test('memory: delete removes files and folders, not the directory itself', async () => {
  const { root, say, put } = await makeMemory()
  await put('a.md', 'a')
  await put('folder/c.md', 'c')
  assert.equal((await say({ command: 'delete', path: '/memories/a.md' })).text, 'Successfully deleted /memories/a.md')
  assert.equal(
    (await say({ command: 'delete', path: '/memories/folder' })).text,
    'Successfully deleted /memories/folder',
  )
  assert.equal(existsSync(join(root, 'a.md')) || existsSync(join(root, 'folder')), false)
  assert.equal((await say({ command: 'delete', path: '/memories' })).isError, true)
  assert.equal((await say({ command: 'delete', path: '/memories/' })).isError, true)
  assert.equal((await say({ command: 'delete', path: '/memories/a.md' })).isError, true)
})

test('memory: no command leaves /memories', async () => {
  const { root, outside, say } = await makeMemory()
  writeFileSync(join(outside, 'secret.md'), 'secret content')
  mkdirSync(join(root, 'sub'))
  symlinkSync(outside, join(root, 'link'))
  const paths = [
    '/memories/../outside/secret.md',
    '/memories/sub/../../outside/secret.md',
    '/memories/link/secret.md',
    '/memoriesx/secret.md',
    join(outside, 'secret.md'),
    '../outside/secret.md',
    'secret.md',
    '/etc/passwd',
    '/memories/%2e%2e/\0',
  ]
  for (const path of paths) {
    const inputs = [
      { command: 'view', path },
      { command: 'create', path, file_text: 'x' },
      { command: 'str_replace', path, old_str: 'secret', new_str: 'x' },
      { command: 'insert', path, insert_line: 0, insert_text: 'x' },
      { command: 'delete', path },
      { command: 'rename', old_path: path, new_path: '/memories/new' },
      { command: 'rename', old_path: '/memories/sub', new_path: path },
    ]
    for (const input of inputs) {
      const result = await say(input)
      assert.equal(result.isError, true, `${JSON.stringify(input)}: ${result.text}`)
      assert.doesNotMatch(result.text, /secret content/)
    }
  }
  assert.equal(readFileSync(join(outside, 'secret.md'), 'utf8'), 'secret content')
})
