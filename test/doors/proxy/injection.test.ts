import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { proxyOptionsFrom } from '../../../src/doors/commands/proxy-options.ts'
import { anthropic } from '../../../src/doors/proxy/anthropic.ts'
import { type InjectionOptions, inject, injectedTokens, newInjection } from '../../../src/doors/proxy/injection.ts'
import type { LateTool } from '../../../src/doors/proxy/late-tools.ts'
import { createProxy } from '../../../src/doors/proxy/proxy.ts'
import { HomeFolder } from '../../../src/files/folder.ts'
import { openMemory } from '../../../src/memory/open.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { builder, LOOPS } from './loops.ts'
import { setUp } from './setup.ts'

const HEADERS = { 'content-type': 'application/json' }
const user = (content: string) => ({ role: 'user', content })
const answer = { role: 'assistant', content: 'yes' }

async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<void> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body), headers: { ...HEADERS, ...headers } })
  assert.equal(response.status, 200, await response.text())
}

const FACT = '# User Context\n\nLikes proofs.'

/** The system prompt of a request before, and after the text was added. */
const CASES: [name: string, path: string, before: object, after: object][] = [
  ['Anthropic, none', '/v1/messages', {}, { system: FACT }],
  ['Anthropic, a string', '/v1/messages', { system: 'Be brief.' }, { system: `Be brief.\n\n${FACT}` }],
  [
    'Anthropic, four cache marks',
    '/v1/messages',
    {
      system: [
        { type: 'text', text: 'a', cache_control: { type: 'ephemeral', ttl: '1h' } },
        { type: 'text', text: 'b', cache_control: { type: 'ephemeral' } },
      ],
      tools: [{ name: 'bash', input_schema: { type: 'object' }, cache_control: { type: 'ephemeral', ttl: '1h' } }],
    },
    {
      system: [
        { type: 'text', text: 'a', cache_control: { type: 'ephemeral', ttl: '1h' } },
        { type: 'text', text: 'b', cache_control: { type: 'ephemeral' } },
        { type: 'text', text: FACT },
      ],
      tools: [{ name: 'bash', input_schema: { type: 'object' }, cache_control: { type: 'ephemeral', ttl: '1h' } }],
    },
  ],
  ['Responses, none', '/v1/responses', {}, { instructions: FACT }],
  ['Responses, instructions', '/v1/responses', { instructions: 'Hm.' }, { instructions: `Hm.\n\n${FACT}` }],
]

for (const [name, path, before, after] of CASES) {
  test(`${name}: the text is added after the system prompt, and nothing else changes`, async () => {
    await using it = await setUp(() => ({ text: 'yes' }), { policy: 'none', inject: { system: async () => FACT } })
    const marked = [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }]
    const said = path === '/v1/messages' ? { messages: [{ role: 'user', content: marked }] } : { input: [user('hi')] }
    await post(it.url + path, { model: 'claude', ...before, ...said })
    assert.deepEqual(it.upstream.requests[0]!.json, { model: 'claude', ...before, ...said, ...after })
    assert.deepEqual(it.faults, [])
  })
}

const CHATS: [name: string, before: object[], after: object[]][] = [
  ['no system message', [], [{ role: 'system', content: FACT }]],
  ['a string', [{ role: 'system', content: 'Hm.' }], [{ role: 'system', content: `Hm.\n\n${FACT}` }]],
  [
    'a list, from the developer',
    [{ role: 'developer', content: [{ type: 'text', text: 'Hm.' }] }],
    [
      {
        role: 'developer',
        content: [
          { type: 'text', text: 'Hm.' },
          { type: 'text', text: FACT },
        ],
      },
    ],
  ],
]

for (const [name, before, after] of CHATS) {
  test(`Chat Completions, ${name}: there is one system message, and it ends with the text`, async () => {
    await using it = await setUp(() => ({ text: 'yes' }), { policy: 'none', inject: { system: async () => FACT } })
    await post(`${it.url}/v1/chat/completions`, { model: 'gpt-4.1', messages: [...before, user('hi')] })
    assert.deepEqual(it.upstream.requests[0]!.json.messages, [...after, user('hi')])
  })
}

const PATHS = [
  { path: '/v1/messages', list: 'messages' },
  { path: '/v1/chat/completions', list: 'messages' },
  { path: '/v1/responses', list: 'input' },
]

for (const { path, list } of PATHS) {
  test(`${path}: a conversation keeps its first injected text, even after a restart; a new one gets the new text`, async t => {
    const home = await mkdtemp(join(tmpdir(), 'palimpsest-'))
    t.after(() => rm(home, { recursive: true }))
    let fact = 'Likes proofs.'
    const inject = { system: async () => fact }
    const talk = [user('hi'), answer, user('and?'), answer, user('so?')]
    const ask = (url: string, length: number, session: string) =>
      post(url + path, { model: 'gpt-5', [list]: talk.slice(0, length) }, { 'x-palimpsest-session': session })
    const bodies: string[] = []
    for (const run of [0, 1]) {
      const pal = await openPalimpsest({ home })
      {
        await using it = await setUp(() => ({ text: 'yes' }), { pal, policy: 'none', inject })
        await ask(it.url, run === 0 ? 1 : 5, 'old')
        fact = 'Likes pictures.'
        if (run === 0) await ask(it.url, 3, 'old')
        else await ask(it.url, 1, 'new')
        assert.deepEqual(it.faults, [])
        bodies.push(...it.upstream.requests.map(({ body }) => body))
      }
      await pal.close()
    }
    const [first, second, third, other] = bodies
    for (const body of [first, second, third]) assert.match(body!, /Likes proofs/)
    assert.match(other!, /Likes pictures/)
    // Apart from the later messages, all requests of the conversation are the same text.
    const told = (body: string) => JSON.stringify({ ...JSON.parse(body), [list]: JSON.parse(body)[list].slice(0, 1) })
    assert.equal(told(second!), told(first!))
    assert.equal(told(third!), told(first!))
  })
}

