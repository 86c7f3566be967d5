/** The contract of all file stores, in a folder or in a table. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashContent } from '../../src/files/journal.ts'
import type { HomeFiles } from '../../src/files/store.ts'

/** `open` gives the same home each time, as another process would open it. */
export function checkFileStore(name: string, open: () => Promise<HomeFiles>): void {
  test(`${name}: a text is read with its version, even after reopening`, async () => {
    const [one, two] = [await open(), await open()]
    const text = 'Grüße 🜂\r\nsecond line\n'
    assert.equal(await one.of('ada').read('overflow/a.txt'), undefined)
    assert.deepEqual(await one.of('ada').change('overflow/a.txt', () => text), { before: null, after: text })
    assert.deepEqual(await two.of('ada').read('overflow/a.txt'), { text, version: hashContent(text) })
    await two.of('ada').change('overflow/a.txt', () => null)
    assert.equal(await one.of('ada').read('overflow/a.txt'), undefined)
    await Promise.all([one.close(), two.close()])
  })

  test(`${name}: a change that throws, or gives the same text, changes nothing`, async () => {
    const files = await open()
    const store = files.of('ada')
    await store.change('a.md', () => 'one')
    await assert.rejects(
      store.change('a.md', () => {
        throw new Error('no')
      }),
      /no/,
    )
    assert.deepEqual(await store.change('a.md', now => now), { before: 'one', after: 'one' })
    assert.deepEqual(await store.change('none.md', now => now), { before: null, after: null })
    assert.equal((await store.read('a.md'))?.text, 'one')
    await files.close()
  })

  test(`${name}: concurrent changes are applied one after the other`, async () => {
    const openings = await Promise.all([open(), open(), open()])
    const add = (files: HomeFiles, line: number) =>
      files.of(undefined, 'workspace').change('log.md', now => `${now ?? ''}${line}\n`)
    await Promise.all(Array.from({ length: 30 }, (_, line) => add(openings[line % 3]!, line)))
    const text = (await openings[0].of(undefined, 'workspace').read('log.md'))?.text ?? ''
    const lines = text.trim().split('\n').map(Number)
    assert.deepEqual(
      lines.toSorted((a, b) => a - b),
      Array.from({ length: 30 }, (_, line) => line),
    )
    await Promise.all(openings.map(files => files.close()))
  })

  test(`${name}: paths of the workspace stay inside the workspace`, async () => {
    const files = await open()
    await files.of('eve').change('secret.txt', () => 'kept')
    const workspace = files.of('eve', 'workspace')
    await workspace.change('deep/a.md', () => 'noted')
    assert.equal((await files.of('eve').read('workspace/deep/a.md'))?.text, 'noted')
    for (const path of ['../secret.txt', '/etc/passwd', 'deep/../../secret.txt', '~/x', '']) {
      await assert.rejects(workspace.read(path), { code: 'PATH_REFUSED' }, path)
      await assert.rejects(
        workspace.change(path, () => 'x'),
        { code: 'PATH_REFUSED' },
        path,
      )
    }
    assert.equal((await workspace.read(`${workspace.folder}/deep/a.md`))?.text, 'noted')
    await files.close()
  })

  test(`${name}: lists are sorted by name and at most three levels deep`, async () => {
    const files = await open()
    const store = files.of('list%_er')
    assert.deepEqual(await store.list(), [])
    assert.deepEqual(await store.list('archive'), [])
    for (const path of ['archive/b.json', 'archive/a.json', 'archives.txt', 'workspace/x/y.md', 'a/b/c/d.txt']) {
      await store.change(path, () => path)
    }
    assert.deepEqual(await store.list('archive'), ['archive/a.json', 'archive/b.json'])
    assert.deepEqual(await store.list(), ['archive/a.json', 'archive/b.json', 'archives.txt', 'workspace/x/y.md'])
    assert.deepEqual(await files.of('list%_er', 'workspace').list(), ['x/y.md'])
    assert.deepEqual(await files.of('list', 'workspace').list(), [])
    await files.close()
  })

  test(`${name}: each user has separate files, which forgetting the user removes`, async () => {
    const files = await open()
    for (const user of ['zoe', 'Zoe', 'Zoé ✓', 'a/b']) await files.of(user).change('overflow/x.txt', () => user)
    await files.of(undefined).change('overflow/x.txt', () => 'home')
    for (const store of [files.of('zoe'), files.of(undefined, 'workspace')]) assert.equal(store.isTable, files.isTable)
    // Some file systems ignore case.
    const folders = [undefined, 'zoe', 'Zoe', 'a/b'].map(user => files.of(user).folder.toLowerCase())
    assert.equal(new Set(folders).size, 4)
    const users = await files.users()
    for (const user of ['zoe', 'Zoe', 'Zoé ✓', 'a/b']) assert.ok(users.includes(user), user)
    await files.forget('zoe')
    await files.forget('nobody')
    assert.equal(await files.of('zoe').read('overflow/x.txt'), undefined)
    for (const user of ['Zoe', 'Zoé ✓']) assert.equal((await files.of(user).read('overflow/x.txt'))?.text, user)
    assert.equal((await files.of(undefined).read('overflow/x.txt'))?.text, 'home')
    assert.ok(!(await files.users()).includes('zoe'))
    await files.close()
  })
}
