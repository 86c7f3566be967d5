/** Changes of whole files: made once on the current text, or not at all, with no partial file left. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, test } from 'node:test'
import { changeFile, changeOwnFile, isTemporary, readWhole } from '../../src/files/atomic.ts'
import { type FileJournal, hashContent } from '../../src/files/journal.ts'
import { openRoot } from '../../src/files/root.ts'
import type { FileStore } from '../../src/files/store.ts'
import { MAX_FILE_BYTES } from '../../src/files/text.ts'
import type { FileEvent } from '../../src/model/types.ts'
import { withFailing } from './failing.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-atomic-'))
process.env.PALIMPSEST_LOCKS ??= join(folder, 'locks')
after(() => rmSync(folder, { recursive: true, force: true }))

const halfOf = (pid: number, sign: string) => `.palimpsest-${pid}-${sign.repeat(16)}.tmp`

test('leftovers of dead processes or of an hour ago are removed, and all else stays', async () => {
  const home = mkdtempSync(join(folder, 'sweep-'))
  const { pid: dead } = spawnSync(process.execPath, ['-e', ''])
  const names = {
    dead: halfOf(dead, 'a'),
    living: halfOf(process.ppid, 'b'),
    old: halfOf(process.ppid, 'c'),
    own: halfOf(process.pid, 'd'),
    other: '.palimpsest-notes.tmp',
  }
  for (const name of Object.values(names)) writeFileSync(join(home, name), 'half')
  const longAgo = Date.now() / 1000 - 3700
  for (const name of [names.old, names.own, names.other]) utimesSync(join(home, name), longAgo, longAgo)
  await changeFile({ root: await openRoot(home), path: 'a.txt' }, {}, () => 'text')
  assert.deepEqual(readdirSync(home).sort(), [names.living, names.own, names.other, 'a.txt'].sort())
  assert.deepEqual(Object.values(names).map(isTemporary), [true, true, true, true, false])
  writeFileSync(join(home, names.dead), 'half')
  await changeFile({ root: await openRoot(home), path: 'a.txt' }, {}, () => 'other')
  assert.ok(readdirSync(home).includes(names.dead), 'a folder is swept every half a minute')
})

test('an unchanged text is not written, an error changes nothing, and null removes the file', async () => {
  const path = join(folder, 'own.txt')
  assert.deepEqual(await changeOwnFile(path, {}, () => 'one'), { key: 'own.txt', before: null, after: 'one' })
  const failing = changeOwnFile(path, {}, () => {
    throw new Error('no')
  })
  await assert.rejects(failing, /no/)
  assert.deepEqual(await changeOwnFile(path, {}, now => now), { key: 'own.txt', before: 'one', after: 'one' })
  assert.equal(readFileSync(path, 'utf8'), 'one')
  assert.deepEqual(await changeOwnFile(path, {}, () => null), { key: 'own.txt', before: 'one', after: null })
  assert.ok(!readdirSync(folder).includes('own.txt'))
})

test('a file that another program changes meanwhile is read again, up to a limit of attempts', async () => {
  const path = join(folder, 'busy.txt')
  writeFileSync(path, '0')
  let times = 0
  const once = await changeOwnFile(path, {}, now => {
    if (++times === 1) writeFileSync(path, 'from elsewhere')
    return `${now}!`
  })
  assert.deepEqual([once.before, readFileSync(path, 'utf8'), times], ['from elsewhere', 'from elsewhere!', 2])
  const always = changeOwnFile(path, {}, now => {
    writeFileSync(path, `${times++}`)
    return `${now}!`
  })
  times = 0
  await assert.rejects(always, { code: 'FILE_CHANGED' })
  assert.equal(times, 50)
  assert.doesNotMatch(readFileSync(path, 'utf8'), /!/)
})

test('a file over the limit is not read, and stays unchanged', async () => {
  const root = await openRoot(folder)
  writeFileSync(join(folder, 'large.txt'), '')
  truncateSync(join(folder, 'large.txt'), MAX_FILE_BYTES + 1)
  const change = changeFile({ root, path: 'large.txt' }, {}, () => 'small')
  await assert.rejects(change, { code: 'TOO_LARGE', data: { path: 'large.txt', size: MAX_FILE_BYTES + 1 } })
  assert.equal(statSync(join(folder, 'large.txt')).size, MAX_FILE_BYTES + 1)
  truncateSync(join(folder, 'large.txt'), MAX_FILE_BYTES)
  const atLimit = changeFile({ root, path: 'large.txt' }, {}, () => 'small')
  await assert.rejects(atLimit, { code: 'NOT_TEXT' }, 'one of that size is read')
})

/** A journal that runs a callback when it gets a change, which is the last moment before the change is made. */
function journalThat(act: () => void): FileJournal {
  return { record: async () => act() } as unknown as FileJournal
}

