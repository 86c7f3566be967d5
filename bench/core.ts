/**
 * The core benchmark: the time of a call, its growth, and a comparison with the peers, all in one run.
 *
 *   node bench/core.ts            every part; a table, and bench/results/core.json
 *   node bench/core.ts replay     only the parts whose names begin with this word
 *
 * Each part runs in a fresh process, most of them three times; the median counts. Milliseconds differ between
 * machines and days, so targets are ratios; the exit code is 1 if one is missed. The targets are for a session with
 * 3.9 calls a turn, with `none` and with the default. The times of sessions with fewer calls a turn are only printed.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { median, type Numbers, PARTS } from './core-parts.ts'

const ROUNDS = 3
/** Long parts, and those that take medians themselves. */
const ONCE = /^(?:per-call-.*|replay-.*langchain|opening|starting)$/

type Results = Record<string, Numbers>

/** A target: `value` must be at most (or at least) `limit`. Without a limit it is only reported. */
type Target = { name: string; value: number; limit?: number; atLeast?: boolean }

const [first = '', second = ''] = process.argv.slice(2)
if (first === '--part') console.log(JSON.stringify(await PARTS[second]!()))
else run(first)

function run(prefix: string): void {
  const results: Results = {}
  for (const name of Object.keys(PARTS).filter(part => part.startsWith(prefix))) {
    const rounds = Array.from({ length: ONCE.test(name) ? 1 : ROUNDS }, () => inProcess(name))
    results[name] = medians(rounds)
    console.log(`${name.padEnd(24)} ${describe(results[name])}`)
  }
  const targets = targetsOf(results)
  console.log(`\n${targets.map(line).join('\n')}`)
  if (prefix === '') save(results, targets)
  if (targets.some(target => !isMet(target))) process.exitCode = 1
}

function inProcess(name: string): Numbers {
  const output = execFileSync(process.execPath, [import.meta.filename, '--part', name], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return JSON.parse(output.trim().split('\n').at(-1)!)
}

function medians(rounds: readonly Numbers[]): Numbers {
  const keys = Object.keys(rounds[0]!)
  return Object.fromEntries(keys.map(key => [key, median(rounds.map(numbers => numbers[key]!))]))
}

function targetsOf(results: Results): Target[] {
  const get = (part: string, key: string) => results[part]?.[key] ?? Number.NaN
  const ours = get('replay-ours', 'cpu')
  const thrifty = get('replay-ours-thrifty', 'cpu')
  const targets: Target[] = [
    { name: 'a call at turn 10,000 / at turn 100, in memory', value: get('per-call-memory', 'ratio'), limit: 2 },
    { name: 'a call at turn 10,000 / at turn 100, in a file', value: get('per-call-file', 'ratio'), limit: 2 },
    {
      name: 'CPU of 1,600 turns / LangChain ClearToolUsesEdit',
      value: ours / get('replay-langchain', 'cpu'),
      limit: 1 / 20,
    },
    { name: 'CPU of 1,600 turns / AI SDK pruneMessages', value: ours / get('replay-ai-sdk', 'cpu'), limit: 1 / 2 },
    { name: 'turn 3,000 / 100, policy thrifty', value: get('per-call-thrifty', 'ratio'), limit: 1.5 },
    { name: 'ms of the slowest 1 % of calls, policy thrifty', value: get('per-call-thrifty', 'p99'), limit: 5 },
    { name: 'policy thrifty / LangChain', value: thrifty / get('replay-langchain', 'cpu'), limit: 1 / 20 },
    { name: 'policy thrifty / AI SDK', value: thrifty / get('replay-ai-sdk', 'cpu'), limit: 1 / 2 },
    { name: 'appends / bare inserts, synced to disk', value: get('appends-full', 'ratio'), limit: 0.75, atLeast: true },
    {
      name: 'ms to open 10,000 turns, folded / whole',
      value: get('opening', 'folded') / get('opening', 'whole'),
      limit: 0.2,
    },
    {
      name: 'start of --help / the same with the tokenizer',
      value: get('starting', 'help') / get('starting', 'withTokenizer'),
      limit: 0.9,
    },
    {
      name: 'token counts per second / gpt-tokenizer',
      value: get('counting', 'ours') / get('counting', 'peer'),
      limit: 1,
      atLeast: true,
    },
    { name: 'ms for 1 MB of base64', value: get('counting', 'base64Ms'), limit: 500 },
  ]
  const told: Target[] = [
    { name: 'turn 10,000 / 100, all 24,000 messages in view', value: get('per-call-whole', 'ratio') },
    { name: 'counting every turn / AI SDK', value: get('replay-ours-counting', 'cpu') / get('replay-ai-sdk', 'cpu') },
    {
      name: '1.4 calls a turn / LangChain',
      value: get('replay-narrow-ours', 'cpu') / get('replay-narrow-langchain', 'cpu'),
    },
    { name: '1.4 calls a turn / AI SDK', value: get('replay-narrow-ours', 'cpu') / get('replay-narrow-ai-sdk', 'cpu') },
    { name: 'appends / bare inserts, synchronous = NORMAL', value: get('appends-normal', 'ratio') },
  ]
  return [...targets, ...told].filter(({ value }) => !Number.isNaN(value))
}

function isMet({ value, limit, atLeast }: Target): boolean {
  if (limit === undefined) return true
  return atLeast ? value >= limit : value <= limit
}

function line(target: Target): string {
  const { name, value, limit, atLeast } = target
  const bound = limit === undefined ? '' : `   (${atLeast ? '≥' : '≤'} ${round(limit)})`
  const verdict = limit === undefined ? 'seen' : isMet(target) ? 'met' : 'MISSED'
  return `${verdict.padEnd(6)} ${name.padEnd(52)} ${String(round(value)).padStart(8)}${bound}`
}

function describe(numbers: Numbers): string {
  return Object.entries(numbers)
    .map(([key, value]) => `${key} ${round(value)}`)
    .join(', ')
}

function round(value: number): number {
  return Number(value.toPrecision(3))
}

function save(results: Results, targets: readonly Target[]): void {
  const folder = join(import.meta.dirname, 'results')
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? '', cores: cpus().length }
  const verdicts = targets.map(target => (target.limit === undefined ? target : { ...target, met: isMet(target) }))
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'core.json'), `${JSON.stringify({ machine, results, targets: verdicts }, null, 2)}\n`)
}
