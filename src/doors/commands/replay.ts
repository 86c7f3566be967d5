/**
 * `replay`: what each policy would have sent in a recorded session, what that would have cost, and what would have
 * been lost. Nothing is sent or recorded.
 */

import { PalimpsestError } from '../../model/errors.ts'
import { amount, withCommas } from '../../model/text.ts'
import type { PlannerFactory } from '../../policies/policy.ts'
import type { CompareOptions, Outcome, Recorded, Row } from '../../replay/measure/policies.ts'
import type { Plot } from '../../replay/plot.ts'
import type { Pricing } from '../../replay/report.ts'
import type { Timeline } from '../../view/timeline.ts'
import { inSteps } from '../../view/totals.ts'
import { defineCommand, type Io, listIn, numberOption, writeOutput } from '../terminal/command.ts'
import { oneLine, type Paint, printable, sparkline, table } from '../terminal/output.ts'
import { startProgress } from '../terminal/progress.ts'
import { copiesIn, readFound, transcriptFiles } from './transcript-files.ts'

type Found = { session: Recorded; timeline: Timeline }
type Played = Found & { outcomes: Outcome[] }
/** A row of the table with its cost: the amount paid, minus what the policy would have saved. */
type PricedRow = Row & { dollars: number }

const DECISIONS = 6
const DECISION_WIDTH = 140
/** The number of steps in the sparkline of the longest session; each step is as high as its largest call. */
const SPARK_STEPS = 24

export const replay = defineCommand({
  name: 'replay',
  summary: 'replay recorded sessions with planners and compare tokens, cost and lost quotes',
  usage: 'FILE...',
  details:
    'FILE is a transcript of a known agent, or a folder of transcripts. Percentages are relative to `none`, which\n' +
    'sends everything. Evidence is the share of later quotes whose source is still in view when the agent quotes it;\n' +
    'the cost with fetching adds the cost of fetching the lost sources again. See docs/replay.md.',
  examples: [
    'palimpsest replay session.jsonl',
    'palimpsest replay session.jsonl --policy none,stale-output,thrifty --svg cost.svg',
    'palimpsest replay ~/.codex/sessions --min-calls 30 --model gpt-5 --json',
  ],
  options: {
    policy: {
      type: 'string',
      value: 'A,B',
      about: 'presets to compare, including your own from palimpsest.json (none,thrifty)',
    },
    model: { type: 'string', value: 'NAME', about: 'the model for prices, window and rules (the recorded one)' },
    'cache-ttl': {
      type: 'string',
      value: 'NAME',
      about: 'the cache lifetime, such as 1h (as reported)',
    },
    overhead: {
      type: 'string',
      value: 'TOKENS',
      about: 'size of system prompt and tools (as reported, or 18000)',
    },
    'min-calls': { type: 'string', value: 'N', about: 'skip sessions with fewer model calls (1)' },
    svg: { type: 'string', value: 'OUT', about: 'write a plot of tokens and cost per call for the longest session' },
    explain: { type: 'boolean', about: 'print every decision, not only those that saved most' },
  },
  async run({ args, values, io, home }) {
    const overhead = numberOption(values.overhead, '--overhead')
    const notes: string[] = []
    const given = {
      ...(values.model ? { model: values.model } : {}),
      ...(values['cache-ttl'] ? { cacheTtl: values['cache-ttl'] } : {}),
      ...(overhead === undefined ? {} : { overhead }),
    }
    const minCalls = numberOption(values['min-calls'], '--min-calls') ?? 1
    const { settingsFor } = await import('../../session/config.ts')
    const { models = {} } = await settingsFor(home)
    const pricing = { models, ...(values.model ? { model: values.model } : {}) }
    const sessions = await readSessions(args, { minCalls, pricing, notes })
    const policies = await plannersOf(values.policy ?? 'none,thrifty', home)
    const played = await play(sessions, policies, { given, io })
    const { sumUp } = await import('../../replay/measure/policies.ts')
    const { assumedPrices, savedByCall, sum } = await import('../../replay/account.ts')
    const { summaryOf } = await import('../../view/totals.ts')
    const rows = policies.map(({ name }, i): PricedRow => {
      const pairs = played.map(({ outcomes }) => ({ measures: outcomes[i]!.measures, base: outcomes.at(-1)!.measures }))
      const dollars = played.map(({ timeline, outcomes }) => {
        return summaryOf(timeline).money.with - sum(savedByCall(timeline, outcomes.at(-1)!, outcomes[i]!))
      })
      const own = played.map(({ timeline, outcomes }) => ({ timeline, ...outcomes[i]!.measures }))
      const tokens = sum(own.map(({ timeline, sent }) => timeline.theirs(sent)))
      const peak = Math.max(...own.map(one => one.timeline.theirs(one.peak)))
      return { ...sumUp(name, pairs), tokens, peak, dollars: sum(dollars) }
    })
    const model = [...new Set(played.map(({ timeline }) => timeline.calls.at(-1)?.model ?? ''))].join(', ')
    notes.push(...assumedPrices(played.map(one => one.timeline)))
    if (values.svg !== undefined) notes.push(await drawLongest(values.svg, played, policies.length))
    return {
      json: { model, rows, sessions: played.map(one => toJson(one, policies.length)), notes },
      text: paint => lines({ rows, played, model, explain: values.explain === true }, paint),
      notes,
    }
  },
})

