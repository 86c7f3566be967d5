/** Copying the files beside a ledger: missing files are added, and existing ones are not changed. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { copyFiles } from '../../src/files/copying.ts'
import { storeOf } from '../../src/files/folder.ts'
import { CopyTally } from '../../src/ledger/copy-rows.ts'

const base = mkdtempSync(join(tmpdir(), 'palimpsest-copying-'))
process.env.PALIMPSEST_LOCKS ??= join(base, 'locks')
after(() => rmSync(base, { recursive: true, force: true }))

/** A folder with files in `kept/`; contents given as bytes are not text. */
function folderWith(name: string, files: Record<string, string | Buffer>): string {
  mkdirSync(join(base, name, 'kept'), { recursive: true })
  for (const [file, content] of Object.entries(files)) writeFileSync(join(base, name, 'kept', file), content)
  return join(base, name)
}

test('missing files are added, and files that differ or are not text are named and not changed', async () => {
  const from = storeOf(folderWith('from', { a: 'new', b: 'same', c: 'ours', d: Buffer.from([0xff, 0, 1]) }))
  const to = storeOf(folderWith('to', { b: 'same', c: 'theirs', e: 'other' }))
  const tally = new CopyTally()
  await copyFiles(from, to, 'kept', tally)
  const texts = await Promise.all((await to.list('kept')).map(async path => [path, (await to.read(path))?.text]))
  assert.deepEqual(Object.fromEntries(texts), {
    'kept/a': 'new',
    'kept/b': 'same',
    'kept/c': 'theirs',
    'kept/e': 'other',
  })
  assert.deepEqual([tally.added, tally.already], [1, 1])
  assert.deepEqual(
    tally.differing,
    ['c', 'd'].map(name => `file kept/${name} of ${to.folder}`),
  )
})

test('an unreadable file ends the copy', async () => {
  const from = storeOf(folderWith('failing', { a: 'one' }))
  const failing = {
    ...from,
    folder: from.folder,
    list: () => from.list('kept'),
    read: () => Promise.reject(new Error('EIO')),
  }
  const to = storeOf(join(base, 'nothing'))
  await assert.rejects(copyFiles({ ...failing, change: from.change.bind(from) }, to, 'kept', new CopyTally()), /EIO/)
  assert.deepEqual(await to.list('kept'), [])
})

test('a second copy adds nothing, and its hash confirms that all is equal', async () => {
  const from = storeOf(folderWith('once', { a: 'one', b: 'two' }))
  const to = storeOf(join(base, 'again'))
  const [first, second] = [new CopyTally(), new CopyTally()]
  await copyFiles(from, to, 'kept', first)
  await copyFiles(from, to, 'kept', second)
  const back = new CopyTally()
  await copyFiles(to, from, 'kept', back)
  assert.equal(back.hash, first.hash, 'whichever way it goes')
  assert.deepEqual([first.added, first.already, second.added, second.already], [2, 0, 0, 2])
  assert.equal(second.hash, first.hash)
  assert.notEqual(first.hash, new CopyTally().hash)
})
