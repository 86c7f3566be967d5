/** The knowledge files over HTTP: no change is overwritten, and nothing outside the folder can be reached. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { after, test } from 'node:test'
import { startServer } from './harness.ts'

const { server, call, workspace } = await startServer()
after(() => server.close())

const read = (file: string) => call('GET', `/workspace/${encodeURIComponent(file)}`)
const write = (file: string, text: string, version: string | null) =>
  call('PUT', `/workspace/${encodeURIComponent(file)}`, { body: { text, version } })

test('files can be created, listed, read and written', async () => {
  assert.deepEqual((await call('GET', '/workspace')).json.files, [])
  const { made } = (await call('POST', '/workspace')).json
  assert.ok(made.includes('.learnings/ERRORS.md'))
  const { files, folder } = (await call('GET', '/workspace')).json
  assert.equal(folder, workspace)
  assert.equal(files[0].path, 'SOUL.md')
  const { json } = await read('.learnings/ERRORS.md')
  assert.match(json.text, /^# Errors/)
  const written = await write('.learnings/ERRORS.md', `${json.text}- a new one\n`, json.version)
  assert.equal(written.status, 200, written.text)
  assert.notEqual(written.json.version, json.version)
  assert.match(readFileSync(join(workspace, '.learnings/ERRORS.md'), 'utf8'), /a new one/)
})

test('a change by another program is shown and not overwritten', async () => {
  const { version } = (await read('MEMORY.md')).json
  writeFileSync(join(workspace, 'MEMORY.md'), 'somebody else was here\n')
  const refused = await write('MEMORY.md', 'mine\n', version)
  assert.equal(refused.status, 409)
  const { error } = refused.json
  assert.deepEqual([error.code, error.now, error.yours], ['FILE_CHANGED', 'somebody else was here\n', 'mine\n'])
  assert.equal(readFileSync(join(workspace, 'MEMORY.md'), 'utf8'), 'somebody else was here\n')
  assert.equal((await write('MEMORY.md', 'both\n', error.version)).status, 200)
})

test('of two concurrent writers, one gets a conflict', async () => {
  const { version } = (await read('SOUL.md')).json
  const both = await Promise.all([write('SOUL.md', 'one\n', version), write('SOUL.md', 'two\n', version)])
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 409])
})

test('creating a file needs no version, and an existing file is not replaced', async () => {
  assert.equal((await write('notes/plan.md', '# Plan\n', null)).status, 200)
  assert.equal((await write('notes/plan.md', '# Other\n', null)).status, 409)
  assert.equal((await read('notes/none.md')).status, 404)
})

test('only Markdown files inside the folder can be accessed', async () => {
  const outside = `${basename(workspace)}-outside.md`
  writeFileSync(join(workspace, '..', outside), 'secret')
  after(() => rmSync(join(workspace, '..', outside)))
  symlinkSync(join(workspace, '..', outside), join(workspace, 'link.md'))
  for (const file of [
    `../${outside}`,
    `a/../../${outside}`,
    '/etc/passwd',
    '.',
    'x.txt',
    'a/b/c/d.md',
    '..md/../x.md',
  ]) {
    const found = await read(file)
    assert.ok([404, 422].includes(found.status), `${file}: ${found.status}`)
    assert.doesNotMatch(found.text, /secret|root:/)
    const put = await write(file, 'x', null)
    assert.ok(put.status >= 400, file)
  }
  const linked = await read('link.md')
  assert.ok(linked.status >= 400)
  assert.doesNotMatch(linked.text, /secret/)
  assert.equal(existsSync(join(workspace, 'x.txt')), false)
})
