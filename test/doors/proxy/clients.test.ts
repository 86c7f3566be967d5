/**
 * Real agents, headless, against the scripted provider: `npm run test:clients` installs them at fixed versions and runs
 * this in a network namespace that has only loopback. Elsewhere each test is skipped and says so.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { launchOf } from '../../../src/doors/commands/launch.ts'
import { anthropic } from '../../../src/doors/proxy/anthropic.ts'
import type { ProxyDialect } from '../../../src/doors/proxy/dialect.ts'
import { type Front, serveProxy } from '../../../src/doors/proxy/front.ts'
import { gemini } from '../../../src/doors/proxy/gemini.ts'
import type { InjectionOptions } from '../../../src/doors/proxy/injection.ts'
import { openaiChat } from '../../../src/doors/proxy/openai-chat.ts'
import { openaiResponses } from '../../../src/doors/proxy/openai-responses.ts'
import { createProxy, type PalimpsestProxy } from '../../../src/doors/proxy/proxy.ts'
import type { Message } from '../../../src/model/types.ts'
import { openPalimpsest, type Palimpsest } from '../../../src/session/engine.ts'
import { keyOf } from '../../../src/view/sync.ts'
import { startGemini } from '../../gemini-upstream.ts'
import { checkingAnthropic } from '../../providers/checking-anthropic.ts'
import { checkingOpenAI } from '../../providers/checking-openai.ts'
import { type Received, type Script, startUpstream, type Turn, type Upstream } from '../../upstream.ts'
import { entriesOf, largeOutput } from './setup.ts'

const CLIENTS = process.env['PALIMPSEST_CLIENTS'] ?? ''
const ROUNDS = 44
const DONE = 'Everything is built, and all of it works.'
const TASK = 'Build every part with build.sh, one after the other.'

type Client = {
  name: string
  program: string
  dialect: ProxyDialect
  /** The provider that it talks to, where it is not the usual one. */
  start?: (script: Script) => Promise<Upstream>
  /** Whether it shortens what it has sent before, so that the conversation forks. */
  forks?: true
  /** Whether it gives up by itself when a stream breaks off. */
  needsWholeStreams?: true
  /** Files in the home of the agent. */
  files?: (url: string) => Record<string, string>
  args: string[]
  env: (home: string) => Record<string, string>
}

const pi = (dialect: ProxyDialect, api: string, base: string): Client => ({
  name: `pi (${dialect.name})`,
  program: 'pi',
  dialect,
  files: url => ({
    '.pi/agent/models.json': JSON.stringify({
      providers: {
        fake: {
          baseUrl: `${url}${base}`,
          api,
          apiKey: 'dummy',
          models: [{ id: 'fake-model', contextWindow: 200_000, maxTokens: 8192 }],
        },
      },
    }),
  }),
  args: ['-p', '--mode', 'json', '--provider', 'fake', '--model', 'fake-model', TASK],
  env: () => ({ PI_OFFLINE: '1' }),
})

const CODEX = `model = "gpt-5.1-codex"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
`

const opencodeConfig = (url: string) =>
  JSON.stringify({
    provider: {
      fake: {
        npm: '@ai-sdk/openai-compatible',
        options: { baseURL: `${url}/openai/v1`, apiKey: 'dummy' },
        models: { 'fake-model': { limit: { context: 200_000, output: 8192 } } },
      },
    },
    model: 'fake/fake-model',
    small_model: 'fake/fake-model',
    enabled_providers: ['fake'],
    permission: { '*': 'allow' },
    autoupdate: false,
    share: 'disabled',
  })

const CLIENTS_TO_RUN: Client[] = [
  pi(anthropic, 'anthropic-messages', '/anthropic'),
  pi(openaiChat, 'openai-completions', '/openai/v1'),
  pi(openaiResponses, 'openai-responses', '/openai/v1'),
  {
    name: 'Claude Code',
    program: 'claude',
    dialect: anthropic,
    args: ['-p', TASK, '--model', 'claude-sonnet-4-5', '--dangerously-skip-permissions', '--output-format', 'json'],
    env: () => ({
      ANTHROPIC_API_KEY: 'sk-ant-dummy',
      IS_SANDBOX: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      DISABLE_AUTOUPDATER: '1',
    }),
  },
  {
    name: 'Codex',
    program: 'codex',
    dialect: openaiResponses,
    files: () => ({ '.codex/config.toml': CODEX }),
    args: ['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', TASK],
    env: () => ({ CODEX_API_KEY: 'dummy' }),
  },
  {
    name: 'opencode',
    program: 'opencode',
    dialect: openaiChat,
    files: url => ({ 'opencode.json': opencodeConfig(url) }),
    args: ['run', '--format', 'json', TASK],
    env: home => ({
      OPENCODE_CONFIG: join(home, 'opencode.json'),
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    }),
  },
  {
    name: 'Gemini CLI',
    program: 'gemini',
    dialect: gemini,
    start: startGemini,
    forks: true,
    needsWholeStreams: true,
    files: () => ({
      '.gemini/settings.json': JSON.stringify({
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
        general: { disableAutoUpdate: true },
      }),
    }),
    args: ['-p', TASK, '--yolo', '-m', 'gemini-2.5-pro', '-o', 'json'],
    env: () => ({ GEMINI_API_KEY: 'dummy', GEMINI_CLI_TRUST_WORKSPACE: 'true' }),
  },
]

