/**
 * What a proxy adds: time to the first byte with many streaming conversations at once, compared with the same provider
 * without a proxy in the same run; requests a second without pauses; and memory over many requests.
 *
 *     node bench/proxy.ts [--seconds 20] [--rounds 3] [--conversations 50] [--kb 200] [--requests 10000] [--only NAME]
 *
 * Proxies with similar times are measured in every round, so that a bad minute of the machine affects all of them, and
 * the pairs of all rounds count together. The others are measured in the last round only. Provider, proxy and agents are
 * separate processes. Ours is `palimpsest serve` with its defaults, on a home on disk, where every turn is stored before
 * its answer is passed on. A proxy that does nothing shows the cost of a second hop. Other proxies are measured if
 * scripts/proxy-peers.sh has installed them.
 */
import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Latencies, Load, Pair } from './proxy-load.ts'
import { installedPeers, missingPeers } from './proxy-peers.ts'
import { tableOf } from './proxy-plot.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '3' },
    conversations: { type: 'string', default: '50' },
    kb: { type: 'string', default: '200' },
    requests: { type: 'string', default: '10000' },
    ramp: { type: 'string', default: '10' },
    only: { type: 'string' },
    /** Writes a CPU profile of our process into this folder. */
    profile: { type: 'string' },
    out: { type: 'string', default: new URL('results/proxy.json', import.meta.url).pathname },
  },
})

type Started = { url: string; stop(): Promise<void>; child?: ChildProcess }
type Contender = {
  name: string
  start(upstream: string): Promise<Started>
  memory?: true
  /** Measured in one round only: its overhead is so large that a disturbance does not matter. */
  once?: true
}

const THROUGHPUT_SECONDS = 12
const CLI = new URL('../src/cli.ts', import.meta.url).pathname

const CONTENDERS: readonly Contender[] = [
  { name: 'nothing but a hop', start: upstream => startNode('proxy-bare.ts', [upstream]) },
  { name: 'palimpsest, none', start: upstream => startOurs(upstream, 'none') },
  { name: 'palimpsest, thrifty', start: upstream => startOurs(upstream, 'thrifty'), memory: true },
  ...installedPeers().map(peer => ({ ...peer, once: true as const })),
]

export type Measured = {
  pairs: number
  /** Pairs left out. */
  disturbed: number
  direct: Spread
  through: Spread
  /** Of the differences of all pairs. */
  added: Spread
  firstCall: Spread
  throughput: { direct: number; through: number }
  memoryMb?: number[]
}
type Spread = Record<(typeof SHARES)[number], number>
const SHARES = ['p50', 'p75', 'p90', 'p95', 'p99'] as const

export type Results = {
  machine: string
  node: string
  conversations: number
  kb: number
  contenders: Record<string, Measured | { failed: string }>
}

const results: Results = {
  machine: `${cpus().length} × ${cpus()[0]?.model}`,
  node: process.version,
  conversations: Number(values.conversations),
  kb: Number(values.kb),
  // With --only, earlier measurements of the others are kept.
  contenders: values.only && existsSync(values.out) ? JSON.parse(readFileSync(values.out, 'utf8')).contenders : {},
}
const upstream = await startNode('proxy-provider.ts', [])
const load = await startNode('proxy-load.ts', [])
const chosen = CONTENDERS.filter(({ name }) => !values.only || name.includes(values.only))
const found = new Map<string, Latencies>()
const rounds = Number(values.rounds)
for (let round = 1; round <= rounds; round++) {
  for (const { name, start, memory, once } of chosen) {
    if (once && round < rounds) continue
    console.log(`round ${round} of ${rounds}: ${name}`)
    const measured = await measure(name, start, round === rounds && { memory }).catch(error => {
      return { failed: String(error).slice(0, 500) }
    })
    if (!measured) continue
    results.contenders[name] = measured
    console.log(JSON.stringify(measured))
  }
}
for (const name of missingPeers()) console.log(`${name}: skipped, not installed (scripts/proxy-peers.sh gets it)`)
await load.stop()
await upstream.stop()
console.log(tableOf(results))
writeFileSync(values.out, `${JSON.stringify(results, null, 2)}\n`)

