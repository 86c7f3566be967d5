/**
 * Real agents, headless, against the scripted provider: `npm run test:clients` installs them at fixed versions and runs
 * this in a network namespace that has only loopback. Elsewhere each test is skipped and says so.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import type { ProxyDialect } from '../../../src/doors/proxy/dialect.ts'
import { type Front, serveProxy } from '../../../src/doors/proxy/front.ts'
import { gemini } from '../../../src/doors/proxy/gemini.ts'
import type { InjectionOptions } from '../../../src/doors/proxy/injection.ts'
import { createProxy, type PalimpsestProxy } from '../../../src/doors/proxy/proxy.ts'
import type { Message } from '../../../src/model/types.ts'
import { openPalimpsest, type Palimpsest } from '../../../src/session/engine.ts'
import { keyOf } from '../../../src/view/sync.ts'
import { startGemini } from '../../gemini-upstream.ts'
import { type Received, type Script, startUpstream, type Turn, type Upstream } from '../../upstream.ts'
import { CLIENTS, type Client, furnish, isThere, runPrompt, shellCall, TASK, USUAL } from './real-clients.ts'
import { entriesOf, largeOutput } from './setup.ts'

const ROUNDS = 44
const DONE = 'Everything is built, and all of it works.'
const ASK = { prompt: TASK, again: false }

type World = {
  upstream: Upstream
  proxy: PalimpsestProxy
  front: Front
  pal: Palimpsest
  home: string
  /** The requests of the agent, in order. */
  received: { path: string; headers: Pick<Headers, 'get'>; body: string }[]
  faults: string[]
  [Symbol.asyncDispose](): Promise<void>
}

type Given = { policy?: string; inject?: InjectionOptions }

async function worldFor(
  { dialect }: Pick<Client, 'dialect'>,
  script: Script,
  { policy = 'thrifty', inject = {} }: Given = {},
): Promise<World> {
  const upstream = await (dialect === gemini ? startGemini : startUpstream)(script)
  const home = await mkdtemp(join(tmpdir(), 'palimpsest-client-'))
  const pal = await openPalimpsest({ home: join(home, '.palimpsest') })
  const faults: string[] = []
  const upstreams = { anthropic: upstream.url, openai: `${upstream.url}/v1`, gemini: upstream.url }
  const proxy = createProxy({ pal, policy, inject, upstreams, log: line => faults.push(line) })
  const received: World['received'] = []
  const front = await serveProxy(async request => {
    const { pathname: path } = new URL(request.url)
    const chunks: Buffer[] = []
    request.source
      ?.on('data', chunk => chunks.push(chunk))
      .on('end', () => received.push({ path, headers: request.headers, body: Buffer.concat(chunks).toString() }))
    return proxy(request)
  })
  const dispose = async () => {
    await front.close()
    await proxy.idle()
    await upstream.close()
    await pal.close()
    await rm(home, { recursive: true, force: true, maxRetries: 3 })
  }
  return { upstream, proxy, front, pal, home, received, faults, [Symbol.asyncDispose]: dispose }
}

async function runClient(client: Client, { front, home }: World) {
  const { model } = client
  const place = { url: front.url, home, model }
  await furnish(client, place)
  return runPrompt(client, place, { ...ASK, model })
}

/** A model that builds one part after the other, thinks about each, and then ends. */
function building(rounds: number, usage?: Turn['usage']): (received: Received) => Turn {
  let part = 0
  return received => {
    const call = shellCall(received, `sh build.sh ${part} 250`)
    if (!call || part >= rounds) return { text: call ? DONE : 'A title', ...(usage ? { usage } : {}) }
    part++
    const thinking = { text: `Part ${part} is next.`, signature: 'c2lnbmF0dXJl' }
    return { thinking, text: `Part ${part}.`, calls: [call], ...(usage ? { usage } : {}) }
  }
}

function clientTest(name: string, client: Client, work: (client: Client) => Promise<void>): void {
  const skip = isThere(client) ? false : `${client.name} is not installed: npm run test:clients`
  test(name, { skip, timeout: 600_000 }, () => work(client))
}

/** The longest conversation that the agent sent. */
function longest({ received }: World, dialect: ProxyDialect): Message[] {
  const all = received
    .filter(({ path }) => dialect.path.test(path.replace(/^\/(?:anthropic|openai|gemini)/, '')))
    .map(({ body }) => dialect.read(JSON.parse(body)))
  return all.reduce<Message[]>((best, messages) => (messages && messages.length >= best.length ? messages : best), [])
}

