/**
 * Sessions without an end: generated ones of 1,600 and 10,000 turns, and real sessions joined across what their
 * clients compacted. Does the view stay under the window, does the cost per call stay flat, what is lost, and how
 * long does the engine take? `node bench/endless.ts [DIR]`; --turns N[,N], --seconds N for one contender.
 *
 * Evidence is measured on sessions of up to 2,000 calls; beyond, only the text that edits replace. Results of earlier
 * runs stay in the JSON.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type Measures, Meter } from '../src/measure.ts'
import type { Recorded } from '../src/measure-policies.ts'
import { toSvg } from '../src/plot.ts'
import { thrifty } from '../src/policies/thrifty.ts'
import { replay } from '../src/replay.ts'
import { loadCounter } from '../src/tokens.ts'
import type { Message } from '../src/types.ts'
import { MAIN, measurePeer, TABLES, tablePrices } from './contenders.ts'
import { longSession } from './long-session.ts'
import type { Peer } from './peers/peer.ts'
import { loadPeers } from './peers/peers.ts'
import { type BenchSession, loadSessions, toRecorded } from './recorded.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    turns: { type: 'string', default: '1600,10000' },
    seconds: { type: 'string', default: '120' },
    json: { type: 'string', default: 'bench/results/endless.json' },
    img: { type: 'string', default: 'docs/img' },
  },
})
const LONGEST_WITH_QUOTES = 2000
const OVERHEAD = 18_000
const WINDOW = 200_000
const WANTED = /ClearToolUsesEdit.*default|clear_tool_uses|microcompact.*best|polling 10/
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

for (const turns of values.turns.split(',').filter(Boolean).map(Number)) {
  const messages = longSession(turns)
  await compare(`generated, ${turns} turns`, toRecorded(`generated-${turns}`, messages, kindsFor(turns)))
}
if (positionals[0] !== undefined) {
  for (const [name, parts] of chains(await loadSessions(positionals[0], { minCalls: 1 }))) {
    const recorded = toRecorded(name, join(parts), kindsFor(parts.reduce((sum, { calls }) => sum + calls, 0)))
    await compare(`real, ${name}, ${parts.length} stretches`, recorded)
  }
}
mkdirSync('bench/results', { recursive: true })
const before: object = existsSync(values.json) ? JSON.parse(readFileSync(values.json, 'utf8')) : {}
writeFileSync(values.json, `${JSON.stringify({ ...before, ...report }, null, 1)}\n`)

function kindsFor(calls: number): string[] {
  return calls <= LONGEST_WITH_QUOTES ? ['quotes', 'edits'] : ['edits']
}

async function compare(title: string, session: Recorded): Promise<void> {
  console.log(`\n== ${title}: ${session.calls} calls`)
  const rows: object[] = []
  const series: { name: string; measures: Measures }[] = []
  const runs: [string, () => Promise<Measures & { ms?: number[] }>][] = [
    ['thrifty', () => runThrifty(session)],
    ...peers.map((peer): [string, () => Promise<Measures>] => [
      `${peer.name}, ${peer.setting}`,
      () => runPeer(peer, session),
    ]),
    ['none', () => runPeer(everything, session)],
  ]
  const own = await runs[0]![1]()
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
  if (/generated, 1600/.test(title)) plot(series)
}

async function runThrifty(session: Recorded): Promise<Measures & { ms: number[] }> {
  const count = await loadCounter()
  const meter = new Meter(session.messages, {
    count,
    prices: tablePrices(),
    evidence: session.evidence,
    overhead: OVERHEAD,
  })
  const ms: number[] = []
  let started = performance.now()
  for await (const { messages } of replay(session.messages, {
    policy: thrifty(),
    model: TABLES[MAIN],
    overhead: OVERHEAD,
  })) {
    ms.push(performance.now() - started)
    meter.add(messages)
    started = performance.now()
  }
  return { ...meter.result(), ms }
}

function runPeer(peer: Peer, session: Recorded): Promise<Measures> {
  return measurePeer(peer, session, { until: Date.now() + Number(values.seconds) * 1000 })
}

/** Ratios are over the calls that both made: a contender may have been stopped. */
function toRow(name: string, measures: Measures & { ms?: number[] }, own: Measures) {
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
    evidence: share('quotes'),
    editedTextInView: share('edits'),
    busts: measures.costs[MAIN]!.busts,
    ...(measures.ms ? { msEarly: mean(measures.ms.slice(100, 300)), msLate: mean(measures.ms.slice(-200)) } : {}),
  }
}

function mean(list: readonly number[]): number {
  return Number((list.reduce((sum, value) => sum + value, 0) / Math.max(1, list.length)).toFixed(2))
}

/** Sessions that go on from one another, in the order of their file; a chain of three and more is joined. */
function chains(sessions: readonly BenchSession[]): Map<string, BenchSession[]> {
  const found = new Map<string, BenchSession[]>()
  for (const session of sessions) {
    if (session.reason === 'sub-agent' || session.reason === 'rewind') continue
    const name = `${session.format}/${session.repo}`
    found.set(name, [...(found.get(name) ?? []), session])
  }
  return new Map([...found].filter(([, parts]) => parts.some(({ reason }) => reason === 'compaction')))
}

/** One conversation after the other, with ids of their own, and the pauses between them closed to an hour. */
function join(parts: readonly BenchSession[]): Message[] {
  let shift = 0
  let end = 0
  return parts.flatMap(({ messages }, number) => {
    const start = messages.find(({ at }) => at)?.at ?? 0
    shift = number === 0 ? 0 : end + 3_600_000 - start
    return messages.map(message => {
      const at = (message.at ?? start) + shift
      end = Math.max(end, at)
      const own = message.parts.map(part => ('id' in part ? { ...part, id: `${number}.${part.id}` } : part))
      return { ...message, at, parts: own }
    })
  })
}

function plot(series: readonly { name: string; measures: Measures }[]): void {
  const shown = series.filter(({ name }) => name !== 'none' && !/polling|microcompact/.test(name))
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
      'Tokens and cost per call, averaged over 20 calls. Only thrifty stays under the window of 200,000 tokens.',
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
