/**
 * Sessions without an end: generated ones of 1,600 and 10,000 turns, and real sessions joined across what their
 * clients compacted. Does the view stay under the window, does the cost per call stay flat, what is lost, and how
 * long does the engine take? `node bench/endless.ts [DIR]`; --turns N[,N], --seconds N for one contender, --shapes for
 * generated sessions of other shapes too. Then the same real sessions are compared with their clients' own compactions
 * (client-compactions.ts).
 *
 * Evidence is measured on sessions of up to 2,500 calls; beyond, only the text that edits replace. Results of earlier
 * runs stay in the JSON.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { loadCounter } from '../src/model/tokens.ts'
import type { Message } from '../src/model/types.ts'
import { thrifty } from '../src/planner/thrifty.ts'
import { TYPICAL_OVERHEAD } from '../src/providers/models.ts'
import { findQuotes } from '../src/replay/measure/evidence.ts'
import { type Measures, Meter } from '../src/replay/measure/measure.ts'
import type { Recorded } from '../src/replay/measure/policies.ts'
import { toSvg } from '../src/replay/plot.ts'
import { replay } from '../src/replay/replay.ts'
import { compacted, lives, loadChains, longLives } from './chains.ts'
import { compareWithClient } from './client-compactions.ts'
import { cpuTime, measurePeer, SMALL, TABLES, tablePrices } from './contenders.ts'
import { type Least, leastPerCall } from './least.ts'
import { type LongSession, longSession } from './long-session.ts'
import type { Peer } from './peers/peer.ts'
import { loadPeers } from './peers/peers.ts'
import { toRecorded } from './recorded.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    turns: { type: 'string', default: '1600,10000' },
    seconds: { type: 'string', default: '120' },
    shapes: { type: 'boolean' },
    json: { type: 'string', default: 'bench/results/endless.json' },
    img: { type: 'string', default: 'docs/img' },
  },
})
/** Other shapes of the generated session, and the recorded shape with other seeds. */
const SHAPES: Record<string, LongSession> = {
  'as recorded': {},
  'as recorded, other dice': { seed: 2 },
  'as recorded, third dice': { seed: 3 },
  'half the skeleton': { skeleton: 0.5 },
  'half the skeleton, results three times as long': { skeleton: 0.5, results: 3 },
  'results three times as long': { results: 3 },
  'twice the skeleton': { skeleton: 2 },
}
/** Planners that know the future and pay no cache writes for edits: with all evidence, and with the wanted share. */
const LEAST: Record<string, Least> = {
  'least: knows the future, edits cost no cache': {},
  'least that keeps 93 %': { keep: 0.93 },
  'least that keeps 93 %, of old parts the passages only': { keep: 0.93, passages: true },
}
const BOUNDS_TITLE = 'bounds: cost to that of peers'
const BOUNDED = /ClearToolUsesEdit|clear_tool_uses/
const SHAPES_TITLE = 'shapes, 1600 turns'
const LONGEST_WITH_QUOTES = 2500
const WINDOW = 200_000
const WANTED =
  /ClearToolUsesEdit.*default|clear_tool_uses (default|best)|microcompact best|best: last 10, polling 10|forgetting best/
const peers = (await loadPeers(line => console.log(line))).filter(({ name, setting }) =>
  WANTED.test(`${name} ${setting}`),
)
const report: Record<string, unknown[]> = {}
const everything: Peer = {
  name: 'none',
  setting: '',
  source: '',
  runs: 'description',
  start: () => ({ view: ({ messages }) => messages }),
}

/** With the time of each call, and evidence without text that only a log shows. */
type Own = Measures & { ms: number[]; inPlace?: number }

for (const turns of values.turns.split(',').filter(Boolean).map(Number)) {
  const messages = longSession(turns)
  await compare(`generated, ${turns} turns`, prepare(`generated-${turns}`, messages))
}
if (values.shapes) {
  report[SHAPES_TITLE] = []
  for (const [name, shape] of Object.entries(SHAPES)) report[SHAPES_TITLE].push(await compareShape(name, shape))
}
if (positionals[0] !== undefined) {
  const chains = await loadChains(positionals[0])
  for (const [name, { messages, stretches }] of [...lives(chains), ...longLives(chains)]) {
    await compare(`real, ${name}, ${stretches} stretches`, prepare(name, messages))
  }
  report['clients’ own compactions'] = []
  for (const chain of compacted(chains)) {
    const across = await compareWithClient(chain)
    report['clients’ own compactions'].push(across)
    console.log(JSON.stringify(across))
  }
}
mkdirSync('bench/results', { recursive: true })
const before: object = existsSync(values.json) ? JSON.parse(readFileSync(values.json, 'utf8')) : {}
writeFileSync(values.json, `${JSON.stringify({ ...before, ...report }, null, 1)}\n`)

