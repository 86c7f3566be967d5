/**
 * The replay benchmark: `npm run bench:replay -- DIR`. Replays all transcripts of a folder with 30 or more calls, under
 * our presets, the knob of `thrifty`, the peers and the bounds, at the prices of today's models. Writes a table, JSON
 * and plots.
 *
 * Reasoning counts as lost if it is gone or after a change: providers that bind reasoning drop or refuse it there.
 *
 * Options: --joined (all sessions of a repository as one, without their compactions: `thrifty` and those that are compared),
 * --every N (every Nth session), --json FILE, --img FOLDER, --seconds N (of processor time, for one contender),
 * --only NAME (only that policy is run again; the results of the others are taken from the JSON of the last run).
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { PRICES_AS_OF } from '../src/providers/models.ts'
import type { Measures } from '../src/replay/measure/measure.ts'
import { type Row, sumUp } from '../src/replay/measure/policies.ts'
import { toSvg } from '../src/replay/plot.ts'
import { loadJoined } from './chains.ts'
import {
  COMPARED,
  type Contender,
  cpuTime,
  MAIN,
  modelOf,
  ownContenders,
  peerContender,
  TABLE_NAMES,
  type Table,
} from './contenders.ts'
import { type Gap, gapsTo } from './curves.ts'
import { floor, oracle } from './oracle.ts'
import { loadPeers } from './peers/peers.ts'
import { type BenchSession, loadSessions, withQuotesOnly } from './recorded.ts'
import { costAgainstEvidence, fileOf } from './replay-plots.ts'

export type Result = Row & {
  setting: string
  kind: Contender['kind']
  source: string
  robust: Record<string, number>
  /** Whether every call fits the window of the model. */
  fits: boolean
  stopped?: boolean
}

type Written = { results: Record<Table, Result[]>; perSession: typeof perSession }

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    every: { type: 'string', default: '1' },
    joined: { type: 'boolean', default: false },
    only: { type: 'string' },
    json: { type: 'string', default: 'bench/results/replay.json' },
    img: { type: 'string', default: 'docs/img' },
    seconds: { type: 'string', default: '120' },
  },
})
const [folder] = positionals
if (folder === undefined) {
  console.error('Usage: npm run bench:replay -- DIR   (a folder with transcripts)')
  process.exit(2)
}

const all = await (values.joined ? loadJoined(folder) : loadSessions(folder))
const sessions = all.filter((_, i) => i % Number(values.every) === 0)
const calls = sessions.reduce((sum, session) => sum + session.calls, 0)
console.log(`${sessions.length} sessions, ${calls} calls, prices as of ${PRICES_AS_OF}`)

const peers = (await loadPeers(line => console.log(line))).map(peerContender)
const everybody = [...ownContenders(), ...peers, oracle, floor]
const contenders = everybody
  .filter(({ name }) => !values.only || name === values.only || name === 'none')
  .filter(({ name, setting }) => !values.joined || name === 'none' || COMPARED.test(`${name}, ${setting}`))
  .toSorted((a, b) => rankOf(a) - rankOf(b))
const results: Record<string, Result[]> = Object.fromEntries(TABLE_NAMES.map(name => [name, []]))
const perSession: Record<string, Record<string, [cost: number, evidence: number, effective: number]>> = {}
const bases = new Map<Table, Measures[]>()

for (const contender of contenders) {
  const started = performance.now()
  for (const table of contender.tables ?? [MAIN]) {
    const { measured, stopped } = await runAll(contender, table)
    for (const priced of contender.tables ? [table] : TABLE_NAMES) add(contender, priced, measured, stopped)
  }
  const last = results[MAIN]!.at(-1)!
  console.log(
    `${lineOf(last)}  ${((performance.now() - started) / 1000).toFixed(1)} s${last.stopped ? ', stopped' : ''}`,
  )
  if (!values.only) write()
}
if (values.only) takeOver(JSON.parse(readFileSync(values.json, 'utf8')), values.only)
report()

/** The most important results come first, so that an interrupted run has written them. */
function rankOf({ name, setting, kind }: Contender): number {
  if (name === 'none') return 0
  if (setting.endsWith('(default)')) return 1
  return kind === 'peer' && !setting.startsWith('knob') ? 2 : 3
}

function inOrder(rows: readonly Result[]): Result[] {
  const places = everybody.map(({ name, setting }) => `${name}, ${setting}`)
  const placeOf = ({ policy, setting }: Result) => places.indexOf(`${policy}, ${setting}`)
  return rows.toSorted((a, b) => placeOf(a) - placeOf(b))
}

/** The rows of the last run, except for the policy that was run again. */
function takeOver(last: Written, only: string): void {
  for (const table of TABLE_NAMES) {
    const fresh = results[table]!.filter(({ policy }) => policy === only)
    const before = last.results[table]!
    const at = before.findIndex(({ policy }) => policy === only)
    const others = (rows: readonly Result[]) => rows.filter(({ policy }) => policy !== only)
    results[table] = [...others(before.slice(0, at)), ...fresh, ...others(before.slice(at))]
  }
  for (const [session, before] of Object.entries(last.perSession))
    perSession[session] = { ...before, ...perSession[session] }
}

