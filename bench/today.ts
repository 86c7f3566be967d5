/**
 * `thrifty` and the strongest peers by the prices of today's models: `npm run bench:today -- DIR [--all-peers]`. Every
 * session of the folder with 30 and more calls; `thrifty` plans for each model, a peer sends the same whatever it costs.
 * Reasoning counts as lost where it is gone or stands behind a change: providers that bind it drop or refuse it there.
 * Writes bench/results/today.json and prints the table of docs/benchmarks.md.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

import { thrifty } from '../src/planner/thrifty.ts'
import { none, type PlannerFactory } from '../src/policies/policy.ts'
import { PRICES_AS_OF, TYPICAL_OVERHEAD } from '../src/providers/models.ts'
import { type Measures, type Prices, pricesOf } from '../src/replay/measure/measure.ts'
import { OWN, sumUp, tryPolicy } from '../src/replay/measure/policies.ts'
import { measurePeer, modelFor, TODAY } from './contenders.ts'
import { loadPeers } from './peers/peers.ts'
import { loadSessions } from './recorded.ts'

/** Those that come nearest to our curve in the full comparison. */
const NEAREST = /^(?:langchain Clear|anthropic|openhands forgetting|observation masking, best|deepagents)/

const { values, positionals } = parseArgs({ allowPositionals: true, options: { 'all-peers': { type: 'boolean' } } })
const [folder] = positionals
if (folder === undefined) {
  console.error('Usage: npm run bench:today -- DIR   (a folder with transcripts)')
  process.exit(2)
}

const names = Object.keys(TODAY) as (keyof typeof TODAY)[]
const prices: Record<string, Prices> = Object.fromEntries(names.map(name => [name, pricesOf(modelFor(TODAY[name]))]))
prices[OWN] = prices[names[0]!]!
const sessions = await loadSessions(folder)
const calls = sessions.reduce((sum, session) => sum + session.calls, 0)
console.log(`${sessions.length} sessions, ${calls} calls, prices as of ${PRICES_AS_OF}\n`)

type Cell = { effective: number; evidence: number; worst: number; reasoningLost: number; peak: number }
const rows: Record<string, Record<string, Cell>> = {}

async function ours(policy: PlannerFactory, table: keyof typeof TODAY): Promise<Measures[]> {
  const measured: Measures[] = []
  for (const session of sessions) {
    const options = { ...TODAY[table], overhead: TYPICAL_OVERHEAD, prices }
    measured.push((await tryPolicy(session, policy, options)).measures)
  }
  return measured
}

const base = await ours(none, names[0]!)

function add(name: string, table: string, measured: readonly Measures[]): void {
  const pairs = measured.map((measures, i) => ({ measures, base: base[i]! }))
  const { effectiveShare: effective, evidence, worst, reasoningLost, peak } = sumUp(name, pairs, { prices: table })
  rows[name] = { ...rows[name], [table]: { effective, evidence, worst, reasoningLost, peak } }
  console.log(`${name}, ${table}: ${JSON.stringify(rows[name][table])}`)
}

for (const table of names) add('thrifty', table, await ours(thrifty(), table))
for (const peer of await loadPeers(line => console.log(line))) {
  const name = `${peer.name}, ${peer.setting}`
  if (!values['all-peers'] && !NEAREST.test(name)) continue
  const measured: Measures[] = []
  for (const session of sessions) measured.push(await measurePeer(peer, session, { prices }))
  for (const table of names) add(name, table, measured)
}

const about = { sessions: sessions.length, calls, pricesAsOf: PRICES_AS_OF, overhead: TYPICAL_OVERHEAD }
writeFileSync('bench/results/today.json', `${JSON.stringify({ ...about, rows }, null, 1)}\n`)
console.log(`\n| effective cost @ evidence (worst) | ${names.join(' | ')} | reasoning lost |`)
console.log(`|---|${'--:|'.repeat(names.length + 1)}`)
for (const [name, cells] of Object.entries(rows)) {
  const shown = names.map(table => {
    const { effective, evidence, worst } = cells[table]!
    return `${effective.toFixed(3)} @ ${evidence.toFixed(3)} (${worst.toFixed(2)})`
  })
  const lost = Math.max(...names.map(table => cells[table]!.reasoningLost))
  console.log(`| ${[name, ...shown, `${(lost * 100).toFixed(1)} %`].join(' | ')} |`)
}
