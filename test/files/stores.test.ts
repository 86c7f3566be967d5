import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { before, describe, test } from 'node:test'
import type { PostgresServer } from '../../scripts/postgres.ts'
import { changeFile, readWhole } from '../../src/files/atomic.ts'
import { HomeFolder, storeOf } from '../../src/files/folder.ts'
import { hashContent, memoryJournal } from '../../src/files/journal.ts'
import { openHomeFiles } from '../../src/files/open.ts'
import { isFolder, openRoot, withFolder, withPlace } from '../../src/files/root.ts'
import { HomeTable } from '../../src/files/table.ts'
import { checkFileStore } from '../contracts/file-store.ts'
import { noPostgres, startPostgres } from '../postgres.ts'

describe('files in a folder', () => {
  const home = mkdtempSync(join(tmpdir(), 'palimpsest-files-'))
  checkFileStore('folder', async () => new HomeFolder(home))

  test('are in the home itself, and those of users in their own folders; a store is used unchanged', async () => {
    const files = new HomeFolder(home)
    const own = files.of(undefined)
    assert.deepEqual([own.folder, files.of(undefined, 'workspace').folder], [home, join(home, 'workspace')])
    assert.ok(files.of('ann').folder.startsWith(join(home, 'users')))
    assert.equal(storeOf(own), own)
    assert.equal(storeOf(home).folder, home)
    assert.deepEqual([files.isTable, own.isTable], [false, false])
  })

  test('in folders of an earlier version, with capitals, are found, and deleted under both names', async () => {
    const older = mkdtempSync(join(tmpdir(), 'palimpsest-older-'))
    const keep = (folder: string) => storeOf(join(older, 'users', folder)).change('a.md', () => folder)
    for (const folder of ['Bob', 'bob', 'Zo%C3%A9']) await keep(folder)
    const files = await openHomeFiles(older, false)
    const read = async (user: string) => (await files.of(user).read('a.md'))?.text
    const users = ['Bob', 'bob', 'Zoé', 'zoé']
    assert.deepEqual(await Promise.all(users.map(read)), ['Bob', 'bob', 'Zo%C3%A9', undefined])
    // An earlier version was used again.
    await keep('Bob')
    const again = await openHomeFiles(older, false)
    assert.deepEqual(await again.users(), ['Bob', 'Zoé', 'bob'])
    await again.forget('Bob')
    assert.deepEqual(readdirSync(join(older, 'users')).sort(), ['%5Ao%C3%A9', 'bob'])
    rmSync(older, { recursive: true })
  })

  test('are readable only by their owner', {
    skip: process.platform === 'win32' && 'there are no modes here',
  }, async () => {
    const umask = process.umask(0)
    try {
      const store = new HomeFolder(home).of('ann')
      await store.change('overflow/x.txt', () => 'x')
      const modes = ['', 'overflow/x.txt'].map(path => statSync(join(store.folder, path)).mode & 0o777)
      assert.deepEqual(modes, [0o700, 0o600])
    } finally {
      process.umask(umask)
    }
  })
})

describe('files in a table', { skip: noPostgres }, () => {
  let server: PostgresServer
  let url: string
  before(async () => {
    server = await startPostgres()
    url = await server.create('files')
  })
  checkFileStore('table', () => HomeTable.open(url, 'home'))

  test('keep a text with NUL, and replace half a surrogate pair as a file would', async () => {
    const files = await HomeTable.open(url, 'home')
    const store = files.of('odd')
    await store.change('overflow/x.txt', () => 'a\0b\u0010c\ud800d')
    assert.equal((await store.read('overflow/x.txt'))?.text, 'a\0b\u0010c\ufffdd')
    await store.change('overflow/x.txt', now => `${now}!`)
    assert.equal((await store.read('overflow/x.txt'))?.text, 'a\0b\u0010c\ufffdd!')
    await files.close()
  })

  test('can be read and changed through a root; changes are in the journal, other operations are refused', async () => {
    const files = await HomeTable.open(url, 'home')
    assert.equal(files.isTable, true)
    const root = await openRoot(files.of('rooted'))
    const journal = memoryJournal()
    const where = { root, path: 'notes/a.md' }
    await assert.rejects(readWhole(where), { code: 'FILE_NOT_FOUND' })
    await changeFile(where, { journal, intent: 'to begin' }, () => 'one')
    await changeFile(where, { journal }, () => 'one')
    assert.deepEqual(await journal.lastWrite('notes/a.md'), { hash: hashContent('one'), before: null })
    await changeFile(where, { journal }, now => `${now} two`)
    assert.deepEqual(await journal.lastWrite('notes/a.md'), { hash: hashContent('one two'), before: 'one' })
    const { text, bytes, key } = await readWhole(where)
    assert.deepEqual([text, bytes, key], ['one two', 7, 'notes/a.md'])
    assert.deepEqual([await isFolder({ root, path: 'notes' }), await isFolder(where)], [true, false])
    await assert.rejects(
      withPlace(where, async () => {}),
      { code: 'PATH_REFUSED', message: /in a database/ },
    )
    await assert.rejects(
      withFolder({ root, path: 'notes' }, async () => {}),
      { message: /in a database/ },
    )
    await files.close()
  })

  test('changed by another server meanwhile are changed again on top of that', async () => {
    const [files, others] = [await HomeTable.open(url, 'home'), await HomeTable.open(url, 'home')]
    assert.equal(files.of(undefined).folder, resolve('home'))
    const [store, other] = [files.of('raced'), others.of('raced')]
    for (const [path, first, last] of [
      ['new.md', null, 'ours'],
      ['changed.md', 'one', 'ours'],
      ['gone.md', 'one', null],
    ] as const) {
      if (first !== null) await store.change(path, () => first)
      const seen: (string | null)[] = []
      const changed = await store.change(path, async now => {
        seen.push(now)
        if (seen.length === 1) await other.change(path, () => 'theirs')
        return last
      })
      assert.deepEqual([seen, changed], [[first, 'theirs'], { before: 'theirs', after: last }], path)
      assert.equal((await other.read(path))?.text ?? null, last)
    }
    await Promise.all([files.close(), others.close()])
  })

  test('are not used for a home in memory', async () => {
    assert.equal((await openHomeFiles(':memory:', url)).isTable, false)
  })
})
