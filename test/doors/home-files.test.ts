/**
 * The files of a home are readable only by its owner, from their first byte; a warning names a home that others can
 * read.
 */
import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { after, describe, test } from 'node:test'
import { choosePersona, createPersona } from '../../src/agent/personas.ts'
import { History } from '../../src/doors/terminal/history.ts'
import { readableByOthers, warnOfReaders } from '../../src/doors/terminal/home-readers.ts'
import { ThreadedLedger } from '../../src/ledger/threaded.ts'
import { startWholeServer } from './whole-server.ts'

const skip = process.platform === 'win32' ? 'there are no modes here' : false
const base = mkdtempSync(join(tmpdir(), 'palimpsest-modes-'))
after(() => rmSync(base, { recursive: true, force: true }))
const modeOf = (path: string) => statSync(path).mode & 0o777

/** Every file under a folder that another user could open if the folders above it were open. */
function wide(folder: string): string[] {
  return globSync('**/*', { cwd: folder, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .filter(path => (modeOf(path) & 0o077) !== 0)
    .map(path => relative(folder, path))
}

describe('files of a home', { skip }, () => {
  test('have mode 0600 even with umask 0, even while they are open', async () => {
    const umask = process.umask(0)
    const served = await startWholeServer()
    try {
      const { call, mcp, token, home } = served
      const alice = (await token('alice', 'user')).token
      const body = { model: 'gpt-4.1', messages: [{ role: 'user', content: 'hello' }] }
      await call('POST', '/v1/chat/completions', { token: alice, body })
      await call('POST', '/agent/v1/chat/completions', { token: alice, body: { ...body, model: 'default' } })
      await mcp(alice, 'tools/call', { name: 'workspace_save_fact', arguments: { fact: 'likes tea' } })
      await call('PUT', '/users/alice/blocks/goals', { token: alice, body: { body: 'Learn Go.\n' } })
      await createPersona(home, { name: 'mine', systemPrompt: 'Be brief.' })
      await choosePersona(home, 'mine')
      new History(home).add('a request')
      for (const name of ['ledger', 'server', 'memory']) {
        for (const suffix of ['', '-wal', '-shm']) assert.equal(modeOf(join(home, `${name}.sqlite${suffix}`)), 0o600)
      }
      assert.ok(existsSync(join(home, 'users', 'alice', 'workspace', 'MEMORY.md')))
      assert.deepEqual(wide(home), [])
      assert.equal(modeOf(home), 0o700)
      assert.deepEqual(readableByOthers(home), [])
    } finally {
      process.umask(umask)
      await served.close()
    }
  })

  test('also for the ledger of a server, which runs in its own thread', async () => {
    const umask = process.umask(0)
    const home = join(base, 'threaded')
    const ledger = new ThreadedLedger(join(home, 'ledger.sqlite'))
    try {
      await ledger.open('s', { at: 1, meta: '{}' })
      assert.deepEqual(wide(home), [])
    } finally {
      process.umask(umask)
      await ledger.close()
    }
  })

  test('are created with their mode, not narrowed afterwards', () => {
    const src = new URL('../../src/', import.meta.url)
    const narrowing = globSync('**/*.ts', { cwd: src }).filter(path =>
      /\bf?l?chmod(?:Sync)?\(/.test(readFileSync(new URL(path, src), 'utf8')),
    )
    // They give a file that replaces another the mode of that one.
    assert.deepEqual(narrowing.sort(), [join('doors', 'commands', 'installed.ts'), join('files', 'atomic.ts')])
  })
})

describe('a home that others can read', { skip }, () => {
  test('is reported with the readable files and advice, and is not changed', () => {
    const home = join(base, 'open')
    mkdirSync(home)
    chmodSync(home, 0o755)
    writeFileSync(join(home, 'ledger.sqlite'), '')
    chmodSync(join(home, 'ledger.sqlite'), 0o644)
    writeFileSync(join(home, 'server.sqlite'), '', { mode: 0o600 })
    let said = ''
    warnOfReaders(home, { stderr: { write: (text: string) => void (said += text) } as never })
    assert.equal(
      said,
      `Other users of this machine can read ledger.sqlite in ${home}. To prevent this: chmod -R go= ${home}\n`,
    )
    assert.equal(modeOf(join(home, 'ledger.sqlite')), 0o644)
    chmodSync(home, 0o700)
    assert.deepEqual(readableByOthers(home), [])
  })

  test('a home that does not exist yet gives no warning', () => {
    assert.deepEqual(readableByOthers(join(base, 'none')), [])
  })
})
