/** Moving and removing: nothing is overwritten, missing files are named, and text can be restored. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import promises, { open } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, test } from 'node:test'
import { lockKey } from '../../src/files/atomic.ts'
import { hashContent, memoryJournal, NO_FILE } from '../../src/files/journal.ts'
import { withLocks } from '../../src/files/lock.ts'
import { moveEntry, removeEntry } from '../../src/files/move.ts'
import { openRoot, withPlace } from '../../src/files/root.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-move-'))
process.env.PALIMPSEST_LOCKS ??= join(folder, 'locks')
after(() => rmSync(folder, { recursive: true, force: true }))

const at = (...names: string[]) => join(folder, 'root', ...names)
const text = (...names: string[]) => readFileSync(at(...names), 'utf8')

beforeEach(() => {
  rmSync(at(), { recursive: true, force: true })
  mkdirSync(at('notes'), { recursive: true })
  writeFileSync(at('notes', 'a.md'), 'a text')
  writeFileSync(at('other.md'), 'another')
  writeFileSync(at('image'), Buffer.from([0, 1, 2]))
})

test('a file moves with its text, and the journal can undo both sides', async () => {
  const journal = memoryJournal()
  assert.equal(await moveEntry(await openRoot(at()), 'notes/a.md', 'deep/er/b.md', journal), true)
  assert.equal(text('deep', 'er', 'b.md'), 'a text')
  assert.ok(!existsSync(at('notes', 'a.md')))
  assert.deepEqual(await journal.lastWrite('notes/a.md'), { hash: NO_FILE, before: 'a text' })
  assert.deepEqual(await journal.lastWrite('deep/er/b.md'), { hash: hashContent('a text'), before: null })
})

test('a file that is not text can be moved and removed, without an entry in the journal', async () => {
  const journal = memoryJournal()
  const root = await openRoot(at())
  assert.equal(await moveEntry(root, 'image', 'picture', journal), true)
  assert.deepEqual([...readFileSync(at('picture'))], [0, 1, 2])
  await removeEntry({ root, path: 'picture' }, journal)
  assert.ok(!existsSync(at('picture')))
  assert.equal(await journal.lastWrite('picture'), undefined)
})

test('an existing destination is not changed, for files and for folders', async () => {
  const root = await openRoot(at())
  mkdirSync(at('full'))
  for (const [from, to] of [
    ['notes/a.md', 'other.md'],
    ['notes', 'full'],
    ['notes', 'other.md'],
  ] as const) {
    assert.equal(await moveEntry(root, from, to, memoryJournal()), false)
  }
  assert.deepEqual([text('other.md'), text('notes', 'a.md')], ['another', 'a text'])
})

test('a folder moves with its contents, and never into itself', async () => {
  const root = await openRoot(at())
  assert.equal(await moveEntry(root, 'notes', 'notes2', memoryJournal()), true)
  assert.equal(text('notes2', 'a.md'), 'a text')
  const inside = moveEntry(root, 'notes2', 'notes2/inner', memoryJournal())
  await assert.rejects(inside, { code: 'PATH_REFUSED', message: /inside the folder to move/ })
  assert.equal(text('notes2', 'a.md'), 'a text')
})

test('errors other than unreadable content are passed on', async t => {
  const root = await openRoot(at())
  const failure = Object.assign(new Error('EIO'), { code: 'EIO' })
  const handle = await open(at('other.md'))
  await handle.close()
  t.mock.method(Object.getPrototypeOf(handle), 'readFile', async () => {
    throw failure
  })
  await assert.rejects(moveEntry(root, 'notes/a.md', 'b.md', memoryJournal()), failure)
  await assert.rejects(removeEntry({ root, path: 'notes/a.md' }, memoryJournal()), failure)
  assert.deepEqual([text('notes', 'a.md'), existsSync(at('b.md'))], ['a text', false])
})

test('a destination that appears at the last moment is not changed, and other errors are passed on', async () => {
  const root = await openRoot(at())
  const { link } = promises
  for (const code of ['EEXIST', 'EPERM']) {
    Object.assign(promises, { link: () => Promise.reject(Object.assign(new Error(code), { code })) })
    syncBuiltinESMExports()
    const moving = moveEntry(root, 'notes/a.md', 'b.md', memoryJournal())
    await (code === 'EEXIST' ? moving.then(isMoved => assert.equal(isMoved, false)) : assert.rejects(moving, { code }))
    assert.equal(text('notes', 'a.md'), 'a text')
  }
  Object.assign(promises, { link })
  syncBuiltinESMExports()
})

test('a missing file is named, and no folder is created for it', async () => {
  const root = await openRoot(at())
  const missing = { code: 'FILE_NOT_FOUND', message: /nobody\.md/ }
  await assert.rejects(moveEntry(root, 'nobody.md', 'new/b.md', memoryJournal()), missing)
  assert.ok(!existsSync(at('new')))
  await assert.rejects(removeEntry({ root, path: 'nobody.md' }, memoryJournal()), missing)
})

test('a file that vanishes before it is moved is missing too', async () => {
  const root = await openRoot(at())
  const key = await withPlace({ root, path: 'notes/a.md' }, lockKey)
  const journal = memoryJournal()
  const moving = await withLocks([key], async () => {
    const waiting = moveEntry(root, 'notes/a.md', 'new/b.md', journal)
    waiting.catch(() => {})
    // The folder is created after the file was found.
    while (!existsSync(at('new'))) await new Promise(resolve => setImmediate(resolve))
    rmSync(at('notes', 'a.md'))
    return { waiting }
  })
  await assert.rejects(moving.waiting, { code: 'FILE_NOT_FOUND', message: /notes\/a\.md/ })
  assert.ok(!existsSync(at('new', 'b.md')))
  assert.equal(await journal.lastWrite('new/b.md'), undefined)
})

test('a removed text can be restored from the journal, a removed folder cannot', async () => {
  const journal = memoryJournal()
  const root = await openRoot(at())
  await removeEntry({ root, path: 'other.md' }, journal)
  assert.deepEqual(await journal.lastWrite('other.md'), { hash: NO_FILE, before: 'another' })
  await removeEntry({ root, path: 'notes' }, journal)
  assert.ok(!existsSync(at('other.md')) && !existsSync(at('notes')))
})
