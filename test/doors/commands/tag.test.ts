/** `tag` and `rename` from end to end: every list shows what they set. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { runCli } from '../../cli.ts'

const home = mkdtempSync(join(tmpdir(), 'palimpsest-tag-'))
after(() => rmSync(home, { recursive: true, force: true }))

const run = (...args: string[]) => runCli([...args, '--home', home])

before(async () => {
  await using pal = await openPalimpsest({ home })
  for (const id of ['talk', 'other'])
    await (await pal.session(id)).append({ role: 'user', parts: [{ type: 'text', text: 'hello' }] })
})

test('tags can be added and removed, and find the session', async () => {
  assert.equal((await run('tag', 'talk', 'work', 'urgent')).stdout, 'urgent\nwork\n')
  assert.equal((await run('tag', 'talk', '--remove', 'urgent')).stdout, 'work\n')
  const { sessions } = JSON.parse((await run('sessions', '--tag', 'work', '--json')).stdout)
  assert.deepEqual(
    sessions.map(({ id }: { id: string }) => id),
    ['talk'],
  )
  assert.equal((await run('tag', 'nobody', 'work')).code, 3)
})

test('a title can be set on one line, shown and removed; one that is too long is refused', async () => {
  assert.equal((await run('rename', 'talk')).stdout, '')
  assert.equal((await run('rename', 'talk', 'A title\nof two lines')).stdout, 'A title of two lines\n')
  assert.match((await run('sessions')).stdout, /talk.*A title of two lines/)
  assert.equal((await run('rename', 'talk', 'x'.repeat(201))).code, 2)
  assert.equal((await run('rename', 'talk')).stdout, 'A title of two lines\n')
  assert.equal((await run('rename', 'talk', '')).stdout, '')
  assert.equal((await run('rename', 'nobody', 'A title')).code, 3)
})
