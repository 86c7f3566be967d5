/** Deleting over HTTP: a preview first, then permanently; each caller can delete only their own data. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { said, startServer } from './harness.ts'

const { server, call } = await startServer()
after(() => server.close())

const make = async (id: string) =>
  assert.equal((await call('POST', '/sessions', { body: { id, messages: [said(`about ${id}`)] } })).status, 201)

test('a preview deletes nothing; a deletion cannot be undone, and the name is free again', async () => {
  await make('one')
  await make('two')
  const preview = await call('POST', '/deletions', { body: { sessions: ['one'], preview: true } })
  assert.deepEqual([preview.status, preview.json.deleted], [200, false])
  assert.equal(preview.json.sessions[0].session, 'one')
  assert.equal((await call('GET', '/sessions/one')).status, 200)
  const done = await call('POST', '/deletions', { body: { sessions: ['one'] } })
  assert.equal(done.json.deleted, true)
  assert.equal((await call('GET', '/sessions/one')).status, 404)
  assert.equal((await call('GET', '/sessions/one/view')).status, 404)
  assert.equal((await call('GET', '/sessions/two/view')).status, 200)
  await make('one')
  const entries = await call('GET', '/sessions/one/entries')
  assert.equal(entries.json.total, 1)
})

test('deleting missing sessions or nothing is refused', async () => {
  assert.equal((await call('POST', '/deletions', { body: { sessions: ['nobody'] } })).status, 404)
  assert.equal((await call('POST', '/deletions', { body: {} })).status, 422)
})

test('deleting by age removes all sessions from before', async () => {
  await make('old')
  const gone = await call('POST', '/deletions', { body: { before: Date.now() + 60_000 } })
  assert.ok(gone.json.sessions.some(({ session }: { session: string }) => session === 'old'))
  assert.deepEqual((await call('GET', '/sessions')).json.sessions, [])
})

test('deleting a user removes memory and tokens', async () => {
  await call('PUT', '/users/alice/blocks/goals', { body: { body: 'to sing' } })
  const done = await call('DELETE', '/users/alice')
  assert.equal(done.status, 200, done.text)
  assert.equal((await call('GET', '/users/alice/blocks/goals')).status, 404)
  assert.ok(!(await call('GET', '/users')).json.users.includes('alice'))
})