type World = {
  upstream: Upstream
  proxy: PalimpsestProxy
  front: Front
  pal: Palimpsest
  home: string
  /** What the agent sent, in order. */
  received: { path: string; headers: Pick<Headers, 'get'>; body: string }[]
  faults: string[]
  [Symbol.asyncDispose](): Promise<void>
}

type Given = { policy?: string; inject?: InjectionOptions }

async function worldFor(
  { start = startUpstream }: Client,
  script: Script,
  { policy = 'thrifty', inject = {} }: Given = {},
): Promise<World> {
  const upstream = await start(script)
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

async function runClient({ program, args, env, files }: Client, { front, home }: World) {
  const work = join(home, 'work')
  await mkdir(work)
  const build = '#!/bin/sh\nseq -f "part $1 step %g: compiled without a warning in 12 ms" 1 250\n'
  await writeFile(join(work, 'build.sh'), build)
  for (const [path, content] of Object.entries(files?.(front.url) ?? {})) {
    await mkdir(dirname(join(home, path)), { recursive: true })
    await writeFile(join(home, path), content)
  }
  const folder = join(home, 'run')
  await mkdir(folder)
  const own = { HOME: home, PATH: process.env['PATH'], LANG: 'C.UTF-8', ...env(home) }
  const command = join(CLIENTS, 'node_modules', '.bin', program)
  const launch = await launchOf(command, { url: front.url, args, env: own, folder })
  const child = spawn(launch.command, launch.args, { cwd: work, env: launch.env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>(resolve => child.on('exit', resolve))
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { out, err, code }
}

type Schema = { properties?: Record<string, { type?: string }>; required?: string[] }

/** A call of the shell of whoever asks, made from the schema that it declares. */
function shellCall({ json }: Received, part: number): NonNullable<Turn['calls']>[number] | undefined {
  // biome-ignore lint/suspicious/noExplicitAny: tools of four dialects
  const tools: any[] = (json.tools ?? []).flatMap((tool: any) => tool.functionDeclarations ?? tool.function ?? tool)
  const tool = tools.find(({ name }) =>
    /^(?:bash|shell|shell_command|exec_command|run_shell_command)$/i.test(name ?? ''),
  )
  if (!tool) return undefined
  const { properties = {}, required = [] }: Schema =
    tool.input_schema ?? tool.parameters ?? tool.parametersJsonSchema ?? {}
  const line = `sh build.sh ${part}`
  const key = properties['cmd'] ? 'cmd' : 'command'
  const rest = required.filter(name => name !== key).map(name => [name, 'x'])
  const command = properties[key]?.type === 'array' ? ['sh', '-c', line] : line
  return { name: tool.name, input: { ...Object.fromEntries(rest), [key]: command } }
}

/** A model that builds one part after the other, thinks about each, and then is done. */
function building(rounds: number, usage?: Turn['usage']): (received: Received) => Turn {
  let part = 0
  return received => {
    const call = shellCall(received, part)
    if (!call || part >= rounds) return { text: call ? DONE : 'A title', ...(usage ? { usage } : {}) }
    part++
    const thinking = { text: `Part ${part} is next.`, signature: 'c2lnbmF0dXJl' }
    return { thinking, text: `Part ${part}.`, calls: [call], ...(usage ? { usage } : {}) }
  }
}

const isThere = (program: string) => CLIENTS !== '' && existsSync(join(CLIENTS, 'node_modules', '.bin', program))

function clientTest(name: string, client: Client, work: (client: Client) => Promise<void>): void {
  const skip = isThere(client.program) ? false : `${client.name} is not installed: npm run test:clients`
  test(name, { skip, timeout: 240_000 }, () => work(client))
}

/** The longest conversation that the agent sent. */
function longest({ received }: World, dialect: ProxyDialect): Message[] {
  const all = received
    .filter(({ path }) => dialect.path.test(path.replace(/^\/(?:anthropic|openai|gemini)/, '')))
    .map(({ body }) => dialect.read(JSON.parse(body)))
  return all.reduce<Message[]>((best, messages) => (messages && messages.length >= best.length ? messages : best), [])
}

for (const one of CLIENTS_TO_RUN) {
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
      const { tokensIn, tokensSent } = world.proxy.meter.totals
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

/** A model behind a bad line: overloaded once, broken off once, with a call of a tool that is not there, and narrow. */
function troubled(rounds: number, room: number, cuts: boolean) {
  const answers = building(rounds)
  const seen = { refused: 0, requests: 0 }
  let most: number | undefined
  const script = (received: Received): Turn => {
    if (!shellCall(received, 0)) return { text: 'A title' }
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

for (const one of CLIENTS_TO_RUN) {
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

/** A model that runs one command, asks our own tool about it, and is done. */
function recalling(): (received: Received) => Turn {
  let round = 0
  return received => {
    const call = shellCall(received, 1)
    if (!call) return { text: 'A title' }
    round++
    if (round === 1) return { text: 'Part 1.', calls: [call] }
    if (round === 2) return { text: 'What was it?', calls: [{ name: 'recall', input: { query: 'compiled warning' } }] }
    return { text: DONE }
  }
}

for (const one of CLIENTS_TO_RUN) {
  clientTest(`${one.name} lets the model use tools of ours that it does not have`, one, async client => {
    const system = async () => 'The user likes short answers.'
    await using world = await worldFor(client, recalling(), { inject: { tools: true, system } })
    const { out, err, code } = await runClient(client, world)
    await world.proxy.idle()
    assert.equal(code, 0, err + out.slice(-2000))
    assert.match(out, /all of it works/)
    assert.deepEqual(world.faults, [])
    const last = world.upstream.requests.filter(received => shellCall(received, 1)).at(-1)!.body
    assert.match(last, /\d hits?, \d+ of them not in view/)
    assert.equal(last.split('The user likes short answers.').length, 2)
    // The client's own words about it are in the ledger, and nowhere else.
    assert.ok(world.received.some(({ body }) => !body.includes('of them not in view') && /recall/.test(body)))
  })
}

/** Agents on providers that check. Codex compacts by itself in a longer run, and then wants a provider that can. */
const CHECKED = [
  { program: 'claude', check: checkingAnthropic, rounds: 100 },
  { program: 'codex', check: checkingOpenAI, rounds: 40 },
]
const onBoundModel = (arg: string) => (arg === 'claude-sonnet-4-5' ? 'claude-opus-5-5' : arg)

for (const { program, check, rounds } of CHECKED) {
  const one = CLIENTS_TO_RUN.find(client => client.program === program)!
  clientTest(
    `${one.name} on a provider that checks: ${rounds} rounds, no refusal, no higher bill`,
    one,
    async client => {
      const run = async (policy: string) => {
        const provider = check(building(rounds))
        const checked = { ...client, start: () => startUpstream(provider.script), args: client.args.map(onBoundModel) }
        await using world = await worldFor(checked, building(0), { policy })
        const { out, err, code } = await runClient(checked, world)
        assert.equal(code, 0, err + out.slice(-2000))
        assert.match(out, /all of it works/)
        assert.deepEqual([...world.faults, ...provider.refusals], [])
        return provider.bill.dollars
      }
      const without = await run('none')
      const dollars = await run('thrifty')
      assert.ok(dollars <= without * 1.001, `$${dollars} with us, $${without} without`)
    },
  )
}

/** Those that compact by themselves when they read that the window fills, and then do not stop any more. */
for (const one of CLIENTS_TO_RUN.filter(({ program }) => program === 'codex' || program === 'opencode')) {
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

/** A chat of Google's SDK that answers every call; gives what the model said last. */
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

const SDK_CLIENT: Client = {
  name: "Google's SDK",
  program: '',
  dialect: gemini,
  start: startGemini,
  args: [],
  env: () => ({}),
}
const skipSdk = CLIENTS !== '' && existsSync(SDK) ? false : "Google's SDK is not installed: npm run test:clients"

test(`Google's SDK completes ${ROUNDS} rounds with edits, and the ledger holds what it sent`, {
  skip: skipSdk,
}, async () => {
  await using world = await worldFor(SDK_CLIENT, building(ROUNDS))
  assert.match(await sdkChat(world.front.url), /all of it works/)
  await world.proxy.idle()
  assert.deepEqual(world.faults, [])
  const { edits, tokensIn, tokensSent } = world.proxy.meter.totals
  assert.ok(edits > 5 && tokensSent < tokensIn * 0.9, `${edits} edits, ${tokensSent} of ${tokensIn} tokens sent`)
  const [session, ...more] = await world.pal.sessions({ limit: 100 })
  assert.deepEqual(more, [])
  assert.deepEqual((await entriesOf(world.pal, session!.id)).map(keyOf), longest(world, gemini).map(keyOf))
})

test("Google's SDK gets its bytes through unchanged when nothing is edited", { skip: skipSdk }, async () => {
  await using world = await worldFor(SDK_CLIENT, building(2), { policy: 'none' })
  await sdkChat(world.front.url)
  const bodies = world.upstream.requests.map(({ body }) => body)
  assert.deepEqual(
    bodies,
    world.received.map(({ body }) => body),
  )
})
