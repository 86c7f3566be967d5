/**
 * Every door with every credential. The doors are enumerated (the OpenAPI document, the mounts of `serve`, the lists of
 * MCP), and each needs a row in audiences.ts with its audience: a door without a row fails, and so does a row without a
 * door. Data that a caller must not see contains a unique word; data that they must not change is compared.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { partId } from '../../src/view/shown-texts.ts'
import { ASKED, type Audience, MOUNTS, OPEN_TO, PROMPTS, RESOURCES, ROUTES, TOOLS } from './audiences.ts'
import { BODIES, queryFor } from './server/bodies.ts'
import { said } from './server/harness.ts'
import { type Answer, startWholeServer } from './whole-server.ts'

const CANARY = 'xylophone-canary'
/** Part of every name that bob uses: nobody else may learn his names, or that bob exists. */
const NAMED = 'marmalade'
const PROVIDER_PATHS: Record<string, [path: string, body: object]> = {
  '/v1': ['/v1/chat/completions', { model: 'gpt-4.1', messages: [{ role: 'user', content: 'hi' }] }],
  '/anthropic': [
    '/anthropic/v1/messages',
    { model: 'claude-sonnet-4-5', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
  ],
  '/openai': ['/openai/v1/responses', { model: 'gpt-5', input: 'hi' }],
  '/gemini': [
    '/gemini/v1beta/models/gemini-2.5-pro:generateContent',
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  ],
}

const served = await startWholeServer()
const { call, mcp, token, store, server } = served
const bob = (await token('bob', 'user')).token
const bobsAgent = (await token('bob', 'agent')).token
const alice = (await token('alice', 'user')).token
const alicesAgent = (await token('alice', 'agent')).token
const carol = (await token('carol', 'user')).token
const carolsAgent = (await token('carol', 'agent')).token
const admin = (await token('root', 'admin')).token
const gone = await token('bob', 'admin')
await store.revokeToken(gone.id, 2)
const NOBODY: Record<string, string | undefined> = {
  anonymous: undefined,
  empty: '',
  wrong: 'pal_guess',
  revoked: gone.token,
  'the id of a token': gone.id,
  'a token and more': `${admin}x`,
}
/** Other names for this server, and other sites, as a page in a browser could be made to send them. */
const FOREIGN: readonly Record<string, string>[] = [
  { host: 'evil.example' },
  { host: 'localhost.evil.example' },
  { host: 'localhost@evil.example' },
  { origin: 'http://evil.example' },
  { origin: 'null' },
  { origin: 'http://localhost:3000' },
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' },
]

type Target = { session: string; user: string; proposal: string; hash: string }
type Asked = Pick<Answer, 'status' | 'text' | 'headers'>
type Ask = (secret: string | undefined, target: Target, headers?: Record<string, string>) => Promise<Asked>
/** Routes report errors in our own form; the other doors use the form of their clients. */
type Row = { name: string; audience: Audience; ask: Ask; isRoute?: true }

/** Streams that do not end are only opened. */
async function openStream(path: string, secret: string | undefined, more: Record<string, string> = {}): Promise<Asked> {
  const headers = { ...(secret === undefined ? {} : { 'x-palimpsest-token': secret }), ...more }
  const response = await server.fetch(new Request(`http://localhost${path}`, { headers }))
  const text = response.ok ? '' : await response.text()
  if (response.ok) await response.body?.cancel()
  return { status: response.status, text, headers: response.headers }
}

function routeRow(name: string, audience: Audience): Row {
  const [method = '', path = ''] = name.split(' ')
  const ask: Ask = (secret, { session, user, proposal, hash }, headers) => {
    const values: Record<string, string> = {
      session,
      user,
      id: proposal,
      label: 'goals',
      edit: 'e1',
      token: gone.id,
      entry: '0',
      part: '0',
      file: 'MEMORY.md',
      hash,
    }
    const filled = path.replaceAll(/{(\w+)}/g, (_, key: string) => encodeURIComponent(values[key]!))
    if (path === '/events') return openStream(filled, secret, headers)
    return call(method.toUpperCase(), filled + queryFor(path, ASKED), {
      token: secret,
      body: path === '/import' ? {} : BODIES[name],
      ...(headers ? { headers } : {}),
    })
  }
  return { name, audience, ask, isRoute: true }
}

const mcpRow = (name: string, method: string, params: object): Row => ({
  name,
  audience: MOUNTS['/mcp']!,
  ask: secret => mcp(secret, method, params),
})

const chat = (content: string) => ({ model: 'default', messages: [{ role: 'user', content }] })
const ROWS: Row[] = [
  ...Object.entries(ROUTES).flatMap(([audience, names]) => names.map(name => routeRow(name, audience as Audience))),
  ...Object.entries(PROVIDER_PATHS).map(
    ([prefix, [path, body]]): Row => ({
      name: `proxy ${prefix}`,
      audience: MOUNTS[prefix]!,
      ask: (secret, { session }) =>
        call('POST', path, { token: secret, body, headers: { 'x-palimpsest-session': session } }),
    }),
  ),
  { name: 'proxy, passed on', audience: 'everybody', ask: secret => call('GET', '/v1/models', { token: secret }) },
  { name: '/metrics', audience: MOUNTS['/metrics']!, ask: secret => call('GET', '/metrics', { token: secret }) },
  { name: '/agent/v1/models', audience: 'people', ask: secret => call('GET', '/agent/v1/models', { token: secret }) },
  ...['hello', '### Task: write a title'].map(
    (content): Row => ({
      name: `/agent/v1/chat/completions, ${content}`,
      audience: MOUNTS['/agent/v1']!,
      ask: secret =>
        call('POST', '/agent/v1/chat/completions', {
          token: secret,
          body: chat(content),
          headers: { 'x-openwebui-chat-id': 'c1' },
        }),
    }),
  ),
  ...['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'].map(method =>
    mcpRow(`mcp ${method}`, method, {}),
  ),
  ...Object.entries(TOOLS).map(([name, args]) => mcpRow(`mcp tool ${name}`, 'tools/call', { name, arguments: args })),
  ...Object.values(RESOURCES).flatMap(uris =>
    uris.map(uri => mcpRow(`mcp resource ${uri}`, 'resources/read', { uri })),
  ),
  ...PROMPTS.map(name => mcpRow(`mcp prompt ${name}`, 'prompts/get', { name })),
]

const targets: Record<string, Target> = {}
/** The data of bob before any attempt. */
let settled: string[] = []

/** A user with data of every kind, each with a word that occurs nowhere else. */
async function settle(user: string, word: string, secret: string, agent: string): Promise<Target> {
  await call('POST', '/sessions', {
    token: secret,
    body: { id: 'plans', messages: [{ role: 'user', parts: [{ type: 'text', text: word }] }] },
  })
  await call('PUT', `/users/${user}/blocks/goals`, { token: secret, body: { body: `${word}\n` } })
  const made = await call('POST', `/users/${user}/blocks/goals/propose`, {
    token: agent,
    body: { append: 'more', reasoning: word },
  })
  await mcp(secret, 'tools/call', { name: 'workspace_save_fact', arguments: { fact: word } })
  const headers = { 'x-palimpsest-session': 'proxied' }
  await call('POST', '/v1/chat/completions', {
    token: secret,
    headers,
    body: { model: 'gpt-4.1', messages: [{ role: 'user', content: word }] },
  })
  await call('POST', '/agent/v1/chat/completions', {
    token: secret,
    headers: { 'x-openwebui-chat-id': 'c1' },
    body: chat(word),
  })
  const kept = await call('POST', '/v1/compress', { token: secret, body: shortened(word) })
  const hash = kept.json.session.slice('gateway-'.length) + partId(2, 0, { type: 'tool-result' })
  return { session: 'plans', user, proposal: made.json.id, hash }
}

/** All data of a user, as that user reads it. */
async function stateOf(user: string, secret: string): Promise<string[]> {
  const { json } = await call('GET', '/sessions?limit=200', { token: secret })
  const paths = [`/users/${user}/blocks`, `/users/${user}/blocks/goals`, `/users/${user}/proposals`]
  for (const { id } of json.sessions)
    paths.push(`/sessions/${encodeURIComponent(id)}/entries`, `/sessions/${encodeURIComponent(id)}/edits`)
  const texts = []
  for (const path of paths) texts.push(`${path} ${(await call('GET', path, { token: secret })).text}`)
  texts.push((await mcp(secret, 'resources/read', { uri: 'palimpsest://workspace/MEMORY.md' })).text)
  return texts
}

const shortened = (content: string) => ({ messages: [{ role: 'tool', tool_call_id: 'c1', content }] })
const codeIn = (text: string): string => JSON.parse(text).error.code

before(async () => {
  targets['bob'] = await settle('bob', CANARY, bob, bobsAgent)
  targets['carol'] = await settle('carol', 'nothing special', carol, carolsAgent)
  await call('POST', '/sessions', { token: bob, body: { id: `${NAMED}-1`, messages: [said('hi')] } })
  await call('PUT', `/sessions/${NAMED}-1/title`, { token: bob, body: { title: `${NAMED} title` } })
  await call('PUT', `/sessions/${NAMED}-1/tags`, { token: bob, body: { tags: [`${NAMED} tag`] } })
  await call('PUT', `/users/bob/blocks/${NAMED}-block`, { token: bob, body: { body: 'x\n', title: `${NAMED} block` } })
  settled = await stateOf('bob', bob)
  assert.ok(settled.join('').includes(NAMED))
  // The hash of a shortened text is the same for everybody.
  await call('POST', '/v1/compress', { token: admin, body: shortened('nothing special') })
})
after(() => served.close())

describe('every entry point has a row in the matrix', () => {
  test('every route has a row', () => {
    const there = Object.entries(server.document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map(method => `${method} ${path}`),
    )
    assert.deepEqual(Object.values(ROUTES).flat().sort(), there.sort())
    const needing = there.filter(name => {
      const [method = '', path = ''] = name.split(' ')
      return server.document.paths[path]![method]!.requestBody?.required && path !== '/import'
    })
    assert.deepEqual(
      needing.filter(name => !(name in BODIES)),
      [],
      'without a body that fits',
    )
    for (const [audience, names] of Object.entries(ROUTES)) {
      for (const name of names) {
        const [method = '', path = ''] = name.split(' ')
        const { 'x-roles': roles } = server.document.paths[path]![method]!
        assert.deepEqual(roles, audience === 'public' ? 'public' : OPEN_TO[audience as Audience], name)
      }
    }
  })

  test('every mount has a row; the web UI is served once it is built', () => {
    const there = served.mount.map(({ prefix }) => prefix)
    assert.deepEqual(
      Object.keys(MOUNTS)
        .filter(prefix => prefix !== '/')
        .sort(),
      there.filter(prefix => prefix !== '/').sort(),
    )
    for (const { prefix, roles } of served.mount) {
      assert.deepEqual(roles, MOUNTS[prefix] === 'public' ? 'public' : OPEN_TO[MOUNTS[prefix]!], prefix)
    }
  })

  test('every MCP tool, resource and prompt has a row', async () => {
    const { tools } = (await mcp(bob, 'tools/list')).json.result
    assert.deepEqual(Object.keys(TOOLS).sort(), tools.map(({ name }: { name: string }) => name).sort())
    const { resourceTemplates } = (await mcp(bob, 'resources/templates/list')).json.result
    assert.deepEqual(
      Object.keys(RESOURCES),
      resourceTemplates.map(({ uriTemplate }: { uriTemplate: string }) => uriTemplate),
    )
    const { prompts } = (await mcp(bob, 'prompts/list')).json.result
    assert.deepEqual(
      PROMPTS,
      prompts.map(({ name }: { name: string }) => name),
    )
  })
})

describe('without a valid token', () => {
  for (const { name, audience, ask, isRoute } of ROWS.filter(({ audience }) => audience !== 'public')) {
    test(`${name} is refused, and the answer reveals nothing`, async () => {
      for (const [kind, secret] of Object.entries(NOBODY)) {
        const { status, text, headers } = await ask(secret, targets['bob']!)
        assert.equal(status, 401, `${kind}, ${audience}`)
        assert.ok(!text.includes(CANARY))
        if (!isRoute) continue
        assert.equal(codeIn(text), 'UNAUTHORIZED')
        assert.match(headers.get('www-authenticate') ?? '', /^Bearer/)
      }
    })
  }
})

describe('roles', () => {
  for (const { name, audience, ask, isRoute } of ROWS) {
    test(`${name} is allowed for ${audience}`, async () => {
      for (const [role, secret] of [
        ['agent', carolsAgent],
        ['user', carol],
        ['admin', admin],
      ] as const) {
        const own = targets['carol']!
        const { status, text } = await ask(secret, role === 'admin' ? { ...own, session: '@carol/plans' } : own)
        if (OPEN_TO[audience].includes(role)) assert.ok(status !== 401 && status !== 403, `${role}: ${status} ${text}`)
        else assert.equal(status, 403, `${role}: ${text}`)
        if (status === 403 && isRoute) assert.equal(codeIn(text), 'FORBIDDEN')
        // Writes may conflict, so only permitted reads must succeed.
        if (status !== 403 && isRoute && name.startsWith('get ')) assert.equal(status, 200, `${role}: ${text}`)
        // An admin reads everybody's data; all others read their own.
        if (role !== 'admin') assert.ok(!text.includes(CANARY), role)
      }
    })
  }
})

/** What a session holds, each with the word: a request, a call, its result, and what an agent made of the result. */
const WORD = 'periwinkle'
const RECORDED = [
  said(`${WORD}: begin`),
  {
    role: 'assistant',
    parts: [
      { type: 'text', text: `I read ${WORD}` },
      { type: 'tool-call', id: 'w1', name: 'write_file', input: { path: `/${WORD}.ts`, content: WORD, intent: WORD } },
    ],
  },
  { role: 'tool', parts: [{ type: 'tool-result', id: 'w1', name: 'write_file', output: `${WORD} `.repeat(200) }] },
  { role: 'assistant', parts: [{ type: 'text', text: 'done' }] },
  said('go on'),
  { role: 'assistant', parts: [{ type: 'text', text: 'gladly' }] },
]

test('what a user has hidden, and what was made of it, an agent gets at no door', async () => {
  const [hanna, agent] = [(await token('hanna', 'user')).token, (await token('hanna', 'agent')).token]
  await call('POST', '/sessions', { token: hanna, body: { id: 'plans', messages: RECORDED } })
  const { json } = await call('GET', '/sessions/plans/parts', { token: agent })
  const { hash } = json.parts.find(({ entry }: { entry: number }) => entry === 2)
  const body = { action: 'distill', targets: [[hash, `about ${WORD}`]] }
  await call('POST', '/sessions/plans/edits', { token: agent, body })
  const hide = { target: { type: 'range', from: 0, to: 3 }, replacement: null, why: 'private' }
  const hidden = await call('POST', '/sessions/plans/edits/apply', { token: hanna, body: { edits: [hide] } })
  assert.equal(hidden.status, 201, hidden.text)
  const own = ['turns?entry=1', 'map?at=1', `around?id=${hash}`, 'parts/2/0', `recall?q=${WORD}`]
  const more = [...own.map(path => `/sessions/plans/${path}`), '/sessions?limit=9', '/families?limit=9']
  const rows = [
    ...ROWS.filter(({ audience }) => audience === 'everybody'),
    ...more.map(path => ({ name: path, ask: (secret?: string) => call('GET', path, { token: secret }) })),
    mcpRow('context', 'tools/call', { name: 'context', arguments: { action: 'list', session: 'plans' } }),
  ]
  const seenBy = async (secret: string) => {
    const seen: string[] = []
    for (const { name, ask } of rows) {
      const { text } = await ask(secret, { session: 'plans', user: 'hanna', proposal: 'p_none', hash })
      if (text.includes(WORD)) seen.push(name)
    }
    return seen
  }
  assert.deepEqual(await seenBy(agent), [])
  const told = await seenBy(hanna)
  for (const name of [...more, 'get /sessions/{session}/edits', 'mcp resource palimpsest://sessions/plans'])
    assert.ok(told.includes(name), name)
})

describe('requests from other sites', () => {
  for (const { name, ask } of ROWS.filter(({ isRoute }) => isRoute)) {
    test(`${name} refuses other host names and other origins`, async () => {
      for (const foreign of FOREIGN) {
        const { status, headers } = await ask(admin, { ...targets['carol']!, session: '@carol/plans' }, foreign)
        assert.equal(status, 403, JSON.stringify(foreign))
        assert.equal(headers.get('access-control-allow-origin'), null)
      }
    })
  }
})

describe("another user's data, for a user and their agent", () => {
  // Lists without a name in their path are checked below.
  for (const { name, audience, ask } of ROWS.filter(({ name, isRoute }) => isRoute && name.includes('{'))) {
    test(`${name} is refused, or finds nothing`, async () => {
      for (const role of ['user', 'agent'] as const) {
        const stranger = await token(`stranger at ${name}`, role)
        const { status } = await ask(stranger.token, targets['bob']!)
        const isForbidden = name.includes('{user}') || !OPEN_TO[audience].includes(role)
        // A turn creates the session that it names, for its caller.
        const otherwise = name === 'post /agent/sessions/{session}/turns' ? 200 : 404
        assert.equal(status, isForbidden ? 403 : otherwise)
      }
    })
  }

  test('nothing of it can be deleted', async () => {
    for (const secret of [alice, alicesAgent]) {
      for (const body of [{ sessions: ['@bob/plans'] }, { sessions: ['plans'] }, { before: 1e15 }])
        await call('POST', '/deletions', { token: secret, body })
      assert.equal((await call('DELETE', '/users/bob', { token: secret })).status, 403)
    }
    assert.deepEqual(await stateOf('bob', bob), settled)
  })

  test('nothing of it can be seen or changed, by any route and any name', async () => {
    const { proposal, hash } = targets['bob']!
    for (const { name, ask } of ROWS) {
      for (const secret of [alice, alicesAgent]) {
        for (const session of ['plans', '@bob/plans', 'proxied', '@bob/proxied']) {
          const { text } = await ask(secret, { session, user: 'bob', proposal, hash })
          assert.ok(!text.includes(CANARY), `${name}: ${text}`)
        }
      }
    }
    assert.deepEqual(await stateOf('bob', bob), settled)
  })

  test('answers about their own data do not name it or its owner', async () => {
    const own = { session: 'plans', user: 'nina', proposal: 'p_none', hash: '0'.repeat(24) }
    for (const role of ['user', 'agent'] as const) {
      const { token: secret } = await token('nina', role)
      // The refusal repeats the requested name.
      for (const { name, audience, ask } of ROWS.filter(row => !row.name.includes('bob'))) {
        const { text } = await ask(secret, own)
        if (OPEN_TO[audience].includes(role)) assert.doesNotMatch(text, /marmalade|\bbob\b/, name)
      }
    }
  })

  test('only its user can get the original of a text shortened for a gateway', async () => {
    const path = `/v1/retrieve/${targets['bob']!.hash}`
    assert.equal((await call('GET', path, { token: bobsAgent })).json.original_content, CANARY)
    for (const secret of [alice, alicesAgent]) assert.equal((await call('GET', path, { token: secret })).status, 404)
  })

  test('only its user finds it by search', async () => {
    assert.ok((await call('GET', `/recall?q=${ASKED}`, { token: bob })).json.hits.length > 0)
    for (const secret of [alice, alicesAgent]) {
      assert.deepEqual((await call('GET', `/recall?q=${ASKED}`, { token: secret })).json.hits, [])
    }
  })

  test('the refusal is the same whether the data exists or not', async () => {
    const shape = (text: string) => text.replaceAll(/plans|no-such/g, '…')
    for (const { name, audience, ask } of ROWS.filter(({ name }) => name.includes('{session}'))) {
      if (audience === 'admins') continue
      const fresh = (await token(`dave ${name}`, 'user')).token
      const there = await ask(fresh, { session: 'plans', user: 'x', proposal: 'p_none', hash: 'none' })
      const other = (await token(`erin ${name}`, 'user')).token
      const missing = await ask(other, { session: 'no-such', user: 'x', proposal: 'p_none', hash: 'none' })
      assert.equal(there.status, missing.status, name)
      // A turn has a session of its own, and answers.
      if (there.status !== 200) assert.equal(shape(there.text), shape(missing.text), name)
    }
  })

  test('live events report to each user only their own sessions, under the names that they use', async () => {
    const listen = async (secret: string) => {
      const request = new Request('http://localhost/events', { headers: { 'x-palimpsest-token': secret } })
      return (await server.fetch(request)).body!.pipeThrough(new TextDecoderStream()).getReader()
    }
    const [hers, his] = [await listen(alice), await listen(bob)]
    const grow = (secret: string) =>
      call('POST', '/sessions', {
        token: secret,
        body: { id: 'news', messages: [{ role: 'user', parts: [{ type: 'text', text: 'x' }] }] },
      })
    await grow(alice)
    // His session comes before hers, because the last changed one comes first.
    await grow(bob)
    const until = async (reader: typeof hers, wanted: RegExp) => {
      let heard = ''
      while (!wanted.test(heard)) {
        const { done, value } = await reader.read()
        if (done) break
        heard += value
      }
      await reader.cancel()
      return heard
    }
    const [toAlice, toBob] = await Promise.all([until(hers, /"news"/), until(his, /"news"/)])
    for (const heard of [toAlice, toBob]) {
      assert.equal(heard.match(/"news"/g)?.length, 1)
      assert.doesNotMatch(heard, /@alice|@bob/)
    }
  })
})