async function runAll(contender: Contender, table: Table): Promise<{ measured: Measures[]; stopped: boolean }> {
  const end = cpuTime() + Number(values.seconds) * 1000
  const measured: Measures[] = []
  // Effective cost goes by quotes; the other kinds of evidence are for the table that compares them.
  const isRobust = !values.joined && table === MAIN && COMPARED.test(`${contender.name}, ${contender.setting}`)
  for (const session of sessions) {
    if (cpuTime() > end) return { measured, stopped: true }
    measured.push(slim(await contender.run(isRobust ? session : withQuotesOnly(session), table)))
  }
  return { measured, stopped: false }
}

/** Data of single calls is no longer needed. */
function slim(measures: Measures): Measures {
  return { ...measures, perCall: [] }
}

function add(contender: Contender, table: Table, measured: readonly Measures[], stopped: boolean): void {
  if (contender.name === 'none') bases.set(table, [...measured])
  const base = bases.get(table)!
  const pairs = measured.map((measures, i) => ({ measures, base: base[i]! }))
  const row = sumUp(contender.name, pairs, { prices: table })
  const robust = Object.fromEntries(
    Object.keys(measured[0]?.evidence ?? {}).map(kind => [
      kind,
      sumUp('', pairs, { prices: table, evidence: kind }).evidence,
    ]),
  )
  robust['by characters'] = charactersKept(measured)
  const { setting, kind, source } = contender
  const fits = row.peak <= modelOf(table).window
  results[table]!.push({ ...row, setting, kind, source, robust, fits, ...(stopped ? { stopped } : {}) })
  if (table !== MAIN || setting.startsWith('knob')) return
  for (const [i, pair] of pairs.entries()) {
    const one = sumUp('', [pair], { prices: table })
    const own = (perSession[nameOf(sessions[i]!)] ??= {})
    own[`${contender.name}, ${setting}`] = [short(one.costShare), short(one.evidence), short(one.effectiveShare)]
  }
}

/** Evidence by length: a long passage weighs more than a path. */
function charactersKept(measured: readonly Measures[]): number {
  const sum = (of: 'keptChars' | 'quoteChars') =>
    measured.reduce((total, { evidence }) => total + evidence['quotes']![of], 0)
  return sum('quoteChars') === 0 ? 1 : sum('keptChars') / sum('quoteChars')
}

function nameOf({ format, repo, name, calls: own }: BenchSession): string {
  return `${format}/${repo}/${name.slice(0, 40)} (${own} calls)`
}

function report(): void {
  for (const table of TABLE_NAMES) {
    console.log(`\n== ${table}`)
    for (const result of results[table]!) console.log(lineOf(result))
    const near = gapsTo(results[table]!).slice(0, 6)
    console.log(`nearest to our curve, or outside it: ${near.map(gapLine).join('; ')}`)
  }
  write()
  const { json, img } = values
  mkdirSync(img, { recursive: true })
  for (const table of TABLE_NAMES) {
    writeFileSync(join(img, fileOf(table)), toSvg(costAgainstEvidence(table, inOrder(results[table]!))))
  }
  console.log(`\nWritten: ${json}, plots in ${img}`)
}

function write(): void {
  const { json } = values
  mkdirSync(dirname(json), { recursive: true })
  const rounded = Object.fromEntries(
    Object.entries(results).map(([table, rows]) => [table, inOrder(rows).map(row => mapNumbers(row) as Result)]),
  )
  const about = {
    sessions: sessions.length,
    every: Number(values.every),
    calls,
    pricesAsOf: PRICES_AS_OF,
    overhead: 18_000,
  }
  const gaps = Object.fromEntries(
    TABLE_NAMES.map(table => [table, gapsTo(results[table]!).map(gap => mapNumbers(gap))] as const),
  )
  writeFileSync(json, `${JSON.stringify({ ...about, results: rounded, gaps, perSession }, null, 1)}\n`)
}

function gapLine({ peer, setting, evidence, theirs, ours }: Gap): string {
  return `${peer}, ${setting}: ${theirs.toFixed(3)} at ${evidence.toFixed(3)}, ours ${ours.toFixed(3)}`
}

function lineOf(row: Result): string {
  const number = (value: number) => value.toFixed(3)
  return [
    `${row.policy}, ${row.setting}`.padEnd(66),
    `sent ${number(row.sentShare)} cost ${number(row.costShare)} evidence ${number(row.evidence)} effective ${number(row.effectiveShare)}`,
    `worst ${row.worst.toFixed(2)} busts ${row.busts} peak ${Math.round(row.peak / 1000)}k${row.fits ? '' : ' (over)'} said ${number(row.said)} reasoning lost ${number(row.reasoningLost)}`,
    `| ${Object.entries(row.robust)
      .map(([kind, share]) => `${kind} ${number(share)}`)
      .join(' ')}`,
  ].join(' ')
}

function mapNumbers(value: unknown): unknown {
  if (typeof value === 'number') return short(value)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mapNumbers(inner)]))
}

function short(value: number): number {
  return Math.abs(value) < 100 ? Math.round(value * 10_000) / 10_000 : Math.round(value)
}