for (const one of USUAL) {
  clientTest(
    `${one.name} completes ${ROUNDS} rounds with edits, and the ledger holds what it sent`,
    one,
    async client => {
      await using world = await worldFor(client, building(ROUNDS))
      const { out, err, code } = await runClient(client, world)
      await world.proxy.idle()
      assert.equal(code, 0, err + out.slice(-2000))
      assert.match(out, /all of it works/)
      assert.deepEqual(world.faults, [])
      assert.ok(world.proxy.meter.totals.edits > 5, `only ${world.proxy.meter.totals.edits} edits`)
      const { tokensIn, tokensSent } = await world.proxy.totals()
      assert.ok(tokensSent < tokensIn * 0.9, `${tokensSent} of ${tokensIn} tokens were sent`)
      const sent = longest(world, client.dialect).map(keyOf)
      assert.ok(sent.length > ROUNDS)
      const sessions = await world.pal.sessions({ limit: 100 })
      const kept = await Promise.all(sessions.map(async ({ id }) => (await entriesOf(world.pal, id)).map(keyOf)))
      assert.ok(
        kept.some(entries => entries.join() === sent.join()),
        'no session holds what was sent',
      )
      const turns = sessions.filter(({ length, id }) => length > 6 && !/\b(?:title|other|compaction|check)-/.test(id))
      const conversations = client.forks ? turns.filter(({ id }) => !id.includes('-fork-')) : turns
      assert.equal(
        conversations.length,
        1,
        `sessions: ${sessions.map(({ id, length }) => `${id} (${length})`).join(', ')}`,
      )
    },
  )

  clientTest(`${one.name} gets its bytes through unchanged when nothing is edited`, one, async client => {
    await using world = await worldFor(client, building(2), { policy: 'none' })
    const { out, err, code } = await runClient(client, world)
    assert.equal(code, 0, err + out.slice(-2000))
    assert.deepEqual(
      world.upstream.requests.map(({ body }) => body),
      world.received.map(({ body }) => body),
    )
  })
}

const OVERLOADED = { status: 529, body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } } }
const TOO_LONG = {
  type: 'error',
  error: {
    type: 'invalid_request_error',
    message: 'prompt is too long: 212345 tokens > 200000 maximum',
    code: 'context_length_exceeded',
  },
}

/** A model on a bad connection: one overload, one cut stream, a call of a missing tool, and a small window. */
function troubled(rounds: number, room: number, cuts: boolean) {
  const answers = building(rounds)
  const seen = { refused: 0, requests: 0 }
  let most: number | undefined
  const script = (received: Received): Turn => {
    if (!shellCall(received, 'true')) return { text: 'A title' }
    seen.requests++
    most ??= received.body.length + room
    if (seen.requests === 2) return { error: OVERLOADED }
    if (received.body.length > most) {
      seen.refused++
      return { error: { status: 400, body: TOO_LONG } }
    }
    if (seen.requests === 6) return { calls: [{ name: 'no_such_tool', input: { a: 1 } }] }
    const turn = answers(received)
    return seen.requests === 4 && cuts ? { text: 'This will break', cutAfter: 3 } : turn
  }
  return { script, seen }
}

for (const one of USUAL) {
  clientTest(
    `${one.name} comes through an overload, ${one.needsWholeStreams ? '' : 'a cut stream, '}an unknown tool and an overflow`,
    one,
    async client => {
      const { script, seen } = troubled(16, 60_000, !client.needsWholeStreams)
      await using world = await worldFor(client, script)
      const { out, err, code } = await runClient(client, world)
      assert.equal(code, 0, err + out.slice(-2000))
      assert.match(out, /all of it works/)
      assert.ok(seen.refused > 0, 'nothing was refused')
      assert.deepEqual(world.faults, [])
    },
  )
}

/** A model that runs one command, asks our own tool about it, and ends. */
function recalling(): (received: Received) => Turn {
  let round = 0
  return received => {
    const call = shellCall(received, 'sh build.sh 1 250')
    if (!call) return { text: 'A title' }
    round++
    if (round === 1) return { text: 'Part 1.', calls: [call] }
    if (round === 2) return { text: 'What was it?', calls: [{ name: 'recall', input: { query: 'compiled warning' } }] }
    return { text: DONE }
  }
}

