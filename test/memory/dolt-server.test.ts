import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { DoltMemory } from '../../src/memory/dolt.ts'
import { findDolt, startDoltServer } from '../../src/memory/dolt-server.ts'
import { Memory } from '../../src/memory/memory.ts'
import { noDolt } from './dolt-fixture.ts'

const root = mkdtempSync(join(tmpdir(), 'palimpsest-'))
after(() => rmSync(root, { recursive: true, force: true }))

test('dolt is found by its variable, in the cache, and on the path', () => {
  const binary = join(root, 'dolt')
  writeFileSync(binary, '')
  chmodSync(binary, 0o755)
  assert.equal(findDolt({ PALIMPSEST_DOLT: binary }), binary)
  assert.equal(findDolt({ PATH: root, HOME: root }), binary)
  assert.equal(findDolt({ PALIMPSEST_DOLT: join(root, 'missing'), PATH: root, HOME: root }), undefined)
  assert.equal(findDolt({ PATH: '', XDG_CACHE_HOME: root }), undefined)
})

test('a program that is not dolt is an error with its output, and leaves no mark', async () => {
  const binary = join(root, 'broken')
  writeFileSync(binary, '#!/bin/sh\necho this is no dolt\nexit 3\n')
  chmodSync(binary, 0o755)
  const folder = join(root, 'broken-data')
  await assert.rejects(startDoltServer({ folder, binary }), { code: 'STORE_UNAVAILABLE', message: /this is no dolt/ })
  assert.equal(existsSync(join(folder, 'owner.json')), false)
})

describe('a Dolt server of our own', { skip: noDolt }, () => {
  test('has one owner for a folder, which is free when the owner stops', async t => {
    const folder = join(root, 'owned')
    const first = await startDoltServer({ folder })
    t.after(() => first.stop())
    await assert.rejects(startDoltServer({ folder }), {
      code: 'STORE_LOCKED',
      message: new RegExp(`port ${first.port}`),
    })
    await first.stop()
    const second = await startDoltServer({ folder })
    await second.stop()
  })

  test('of a killed owner is stopped, and its data is there', async t => {
    const folder = join(root, 'orphaned')
    const module = new URL('../../src/memory/dolt-server.ts', import.meta.url).href
    const script = `import { startDoltServer } from ${JSON.stringify(module)}
      const server = await startDoltServer({ folder: ${JSON.stringify(folder)} })
      console.log(server.url())
      setInterval(() => {}, 1000)`
    const owner = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = await new Promise<Buffer[]>(said => owner.stdout.once('data', (...data: Buffer[]) => said(data)))
    const memory = new Memory(new DoltMemory({ url: String(line).trim() }))
    await memory.set('ann', 'student', { body: 'kept', by: 'user:ann' })
    await memory.close()
    const ended = new Promise(done => owner.once('exit', done))
    owner.kill('SIGKILL')
    await ended
    const server = await startDoltServer({ folder })
    t.after(() => server.stop())
    await assert.rejects(new DoltMemory({ url: String(line).trim() }).ping(), { code: 'STORE_UNAVAILABLE' })
    const again = new Memory(new DoltMemory({ url: server.url() }))
    assert.equal((await again.block('ann', 'student'))?.body, 'kept')
    await again.close()
  })

  test('started by palimpsest dolt start prints its address, serves memory, and stops on a signal', async () => {
    const cli = new URL('../../src/cli.ts', import.meta.url).pathname
    const home = join(root, 'home')
    const port = String(20_000 + Math.floor(Math.random() * 20_000))
    const child = spawn(process.execPath, [cli, 'dolt', 'start', '--home', home, '--port', port], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = new Promise<number | null>(done => child.once('exit', done))
    const said = String(await new Promise<Buffer>(first => child.stdout.once('data', first)))
    const url = /^Dolt is at (\S+)\n/.exec(said)?.[1] ?? ''
    const run = (...args: string[]) =>
      execFileSync(process.execPath, [cli, 'memory', ...args, '--home', home, '--user', 'ann', '--dolt', url], {
        encoding: 'utf8',
      })
    run('set', 'goals', '--body', 'Learn algebra')
    assert.equal(run('show', 'goals'), 'Learn algebra\n')
    assert.equal(existsSync(join(home, 'memory.sqlite')), false)
    child.kill('SIGTERM')
    assert.equal(await ended, 0)
    assert.equal(existsSync(join(home, 'dolt', 'owner.json')), false)
  })

  test("whose owner's process number belongs to another program counts as unowned", async () => {
    const folder = join(root, 'stale')
    const first = await startDoltServer({ folder })
    await first.stop()
    writeFileSync(join(folder, 'owner.json'), JSON.stringify({ pid: process.pid, began: '1', port: 1 }))
    const second = await startDoltServer({ folder })
    await second.stop()
  })
})
