/** Where memory is stored, its default user, and where its schemas are. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openMemory, userIn } from '../../src/memory/open.ts'

const home = mkdtempSync(join(tmpdir(), 'palimpsest-memory-'))
after(() => rmSync(home, { recursive: true, force: true }))

test('memory is a file of the home, unless a database is named; a home in memory needs neither', async () => {
  const env = { PALIMPSEST_DATABASE_URL: 'postgres://127.0.0.1:1/none?connect_timeout=1' }
  await (await openMemory({ home: ':memory:', env })).close()
  await assert.rejects(openMemory({ home, env }), 'it is looked for')
  assert.ok(!existsSync(join(home, 'memory.sqlite')))
  await (await openMemory({ home, env: {} })).close()
  assert.ok(existsSync(join(home, 'memory.sqlite')))
})

test('a schema is a file of the home; a missing one checks nothing, an unreadable one is an error', async () => {
  mkdirSync(join(home, 'schemas', 'folder.json'), { recursive: true })
  writeFileSync(join(home, 'schemas', 'list.json'), '{"type":"array"}')
  const memory = await openMemory({ home, env: {} })
  const set = (schemaRef: string) => memory.set('ann', 'goals', { body: '{}', schemaRef, by: 'user:ann' })
  await assert.rejects(set('list'), { code: 'SCHEMA_VIOLATION' })
  await assert.rejects(set('folder'), { code: 'EISDIR' })
  for (const name of ['nobody', '../schemas/list', '.list']) assert.equal((await set(name)).body, '{}', name)
  await memory.close()
})

test('a home in memory has no files, even if the current folder has a folder of its name', async t => {
  const before = process.cwd()
  t.after(() => process.chdir(before))
  process.chdir(home)
  mkdirSync(join(':memory:', 'schemas'), { recursive: true })
  writeFileSync(join(':memory:', 'schemas', 'list.json'), '{"type":"array"}')
  const memory = await openMemory({ home: ':memory:', env: {} })
  await memory.set('ann', 'goals', { body: '{}', schemaRef: 'list', by: 'user:ann' })
  assert.deepEqual(readdirSync(':memory:'), ['schemas'])
  await memory.close()
})

test('the user comes from the environment, the configuration, or the machine', () => {
  assert.equal(userIn({ PALIMPSEST_USER: 'ann' }, 'bob'), 'ann')
  assert.equal(userIn({}, 'bob'), 'bob')
  assert.equal(userIn({}), userInfo().username)
})
