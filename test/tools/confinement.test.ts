import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  appendToFile,
  editFile,
  prependToFile,
  undoEdit,
  updateSection,
  writeFile,
} from '../../src/tools/edit-files.ts'
import { listFiles, readFile, searchFiles } from '../../src/tools/read-files.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { makeSandbox, type Sandbox } from './sandbox.ts'

const FILE_TOOLS: [Tool, Record<string, unknown>][] = [
  [readFile, {}],
  [writeFile, { content: 'x' }],
  [editFile, { old_string: 'secret', new_string: 'x' }],
  [appendToFile, { content: 'x' }],
  [prependToFile, { content: 'x' }],
  [updateSection, { section_header: '# secret', new_content: 'x' }],
  [undoEdit, {}],
]

/** Each path would lead outside, or to a special file. */
const ESCAPES: [name: string, path: (box: Sandbox) => string][] = [
  ['a parent folder', () => '../outside/secret.txt'],
  ['a parent folder in the middle', () => 'sub/../../outside/secret.txt'],
  ['many parent folders', () => `${'../'.repeat(40)}etc/passwd`],
  ['the parent itself', () => '..'],
  ['an absolute path', box => join(box.outside, 'secret.txt')],
  ['an absolute system path', () => '/etc/passwd'],
  ['a sibling whose name begins like the root', box => `${box.root}-evil/secret.txt`],
  ['the root in other letter case', box => box.root.replace(/root$/, 'ROOT/secret.txt')],
  ['a link to a file outside', () => 'file-link'],
  ['a link to a folder outside', () => 'folder-link/secret.txt'],
  ['a link to a link outside', () => 'link-link'],
  ['a new file behind a link to a folder outside', () => 'folder-link/new.txt'],
  ['new folders behind a link to a folder outside', () => 'folder-link/a/b/new.txt'],
  ['a link that leads nowhere', () => 'dangling'],
  ['a link in a circle', () => 'circle'],
  ['two parent folders behind a link', () => 'folder-link/../../outside/secret.txt'],
  ['a NUL character', () => 'notes.txt\0.png'],
  ['a line break', () => 'notes\n.txt'],
  ['a text direction override', () => 'notes\u202etxt.exe'],
  ['half a surrogate pair', () => 'notes\ud800.txt'],
  ['nothing', () => ''],
  ['a folder', () => 'sub'],
  ['a path that ends in a slash', () => 'notes.txt/'],
  ['a file used as a folder', () => 'notes.txt/x'],
  ['the root', () => '.'],
  ['a FIFO', () => 'fifo'],
  ['a socket', () => 'socket'],
  ['a device', () => '/dev/zero'],
  ['a link to a device', () => 'device-link'],
  ['a process file', () => '/proc/self/environ'],
  ['a home folder', () => '~/.ssh/id_rsa'],
  ['a URL', () => 'file:///etc/passwd'],
  ['a Windows path', () => 'C:\\Windows\\win.ini'],
  ['a Windows drive', () => 'C:/Windows/win.ini'],
  ['backslashes', () => '..\\outside\\secret.txt'],
  ['a name that ends in a dot', () => 'notes.txt.'],
  ['a name that ends in a space', () => 'notes.txt '],
  ['three dots', () => '.../outside/secret.txt'],
]

test('no file tool follows a path out of the root, or opens a special file', async () => {
  const box = await makeSandbox()
  await furnish(box)
  const before = fingerprint(box)
  for (const [name, path] of ESCAPES) {
    for (const [tool, input] of FILE_TOOLS) {
      const result = await box.run(tool, { ...input, path: path(box) })
      assert.equal(result.isError, true, `${tool.name} with ${name}: ${result.text}`)
      assert.doesNotMatch(result.text, /secret content/, `${tool.name} with ${name} shows what is outside`)
    }
  }
  assert.deepEqual(fingerprint(box), before)
})

test('listing and searching do not follow links', async () => {
  const box = await makeSandbox()
  await furnish(box)
  const list = await box.run(listFiles, { depth: 5 })
  assert.match(list.text, /^folder-link \(link\)$/m)
  assert.doesNotMatch(list.text, /secret/)
  const search = await box.run(searchFiles, { query: 'secret content' })
  assert.match(search.text, /^No match/)
  for (const path of ['..', '/etc', 'folder-link', '../outside']) {
    assert.equal((await box.run(listFiles, { path })).isError, true, path)
    assert.equal((await box.run(searchFiles, { path, query: 'x' })).isError, true, path)
  }
})

