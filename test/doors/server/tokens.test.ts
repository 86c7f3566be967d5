/** Tokens over the API: the identity of the caller, and the list for admins. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultName } from '../../../src/doors/server/tokens.ts'
import { startServer } from './harness.ts'

test('the list of tokens has pages, newest first, and an unknown cursor is an error', async () => {
  const { call, token, server } = await startServer({ requireToken: true })
  const admin = await token('root', 'admin')
  for (const user of ['a', 'b', 'c']) token(user, 'user')
  const get = (query: string) => call('GET', `/tokens${query}`, { token: admin.token })
  const first = (await get('?limit=3')).json
  assert.equal(first.tokens.length, 3)
  const second = (await get(`?limit=3&cursor=${first.next}`)).json
  assert.deepEqual([second.tokens.length, second.next], [1, null])
  const all = [...first.tokens, ...second.tokens] as { user: string; revoked_at: unknown; secret?: string }[]
  assert.deepEqual(new Set(all.map(({ user }) => user)), new Set(['root', 'a', 'b', 'c']))
  assert.ok(all.every(entry => entry.secret === undefined && entry.revoked_at === null))
  assert.equal((await get('?cursor=t_0123456789abcdef')).status, 404)
  await server.close()
})

test("an agent's token has a name, because its proposals need one", async () => {
  assert.deepEqual([defaultName('agent'), defaultName('user'), defaultName('admin')], ['agent', '', ''])
  const { call, token, server } = await startServer({ requireToken: true })
  const admin = await token('root', 'admin')
  const made = await call('POST', '/tokens', { token: admin.token, body: { user: 'ann', role: 'agent' } })
  const me = await call('GET', '/me', { token: made.json.secret })
  assert.deepEqual(me.json, { role: 'agent', user: 'ann', name: 'agent', token: made.json.id })
  const gone = await call('DELETE', `/tokens/${made.json.id}`, { token: admin.token })
  assert.ok(gone.json.revoked_at !== null)
  assert.equal((await call('DELETE', '/tokens/t_0123456789abcdef', { token: admin.token })).status, 404)
  await server.close()
})

test('the secret of a token is answered only once, and a repeated request creates another token', async () => {
  const { call, token, server } = await startServer({ requireToken: true })
  const admin = await token('root', 'admin')
  const make = () =>
    call('POST', '/tokens', {
      token: admin.token,
      body: { user: 'ann', role: 'user' },
      headers: { 'idempotency-key': 'k' },
    })
  const [one, two] = [await make(), await make()]
  assert.deepEqual([one.status, two.status], [201, 201])
  assert.notEqual(one.json.secret, two.json.secret)
  await server.close()
})