test('a change by another program at the last moment is kept: ours is made again on top of it', async () => {
  const home = mkdtempSync(join(folder, 'last-'))
  const path = join(home, 'a.txt')
  let acts = [() => writeFileSync(path, 'theirs')]
  const journal = journalThat(() => acts.shift()?.())
  const made = await changeOwnFile(path, { journal }, now => `${now ?? 'nothing'}, ours`)
  assert.deepEqual([made.before, readFileSync(path, 'utf8')], ['theirs', 'theirs, ours'])
  acts = [() => rmSync(path)]
  const seen: (string | null)[] = []
  const removed = await changeOwnFile(path, { journal }, now => {
    seen.push(now)
    return null
  })
  assert.deepEqual([seen, removed.before], [['theirs, ours', null], null])
  assert.deepEqual(readdirSync(home), [], 'and nothing half-written is left')
})

test('a change that the journal refuses is not made', async () => {
  const home = mkdtempSync(join(folder, 'unsaid-'))
  const path = join(home, 'a.txt')
  const journal = journalThat(() => {
    throw new Error('the journal is full')
  })
  await assert.rejects(
    changeOwnFile(path, { journal }, () => 'new'),
    /the journal is full/,
  )
  assert.deepEqual(readdirSync(home), [])
  writeFileSync(path, 'old')
  for (const text of ['new', null])
    await assert.rejects(
      changeOwnFile(path, { journal }, () => text),
      /the journal is full/,
    )
  assert.deepEqual(readdirSync(home), ['a.txt'])
  assert.equal(readFileSync(path, 'utf8'), 'old')
})

test('a new file has the usual mode, or is private; a changed one keeps its owner and mode', {
  skip: process.platform === 'win32' && 'there are no modes here',
}, async t => {
  const home = mkdtempSync(join(folder, 'modes-'))
  const modeOf = (name: string) => statSync(join(home, name)).mode & 0o7777
  const before = process.umask(0o026)
  try {
    await changeOwnFile(join(home, 'open'), {}, () => 'text')
    await changeOwnFile(join(home, 'private'), { isPrivate: true }, () => 'text')
  } finally {
    process.umask(before)
  }
  assert.deepEqual([modeOf('open'), modeOf('private')], [0o640, 0o600])
  if (process.getuid?.() === 0) chownSync(join(home, 'open'), 1234, 1235)
  else t.diagnostic('not root: no file can be given to somebody else')
  chmodSync(join(home, 'open'), 0o4755)
  if (process.getuid?.() === 0) {
    writeFileSync(join(home, 'group'), 'text')
    chownSync(join(home, 'group'), 0, 1235)
    await changeOwnFile(join(home, 'group'), {}, () => 'other')
    assert.equal(statSync(join(home, 'group')).gid, 1235)
  }
  const owner = () => [statSync(join(home, 'open')).uid, statSync(join(home, 'open')).gid]
  const whose = owner()
  await changeOwnFile(join(home, 'open'), { isPrivate: true }, () => 'other')
  assert.deepEqual([modeOf('open'), owner()], [0o4755, whose])
  chmodSync(join(home, 'open'), 0o444)
  await assert.rejects(
    changeOwnFile(join(home, 'open'), {}, () => 'third'),
    { code: 'PATH_REFUSED', message: /read-only/ },
  )
  assert.equal(readFileSync(join(home, 'open'), 'utf8'), 'other')
})

test('a writable file of another user is changed, even if its owner cannot be kept', {
  skip: process.getuid?.() !== 0 && 'only root can make a file of somebody else',
}, async () => {
  const home = mkdtempSync(join(folder, 'others-'))
  const path = join(home, 'a.txt')
  writeFileSync(path, 'theirs')
  for (const place of [folder, home, path]) chmodSync(place, 0o777)
  const locks = process.env.PALIMPSEST_LOCKS
  process.env.PALIMPSEST_LOCKS = join(home, 'locks')
  process.seteuid!(65_534)
  try {
    await changeOwnFile(path, {}, now => `${now}, ours`)
  } finally {
    process.seteuid!(0)
    process.env.PALIMPSEST_LOCKS = locks
  }
  assert.equal(readFileSync(path, 'utf8'), 'theirs, ours')
  assert.deepEqual([statSync(path).uid, statSync(path).mode & 0o777], [65_534, 0o777])
})

test('a text that cannot be synced to disk does not replace the file, and leaves no partial file', async t => {
  const home = mkdtempSync(join(folder, 'unsynced-'))
  const path = join(home, 'a.txt')
  const handle = await open(path, 'w')
  await handle.close()
  const failing = t.mock.method(Object.getPrototypeOf(handle), 'sync', async () => {
    throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
  })
  for (const name of ['a.txt', 'new.txt'])
    await assert.rejects(
      changeOwnFile(join(home, name), {}, () => 'new'),
      { code: 'ENOSPC' },
    )
  failing.mock.restore()
  assert.deepEqual(readdirSync(home), ['a.txt'])
  assert.equal(readFileSync(path, 'utf8'), '')
})

const fails = (code: string) => () => code