test('links inside the root work, and stay links', async () => {
  const { root, run, put, get } = await makeSandbox()
  await put('real/notes.txt', 'one')
  symlinkSync('real', join(root, 'folder'))
  symlinkSync('real/notes.txt', join(root, 'file'))
  assert.match((await run(editFile, { path: 'file', old_string: 'one', new_string: 'two' })).text, /^Edited file/)
  assert.match((await run(appendToFile, { path: 'folder/notes.txt', content: '!' })).text, /^Appended/)
  assert.equal(await get('real/notes.txt'), 'two!')
  assert.match((await run(undoEdit, { path: 'real/notes.txt' })).text, /^Undone/)
  assert.equal((await run(readFile, { path: 'file' })).text, 'two')
})

test('absolute paths inside the root work, even through a linked root', async () => {
  const box = await makeSandbox()
  await box.put('notes.txt', 'one')
  const linked = `${box.root}-link`
  symlinkSync(box.root, linked)
  assert.equal((await box.run(readFile, { path: join(box.root, 'notes.txt') })).text, 'one')
  box.context.root = linked
  assert.equal((await box.run(readFile, { path: join(linked, 'notes.txt') })).text, 'one')
  assert.equal((await box.run(readFile, { path: 'x/../notes.txt' })).text, 'one')
})

test('".." is resolved in the text of the path, so a link before it cannot redirect it', async () => {
  const box = await makeSandbox()
  await furnish(box)
  await box.run(writeFile, { path: 'folder-link/../outside/secret.txt', content: 'ours' })
  assert.equal(await box.get('outside/secret.txt'), 'ours')
  assert.match(readFileSync(join(box.outside, 'secret.txt'), 'utf8'), /secret content/)
})

test('a write never changes a file outside through a hard link', async () => {
  const { root, outside, run } = await makeSandbox()
  writeFileSync(join(outside, 'shared.txt'), 'one')
  linkSync(join(outside, 'shared.txt'), join(root, 'shared.txt'))
  await run(editFile, { path: 'shared.txt', old_string: 'one', new_string: 'two' })
  assert.equal(readFileSync(join(outside, 'shared.txt'), 'utf8'), 'one')
})

const skip = process.platform === 'linux' ? false : 'only Linux lets Node work like openat'

test('links swapped between check and use do not lead outside', { timeout: 600_000, skip }, async () => {
  const { root, outside, run } = await makeSandbox()
  writeFileSync(join(outside, 'file.txt'), 'outside')
  const swapper = spawn(process.execPath, [join(import.meta.dirname, 'swapper.ts'), root, outside], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise(resolve => swapper.on('close', resolve))
  await new Promise(resolve => swapper.stdout.once('data', resolve))
  let read = 0
  let refused = 0
  try {
    for (let i = 0; i < 400; i++) {
      for (const path of ['folder/file.txt', 'plain.txt']) {
        const seen = await run(readFile, { path })
        assert.doesNotMatch(seen.text, /^outside/)
        if (seen.isError) refused++
        else read++
      }
      await run(writeFile, { path: 'folder/new.txt', content: 'ours' })
      await run(appendToFile, { path: 'plain.txt', content: '!' })
    }
  } finally {
    swapper.kill('SIGKILL')
    await ended
  }
  assert.deepEqual(readdirSync(outside), ['file.txt'])
  assert.equal(readFileSync(join(outside, 'file.txt'), 'utf8'), 'outside')
  assert.ok(read > 0 && refused > 0, `both happened: ${read} read, ${refused} refused`)
})

async function furnish(box: Sandbox): Promise<void> {
  const { root, outside } = box
  await box.put('notes.txt', 'notes')
  mkdirSync(join(root, 'sub'))
  mkdirSync(`${root}-evil`)
  mkdirSync(root.replace(/root$/, 'ROOT'))
  for (const folder of [outside, `${root}-evil`, root.replace(/root$/, 'ROOT')]) {
    writeFileSync(join(folder, 'secret.txt'), '# secret\nsecret content')
  }
  symlinkSync(join(outside, 'secret.txt'), join(root, 'file-link'))
  symlinkSync(outside, join(root, 'folder-link'))
  symlinkSync('file-link', join(root, 'link-link'))
  symlinkSync(join(outside, 'not-there'), join(root, 'dangling'))
  symlinkSync('circle', join(root, 'circle'))
  symlinkSync('/dev/zero', join(root, 'device-link'))
  execFileSync('mkfifo', [join(root, 'fifo')])
  const server = createServer().listen(join(root, 'socket'))
  await new Promise(resolve => server.once('listening', resolve))
  server.unref()
}

function fingerprint({ root, outside }: Sandbox): unknown {
  return [root, outside, `${root}-evil`, root.replace(/root$/, 'ROOT')].map(folder => [
    readdirSync(folder).sort(),
    readdirSync(folder).includes('secret.txt') ? readFileSync(join(folder, 'secret.txt'), 'utf8') : '',
  ])
}
