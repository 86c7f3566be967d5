/**
 * Does the engine's own time per call stay flat? One generated session of 10,000 turns under each preset; the median
 * time of a call (appending what is new, and the view) around turn 100, 3,000 and 10,000. `npm run bench:flat`.
 *
 * Read the ratios: milliseconds are this machine's, and a busy one doubles them. A preset that leaves everything in
 * view hands out a longer list each time, so its time cannot be flat to the end.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Message } from '../src/model/types.ts'
import { presets } from '../src/planner/presets.ts'
import { replay } from '../src/replay/replay.ts'
import { SMALL, TABLES } from './contenders.ts'
import { longSession } from './long-session.ts'

const { values } = parseArgs({
  options: {
    at: { type: 'string', default: '100,3000,10000' },
    json: { type: 'string', default: 'bench/results/flat-time.json' },
  },
})
const POINTS = values.at.split(',').map(Number)
const AROUND = 80

/** Turns before anything is timed, so that the first preset does not pay for compiling. */
const WARM_UP = 500

const session = longSession(Math.max(...POINTS))
const rows: object[] = []
for (const policy of presets) await timesOf(policy, longSession(WARM_UP))
for (const policy of presets) {
  const times = await timesOf(policy, session)
  const around = POINTS.map(point => times.slice(Math.max(20, point - AROUND), point))
  const medians = around.map(list => quantile(list, 0.5))
  const row = {
    preset: policy.name,
    milliseconds: medians.map(short),
    slowestTwentieth: around.map(list => short(quantile(list, 0.95))),
    ratios: medians.map(value => short(value / medians[0]!)),
  }
  rows.push(row)
  console.log(
    policy.name.padEnd(16),
    POINTS.map((point, i) => `${point}: ${row.milliseconds[i]} ms (×${row.ratios[i]})`).join('  '),
  )
}
mkdirSync('bench/results', { recursive: true })
writeFileSync(values.json, `${JSON.stringify({ turns: POINTS, presets: rows }, null, 1)}\n`)

async function timesOf(policy: (typeof presets)[number], messages: Message[]): Promise<number[]> {
  const times: number[] = []
  let started = performance.now()
  for await (const _ of replay(messages, { policy, ...TABLES[SMALL] })) {
    times.push(performance.now() - started)
    started = performance.now()
  }
  return times
}

function quantile(list: readonly number[], share: number): number {
  const sorted = list.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

function short(value: number): number {
  return Math.round(value * 100) / 100
}
