/**
 * Ownership of sessions, workspaces and names: what one user's token must not do to another user's data, at every door.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { startWholeServer } from './whole-server.ts'

const served = await startWholeServer()
after(() => served.close())
const { call, mcp, token } = served
const alice = (await token('alice', 'user')).token
const bob = (await token('bob', 'user')).token
const bobsAgent = (await token('bob', 'agent')).token
const admin = (await token('root', 'admin')).token

const said = (text: string) => ({ role: 'user' as const, parts: [{ type: 'text' as const, text }] })
const chat = (content: string) => ({ model: 'gpt-4.1', messages: [{ role: 'user', content }] })
const namesOf = async (secret: string): Promise<string[]> =>
  (await call('GET', '/sessions', { token: secret })).json.sessions.map(({ id }: { id: string }) => id)

describe('MCP over HTTP acts as its caller', () => {
  test("resources are the caller's", async () => {
    await call('POST', '/sessions', { token: alice, body: { id: 'diary', messages: [said('a secret of alice')] } })
    for (const secret of [bob, bobsAgent]) {
      const { text } = await mcp(secret, 'resources/list')
      assert.doesNotMatch(text, /diary/)
      const read = await mcp(secret, 'resources/read', { uri: 'palimpsest://sessions/diary' })
      assert.doesNotMatch(read.text, /a secret of alice/)
      assert.ok(read.json.error)
    }
    assert.match((await mcp(alice, 'resources/list')).text, /palimpsest:\/\/sessions\/diary/)
    assert.match((await mcp(alice, 'resources/read', { uri: 'palimpsest://sessions/diary' })).text, /a secret of alice/)
  })

  test("the workspace is the caller's, in tools, resources and prompts", async () => {
    await mcp(alice, 'tools/call', { name: 'workspace_save_fact', arguments: { fact: 'alice likes tea' } })
    await mcp(bob, 'tools/call', { name: 'workspace_save_fact', arguments: { fact: 'bob was here' } })
    const ownersFile = join(served.workspace, 'MEMORY.md')
    assert.ok(!existsSync(ownersFile) || !/bob was here|alice likes/.test(readFileSync(ownersFile, 'utf8')))
    const uri = 'palimpsest://workspace/MEMORY.md'
    assert.match((await mcp(bob, 'resources/read', { uri })).text, /bob was here/)
    assert.doesNotMatch((await mcp(bob, 'resources/read', { uri })).text, /alice likes tea/)
    const prompt = await mcp(bob, 'prompts/get', { name: 'agent-instructions' })
    assert.match(prompt.text, /bob was here/)
    assert.doesNotMatch(prompt.text, /alice likes tea/)
  })

  test("the caller's agent reads what MCP saved", async () => {
    await mcp(alice, 'tools/call', { name: 'workspace_save_fact', arguments: { fact: 'alice likes tea' } })
    await call('POST', '/agent/v1/chat/completions', { token: alice, body: { ...chat('hello'), model: 'default' } })
    assert.match(served.upstream.requests.at(-1)!.body, /alice likes tea/)
    assert.doesNotMatch(served.upstream.requests.at(-1)!.body, /bob was here/)
  })

  test('proposals have the name of the token', async () => {
    await call('PUT', '/users/bob/blocks/goals', { token: bob, body: { body: 'Learn Go.\n' } })
    const input = { block_label: 'goals', text: 'And Rust.', reasoning: 'they said so' }
    await mcp(bobsAgent, 'tools/call', { name: 'propose_memory_append', arguments: input })
    const { json } = await call('GET', '/users/bob/proposals', { token: bob })
    assert.equal(json.proposals[0]?.agent_id, 'tutor')
  })
})

describe('the proxy', () => {
  test("writes only into the caller's sessions, which the caller can then open", async () => {
    await call('POST', '/sessions', { token: alice, body: { id: 'plans', messages: [said('of alice')] } })
    const headers = { 'x-palimpsest-session': 'plans' }
    const { status } = await call('POST', '/v1/chat/completions', { token: bob, headers, body: chat('of bob') })
    assert.equal(status, 200)
    const theirs = await call('GET', '/sessions/plans/entries', { token: alice })
    assert.equal(theirs.json.entries.length, 1)
    const own = await call('GET', '/sessions/plans/entries', { token: bob })
    assert.equal(own.status, 200)
    assert.match(own.text, /of bob/)
  })

  test('does not mix up equal conversations of two users', async () => {
    const body = {
      model: 'gpt-4.1',
      messages: [
        { role: 'user', content: 'what is it' },
        { role: 'assistant', content: 'an answer that is long enough to be told by its own words, as they are' },
        { role: 'user', content: 'and then' },
      ],
    }
    const before = new Set(await namesOf(bob))
    await call('POST', '/v1/chat/completions', { token: alice, body })
    await call('POST', '/v1/chat/completions', { token: bob, body })
    const made = (await namesOf(bob)).filter(name => !before.has(name))
    assert.equal(made.length, 1)
    assert.equal((await call('GET', `/sessions/${made[0]}`, { token: alice })).status, 404)
  })
})

describe('session names are separate for each owner', () => {
  test('two users can have a session of the same name', async () => {
    for (const [secret, text] of [[alice, 'petrichor of alice'] as const, [bob, 'petrichor of bob'] as const]) {
      const made = await call('POST', '/sessions', { token: secret, body: { id: 'notes', messages: [said(text)] } })
      assert.equal(made.status, 201, made.text)
      assert.equal(made.json.id, 'notes')
    }
    assert.match((await call('GET', '/sessions/notes/entries', { token: alice })).text, /petrichor of alice/)
    assert.match((await call('GET', '/sessions/notes/entries', { token: bob })).text, /petrichor of bob/)
    const taken = await call('POST', '/sessions', { token: alice, body: { id: 'notes' } })
    assert.equal(taken.status, 409)
  })

  test("nobody else can occupy the name of a user's chat", async () => {
    const headers = { 'x-openwebui-chat-id': 'c1' }
    const body = { ...chat('my secret plan'), model: 'default' }
    await call('POST', '/agent/v1/chat/completions', { token: bob, headers, body })
    const made = (await namesOf(bob)).find(name => name.startsWith('chat-bob-c1'))!
    assert.ok(made)
    const again = { ...chat('another plan'), model: 'default' }
    const second = { 'x-openwebui-chat-id': 'c2' }
    // Anyone who knows the rule knows this name, so it is taken before bob's chat begins.
    const { createHash } = await import('node:crypto')
    const digest = createHash('sha256')
      .update(JSON.stringify(['bob', 'c2']))
      .digest('hex')
      .slice(0, 12)
    const early = `chat-bob-c2-${digest}`
    assert.equal((await call('POST', '/sessions', { token: alice, body: { id: early } })).status, 201)
    const answer = await call('POST', '/agent/v1/chat/completions', { token: bob, headers: second, body: again })
    assert.equal(answer.status, 200, answer.text)
    assert.ok((await namesOf(bob)).includes(early))
    assert.equal((await call('GET', `/sessions/${early}/entries`, { token: alice })).json.entries.length, 0)
  })

  test("a turn under a name that another user has runs in the caller's own session", async () => {
    await call('POST', '/sessions', { token: alice, body: { id: 'turns', messages: [said('of alice')] } })
    const made = await call('POST', '/agent/sessions/turns/turns', { token: bob, body: { text: 'of bob' } })
    assert.equal(made.status, 200, made.text)
    assert.match((await call('GET', '/sessions/turns/entries', { token: bob })).text, /of bob/)
    assert.equal((await call('GET', '/sessions/turns/entries', { token: alice })).json.entries.length, 1)
  })

  test('a fork can get a name that another user has', async () => {
    await call('POST', '/sessions', { token: alice, body: { id: 'x-fork-1' } })
    await call('POST', '/sessions', { token: bob, body: { id: 'x', messages: [said('of bob')] } })
    const forked = await call('POST', '/sessions/x/fork', { token: bob })
    assert.equal(forked.json.id, 'x-fork-1')
    assert.equal(forked.json.owner, 'bob')
  })

  test('an admin sees the owner of each session, and opens it by its full id', async () => {
    const { json } = await call('GET', '/sessions?limit=200', { token: admin })
    const rows = json.sessions as { id: string; owner: string | null }[]
    assert.deepEqual(
      rows
        .filter(({ id }) => id.endsWith('/notes'))
        .map(({ id, owner }) => [id, owner])
        .sort(),
      [
        ['@alice/notes', 'alice'],
        ['@bob/notes', 'bob'],
      ],
    )
    const path = `/sessions/${encodeURIComponent('@bob/notes')}/entries`
    assert.match((await call('GET', path, { token: admin })).text, /petrichor of bob/)
    assert.equal((await call('GET', path, { token: alice })).status, 404)
    assert.equal((await call('GET', path, { token: bob })).status, 404)
  })

  test('for other users, a full id is an ordinary name', async () => {
    const made = await call('POST', '/sessions', { token: alice, body: { id: '@bob/planted' } })
    assert.equal(made.json.id, '@bob/planted')
    assert.equal((await call('GET', '/sessions/planted', { token: bob })).status, 404)
    const headers = { 'x-palimpsest-session': '@bob/notes' }
    await call('POST', '/v1/chat/completions', { token: alice, headers, body: chat('injected') })
    assert.doesNotMatch((await call('GET', '/sessions/notes/entries', { token: bob })).text, /injected/)
  })

  test("search finds only the caller's sessions, under the names that the caller uses", async () => {
    const { json } = await call('GET', '/recall?q=petrichor', { token: bob })
    const hits = json.hits as { session: string; snippet: string }[]
    assert.deepEqual(
      hits.map(({ session, snippet }) => [session, snippet]),
      [['notes', 'petrichor of bob']],
    )
  })
})

describe('roles', () => {
  test("an agent's token cannot run the agent, on any path", async () => {
    const before = served.upstream.requests.length
    for (const content of ['hello', '### Task: write a title']) {
      const body = { ...chat(content), model: 'default' }
      const answer = await call('POST', '/agent/v1/chat/completions', { token: bobsAgent, body })
      assert.equal(answer.status, 403, content)
    }
    assert.equal((await call('GET', '/agent/v1/models', { token: bobsAgent })).status, 403)
    assert.equal(served.upstream.requests.length, before)
  })

  test('an internal request passes the checks of every request', async () => {
    const headers = { 'x-openwebui-user-id': 'alice' }
    const body = { ...chat('### Task: write a title'), model: 'default' }
    const before = served.upstream.requests.length
    assert.equal((await call('POST', '/agent/v1/chat/completions', { token: bob, headers, body })).status, 403)
    assert.equal(served.upstream.requests.length, before)
    assert.equal((await call('POST', '/agent/v1/chat/completions', { token: bob, body })).status, 200)
  })

  test('the statistics of the proxy are only for admins', async () => {
    for (const secret of [alice, bobsAgent])
      assert.equal((await call('GET', '/metrics', { token: secret })).status, 403)
    assert.equal((await call('GET', '/metrics', { token: admin })).status, 200)
  })
})