test('without hard links a new file is renamed into place; other errors are passed on', async () => {
  const home = mkdtempSync(join(folder, 'linkless-'))
  const path = (name: string) => join(home, name)
  for (const code of ['EPERM', 'ENOTSUP', 'EXDEV'])
    await withFailing('link', fails(code), () => changeOwnFile(path(code), {}, () => code))
  assert.deepEqual(readdirSync(home), ['ENOTSUP', 'EPERM', 'EXDEV'])
  const failing = (name: 'link' | 'rename', file: string) =>
    assert.rejects(
      withFailing(name, fails('EIO'), () => changeOwnFile(path(file), {}, () => 'new')),
      { code: 'EIO' },
    )
  await failing('link', 'new')
  await failing('rename', 'EPERM')
  assert.deepEqual(readdirSync(home), ['ENOTSUP', 'EPERM', 'EXDEV'])
  assert.equal(readFileSync(path('EPERM'), 'utf8'), 'EPERM')
})

test('a read-only file is refused, and one that vanished meanwhile is created again', async () => {
  const path = join(mkdtempSync(join(folder, 'access-')), 'a.txt')
  writeFileSync(path, 'old')
  const change = () => changeOwnFile(path, {}, now => `${now}!`)
  await assert.rejects(withFailing('access', fails('EACCES'), change), { code: 'PATH_REFUSED', message: /read-only/ })
  assert.equal(readFileSync(path, 'utf8'), 'old')
  await withFailing('access', fails('ENOENT'), change)
  assert.equal(readFileSync(path, 'utf8'), 'old!')
})

test('files of a store are changed by the store, and then the journal gets the change with its intent', async () => {
  const texts = new Map<string, string>()
  const store: FileStore = {
    folder: '/table',
    isTable: true,
    read: async path =>
      texts.has(path) ? { text: texts.get(path)!, version: hashContent(texts.get(path)!) } : undefined,
    async change(path, change) {
      const before = texts.get(path) ?? null
      const after = await change(before)
      if (after === null) texts.delete(path)
      else texts.set(path, after)
      return { before, after }
    },
    list: async () => [...texts.keys()],
  }
  const root = await openRoot(store)
  const told: FileEvent[] = []
  const journal = { record: async (event: FileEvent) => void told.push(event) } as unknown as FileJournal
  const where = { root, path: '/table/notes/../a.md' }
  assert.deepEqual(await changeFile(where, { journal, intent: 'to begin' }, (_, key) => `in ${key}`), {
    key: 'a.md',
    before: null,
    after: 'in a.md',
  })
  await changeFile(where, { journal }, now => now)
  await changeFile(where, { journal }, () => 'é')
  await changeFile(where, {}, now => now)
  const written = { action: 'write', path: 'a.md' }
  assert.deepEqual(told, [
    { ...written, hash: hashContent('in a.md'), before: null, after: 'in a.md', intent: 'to begin' },
    { ...written, hash: hashContent('é'), before: 'in a.md', after: 'é' },
  ])
  assert.deepEqual(await readWhole(where), { text: 'é', bytes: 2, hash: hashContent('é'), key: 'a.md' })
  await assert.rejects(readWhole({ root, path: 'b.md' }), { code: 'FILE_NOT_FOUND' })
})

test('a written file has its intent in the journal', async () => {
  const told: FileEvent[] = []
  const journal = { record: async (event: FileEvent) => void told.push(event) } as unknown as FileJournal
  const path = join(mkdtempSync(join(folder, 'intent-')), 'a.txt')
  await changeOwnFile(path, { journal, intent: 'to begin' }, () => 'one')
  await changeOwnFile(path, { journal }, () => null)
  const written = { action: 'write', path: 'a.txt' }
  assert.deepEqual(told, [
    { ...written, hash: hashContent('one'), before: null, after: 'one', intent: 'to begin' },
    { ...written, hash: hashContent(null), before: 'one', after: null },
  ])
})

test('a change is on disk before the journal gets it: first the previous text, then the folder', {
  skip: process.platform !== 'linux' && 'only Linux says which file is open',
}, async t => {
  const home = mkdtempSync(join(folder, 'synced-'))
  const handle = await open(join(home, 'other'), 'w')
  await handle.close()
  const synced: [place: string, names: string[]][] = []
  const { sync } = Object.getPrototypeOf(handle)
  t.mock.method(Object.getPrototypeOf(handle), 'sync', async function (this: FileHandle) {
    const place = readlinkSync(`/proc/self/fd/${this.fd}`)
    synced.push([
      isTemporary(basename(place)) ? 'text' : basename(place),
      readdirSync(home).filter(name => !isTemporary(name)),
    ])
    return sync.call(this)
  })
  const path = join(home, 'a.txt')
  await changeOwnFile(path, {}, () => 'one')
  await changeOwnFile(path, {}, () => null)
  assert.deepEqual(synced, [
    ['text', ['other']],
    [basename(home), ['a.txt', 'other']],
    [basename(home), ['other']],
  ])
})
