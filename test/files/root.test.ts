/**
 * Where a path below a root leads, and its name for the model. test/tools/confinement proves that it stays inside.
 */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { isFolder, openFile, openRoot, type Root, withFolder, withPlace } from '../../src/files/root.ts'
import { withFailing } from './failing.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'palimpsest-root-')))
after(() => rmSync(folder, { recursive: true, force: true }))
mkdirSync(join(folder, 'real/inner'), { recursive: true })
writeFileSync(join(folder, 'real/a.txt'), 'a')
symlinkSync(join(folder, 'real'), join(folder, 'linked'))

const keyIn = (root: Root, path: string, make = false) => withPlace({ root, path, make }, async ({ key }) => key)

test('a file is named by its real path, below the alias of the root if there is one', async () => {
  const root = await openRoot(folder)
  for (const path of ['real/a.txt', './real/../real/a.txt', 'linked/a.txt', join(folder, 'linked/a.txt')]) {
    assert.equal(await keyIn(root, path), 'real/a.txt', path)
  }
  const memories = await openRoot(folder, '/memories')
  assert.equal(await keyIn(memories, '/memories/linked/a.txt'), '/memories/real/a.txt')
  assert.equal(await keyIn(memories, 'real/a.txt'), '/memories/real/a.txt')
  for (const path of ['/memoriesx/a.txt', '/real/a.txt', join(folder, 'real/a.txt')]) {
    await assert.rejects(keyIn(memories, path), { code: 'PATH_REFUSED', message: /outside \/memories/ }, path)
  }
})

test('a root given by a link accepts paths by both names', async () => {
  const root = await openRoot(join(folder, 'linked'))
  assert.equal(await keyIn(root, join(folder, 'linked/a.txt')), 'a.txt')
  assert.equal(await keyIn(root, join(folder, 'real/a.txt')), 'a.txt')
  await assert.rejects(openRoot(join(folder, 'none')), { code: 'FILE_NOT_FOUND' })
})

test('a folder in place of a file is refused, and the reverse', async () => {
  const root = await openRoot(folder)
  for (const path of ['.', 'real/', 'real/inner/']) {
    await assert.rejects(keyIn(root, path), { code: 'PATH_REFUSED', message: /it names a folder/ }, path)
  }
  await assert.rejects(
    withPlace({ root, path: 'real' }, async place => openFile(place)),
    { message: /it is a folder/ },
  )
  await assert.rejects(
    withFolder({ root, path: 'real/a.txt' }, async () => {}),
    { code: 'PATH_REFUSED' },
  )
  assert.deepEqual(await Promise.all(['real', 'linked', 'real/a.txt', 'none'].map(path => isFolder({ root, path }))), [
    true,
    true,
    false,
    false,
  ])
})

test('missing folders are created only on request', async () => {
  const root = await openRoot(folder)
  await assert.rejects(keyIn(root, 'new/deep/b.txt'), { code: 'FILE_NOT_FOUND' })
  assert.equal(await isFolder({ root, path: 'new' }), false)
  assert.equal(await keyIn(root, 'new/deep/b.txt', true), 'new/deep/b.txt')
  assert.equal(await isFolder({ root, path: 'new/deep' }), true)
  await assert.rejects(keyIn(root, 'real/a.txt/b', true), { code: 'PATH_REFUSED', message: /a file, not a folder/ })
})

test('a folder that another process creates meanwhile is used; other errors are passed on', async () => {
  const root = await openRoot(folder)
  const made = withFailing(
    'mkdir',
    path => {
      mkdirSync(path)
      return 'EEXIST'
    },
    () => keyIn(root, 'same/b.txt', true),
  )
  assert.equal(await made, 'same/b.txt')
  await assert.rejects(
    withFailing(
      'mkdir',
      () => 'EACCES',
      () => keyIn(root, 'other/b.txt', true),
    ),
    { code: 'EACCES' },
  )
  const opened = (code: string, failing: 'open' | 'lstat' = 'open') =>
    withPlace({ root, path: 'real/a.txt' }, place =>
      withFailing(
        failing,
        path => (path.endsWith('a.txt') ? code : undefined),
        () => openFile(place),
      ),
    )
  assert.equal(await opened('ENOENT'), undefined)
  assert.equal(await opened('ENOENT', 'lstat'), undefined)
  await assert.rejects(opened('ELOOP'), { code: 'PATH_REFUSED', message: /symbolic link appeared/ })
  await assert.rejects(opened('EACCES'), { code: 'EACCES' })
  const entered = (code: string) =>
    withFailing(
      'open',
      path => (path.endsWith('inner') ? code : undefined),
      () => keyIn(root, 'real/inner/x', true),
    )
  await assert.rejects(entered('ELOOP'), { code: 'PATH_REFUSED', message: /symbolic link appeared/ })
  await assert.rejects(entered('ENOTDIR'), { code: 'PATH_REFUSED', message: /inner is a file/ })
  await assert.rejects(entered('EACCES'), { code: 'EACCES' })
})

test('dangling and circular links are refused', async () => {
  symlinkSync(join(folder, 'gone'), join(folder, 'dangling'))
  symlinkSync(join(folder, 'circle'), join(folder, 'circle'))
  const root = await openRoot(folder)
  await assert.rejects(keyIn(root, 'dangling/x', true), { code: 'PATH_REFUSED', message: /leads nowhere/ })
  await assert.rejects(keyIn(root, 'circle/x', true), { code: 'PATH_REFUSED', message: /in a circle/ })
})

test('names that only Windows forbids are allowed elsewhere', {
  skip: process.platform === 'win32' && 'on Windows',
}, async () => {
  const root = await openRoot(folder)
  for (const path of ['aux.c', 'con', 'ab:c']) assert.equal(await keyIn(root, path), path)
  await assert.rejects(keyIn(root, 'x:y'), { message: /a Windows path/ })
})

test('names of devices and of alternate streams are refused on Windows', async t => {
  const { value } = Object.getOwnPropertyDescriptor(process, 'platform')!
  Object.defineProperty(process, 'platform', { value: 'win32', configurable: true })
  t.after(() => Object.defineProperty(process, 'platform', { value, configurable: true }))
  const root = await openRoot(folder)
  for (const path of ['aux', 'con.txt', 'real/NUL', 'COM1/a.txt', 'real\\lpt9.log'])
    await assert.rejects(keyIn(root, path, true), { code: 'PATH_REFUSED', message: /is a device/ }, path)
  for (const path of ['a.txt:hidden', 'real/a.txt:$DATA'])
    await assert.rejects(keyIn(root, path, true), { code: 'PATH_REFUSED', message: /alternate data stream/ }, path)
  for (const path of ['auxiliary', 'console.txt', 'x-con']) assert.equal(await keyIn(root, path), path)
})
