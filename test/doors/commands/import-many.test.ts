/** Importing many sessions: confirmed first, the same through every door, compressed or not, and undone in one step. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { openSample } from '../../../src/session/sample.ts'
import { runCli } from '../../cli.ts'
import { startServer } from '../server/harness.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-import-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const MANY = 25
const FILE = join(folder, 'all.json')
const run = (home: string, ...args: string[]) => runCli([...args, '--home', join(folder, home)])

before(async () => {
  const home = join(folder, 'source')
  {
    await using pal = await openPalimpsest({ home })
    const sample = await openSample(pal)
    await sample.fork(4, 'fork')
    for (let i = 0; i < MANY - 2; i++)
      await (await pal.session(`s${i}`)).append({ role: 'user', parts: [{ type: 'text', text: `number ${i}` }] })
  }
  writeFileSync(FILE, (await run('source', 'export', '--all')).stdout)
})

describe('a file with many sessions', () => {
  test('is imported only with --yes if no one can be asked, and is exported again unchanged', async () => {
    const asked = await run('asked', 'import', FILE)
    assert.equal(asked.code, 2)
    assert.match(asked.stderr, /There are \d+ sessions in 1 file .*Use --yes/)
    assert.match((await run('asked', 'sessions')).stderr, /no sessions/)
    const done = await run('copy', 'import', FILE, '--yes')
    assert.equal(done.code, 0, done.stderr)
    assert.equal((await run('copy', 'export', '--all')).stdout, readFileSync(FILE, 'utf8'))
    assert.equal((await run('copy', 'verify')).code, 0)
  })

  test('can be compressed or in a folder', async () => {
    const archive = join(folder, 'archive')
    mkdirSync(archive)
    writeFileSync(join(archive, 'all.json.gz'), gzipSync(readFileSync(FILE)))
    assert.equal((await run('packed', 'import', archive, '--yes')).code, 0)
    assert.equal((await run('packed', 'export', '--all')).stdout, readFileSync(FILE, 'utf8'))
    writeFileSync(join(archive, 'cut.json.gz'), gzipSync(readFileSync(FILE)).subarray(0, 500))
    const broken = await run('packed', 'import', join(archive, 'cut.json.gz'), '--yes')
    assert.deepEqual([broken.code, /cannot be unpacked/.test(broken.stderr)], [5, true])
  })

  test('is removed as a whole, without removing earlier sessions', async () => {
    const one = join(folder, 'one.json')
    writeFileSync(one, (await run('source', 'export', 's0')).stdout)
    await run('back', 'import', one)
    const done = await run('back', 'import', FILE, '--yes', '--json')
    const id = JSON.parse(done.stdout).import
    const shown = await run('back', 'import', '--undo', id)
    assert.equal(shown.code, 2, 'nobody can be asked')
    const undone = await run('back', 'import', '--undo', id, '--yes')
    assert.match(undone.stderr, new RegExp(`Deleted ${MANY - 1} sessions`))
    const { sessions } = JSON.parse((await run('back', 'sessions', '--json')).stdout)
    assert.deepEqual(
      sessions.map((session: { id: string }) => session.id),
      ['s0'],
    )
  })
})

test('the web and the command line import the same file as the same session, and the web asks for several too', async t => {
  const home = join(folder, 'web')
  await run('web', 'import', FILE, '--yes')
  const exported = (await run('web', 'export', '--all')).stdout
  const pal = await openPalimpsest({ home })
  const { server } = await startServer({ pal })
  t.after(() => server.close())
  const post = async (query: string) => {
    const request = new Request(`http://localhost/import?file=all.json${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: readFileSync(FILE),
    })
    return JSON.parse(await (await server.fetch(request)).text())
  }
  const asked = await post('&most=20')
  assert.deepEqual([asked.found, asked.sessions], [MANY, []])
  const done = await post('&import=drop')
  assert.equal(done.import, 'drop')
  assert.ok(done.sessions.every(({ added }: { added: number }) => added === 0))
  assert.equal((await run('web', 'export', '--all')).stdout, exported)
})