for (const one of USUAL) {
  clientTest(`${one.name} lets the model use tools of ours that it does not have`, one, async client => {
    const system = async () => 'The user likes short answers.'
    await using world = await worldFor(client, recalling(), { inject: { tools: true, system } })
    const { out, err, code } = await runClient(client, world)
    await world.proxy.idle()
    assert.equal(code, 0, err + out.slice(-2000))
    assert.match(out, /all of it works/)
    assert.deepEqual(world.faults, [])
    const last = world.upstream.requests.filter(received => shellCall(received, 'sh build.sh 1 250')).at(-1)!.body
    assert.match(last, /\d hits?, \d+ of them not in view/)
    assert.equal(last.split('The user likes short answers.').length, 2)
    // The client's own error is in the ledger, and nowhere else.
    assert.ok(world.received.some(({ body }) => !body.includes('of them not in view') && /recall/.test(body)))
  })
}

/** Agents that compact by themselves when they read that the window fills, and then never stop. */
for (const one of USUAL.filter(({ program }) => program === 'codex' || program === 'opencode')) {
  clientTest(`${one.name} is spared its own compaction when the provider counts high`, one, async client => {
    const answers = building(40)
    await using world = await worldFor(client, received => ({
      ...answers(received),
      usage: { input: received.body.length },
    }))
    const { out, err, code } = await runClient(client, world)
    assert.equal(code, 0, err + out.slice(-2000))
    assert.match(out, /all of it works/)
    const unedited = Math.max(...world.received.map(({ body }) => body.length))
    assert.ok(unedited > 272_000, `the agent sent only ${unedited} bytes`)
    const compacts = /CHECKPOINT COMPACTION|compaction_trigger|anchored summary|detailed prompt for continuing/
    assert.ok(!world.received.some(({ body }) => compacts.test(body)))
    assert.ok(world.received.length < 60, `it asked ${world.received.length} times`)
  })
}

const SDK = join(CLIENTS, 'node_modules', '@google', 'genai', 'dist', 'node', 'index.mjs')

/** A chat of Google's SDK that answers every call; returns the last text of the model. */
async function sdkChat(url: string): Promise<string> {
  const { GoogleGenAI } = await import(pathToFileURL(SDK).href)
  const ai = new GoogleGenAI({ apiKey: 'dummy', httpOptions: { baseUrl: `${url}/gemini` } })
  const parametersJsonSchema = { type: 'object', properties: { command: { type: 'string' } } }
  const tools = [{ functionDeclarations: [{ name: 'bash', description: 'Runs a command.', parametersJsonSchema }] }]
  const chat = ai.chats.create({ model: 'gemini-3-pro-preview', config: { systemInstruction: 'Be brief.', tools } })
  let message: unknown = TASK
  for (let round = 0; ; round++) {
    let said = ''
    const calls: { id?: string; name: string }[] = []
    for await (const piece of await chat.sendMessageStream({ message })) {
      said += piece.text ?? ''
      calls.push(...(piece.functionCalls ?? []))
    }
    if (calls.length === 0) return said
    const response = { output: largeOutput(round) }
    message = calls.map(({ id, name }) => ({ functionResponse: { ...(id ? { id } : {}), name, response } }))
  }
}

const SDK_CLIENT = { dialect: gemini }
const skipSdk = CLIENTS !== '' && existsSync(SDK) ? false : "Google's SDK is not installed: npm run test:clients"

test(`Google's SDK completes ${ROUNDS} rounds with edits, and the ledger holds what it sent`, {
  skip: skipSdk,
}, async () => {
  await using world = await worldFor(SDK_CLIENT, building(ROUNDS))
  assert.match(await sdkChat(world.front.url), /all of it works/)
  await world.proxy.idle()
  assert.deepEqual(world.faults, [])
  const { edits, tokensIn, tokensSent } = await world.proxy.totals()
  assert.ok(edits > 5 && tokensSent < tokensIn * 0.9, `${edits} edits, ${tokensSent} of ${tokensIn} tokens sent`)
  const [session, ...more] = await world.pal.sessions({ limit: 100 })
  assert.deepEqual(more, [])
  assert.deepEqual((await entriesOf(world.pal, session!.id)).map(keyOf), longest(world, gemini).map(keyOf))
})

test("with no edits, Google's SDK sends and receives unchanged bytes", { skip: skipSdk }, async () => {
  await using world = await worldFor(SDK_CLIENT, building(2), { policy: 'none' })
  await sdkChat(world.front.url)
  const bodies = world.upstream.requests.map(({ body }) => body)
  assert.deepEqual(
    bodies,
    world.received.map(({ body }) => body),
  )
})
