/**
 * Three real server processes on one real PostgreSQL server, and clients that use any of them: acknowledged appends are
 * stored once, and every server shows the same, while servers are killed and the database is restarted and paused.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { PostgresServer } from '../../scripts/postgres.ts'
import type { AgentEvent } from '../../src/agent/events.ts'
import { follow } from '../follow.ts'
import { noPostgres, startPostgres } from '../postgres.ts'
import { type Append, append, problemsOf, type Server, Servers } from '../servers.ts'
import { startUpstream, type Turn, type Upstream } from '../upstream.ts'

describe('three servers on one database', { skip: noPostgres }, () => {
  let postgres: PostgresServer
  let upstream: Upstream
  let servers: Servers
  let answer: (text: string) => Turn = () => ({ text: 'fine' })

  before(async () => {
    postgres = await startPostgres()
    upstream = await startUpstream(({ body }) => answer(body))
    const env = {
      PALIMPSEST_DATABASE_URL: await postgres.create('servers'),
      OPENAI_API_KEY: 'test',
      OPENAI_BASE_URL: `${upstream.url}/v1`,
      PALIMPSEST_MODEL: 'gpt-4.1',
      PALIMPSEST_USER: 'ada',
    }
    servers = new Servers(env, ['--openai-upstream', upstream.url])
    await Promise.all([1, 2, 3].map(() => servers.start()))
  })
  after(async () => {
    await servers?.stop()
    await upstream?.close()
  })

  /** The answers of all servers for a session: the same, byte for byte. */
  async function everywhere(path: string): Promise<string> {
    const [first, ...others] = await Promise.all(servers.running.map(server => server.call('GET', path)))
    for (const other of others) assert.equal(other.text, first!.text)
    assert.equal(first!.status, 200, first!.text)
    return first!.text
  }

  async function textsIn(session: string): Promise<string[]> {
    const texts: string[] = []
    for (let cursor = ''; ; ) {
      const { entries, next } = JSON.parse(await everywhere(`/sessions/${session}/entries?limit=200${cursor}`))
      for (const { message } of entries) texts.push(message.parts[0]?.text ?? '')
      if (next === null) return texts
      cursor = `&cursor=${next}`
    }
  }

  /** Clients that append texts one by one, through any server; returns their observations. */
  async function appendMany(sessions: readonly string[], clients: number, each: number): Promise<Append[]> {
    const run = async (client: number) => {
      const seen: Append[] = []
      for (let i = 0; i < each; i++) {
        const session = sessions[(client + i) % sessions.length]!
        seen.push(await append(servers, session, `c${client}-${i}`))
      }
      return seen
    }
    return (await Promise.all(Array.from({ length: clients }, (_, client) => run(client)))).flat()
  }

  async function checkHistory(history: readonly Append[], sessions: readonly string[]): Promise<void> {
    for (const session of sessions) {
      const own = history.filter(one => one.session === session)
      assert.deepEqual(problemsOf(own, await textsIn(session)), [], session)
      await everywhere(`/sessions/${session}/view`)
    }
  }

  async function make(...names: string[]): Promise<string[]> {
    for (const id of names) assert.equal((await servers.any().call('POST', '/sessions', { id })).status, 201)
    return names
  }

  test('clients that change servers with every request have one history', async () => {
    const sessions = await make('quiet-1', 'quiet-2', 'quiet-3')
    const history = await appendMany(sessions, 12, 15)
    assert.equal(history.filter(({ entry }) => entry === undefined).length, 0)
    await checkHistory(history, sessions)
  })

  test('a token, a block and an event of one server are valid at the others', async () => {
    const [a, b, c] = servers.running as [Server, Server, Server]
    const { secret } = (await a.call('POST', '/tokens', { user: 'ada', role: 'user', name: 'laptop' })).json
    const own = { authorization: `Bearer ${secret}` }
    const events = await fetch(`${c.url}/events`, { headers: own })
    const put = await b.call('PUT', '/users/ada/blocks/goals', { body: 'Learn Go.' }, own)
    assert.equal(put.status, 200, put.text)
    assert.equal((await c.call('GET', '/users/ada/blocks/goals', undefined, own)).json.body, 'Learn Go.')
    const reader = events.body!.pipeThrough(new TextDecoderStream()).getReader()
    for (let heard = ''; !heard.includes('block.changed'); ) heard += (await reader.read()).value ?? ''
    await reader.cancel()
  })

  test('a fact saved through one server is in the prompt of another, for its own user only', async () => {
    const [a, b, c] = servers.running as [Server, Server, Server]
    const { secret } = (await a.call('POST', '/tokens', { user: 'bea', role: 'user', name: 'phone' })).json
    const bea = { authorization: `Bearer ${secret}` }
    const save = (server: Server, fact: string, headers: Record<string, string> = {}) =>
      server.call(
        'POST',
        '/mcp',
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'workspace_save_fact', arguments: { fact } } },
        { accept: 'application/json, text/event-stream', ...headers },
      )
    const saved = await Promise.all([
      save(a, 'The door is green.'),
      save(b, 'The roof is blue.'),
      save(c, 'The lamp is red.'),
      save(a, 'The cellar is wet.', bea),
    ])
    for (const { status, text } of saved) assert.match(`${status} ${text}`, /^200.*Saved in MEMORY\.md/)
    answer = () => ({ text: 'fine' })
    const promptAt = async (server: Server, session: string, headers: Record<string, string> = {}) => {
      const path = `/agent/sessions/${session}/turns`
      assert.equal((await server.call('POST', path, { text: 'hello' }, headers)).status, 200)
      return JSON.stringify(upstream.requests.at(-1)!.json)
    }
    for (const server of [a, b, c]) {
      const own = await promptAt(server, `facts-${servers.running.indexOf(server)}`)
      for (const fact of [/door is green/, /roof is blue/, /lamp is red/]) assert.match(own, fact)
      assert.doesNotMatch(own, /cellar/)
    }
    const hers = await promptAt(b, 'hers', bea)
    assert.match(hers, /The cellar is wet\./)
    assert.doesNotMatch(hers, /door is green/)
    // After she asks to delete it, it is gone everywhere.
    assert.equal((await c.call('DELETE', '/users/bea', undefined, bea)).status, 200)
    const again = (await a.call('POST', '/tokens', { user: 'bea', role: 'user', name: 'phone' })).json.secret
    assert.doesNotMatch(await promptAt(b, 'anew', { authorization: `Bearer ${again}` }), /cellar/)
  })

  test('a server killed during appends loses and doubles nothing', async () => {
    const sessions = await make('killed-1', 'killed-2')
    const appending = appendMany(sessions, 8, 20)
    const first = await append(servers, sessions[0]!, 'before')
    await servers.kill(servers.running[0]!)
    await servers.start()
    await checkHistory([...(await appending), first], sessions)
  })

  test('a restart of the database loses and doubles nothing', async () => {
    const sessions = await make('restarted-1', 'restarted-2')
    const appending = appendMany(sessions, 8, 20)
    const first = await append(servers, sessions[0]!, 'before')
    await postgres.end()
    await postgres.run()
    const history = [...(await appending), first]
    await checkHistory(history, sessions)
  })

  test('a paused database loses and doubles nothing', async () => {
    const sessions = await make('paused-1', 'paused-2')
    const appending = appendMany(sessions, 8, 20)
    const first = await append(servers, sessions[0]!, 'before')
    postgres.pause(true)
    const waiting = append(servers, sessions[1]!, 'while it stands still')
    await new Promise(resolve => setTimeout(resolve, 2000))
    postgres.pause(false)
    const history = [...(await appending), first, await waiting]
    await checkHistory(history, sessions)
  })

  const names = async (): Promise<string[]> =>
    JSON.parse(await everywhere('/sessions?limit=200')).sessions.map(({ id }: { id: string }) => id)

  const chat = (server: Server, messages: { role: string; content: string }[], stream = false) =>
    fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer test' },
      body: JSON.stringify({ model: 'gpt-4.1', messages, stream }),
    })

  test('a conversation through the proxy continues at any server, even if one dies in its stream', async () => {
    const known = await names()
    const messages = [{ role: 'user', content: 'Name the planets, one after the other.' }]
    for (let turn = 0; turn < 6; turn++) {
      answer = () => ({ text: `planet ${turn}` })
      const reply = JSON.parse(await (await chat(servers.any(), messages)).text())
      messages.push(reply.choices[0].message, { role: 'user', content: `And after ${turn}?` })
    }
    answer = () => ({ text: 'half of an answer that never comes to its end', stallAfter: 2 })
    const dying = servers.running[1]!
    const stream = await chat(dying, messages, true)
    await stream.body!.getReader().read()
    await servers.kill(dying)
    answer = () => ({ text: 'Neptune' })
    for (const server of servers.running) {
      const reply = JSON.parse(await (await chat(server, messages)).text())
      assert.equal(reply.choices[0].message.content, 'Neptune')
    }
    await servers.start()
    const found = (await names()).filter(name => !known.includes(name))
    assert.equal(found.length, 1, `one conversation is one session: ${found}`)
    const texts = await textsIn(found[0]!)
    for (const { content } of messages) assert.equal(texts.filter(text => text === content).length, 1, content)
    await everywhere(`/sessions/${found[0]}/view`)
  })

  const post = (server: Server, path: string, body?: object) =>
    fetch(`${server.url}/agent/sessions/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })

  test("an agent's turn can be followed and approved at other servers", async () => {
    const [a, b, c] = servers.running as [Server, Server, Server]
    answer = body => (body.includes('"role":"tool"') ? { text: 'done' } : runIt)
    const turn = await post(a, 'approved/turns', { text: 'run it' })
    const here = follow(turn)
    const there = await follow(await fetch(`${b.url}/agent/sessions/approved/turns`), async event => {
      if (event.type !== 'approval') return
      assert.equal((await post(c, 'approved/turns', { text: 'more' })).status, 409)
      assert.equal((await post(c, 'approved/approvals/none', { yes: true })).status, 404)
      assert.equal((await post(c, `approved/approvals/${event.id}`, { yes: true })).status, 200)
    })
    assert.deepEqual(there, await here)
    assert.match(there.find(event => event.type === 'result')!.text, /it ran/)
    assert.equal(there.at(-1)?.type, 'done')
  })
  const runIt = { calls: [{ name: 'run_command', input: { command: 'echo it ran' } }] }

  const endOf = (events: readonly AgentEvent[]) => {
    const last = events.at(-1)
    return last?.type === 'done' ? last.reason : undefined
  }

  test("a server that dies during an agent's turn leaves a session in which another can continue", async () => {
    const [a, b] = servers.running as [Server, Server]
    answer = () => ({ text: 'half of what it was going to say', stallAfter: 3 })
    const turn = await post(a, 'orphan/turns', { text: 'say something long' })
    const started = turn.body!.getReader()
    await started.read()
    const following = fetch(`${b.url}/agent/sessions/orphan/turns`).then(response => follow(response))
    await servers.kill(a)
    assert.equal((await post(b, 'orphan/turns', { text: 'too early' })).status, 409)
    const seen = await following
    assert.equal(endOf(seen), 'failed')
    answer = () => ({ text: 'and so on' })
    const next = await follow(await post(b, 'orphan/turns', { text: 'go on' }))
    assert.equal(endOf(next), 'answered')
    await servers.start()
    const texts = await textsIn('orphan')
    assert.equal(texts.filter(text => text === 'say something long').length, 1)
    assert.equal(texts.filter(text => text === 'too early').length, 0)
    assert.equal(texts.filter(text => text === 'go on').length, 1)
  })
})
