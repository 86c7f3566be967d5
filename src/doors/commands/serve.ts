/** `serve`: runs the HTTP server on a home until it is told to stop. */

import { setFlagsFromString } from 'node:v8'
import type { AgentDesk } from '../../agent/desk.ts'
import type { Memory } from '../../memory/memory.ts'
import { DEFAULT_PORT } from '../../model/defaults.ts'
import { PalimpsestError } from '../../model/errors.ts'
import type { Palimpsest } from '../../session/engine.ts'
import type { SettingsGiven } from '../../session/settings.ts'
import type { Outbox } from '../server/outbox.ts'
import type { Listening } from '../server/server.ts'
import { defineCommand, type Io, numberOption } from '../terminal/command.ts'
import { warnOfReaders } from '../terminal/home-readers.ts'
import { PROXY_OPTIONS } from './proxy-options.ts'

export const serve = defineCommand({
  name: 'serve',
  summary: 'serve sessions, memory, the agent, the proxy and MCP over HTTP',
  usage: '',
  details:
    'Needs no token on loopback. Other addresses and host names always need one (palimpsest token create).\n' +
    `Without --port it uses ${DEFAULT_PORT}, or a free port if that is taken. Ctrl-C stops it after running requests are done.`,
  examples: [
    'palimpsest serve',
    'palimpsest serve --port 9000 --require-token',
    'palimpsest serve --host 0.0.0.0 --allow-host memory.example.org',
  ],
  options: {
    port: {
      type: 'string',
      short: 'p',
      value: 'N',
      about: `the port to listen on (${DEFAULT_PORT}; 0 for a free one)`,
    },
    host: { type: 'string', value: 'HOST', about: 'the address to listen on (127.0.0.1)' },
    'allow-host': { type: 'string', multiple: true, value: 'NAME', about: 'another host name of this server' },
    'public-url': {
      type: 'string',
      value: 'URL',
      about: 'the public address, for links in answers (the address of the request)',
    },
    'require-token': { type: 'boolean', about: 'require a token on loopback too' },
    rate: { type: 'string', value: 'N', about: 'requests per second for each caller (50; 0 for no limit)' },
    ...PROXY_OPTIONS,
    'agent-root': {
      type: 'string',
      value: 'DIR',
      about: 'let all users of the agent use files and commands in this folder',
    },
    sample: { type: 'boolean', about: 'create the sample session first, with its memory proposal' },
    demo: { type: 'boolean', about: 'use a scripted agent on a sample project if no model is configured' },
  },
  async run({ values, home, io, open }) {
    tuneForServing()
    const port = numberOption(values.port, '--port')
    const rate = numberOption(values.rate, '--rate')
    if (port !== undefined && port > 65_535) throw new PalimpsestError('INVALID_INPUT', '--port is at most 65535.')
    const { openMemory } = await import('../../memory/open.ts')
    const { openServerStore } = await import('../server/server-store.ts')
    const { findWeb } = await import('../server/web.ts')
    const { doorsOf } = await import('./serve-doors.ts')
    const { configPath, readConfig } = await import('../../session/config.ts')
    const { adoptOwners } = await import('../server/adopt-owners.ts')
    warnOfReaders(home, io)
    const config = await readConfig(configPath(home), { mustExist: false })
    const publicUrl = values['public-url'] ?? config?.publicUrl
    const store = await openServerStore(home, io.env)
    await adoptOwners(home, store)
    const pal = await open({ create: true, threaded: true })
    const { NAMELESS, ownName } = await import('../server/users.ts')
    const { workspacesIn } = await import('../../session/workspaces.ts')
    const own = [ownName(io.env), NAMELESS, values.memory, config?.agent?.user].filter(name => name !== undefined)
    const workspaceOf = await workspacesIn({ home, env: io.env, files: pal.files }, own)
    const memory = await openMemory({ home, env: io.env, workspaceOf })
    if (values.sample) await makeSample(pal, memory)
    const agent = await openDesk(
      { home, env: io.env, pal, memory },
      { root: values['agent-root'], demo: values.demo === true },
    )
    const log = (line: string) => void io.stderr.write(`${line}\n`)
    const { startTelemetry } = await import('../../session/telemetry.ts')
    const telemetry = startTelemetry({ memory, env: io.env, log })
    const hasTokens = (await store.tokens({ limit: 1 })).length > 0
    const { serve: start } = await import('../server/server.ts')
    const outbox = await openOutbox(io.env)
    const listening = await start({
      port: port ?? DEFAULT_PORT,
      orFreePort: port === undefined,
      pal,
      memory,
      workspace: workspaceOf(NAMELESS),
      store,
      agent,
      outbox,
      mount: await doorsOf({
        pal,
        memory,
        agent,
        values,
        env: io.env,
        log,
        publicUrl,
        linkKey: await store.secret('links'),
        told: store,
        noticeInAnswers: config?.noticeInAnswers,
      }),
      requireToken: values['require-token'] === true,
      host: values.host,
      allowHosts: values['allow-host'] ?? [],
      ...(values['allow-host'] === undefined ? { agentsEnv: io.env } : {}),
      given: { env: io.env, flags: flagsIn(values, home) },
      sample: values.sample === true,
      ...(rate === undefined ? {} : { rate: rate > 0 && { perSecond: rate, burst: rate * 6 } }),
      log,
    })
    const { keepRetention } = await import('../server/retention.ts')
    const stopRetention = keepRetention({ pal, store }, { log })
    const stopped = untilStopped()
    const hasWeb = findWeb() !== undefined
    announce(listening, { io, home, port, hasWeb, hasTokens })
    keepYoungSpace()
    await stopped
    io.stderr.write('Stopping after running requests are done.\n')
    await stopRetention()
    await listening.close()
    await telemetry?.close()
    return undefined
  },
})

