/**
 * Redacting over HTTP: likely secrets are listed, a preview changes nothing, and callers reach only their own sessions.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Role } from '../../../src/doors/server/server-store.ts'
import { History } from '../../../src/doors/terminal/history.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { said, startServer } from './harness.ts'

const { server, call, token } = await startServer({ requireToken: true, clock: () => 1 })
after(() => server.close())

const TOKEN = `ghp_${'aB3dE5gH7jK9'.repeat(3)}`
const alice = (await token('alice', 'user')).token
const bob = (await token('bob', 'user')).token
const admin = (await token('root', 'admin')).token
const agent = (await token('alice', 'agent')).token

for (const secret of [alice, bob]) {
  const messages = [said(`the token is ${TOKEN}`), said('the word is xylophone', 'assistant')]
  await call('POST', '/sessions', { token: secret, body: { id: 'talk', messages } })
  await call('PUT', '/sessions/talk/title', { token: secret, body: { title: 'about xylophone' } })
}

const whole = async (secret: string, session = 'talk') => {
  const pages = ['', '/view', '/entries', '/map', '/turns', '/summary', '/explained', '/parts/1/0']
  const answers = await Promise.all(
    pages.map(page => call('GET', `/sessions/${encodeURIComponent(session)}${page}`, { token: secret })),
  )
  for (const { status, text } of answers) assert.equal(status, 200, text)
  return answers.map(({ text }) => text).join('\n')
}

test('the secrets of a session are listed by kind and place, without their text', async () => {
  const { json, text } = await call('GET', '/sessions/talk/secrets', { token: alice })
  const [{ kind, entry, part, hint }] = json.secrets
  assert.deepEqual([kind, entry, part, json.secrets.length], ['GitHub token', 0, 0, 1])
  assert.equal(hint, 'ghp_…K9')
  assert.ok(!text.includes(TOKEN))
})

test('a preview changes nothing', async () => {
  const { json } = await call('POST', '/redactions', { token: alice, body: { secrets: true, preview: true } })
  assert.deepEqual(json, { redacted: false, sessions: [{ session: 'talk', kinds: { 'GitHub token': 1 } }] })
  assert.ok((await whole(alice)).includes(TOKEN))
})

test("a redaction covers the caller's sessions, even on pages that were open, and none of other users", async () => {
  assert.ok((await whole(alice)).includes('xylophone'))
  const bobs = await whole(bob)
  const secrets = await call('POST', '/redactions', { token: alice, body: { secrets: true } })
  assert.deepEqual([secrets.status, secrets.json.redacted], [200, true])
  const text = await call('POST', '/redactions', { token: alice, body: { sessions: ['talk'], text: 'xylophone' } })
  assert.deepEqual(text.json.sessions, [{ session: 'talk', kinds: { text: 1 } }])
  const left = await whole(alice)
  assert.ok(!left.includes(TOKEN))
  assert.ok(!left.includes('xylophone'), left)
  assert.equal(await whole(bob), bobs)
  const { json } = await call('GET', '/sessions/talk/verify', { token: alice })
  assert.ok(json.events > 0)
})

test("agents may not redact, and an admin's redaction covers all users", async () => {
  for (const body of [{ secrets: true }, { text: 'xylophone' }])
    assert.equal((await call('POST', '/redactions', { token: agent, body })).status, 403)
  assert.equal((await call('GET', '/sessions/talk/secrets', { token: agent })).status, 403)
  const done = await call('POST', '/redactions', { token: admin, body: { text: 'xylophone' } })
  assert.deepEqual(
    done.json.sessions.map(({ session }: { session: string }) => session),
    ['@bob/talk'],
  )
  assert.ok(!(await whole(bob)).includes('xylophone'))
})

test('a pattern redacts its matches; an invalid or slow pattern is refused, and the server keeps answering', async () => {
  const messages = [said('the codes are AB-123456 and AB-654321'), said(`${'a'.repeat(60)}!`, 'assistant')]
  await call('POST', '/sessions', { token: alice, body: { id: 'codes', messages } })
  const redact = (pattern: string, preview = false) =>
    call('POST', '/redactions', { token: alice, body: { sessions: ['codes'], pattern, preview } })
  assert.deepEqual((await redact('AB-[0-9]{6}', true)).json, {
    redacted: false,
    sessions: [{ session: 'codes', kinds: { pattern: 2 } }],
  })
  for (const wrong of ['(', '(a+)+$']) assert.equal((await redact(wrong)).status, 422, wrong)
  assert.equal((await redact('AB-[0-9]{6}')).json.redacted, true)
  assert.match((await call('GET', '/sessions/codes/view', { token: alice })).text, /the codes are \*{9} and \*{9}/)
})

test('redacting an unknown session, or a text that is everywhere, is refused', async () => {
  const body = { sessions: ['nobody'], secrets: true }
  assert.equal((await call('POST', '/redactions', { token: alice, body })).status, 404)
  assert.equal((await call('POST', '/redactions', { token: alice, body: { text: 'abc' } })).status, 422)
  assert.equal((await call('POST', '/redactions', { token: alice, body: {} })).status, 422)
})

test("the chat's history belongs to the home: an admin redacts it, other users neither change nor see it", async () => {
  const home = mkdtempSync(join(tmpdir(), 'palimpsest-redactions-'))
  after(() => rmSync(home, { recursive: true, force: true }))
  const served = await startServer({ requireToken: true, pal: await openPalimpsest({ home }) })
  after(() => served.server.close())
  new History(home).add('my word is xylophone')
  const redact = async (role: Role, preview = false) => {
    const { token } = await served.token('ann', role)
    return (await served.call('POST', '/redactions', { token, body: { text: 'xylophone', preview } })).json
  }
  assert.deepEqual(await redact('user'), { redacted: true, sessions: [] })
  assert.deepEqual(await redact('admin', true), { redacted: false, sessions: [], history: { text: 1 } })
  assert.deepEqual(new History(home).newestFirst, ['my word is xylophone'])
  assert.deepEqual(await redact('admin'), { redacted: true, sessions: [], history: { text: 1 } })
  assert.deepEqual(new History(home).newestFirst, ['my word is *********'])
})