/** A file is read many times here, so a passage counts as shown where its newest source is. */
function prepare(name: string, messages: readonly Message[]): Recorded {
  const session = toRecorded(name, messages, ['edits'])
  if (session.calls > LONGEST_WITH_QUOTES) return session
  return { ...session, evidence: { quotes: findQuotes(session.messages, { newest: true }), ...session.evidence } }
}

async function compare(title: string, session: Recorded): Promise<void> {
  console.log(`\n== ${title}: ${session.calls} calls`)
  const rows: object[] = []
  const series: { name: string; measures: Measures }[] = []
  const runs: [string, () => Promise<Partial<Own> & Measures>][] = [
    ['thrifty', () => runThrifty(session)],
    ...peers.map((peer): [string, () => Promise<Measures>] => [
      `${peer.name}, ${peer.setting}`,
      () => runPeer(peer, session),
    ]),
    ['none', () => runPeer(everything, session)],
  ]
  const own = await runs[0]![1]()
  if (session.evidence['quotes'])
    for (const [name, least] of Object.entries(LEAST)) runs.push([name, () => runLeast(session, own, least)])
  for (const [name, run] of runs) {
    const measures = name === 'thrifty' ? own : await run()
    const row = toRow(name, measures, own)
    rows.push(row)
    series.push({ name, measures })
    console.log(
      Object.entries(row)
        .map(([key, value]) => `${key} ${value}`)
        .join('  '),
    )
  }
  report[title] = rows
  if (session.evidence['quotes']) (report[BOUNDS_TITLE] ??= []).push(boundsRow(title, series))
  if (/generated, 1600/.test(title)) plot(series)
}

/** Our cost, and that of a planner that knows the future, as a share of the cost of only clearing results. */
function boundsRow(title: string, series: readonly { name: string; measures: Measures }[]): object {
  const costOf = ({ measures }: { measures: Measures }) => measures.costs[SMALL]!.cost
  const peersHere = series.filter(({ name }) => BOUNDED.test(name)).map(costOf)
  const shares = series
    .filter(({ name }) => name === 'thrifty' || name in LEAST)
    .map(
      each => [each.name.split(':')[0]!, peersHere.map(cost => (costOf(each) / cost).toFixed(2)).join(', ')] as const,
    )
  return { session: title, ...Object.fromEntries(shares) }
}

/** Our cost as a share of the cost of only clearing results. */
async function compareShape(name: string, shape: LongSession): Promise<object> {
  const session = prepare(name, longSession(1600, shape))
  const own = await runThrifty(session)
  const row: Record<string, string | number> = {
    shape: name,
    'our evidence': keptOf(own),
    'most tokens': own.peak,
  }
  for (const peer of peers.filter(each => BOUNDED.test(each.name))) {
    const theirs = await runPeer(peer, session)
    const ratio = own.costs[SMALL]!.cost / theirs.costs[SMALL]!.cost
    row[`${peer.name}, ${peer.setting.split(':')[0]}`] = `${ratio.toFixed(2)} @ ${keptOf(theirs)}`
  }
  console.log(JSON.stringify(row))
  return row
}

function keptOf({ evidence }: Measures): number {
  const { quotes } = evidence
  return quotes ? Number((quotes.kept / quotes.quotes).toFixed(3)) : 1
}

async function runThrifty(session: Recorded): Promise<Own> {
  const { evidence } = session
  const options = { count: await loadCounter(), prices: tablePrices(), evidence, overhead: TYPICAL_OVERHEAD }
  const meter = new Meter(session.messages, options)
  const strict = new Meter(session.messages, { ...options, inPlace: true })
  const ms: number[] = []
  let started = performance.now()
  for await (const { messages } of replay(session.messages, {
    policy: thrifty(),
    ...TABLES[SMALL],
    overhead: TYPICAL_OVERHEAD,
  })) {
    ms.push(performance.now() - started)
    meter.add(messages)
    strict.add(messages)
    started = performance.now()
  }
  const { quotes } = strict.result().evidence
  return { ...meter.result(), ms, ...(quotes ? { inPlace: quotes.kept / quotes.quotes } : {}) }
}

