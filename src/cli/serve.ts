/** `serve`: the HTTP server on a home, until it is told to stop. */
import { PalimpsestError } from '../errors.ts'
import type { Listening } from '../server.ts'
import { defineCommand, type Io, numberOption } from './command.ts'

const PORT = 8787

export const serve = defineCommand({
  name: 'serve',
  summary: 'serve sessions, memory, the proxy and MCP over HTTP',
  usage: '',
  details:
    'On loopback it needs no token; beyond it, and under names of your own, always (palimpsest token create).\n' +
    `Without --port it takes ${PORT}, or a free one if that is taken. Ends with Ctrl-C, when running requests are done.`,
  examples: [
    'palimpsest serve',
    'palimpsest serve --port 9000 --require-token',
    'palimpsest serve --host 0.0.0.0 --allow-host memory.example.org',
  ],
  options: {
    port: { type: 'string', short: 'p', value: 'N', about: `where to listen (${PORT}; 0 for a free one)` },
    host: { type: 'string', value: 'HOST', about: 'the address to listen on (127.0.0.1)' },
    'allow-host': { type: 'string', multiple: true, value: 'NAME', about: 'a further name under which it is reached' },
    'require-token': { type: 'boolean', about: 'ask for a token on loopback too' },
    rate: { type: 'string', value: 'N', about: 'requests a second of one caller (50; 0 for no limit)' },
    policy: { type: 'string', value: 'NAME', about: 'how the proxy looks after conversations (thrifty)' },
    holdout: { type: 'string', value: 'SHARE', about: 'leave this share of them unedited, for comparison: 10% (0%)' },
    'anthropic-upstream': { type: 'string', value: 'URL', about: 'in place of the address of Anthropic' },
    'openai-upstream': { type: 'string', value: 'URL', about: 'in place of the address of OpenAI' },
    sample: { type: 'boolean', about: 'make a sample session first, if there is none' },
  },
  async run({ values, home, io, open }) {
    const port = numberOption(values.port, '--port')
    const rate = numberOption(values.rate, '--rate')
    if (port !== undefined && port > 65_535) throw new PalimpsestError('INVALID_INPUT', '--port is at most 65535.')
    const { openMemory } = await import('../memory/open.ts')
    const { ServerStore } = await import('../server/server-store.ts')
    const { doorsOf } = await import('./serve-doors.ts')
    const pal = await open({ create: true })
    if (values.sample) await (await import('../sample.ts')).openSample(pal)
    const store = new ServerStore(home)
    const memory = await openMemory({ home, env: io.env })
    const log = (line: string) => void io.stderr.write(`${line}\n`)
    const { serve: start } = await import('../server.ts')
    const listening = await start({
      port: port ?? PORT,
      orFreePort: port === undefined,
      pal,
      memory,
      store,
      mount: doorsOf({ pal, memory, values, env: io.env, log }),
      requireToken: values['require-token'] === true,
      ...(values.host === undefined ? {} : { host: values.host }),
      allowHosts: values['allow-host'] ?? [],
      ...(rate === undefined ? {} : { rate: rate > 0 && { perSecond: rate, burst: rate * 6 } }),
      log,
    })
    const stopped = untilStopped()
    announce(listening, { io, home, port, hasTokens: store.tokens({ limit: 1 }).length > 0 })
    await stopped
    io.stderr.write('Stopping: running requests are finished first.\n')
    await listening.close()
    return undefined
  },
})

type Announced = { io: Io; home: string; port: number | undefined; hasTokens: boolean }

function announce({ url, port, server }: Listening, given: Announced): void {
  const { io, home } = given
  const lines = [
    `Palimpsest is at ${url}`,
    `  routes   ${url}/docs`,
    `  proxy    ANTHROPIC_BASE_URL=${url}, or OPENAI_BASE_URL=${url}/v1`,
    `  mcp      ${url}/mcp`,
    `  home     ${home}`,
  ]
  if (given.port === undefined && port !== PORT) lines.push(`  port     ${PORT} is taken, so this is a free one`)
  lines.push(`  token    ${server.requireToken ? 'needed' : 'not needed on this machine'}`)
  if (server.requireToken && !given.hasTokens) {
    lines.push(`  there is none yet: palimpsest token create --user NAME --role admin --home ${home}`)
  }
  io.stdout.write(`${lines.join('\n')}\n`)
}

function untilStopped(): Promise<void> {
  return new Promise(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
}