async function readSessions(
  paths: readonly string[],
  { minCalls, pricing, notes }: { minCalls: number; pricing: Pricing; notes: string[] },
): Promise<Found[]> {
  const { prepareSession } = await import('../../replay/measure/policies.ts')
  const { recordedTimeline } = await import('../../replay/account.ts')
  const { withCopies } = await import('../../session/copied-calls.ts')
  const found: Found[] = []
  const files = await transcriptFiles(paths)
  const copies = await copiesIn(files)
  for (const file of files) {
    const transcript = await readFound(file, notes)
    for (const [i, recorded] of transcript?.sessions.entries() ?? []) {
      const session = withCopies(recorded, copies.get(file)?.[i])
      const calls = session.messages.filter(({ role }) => role === 'assistant').length
      if (calls < Math.max(1, minCalls)) continue
      const timeline = await recordedTimeline(session, pricing)
      found.push({ session: prepareSession(session.id, session.messages), timeline })
    }
  }
  if (found.length > 0) return found
  throw new PalimpsestError(
    'INVALID_INPUT',
    `There is no session with at least ${amount(Math.max(1, minCalls), 'call')} in ${paths.join(', ')}.`,
    { paths: [...paths] },
  )
}

/** The presets by name, and those in palimpsest.json. They are checked before anything is replayed. */
async function plannersOf(list: string, home: string): Promise<PlannerFactory[]> {
  const { findPreset, presets, seedPresets } = await import('../../planner/presets.ts')
  const { settingsFor } = await import('../../session/config.ts')
  const { planner: own, tuning } = await settingsFor(home)
  const find = (name: string) => (own?.name === name ? own : findPreset(name, tuning))
  const names = [...new Set(listIn(list))]
  const unknown = names.find(name => !find(name))
  if (names.length > 0 && unknown === undefined) return names.map(name => find(name)!)
  const known = [...presets, ...seedPresets, ...(own ? [own] : [])].map(({ name }) => name).join(', ')
  throw new PalimpsestError(
    'CONFIG_INVALID',
    `There is no preset ${JSON.stringify(unknown ?? list)}. Known presets: ${known}.`,
    { policy: unknown ?? list },
  )
}

/** Replays every session under every policy, and last under `none`, the reference for the percentages. */
async function play(
  sessions: readonly Found[],
  planners: readonly PlannerFactory[],
  { given, io }: { given: Pick<CompareOptions, 'model' | 'cacheTtl' | 'overhead'>; io: Io },
): Promise<Played[]> {
  const { tryPolicy } = await import('../../replay/measure/policies.ts')
  const { replayOptionsOf } = await import('../../replay/account.ts')
  const { none } = await import('../../policies/policy.ts')
  const progress = startProgress(io, sessions.length * (planners.length + 1))
  const played: Played[] = []
  for (const { session, timeline } of sessions) {
    const options = { ...replayOptionsOf(timeline), ...given }
    const outcomes: Outcome[] = []
    for (const planner of [...planners, none]) {
      progress.step(`${planner.name}  ${printable(session.name)}`)
      const known = outcomes.find(outcome => outcome.policy === planner.name)
      outcomes.push(known ?? (await tryPolicy(session, planner, options)))
    }
    played.push({ session, timeline, outcomes })
  }
  progress.done()
  return played
}

type Shown = { rows: PricedRow[]; played: Played[]; model: string; explain: boolean }