/** Not a contender but a lower bound (least.ts). */
async function runLeast(session: Recorded, own: Measures, least: Least): Promise<Measures> {
  const calls = await leastPerCall(session, tablePrices()[SMALL]!, least)
  const lost = calls.reduce((total, call) => total + call.lost, 0)
  const cost = calls.reduce((total, call) => total + call.cost, 0)
  const { quotes } = own.evidence
  return {
    calls: calls.length,
    sent: calls.reduce((total, call) => total + call.tokens, 0),
    said: 1,
    reasoning: { running: 0, lost: 0 },
    peak: Math.max(...calls.map(({ tokens }) => tokens)),
    costs: { ...own.costs, [SMALL]: { ...own.costs[SMALL]!, cost, effective: cost, refetches: 0, busts: 0 } },
    evidence: quotes ? { quotes: { ...quotes, kept: quotes.quotes - lost } } : {},
    perCall: calls.map(call => ({ ...call, bust: false })),
  }
}

function runPeer(peer: Peer, session: Recorded): Promise<Measures> {
  return measurePeer(peer, session, { until: cpuTime() + Number(values.seconds) * 1000 })
}

/** Ratios are over the calls that both made: a contender may have been stopped. */
function toRow(name: string, measures: Partial<Own> & Measures, own: Measures) {
  const made = measures.calls
  const sum = (list: Measures['perCall']) => list.slice(0, made).reduce((total, call) => total + call.cost, 0)
  const first = measures.perCall.findIndex(call => call.tokens > WINDOW)
  const tail = measures.perCall.slice(-Math.floor(made / 4))
  const middle = measures.perCall.slice(Math.floor(made / 4), Math.floor(made / 2))
  const share = (kind: string) => {
    const kept = measures.evidence[kind]
    return kept && kept.quotes > 0 ? Number((kept.kept / kept.quotes).toFixed(3)) : undefined
  }
  return {
    policy: name,
    calls: made,
    costToThrifty: Number((sum(measures.perCall) / sum(own.perCall)).toFixed(2)),
    peak: measures.peak,
    overWindowFrom: first < 0 ? 'never' : first + 1,
    costPerCallLate: Math.round(sum(tail) / tail.length),
    costPerCallEarly: Math.round(sum(middle) / middle.length),
    costByTenth: Array.from({ length: 10 }, (_, i) => {
      const part = measures.perCall.slice(Math.floor((made * i) / 10), Math.floor((made * (i + 1)) / 10))
      return Math.round(sum(part) / Math.max(1, part.length))
    }),
    ...(made === own.calls
      ? { effectiveToThrifty: Number((effectiveOf(measures) / effectiveOf(own)).toFixed(2)) }
      : {}),
    evidence: share('quotes'),
    editedTextInView: share('edits'),
    ...(measures.inPlace === undefined ? {} : { evidenceInPlace: Number(measures.inPlace.toFixed(3)) }),
    busts: measures.costs[SMALL]!.busts,
    ...(measures.ms ? { msEarly: mean(measures.ms.slice(100, 300)), msLate: mean(measures.ms.slice(-200)) } : {}),
  }
}

function effectiveOf({ costs }: Measures): number {
  return costs[SMALL]!.effective
}

function mean(list: readonly number[]): number {
  return Number((list.reduce((sum, value) => sum + value, 0) / Math.max(1, list.length)).toFixed(2))
}

function plot(series: readonly { name: string; measures: Measures }[]): void {
  const shown = series.filter(({ name }) => name !== 'none' && !/polling|microcompact|93 %/.test(name))
  const panel = (title: string, label: string, pick: (call: Measures['perCall'][number]) => number) => ({
    title,
    x: { label: 'call' },
    y: { label },
    height: 260,
    series: shown.map(({ name, measures }) => ({
      name: name.split(':')[0]!,
      points: smooth(measures.perCall.map(pick)),
    })),
  })
  const picture = {
    title: 'A session of 1,600 turns',
    description:
      'Tokens and cost per call, averaged over 20 calls. Of the policies only thrifty stays under the window of 200,000 tokens; the least is a sum.',
    panels: [
      panel('Tokens sent', 'tokens', call => call.tokens),
      panel('Cost (an uncached input token is 1)', 'cost', call => call.cost),
    ],
  }
  mkdirSync(values.img, { recursive: true })
  writeFileSync(`${values.img}/endless.svg`, toSvg(picture))
}

function smooth(list: readonly number[]): [number, number][] {
  const size = 20
  return Array.from({ length: Math.floor(list.length / size) }, (_, i) => [
    (i + 1) * size,
    mean(list.slice(i * size, (i + 1) * size)),
  ])
}
