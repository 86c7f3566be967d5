/** Programs on the PATH: the first that can be run, as a shell finds it. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, test } from 'node:test'
import { findProgram, freePort, isProgram } from '../../src/files/programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-programs-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const [first, second, third] = ['first', 'second', 'third'].map(name => join(folder, name)) as [string, string, string]
for (const path of [first, second, third]) mkdirSync(path)

test('the first executable program of a name is found, and files that cannot be run are skipped', {
  skip: process.platform === 'win32' && 'every file can be run here',
}, () => {
  for (const [path, mode] of [
    [first, 0o600],
    [second, 0o700],
    [third, 0o700],
  ] as const)
    writeFileSync(join(path, 'tool'), '#!/bin/sh\n', { mode })
  for (const ending of ['.exe', '.cmd']) writeFileSync(join(first, `tool${ending}`), '', { mode: 0o700 })
  const path = ['', first, second, third].join(delimiter)
  assert.equal(findProgram('tool', { PATH: path }), join(second, 'tool'))
  assert.equal(findProgram('tool', { Path: path }), join(second, 'tool'), 'as Windows spells the variable')
  assert.equal(findProgram('tool', { PATH: first, Path: path }), undefined)
  assert.equal(findProgram('no-such-tool', { PATH: path }), undefined)
  assert.equal(findProgram('tool', {}), undefined)
  assert.deepEqual([isProgram(join(first, 'tool')), isProgram(join(second, 'tool'))], [false, true])
})

test('a free port can be used', async () => {
  const port = await freePort()
  const server = createServer()
  await once(server.listen(port, '127.0.0.1'), 'listening')
  assert.equal((server.address() as AddressInfo).port, port)
  server.close()
  await once(server, 'close')
})

test('a program on Windows is found with or without its ending, batch files too', {
  skip: process.platform !== 'win32' && 'programs have no endings here',
}, () => {
  for (const name of ['tool.cmd', 'tool', 'both.exe', 'both.cmd', 'bare']) {
    writeFileSync(join(first, name), '', { mode: 0o700 })
  }
  const found = (name: string) => findProgram(name, { Path: first })
  assert.deepEqual(
    [found('tool'), found('both'), found('bare')],
    ['tool.cmd', 'both.exe', 'bare'].map(one => join(first, one)),
  )
})