/** The flags that override a setting, by the setting's key. */
const FLAGS = {
  policy: 'policy',
  keep: 'keep',
  protect: 'protect',
  anchor: 'anchor',
  marks: 'marks',
  publicUrl: 'public-url',
  'upstreams.anthropic': 'anthropic-upstream',
  'upstreams.openai': 'openai-upstream',
  'upstreams.gemini': 'gemini-upstream',
} as const

function flagsIn(values: { readonly [name: string]: unknown }, home: string): NonNullable<SettingsGiven['flags']> {
  const given = Object.entries(FLAGS).filter(([, name]) => values[name] !== undefined)
  const flags = given.map(([key, name]) => [key, { value: values[name], flag: `--${name}` }] as const)
  return Object.fromEntries('home' in values ? [...flags, ['home', { value: home, flag: '--home' }]] : flags)
}

/** Creates the sample session, and puts its agent's proposals into the inbox of this machine's user. */
async function makeSample(pal: Palimpsest, memory: Memory): Promise<void> {
  const { offerSampleProposals, openSample, SAMPLE } = await import('../../session/sample.ts')
  const { ownName } = await import('../server/users.ts')
  // A user who has deleted the sample does not want it back.
  if ((await pal.tombstones()).some(({ session }) => session === SAMPLE)) return
  await openSample(pal)
  await offerSampleProposals(memory, ownName())
}

/** The events of all servers, if they share a database. */
async function openOutbox(env: Io['env']): Promise<Outbox | undefined> {
  const { databaseUrl } = await import('../../ledger/postgres/database.ts')
  const url = databaseUrl(env)
  if (url === undefined) return undefined
  const { KEPT_EVENTS } = await import('../server/event-hub.ts')
  return (await import('../server/outbox.ts')).Outbox.open(url, { kept: KEPT_EVENTS })
}

/** The agent on the sessions and memory of this process, opened on first use. */
async function openDesk(
  opened: { home: string; env: Io['env']; pal: Palimpsest; memory: Memory },
  { root, demo }: { root: string | undefined; demo: boolean },
): Promise<AgentDesk> {
  const { AgentDesk } = await import('../../agent/desk.ts')
  const options = {
    ...(root === undefined ? {} : { root, hasFiles: true }),
    ...(demo ? { demo: 'without-model' as const } : {}),
  }
  const { databaseUrl } = await import('../../ledger/postgres/database.ts')
  const url = databaseUrl(opened.env)
  const board = url === undefined ? undefined : await (await import('../../agent/turn-board.ts')).TurnBoard.open(url)
  const open = async () => (await import('../../agent/open.ts')).openHome({ ...opened, ...options })
  return new AgentDesk(open, { board })
}

/**
 * Tunes V8 for a process that mostly waits and then has to answer at once. Functions are compiled when they are first
 * called: the first 60 requests took 410 ms of processor, instead of 485. The heap may double before a full
 * collection: with bodies of 200 KB there was one of 30 to 60 ms every two seconds, and a request at that moment waited.
 */
function tuneForServing(): void {
  setFlagsFromString('--always-sparkplug')
  setFlagsFromString('--heap-growing-percent=100')
}

/**
 * Limits the young generation to the size that the start has needed. With a larger one, collections are so rare that
 * request bodies, which are outside the heap, pile up until a full collection: seven in 38 seconds (194 ms), instead of
 * one and 17 short ones (82 ms).
 */
function keepYoungSpace(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

type Announced = { io: Io; home: string; port: number | undefined; hasWeb: boolean; hasTokens: boolean }

function announce({ url, port, server }: Listening, given: Announced): void {
  const { io, home } = given
  const lines = [
    `Palimpsest is at ${url}`,
    `  routes   ${url}/docs`,
    `  proxy    ANTHROPIC_BASE_URL=${url}, or OPENAI_BASE_URL=${url}/v1`,
    `  agent    ${url}/agent/v1, for chat front ends`,
    `  mcp      ${url}/mcp`,
    `  home     ${home}`,
  ]
  if (given.hasWeb) lines.splice(1, 0, `  web UI   open ${url} in a browser`)
  else lines.push('  web UI   not built: node scripts/build-web.ts')
  if (given.port === undefined && port !== DEFAULT_PORT)
    lines.push(`  port     ${DEFAULT_PORT} is taken; this is a free port`)
  lines.push(`  token    ${server.requireToken ? 'needed' : 'not needed on this machine'}`)
  if (server.requireToken && !given.hasTokens) {
    lines.push(`  none yet: palimpsest token create --user NAME --role admin --home ${home}`)
  }
  io.stdout.write(`${lines.join('\n')}\n`)
}

function untilStopped(): Promise<void> {
  return new Promise(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
}
