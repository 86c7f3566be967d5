/** What a walk reports, and which folders it does not enter. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openRoot, withFolder } from '../../src/files/root.ts'
import { globFilter, walk } from '../../src/files/walk.ts'
import { openBelow } from './open-below.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-walk-'))
after(() => rmSync(folder, { recursive: true, force: true }))

before(() => {
  for (const name of ['a/b/c', '.git/objects', 'node_modules/x', 'z'])
    mkdirSync(join(folder, name), { recursive: true })
  for (const name of ['a/b/c/deep.ts', 'a/one.ts', '.git/config', 'two.md']) writeFileSync(join(folder, name), '')
  writeFileSync(join(folder, '.palimpsest-1-0123456789abcdef.tmp'), 'half')
  symlinkSync(folder, join(folder, 'z', 'loop'))
})

async function seen(depth: number): Promise<string[]> {
  const root = await openRoot(folder)
  return withFolder({ root, path: '.' }, async top => {
    const lines: string[] = []
    for await (const { parts, kind, closed } of walk(top, depth)) {
      lines.push(`${parts.join('/')} ${kind}${closed === undefined ? '' : ' closed'}`)
    }
    return lines
  })
}

test('folders come before their contents, sorted by name; links, .git and node_modules are not entered', async () => {
  assert.deepEqual(await seen(9), [
    '.git folder closed',
    'a folder',
    'a/b folder',
    'a/b/c folder',
    'a/b/c/deep.ts file',
    'a/one.ts file',
    'node_modules folder closed',
    'two.md file',
    'z folder',
    'z/loop link',
  ])
})

test('a special file is reported as special', {
  skip: process.platform === 'win32' && 'there are no sockets in folders here',
}, async () => {
  const server = createServer()
  await once(server.listen(join(folder, 'z', 'socket')), 'listening')
  assert.ok((await seen(9)).includes('z/socket special'))
  server.close()
  await once(server, 'close')
})

test('a walk keeps no folder open, even if its reader stops early', {
  skip: process.platform !== 'linux' && 'only Linux says what is open',
}, async () => {
  const root = await openRoot(folder)
  await withFolder({ root, path: '.' }, async top => {
    for await (const { parts } of walk(top, 9)) if (parts.length === 3) break
    await seen(9)
    assert.deepEqual(openBelow(join(root.folder, 'a')), [])
    assert.deepEqual(openBelow(root.folder), [root.folder], 'the one that the walk began in')
  })
  assert.deepEqual(openBelow(root.folder), [])
})

test('a walk ends at its maximum depth, and reports the folders that it did not enter', async () => {
  assert.deepEqual(await seen(1), [
    '.git folder closed',
    'a folder closed',
    'node_modules folder closed',
    'two.md file',
    'z folder closed',
  ])
  assert.deepEqual(
    (await seen(2)).filter(line => line.startsWith('a')),
    ['a folder', 'a/b folder closed', 'a/one.ts file'],
  )
})

test('a folder that vanishes or is forbidden during the walk is skipped', async t => {
  mkdirSync(join(folder, 'a', 'gone'))
  const root = await openRoot(folder)
  const rest = await withFolder({ root, path: '.' }, async top => {
    const names: string[] = []
    for await (const { name } of walk(top, 9)) {
      if (name === 'gone') rmSync(join(folder, 'a', 'gone'), { recursive: true })
      names.push(name)
    }
    return names
  })
  assert.deepEqual(rest.slice(-4), ['node_modules', 'two.md', 'z', 'loop'])
  if (process.platform === 'win32' || process.getuid?.() === 0) return t.diagnostic('every folder can be read here')
  mkdirSync(join(folder, 'secret'))
  chmodSync(join(folder, 'secret'), 0)
  assert.ok((await seen(9)).includes('secret folder'))
  chmodSync(join(folder, 'secret'), 0o700)
})

test('a folder that cannot be opened for another reason ends the walk', async () => {
  const { open } = promises
  Object.assign(promises, {
    open: (path: string, ...more: number[]) =>
      path.endsWith('/b') ? Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO' })) : open(path, ...more),
  })
  syncBuiltinESMExports()
  try {
    await assert.rejects(seen(9), { code: 'EIO' })
  } finally {
    Object.assign(promises, { open })
    syncBuiltinESMExports()
  }
})

test('a glob without a slash matches names at any depth, one with a slash the whole path; without a glob all match', () => {
  assert.deepEqual(
    ['a.ts', 'x/a.ts', 'x/a.md'].map(path => globFilter('*.ts')(path.split('/'))),
    [true, true, false],
  )
  assert.deepEqual(
    ['a.ts', 'x/a.ts'].map(path => globFilter('./x/*.ts')(path.split('/'))),
    [false, true],
  )
  assert.ok(globFilter(undefined)(['a']) && globFilter('')(['a']))
})
