/**
 * Do the results hold on sessions that were not used for fitting, and which parameters matter? `node
 * bench/sensitivity.ts DIR`.
 *
 * Leave one repository out: the densities of quotes by class and the knob are fitted on the sessions of all other
 * repositories, and measured on the one left out. Sensitivity: each parameter is halved and doubled alone. --every N
 * takes every Nth session for the second part.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { describeCall } from '../src/calls/tool-kinds.ts'
import { type Counter, loadCounter, partTokens } from '../src/model/tokens.ts'
import { classOf } from '../src/planner/classes.ts'
import { thrifty } from '../src/planner/thrifty.ts'
import { type PartClass, QUOTES, type Quotes, THRIFTY, type ThriftyOptions } from '../src/planner/tuning.ts'
import type { Measures } from '../src/replay/measure/measure.ts'
import { type Row, sumUp, tryPolicy } from '../src/replay/measure/policies.ts'
import type { Unit } from '../src/view/units.ts'
import { type BenchSession, loadSessions, withQuotesOnly } from './recorded.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    every: { type: 'string', default: '2' },
    json: { type: 'string', default: 'bench/results/sensitivity.json' },
  },
})
const KNOB = [...new Set([80_000, 110_000, THRIFTY.quote, 180_000, 240_000])].toSorted((a, b) => a - b)
const EVIDENCE_WANTED = 0.97

const count = await loadCounter()
const sessions = (await loadSessions(positionals[0] ?? '.')).map(withQuotesOnly)
const bases = new Map<BenchSession, Measures>()
for (const session of sessions) bases.set(session, (await tryPolicy(session, 'none')).measures)

const crossed = await leaveOneOut()
const sensitive = await sensitivity(sessions.filter((_, i) => i % Number(values.every) === 0))
mkdirSync('bench/results', { recursive: true })
writeFileSync(values.json, `${JSON.stringify({ leaveOneRepoOut: crossed, sensitivity: sensitive }, null, 1)}\n`)

async function measureAll(
  chosen: readonly BenchSession[],
  options: Partial<ThriftyOptions>,
): Promise<Map<BenchSession, Measures>> {
  const found = new Map<BenchSession, Measures>()
  for (const session of chosen) found.set(session, (await tryPolicy(session, thrifty(options))).measures)
  return found
}

function rowOf(measured: ReadonlyMap<BenchSession, Measures>, wanted = (_: BenchSession) => true): Row {
  const pairs = [...measured]
    .filter(([session]) => wanted(session))
    .map(([session, measures]) => ({ measures, base: bases.get(session)! }))
  return sumUp('thrifty', pairs)
}

async function leaveOneOut() {
  const byKnob = new Map<number, Map<BenchSession, Measures>>()
  for (const quote of KNOB) byKnob.set(quote, await measureAll(sessions, { quote }))
  const whole = densities(sessions, count)
  const held = new Map<BenchSession, Measures>()
  const folds = []
  for (const repo of new Set(sessions.map(session => session.repo))) {
    const quote =
      KNOB.find(each => rowOf(byKnob.get(each)!, session => session.repo !== repo).evidence >= EVIDENCE_WANTED) ??
      KNOB.at(-1)!
    const quotes = fitted(
      densities(
        sessions.filter(session => session.repo !== repo),
        count,
      ),
      whole,
    )
    const own = await measureAll(
      sessions.filter(session => session.repo === repo),
      { quote, quotes },
    )
    for (const [session, measures] of own) held.set(session, measures)
    const fold = { repo, sessions: own.size, quote, ...short(rowOf(own)) }
    folds.push(fold)
    console.log(JSON.stringify(fold))
  }
  const result = {
    held: short(rowOf(held)),
    fittedOnAll: short(rowOf(byKnob.get(THRIFTY.quote)!)),
    folds,
  }
  console.log(
    'leave one repository out',
    JSON.stringify(result.held),
    'fitted on all',
    JSON.stringify(result.fittedOnAll),
  )
  return result
}

/** Quotes per token of each class, over all ages. */
function densities(chosen: readonly BenchSession[], counter: Counter): Map<PartClass, number> {
  const sums = new Map<PartClass, { quotes: number; tokens: number }>()
  for (const { evidence } of chosen) {
    const { sources, quotes } = evidence['quotes']!
    const infos = new Map<string, ReturnType<typeof describeCall>>()
    const classes = sources.map(({ part }) => {
      if (part.type === 'tool-call') infos.set(part.id, describeCall(part.name, part.input))
      const call = infos.get(part.id)
      return classOf({ original: part, ...(call ? { call } : {}) } as Unit)
    })
    for (const [i, partClass] of classes.entries()) add(partClass, 0, partTokens(sources[i]!.part, counter))
    for (const found of quotes.values()) for (const quote of found) add(classes[quote.sources.at(-1)!], 1, 0)
  }
  return new Map([...sums].map(([partClass, { quotes, tokens }]) => [partClass, quotes / Math.max(1, tokens)]))

  function add(partClass: PartClass | undefined, quotes: number, tokens: number): void {
    if (!partClass) return
    const sum = sums.get(partClass) ?? { quotes: 0, tokens: 0 }
    sums.set(partClass, { quotes: sum.quotes + quotes, tokens: sum.tokens + tokens })
  }
}

/** The table as it would have been fitted on fewer sessions: the same safety factors on other densities. */
function fitted(part: ReadonlyMap<PartClass, number>, whole: ReadonlyMap<PartClass, number>): Quotes {
  const entries = Object.entries(QUOTES).map(([name, value]) => {
    const [some, all] = [part.get(name as PartClass), whole.get(name as PartClass)]
    return [name, some && all ? (value * some) / all : value]
  })
  return Object.fromEntries(entries)
}

async function sensitivity(chosen: readonly BenchSession[]) {
  const scaled = (name: keyof Quotes, factor: number) => ({ quotes: { ...QUOTES, [name]: QUOTES[name] * factor } })
  const numbers = ['batch', 'horizonMin', 'horizonMax', 'runLimit', 'minSave'] as const
  const variants: [string, Partial<ThriftyOptions>][] = [
    ['default', {}],
    ...numbers.flatMap((name): [string, Partial<ThriftyOptions>][] =>
      [0.5, 2].map(factor => [`${name} ${THRIFTY[name] * factor}`, { [name]: THRIFTY[name] * factor }]),
    ),
    ...[0.4, 0.6].map((goal): [string, Partial<ThriftyOptions>] => [`goal ${goal}`, { goal }]),
    ...[0.6, 0.74].map((may): [string, Partial<ThriftyOptions>] => [`may ${may}`, { may }]),
    ...(['code', 'list', 'run', 'input', 'command'] as const).flatMap((name): [string, Partial<ThriftyOptions>][] =>
      [0.5, 2].map(factor => [`quotes.${name} × ${factor}`, scaled(name, factor)]),
    ),
  ]
  const rows = []
  for (const [name, options] of variants) {
    const row = { name, ...short(rowOf(await measureAll(chosen, options))) }
    rows.push(row)
    console.log(JSON.stringify(row))
  }
  return rows
}

function short({ costShare, evidence, effectiveShare, worst, busts }: Row) {
  const round = (value: number) => Math.round(value * 1000) / 1000
  return {
    cost: round(costShare),
    evidence: round(evidence),
    effective: round(effectiveShare),
    worst: round(worst),
    busts,
  }
}
