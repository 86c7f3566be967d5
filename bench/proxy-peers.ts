/**
 * Other proxies for the benchmark, each started as its documentation says, with one worker, no account and no
 * telemetry. One that is not installed is skipped, with a hint: scripts/proxy-peers.sh.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export type Peer = { name: string; start(upstream: string): Promise<{ url: string; stop(): Promise<void> }> }

type Program = {
  name: string
  /** The folder in the cache, and the program in it. */
  of: 'litellm' | 'headroom'
  args: (given: { port: number; folder: string; upstream: string }) => string[]
  env: (upstream: string) => Record<string, string>
  /** Answers when it is ready. */
  health: string
}

const PROGRAMS: readonly Program[] = [
  {
    name: 'LiteLLM',
    of: 'litellm',
    args: ({ port, folder, upstream }) => {
      const config = join(folder, 'config.yaml')
      const params = { model: 'anthropic/claude-sonnet-4-5', api_base: upstream, api_key: 'sk-bench' }
      // JSON is YAML.
      writeFileSync(
        config,
        JSON.stringify({ model_list: [{ model_name: 'claude-sonnet-4-5', litellm_params: params }] }),
      )
      return ['--config', config, '--host', '127.0.0.1', '--port', String(port), '--num_workers', '1']
    },
    env: () => ({
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      LITELLM_LOG: 'ERROR',
      LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY: 'true',
    }),
    health: '/health/liveliness',
  },
  {
    name: 'headroom',
    of: 'headroom',
    args: ({ port }) => ['proxy', '--port', String(port), '--no-rate-limit', '--no-cache'],
    env: upstream => ({ ANTHROPIC_TARGET_API_URL: upstream, HEADROOM_TELEMETRY: 'off' }),
    health: '/livez',
  },
  {
    name: 'headroom --no-optimize',
    of: 'headroom',
    args: ({ port }) => ['proxy', '--port', String(port), '--no-rate-limit', '--no-cache', '--no-optimize'],
    env: upstream => ({ ANTHROPIC_TARGET_API_URL: upstream, HEADROOM_TELEMETRY: 'off' }),
    health: '/livez',
  },
]

const FOLDER =
  process.env['PALIMPSEST_PROXY_PEERS'] ??
  join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'palimpsest', 'proxy-peers')

const isThere = ({ of }: Program) => existsSync(join(FOLDER, of, 'installed'))

/** Peers that are here, with their versions in their names. */
export function installedPeers(): Peer[] {
  return PROGRAMS.filter(isThere).map(program => ({
    name: program.name.replace(/^\w+/, name => `${name} ${versionOf(program)}`),
    start: upstream => start(program, upstream),
  }))
}

export function missingPeers(): string[] {
  return PROGRAMS.filter(program => !isThere(program)).map(({ name }) => name)
}

function versionOf({ of }: Program): string {
  return /==(\S+)/.exec(readFileSync(join(FOLDER, of, 'installed'), 'utf8'))?.[1] ?? ''
}

const PATIENCE_MS = 120_000

async function start({ name, of, args, env, health }: Program, upstream: string) {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-peer-'))
  const port = await freePort()
  const child = spawn(join(FOLDER, of, 'bin', of), args({ port, folder, upstream }), {
    // A temporary home: nothing of the user's is read, and nothing is left behind.
    env: { PATH: process.env['PATH'], HOME: folder, LANG: 'C.UTF-8', ...env(upstream) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', chunk => {
    said = (said + chunk).slice(-2000)
  })
  const ended = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGTERM')
    await Promise.race([ended, sleep(10_000).then(() => child.kill('SIGKILL'))])
    await ended
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  const url = `http://127.0.0.1:${port}`
  for (const from = Date.now(); Date.now() - from < PATIENCE_MS; await sleep(500)) {
    if (child.exitCode !== null) break
    const answer = await fetch(url + health).catch(() => undefined)
    if (answer?.ok) return { url, stop }
  }
  await stop()
  throw new Error(`${name} did not start: ${said}`)
}

function freePort(): Promise<number> {
  return new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
