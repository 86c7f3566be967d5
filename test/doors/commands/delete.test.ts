/** `delete` and `backup` as people use them: on a home with files, forks and users, before and after. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { userFolder } from '../../../src/ledger/owners.ts'
import { openMemory } from '../../../src/memory/open.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { runCli } from '../../cli.ts'
import { openSmall, SMALL } from '../../small-session.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-delete-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const HOME = join(folder, 'home')
const SECRET = 'the passphrase is xylophone-harvest'

before(async () => {
  await using pal = await openPalimpsest({ home: HOME, clock: () => Date.parse('2026-01-02') })
  await (await openSmall(pal)).fork(1, 'fork')
  const own = await pal.of('alice').session('diary')
  await own.append({ role: 'user', parts: [{ type: 'text', text: SECRET }] })
  mkdirSync(join(userFolder(HOME, 'alice'), 'workspace'), { recursive: true })
  writeFileSync(join(userFolder(HOME, 'alice'), 'workspace/MEMORY.md'), SECRET)
  const memory = await openMemory({ home: HOME, env: {} })
  await memory.set('alice', 'goals', { body: SECRET, by: 'user:alice' })
  await memory.close()
})

const asRoot = process.getuid?.() === 0 || process.platform === 'win32' ? 'root may write everywhere' : false

const run = (home: string, ...args: string[]) => runCli([...args, '--home', home])

function copied(name: string): string {
  const home = join(folder, name)
  cpSync(HOME, home, { recursive: true })
  return home
}

const holds = (home: string, text: string) =>
  ['ledger.sqlite', 'ledger.sqlite-wal', 'memory.sqlite', 'memory.sqlite-wal', 'server.sqlite']
    .map(name => join(home, name))
    .filter(existsSync)
    .filter(path => readFileSync(path).includes(text))

describe('delete', () => {
  test('shows what would be deleted, and asks', async () => {
    const home = copied('asked')
    const shown = await run(home, 'delete', SMALL, '--dry-run')
    assert.match(shown.stdout, new RegExp(`1 session with \\d+ events\\n  ${SMALL} `))
    const refused = await run(home, 'delete', SMALL)
    assert.match(refused.stderr, /Use --yes to go ahead/)
    assert.notEqual(refused.code, 0)
    assert.equal((await run(home, 'show', SMALL)).code, 0)
  })

  test('deletes a session and keeps its forks, and verify still passes for the rest', async () => {
    const home = copied('one')
    const heads = join(folder, 'heads.json')
    writeFileSync(heads, (await run(home, 'head')).stdout)
    const before = (await run(home, 'export', 'fork')).stdout
    assert.equal((await run(home, 'delete', SMALL, '--yes')).code, 0)
    assert.notEqual((await run(home, 'show', SMALL)).code, 0)
    const { ledger } = JSON.parse(before).sessions[0]
    assert.deepEqual(JSON.parse((await run(home, 'export', 'fork')).stdout).sessions[0].ledger, ledger)
    const verified = await run(home, 'verify', '--head', heads)
    assert.equal(verified.code, 0, verified.stdout + verified.stderr)
    assert.match(verified.stdout, new RegExp(`deleted  ${SMALL}  \\d+ events, .* by admin:cli`))
  })

  test('deletes everything of a user, including the bytes in files', async () => {
    const home = copied('user')
    assert.ok(holds(home, 'xylophone-harvest').length > 0)
    const done = await run(home, 'delete', '--user', 'alice', '--yes')
    assert.equal(done.code, 0, done.stderr)
    assert.deepEqual(holds(home, 'xylophone-harvest'), [])
    assert.ok(!existsSync(userFolder(home, 'alice')))
    assert.equal((await run(home, 'recall', 'xylophone')).stdout, '')
    assert.equal((await run(home, 'show', SMALL)).code, 0)
  })

  test('deletes sessions by age', async () => {
    const home = copied('age')
    const kept = await run(home, 'delete', '--before', '2020-01-01', '--yes', '--json')
    assert.deepEqual(JSON.parse(kept.stdout).sessions, [])
    const gone = await run(home, 'delete', '--before', '2099-01-01', '--yes', '--json')
    assert.equal(JSON.parse(gone.stdout).sessions.length, 3)
    assert.equal((await run(home, 'sessions')).stdout, '')
  })
})

test('a backup contains everything, and restores an identical home', async () => {
  const copy = join(folder, 'backup')
  const made = await run(HOME, 'backup', copy)
  assert.equal(made.code, 0, made.stderr)
  assert.match(made.stdout, /3 sessions, .* verified/)
  assert.match((await run(HOME, 'backup', copy)).stderr, /is not empty/)
  const again = join(folder, 'restored')
  assert.equal((await run(again, 'backup', '--restore', copy)).code, 0)
  assert.equal((await run(again, 'export', '--all')).stdout, (await run(HOME, 'export', '--all')).stdout)
  assert.equal((await run(again, 'head')).stdout, (await run(HOME, 'head')).stdout)
  assert.equal(readFileSync(join(userFolder(again, 'alice'), 'workspace/MEMORY.md'), 'utf8'), SECRET)
})

test('a backup is restored from a folder that cannot be written', { skip: asRoot }, async () => {
  const copy = join(folder, 'read-only')
  assert.equal((await run(HOME, 'backup', copy)).code, 0)
  chmodSync(copy, 0o500)
  const restored = await run(join(folder, 'from-read-only'), 'backup', '--restore', copy)
  assert.match(restored.stdout, /3 sessions, .* verified/, restored.stderr)
  assert.deepEqual(
    readdirSync(copy).filter(name => /-(?:wal|shm)$/.test(name)),
    [],
  )
  chmodSync(copy, 0o700)
})

describe('a backup that does not finish', () => {
  test('leaves nothing if it fails', async () => {
    const home = copied('damaged')
    writeFileSync(join(home, 'memory.sqlite'), 'not a database '.repeat(1000))
    const copy = join(folder, 'failed')
    const failed = await run(home, 'backup', copy)
    assert.deepEqual([failed.code, /LEDGER_CORRUPT/.test(failed.stderr)], [6, true], failed.stderr)
    assert.deepEqual(readdirSync(copy), [])
  })

  test('is not restored if it was killed', async () => {
    const home = copied('many-files')
    mkdirSync(join(home, 'personas'))
    for (let n = 0; n < 3000; n++) writeFileSync(join(home, 'personas', `${n}.json`), '{}')
    const copy = join(folder, 'killed')
    const cli = join(import.meta.dirname, '../../../src/cli.ts')
    const child = spawn(process.execPath, [cli, 'backup', copy, '--home', home])
    const ended = once(child, 'exit')
    while (!existsSync(join(copy, 'personas')) && child.exitCode === null) await sleep(1)
    child.kill('SIGKILL')
    assert.deepEqual(await ended, [null, 'SIGKILL'])
    const refused = await run(join(folder, 'half'), 'backup', '--restore', copy)
    assert.deepEqual([refused.code, /was not finished/.test(refused.stderr)], [3, true], refused.stderr)
    assert.equal(existsSync(join(folder, 'half')), false)
  })
})