for (const { name, run } of LOOPS) {
  test(`${name} completes its rounds with memory, tools and edits at once`, async () => {
    const inject = { system: async () => FACT, tools: true }
    await using it = await setUp(builder(30), { policy: 'thrifty', inject })
    assert.match(await run(it.url), /all of it works/)
    await it.proxy.idle()
    assert.deepEqual(it.faults, [])
    assert.ok(it.proxy.meter.totals.edits > 5)
    for (const { body, json } of it.upstream.requests) {
      assert.equal(body.split('Likes proofs').length, 2)
      assert.equal(json.tools.length, 3)
    }
  })
}

test('the injected memory is that of the requesting user, or else of the configured one', async t => {
  const home = await mkdtemp(join(tmpdir(), 'palimpsest-'))
  t.after(() => rm(home, { recursive: true }))
  const memory = await openMemory({ home, env: {} })
  t.after(() => memory.close())
  for (const name of ['ada', 'bob']) {
    await memory.set(name, 'student', { body: `I am ${name}.`, by: `user:${name}` })
  }
  await using it = await setUp(() => ({ text: 'yes' }), { policy: 'none' })
  const env = { ANTHROPIC_BASE_URL: it.upstream.url, PALIMPSEST_WORKSPACE: join(home, 'workspace') }
  const options = await proxyOptionsFrom(
    { memory: 'ada', workspace: true },
    { env, files: new HomeFolder(home), settings: {}, memory: async () => memory },
  )
  const proxy = createProxy({ pal: it.pal, ...options })
  const ask = async (said: string, who?: { user: string }) => {
    const body = JSON.stringify({ model: 'claude', messages: [user(said)] })
    await (await proxy(new Request('http://x/v1/messages', { method: 'POST', body }), who)).text()
    return String(it.upstream.requests.at(-1)!.json.system)
  }
  const local = await ask('one')
  assert.match(local, /^# User Context\n\n## Student \(student\)\n\nI am ada\.\n\n═══ WORKSPACE KNOWLEDGE ═══/)
  assert.match(await ask('two', { user: 'bob' }), /I am bob/)
  await writeFile(join(home, 'workspace', 'MEMORY.md'), '- The build needs Node 24.\n')
  assert.match(await ask('three'), /The build needs Node 24/)
  await proxy.idle()
})

test('if memory cannot be read, the conversation continues without it', async () => {
  const system = async () => {
    throw new Error('the server of the memory is gone')
  }
  await using it = await setUp(() => ({ text: 'yes' }), { inject: { system } })
  const body = { model: 'claude', messages: [user('hi')] }
  await post(`${it.url}/v1/messages`, body)
  assert.deepEqual(it.upstream.requests[0]!.json, body)
  assert.match(it.faults.join(), /memory is gone/)
  await it.proxy.idle()
  assert.equal((await it.pal.sessions()).length, 1)
})

test('nothing is added if there is no text, and no tools to a client without tools', async () => {
  const added = (tools: object[], inject: InjectionOptions) =>
    newInjection({ dialect: anthropic, body: { tools }, user: undefined }, inject)
  const bash = { name: 'bash', input_schema: {} }
  assert.equal(await added([bash], {}), undefined)
  assert.equal(await added([bash], { system: async () => '' }), undefined)
  assert.equal(await added([], { tools: true }), undefined)
  assert.deepEqual(await added([], { tools: true, system: async () => FACT }), { system: FACT })
  const own = await added([bash], { tools: true, system: async () => '' })
  assert.deepEqual(Object.keys(own!), ['tools'])
  assert.equal(injectedTokens(undefined), 0)
  assert.equal(injectedTokens({ system: 'x'.repeat(400) }), Math.ceil('{"system":""}'.length / 4 + 100))
})

test('a body that has no list of tools gets none', () => {
  const tools: LateTool[] = [{ name: 'recall', tool: 'recall', definition: { name: 'recall' } }]
  for (const body of [{}, { tools: [] }, { tools: 'odd' }]) assert.equal(inject(anthropic, body, { tools }), body)
  const bash = { name: 'bash' }
  assert.deepEqual(inject(anthropic, { tools: [bash] }, { tools }), { tools: [bash, { name: 'recall' }] })
  const taken = { tools: [bash, { name: 'recall', description: 'own' }] }
  assert.equal(inject(anthropic, taken, { tools }), taken, "the client's tool wins")
})