/** `last`: the round in which everything else is measured too. */
async function measure(name: string, start: Contender['start'], last: false | Pick<Contender, 'memory'>) {
  const proxy = await start(upstream.url)
  try {
    const plan: Load = {
      direct: upstream.url,
      through: proxy.url,
      conversations: Number(values.conversations),
      bytes: Number(values.kb) * 1024,
      seconds: Number(values.seconds),
      rampSeconds: Number(values.ramp),
    }
    const now: Latencies = await order({ kind: 'latency', load: plan })
    const before = found.get(name) ?? { first: [], later: [], disturbed: 0 }
    const pairs = {
      first: [...before.first, ...now.first],
      later: [...before.later, ...now.later],
      disturbed: before.disturbed + now.disturbed,
    }
    found.set(name, pairs)
    const left = now.disturbed > 0 ? `, ${now.disturbed} disturbed pairs left out` : ''
    console.log(`  ${now.later.length} pairs, added ${JSON.stringify(spread(now.later.map(difference)))}${left}`)
    return last ? await measureRest(proxy, plan, pairs, last.memory) : undefined
  } finally {
    await proxy.stop()
  }
}

async function measureRest(proxy: Started, plan: Load, pairs: Latencies, memory?: true): Promise<Measured> {
  const { first, later, disturbed } = pairs
  const short = { ...plan, seconds: THROUGHPUT_SECONDS }
  const through: number = await order({ kind: 'throughput', load: short, url: proxy.url })
  const direct: number = await order({ kind: 'throughput', load: short, url: upstream.url })
  const memoryMb = memory && proxy.child ? await memoryOf(proxy.url, proxy.child) : undefined
  return {
    pairs: later.length,
    disturbed,
    direct: spread(later.map(pair => pair.direct)),
    through: spread(later.map(pair => pair.through)),
    added: spread(later.map(difference)),
    firstCall: spread(first.map(difference)),
    throughput: { direct: Math.round(direct), through: Math.round(through) },
    ...(memoryMb ? { memoryMb } : {}),
  }
}

/** Memory after every tenth of many short requests. */
async function memoryOf(url: string, child: ChildProcess): Promise<number[]> {
  const all = Number(values.requests)
  const sizes: number[] = []
  for (let tenth = 0; tenth < 10; tenth++) {
    await order({ kind: 'many', url, from: tenth * all, requests: all / 10 })
    sizes.push(Math.round(Number(execFileSync('ps', ['-o', 'rss=', '-p', String(child.pid)])) / 1024))
  }
  return sizes
}

function difference({ direct, through }: Pair): number {
  return through - direct
}

function spread(list: readonly number[]): Spread {
  const sorted = list.toSorted((a, b) => a - b)
  const at = (share: number) => Math.round((sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN) * 100) / 100
  return Object.fromEntries(SHARES.map(share => [share, at(Number(share.slice(1)) / 100)])) as Spread
}

// biome-ignore lint/suspicious/noExplicitAny: what comes back depends on the order
async function order(what: object): Promise<any> {
  load.child!.send(what)
  const [{ measured, error }] = await once(load.child!, 'message')
  if (error) throw new Error(error)
  return measured
}

async function startOurs(upstream: string, policy: string): Promise<Started> {
  const home = mkdtempSync(join(tmpdir(), 'palimpsest-bench-'))
  const profile = values.profile ? ['--cpu-prof', `--cpu-prof-dir=${values.profile}`] : []
  const args = ['serve', '--home', home, '--port', '0', '--rate', '0', '--anthropic-upstream', upstream]
  const child = spawn(process.execPath, [...profile, CLI, ...args, '--policy', policy], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  while (!said.includes('\n')) said += (await once(child.stdout, 'data'))[0]
  child.stdout.resume()
  const stop = async () => {
    await stopped(child)
    rmSync(home, { recursive: true })
  }
  return { url: /http:\S+/.exec(said)![0], child, stop }
}

async function startNode(file: string, args: string[]): Promise<Started> {
  const child = fork(new URL(file, import.meta.url).pathname, args)
  const [url] = await once(child, 'message')
  return { url, child, stop: () => stopped(child) }
}

async function stopped(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}