function* lines({ rows, played, model, explain }: Shown, paint: Paint): Generator<string> {
  const calls = played.reduce((total, { session }) => total + session.calls, 0)
  for (const row of rows) yield* decisionLines(row.policy, played, explain, paint)
  yield `${amount(played.length, 'session')}, ${amount(calls, 'call')}, prices of ${printable(model)}; percentages relative to none`
  yield ''
  const columns = [
    '*POLICY',
    '>TOKENS SENT',
    '>SHARE',
    '>COST',
    '>DOLLARS',
    '>STILL VISIBLE',
    '*>WITH FETCHING',
    '>WORST',
    '>CACHE LOST',
    '>PEAK',
    'TOKENS PER CALL',
  ]
  const longest = longestOf(played)
  const cells = rows.map((row, i) => [...toCells(row), sparkOf(longest, i)])
  yield* table(columns, cells, paint)
}

function longestOf(played: readonly Played[]): Played {
  return played.reduce((best, one) => (one.session.calls > best.session.calls ? one : best))
}

/** Tokens call by call; all policies use the scale of the largest. */
function sparkOf({ outcomes }: Played, policy: number): string {
  const most = Math.max(...outcomes.map(({ measures }) => measures.peak))
  const sent = outcomes[policy]!.measures.perCall.map(({ tokens }) => tokens)
  return sparkline(inSteps(sent, SPARK_STEPS), most)
}

function toCells(row: PricedRow): string[] {
  const share = (value: number) => value.toFixed(3)
  return [
    row.policy,
    withCommas(row.tokens),
    share(row.sentShare),
    share(row.costShare),
    row.dollars.toFixed(2),
    share(row.evidence),
    share(row.effectiveShare),
    row.worst.toFixed(2),
    withCommas(row.busts),
    withCommas(row.peak),
  ]
}

function* decisionLines(policy: string, played: readonly Played[], all: boolean, paint: Paint): Generator<string> {
  const made = played.flatMap(({ session, timeline, outcomes }) => {
    const own = outcomes.find(outcome => outcome.policy === policy)
    return (own?.decisions ?? []).map(({ saved, ...decision }) => {
      return { ...decision, saved: timeline.theirs(saved), session: session.name }
    })
  })
  if (made.length === 0) return
  const largest = all ? made : made.toSorted((a, b) => b.saved - a.saved).slice(0, DECISIONS)
  const order = all ? largest : made.filter(decision => largest.includes(decision))
  const more = made.length > order.length ? `; these saved most (--explain shows all)` : ''
  yield paint.bold(`${policy}: edits at ${amount(made.length, 'call')}${more}`)
  for (const { session, call, text, saved } of order) {
    const where = played.length > 1 ? `${printable(session)} ` : ''
    yield `  ${where}call ${call + 1}: ${oneLine(text, all ? 10 * DECISION_WIDTH : DECISION_WIDTH)} ${paint.dim(`(${withCommas(saved)} tokens)`)}`
  }
  yield ''
}

function toJson({ session, outcomes }: Played, policies: number) {
  return {
    name: session.name,
    calls: session.calls,
    policies: outcomes.slice(0, policies).map(({ policy, measures, decisions, unexplained, violations }) => {
      return { policy, ...measures, decisions, unexplained, violations }
    }),
  }
}

async function drawLongest(path: string, played: readonly Played[], policies: number): Promise<string> {
  const { toSvg } = await import('../../replay/plot.ts')
  const longest = longestOf(played)
  await writeOutput(path, toSvg(plotOf(longest.session.name, longest.outcomes.slice(0, policies))))
  return `${path} shows ${printable(longest.session.name)}.`
}

function plotOf(name: string, outcomes: readonly Outcome[]): Plot {
  const panel = (title: string, label: string, pick: (call: Outcome['measures']['perCall'][number]) => number) => ({
    title,
    x: { label: 'call' },
    y: { label },
    series: outcomes.map(({ policy, measures }) => ({
      name: policy,
      points: measures.perCall.map((call, i) => [i + 1, pick(call)] as const),
    })),
  })
  return {
    title: `${name}: tokens and cost per call`,
    description: `For each model call, the tokens that would be sent and their cost, with ${outcomes.map(({ policy }) => policy).join(', ')}.`,
    panels: [
      panel('Tokens sent', 'tokens', call => call.tokens),
      panel('Cost (an uncached input token is 1)', 'cost', call => call.cost),
    ],
  }
}
