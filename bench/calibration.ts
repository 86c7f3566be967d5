/**
 * The cost model against the bill: `npm run bench:calibration -- DIR`. For every session of a folder with at least 15
 * calls and usage reported by a provider that charges for it: the predicted cost of its input divided by the billed
 * one, per session and per call, and the causes of the difference. Writes the tables of docs/benchmarks.md; `--json
 * FILE` writes every session.
 *
 * Output is left out: its cost follows from a reported number, so it is predicted exactly.
 */
import { readdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { readTranscript } from '../src/formats/transcripts/read-transcript.ts'
import type { TranscriptSession } from '../src/formats/transcripts/sessions.ts'
import { isPalimpsestError } from '../src/model/errors.ts'
import { withCommas } from '../src/model/text.ts'
import { recordedTimeline, sum } from '../src/replay/account.ts'
import { type WhyCause, whyOf } from '../src/replay/why.ts'
import type { Timeline, TimelineCall } from '../src/view/timeline.ts'

const MIN_CALLS = 15
const WORST = 8
const PLACES = [0.1, 0.25, 0.5, 0.75, 0.9]
const NEAR = 0.1
/** A prompt may shrink by this much without a cause, because clients remove old reminders. */
const MIN_LEFT_OUT = 5000

type Calibrated = {
  name: string
  format: string
  model: string
  calls: number
  billedUsd: number
  predictedUsd: number
  ratio: number
  /** Predicted over billed, call by call. */
  perCall: number[]
  /** Calls on a warm cache, by what happened to the cache. */
  warm: Partial<Record<WhyCause, number>>
  /** Billed minus predicted dollars, by cause. */
  differences: Partial<Record<WhyCause, number>>
  /** Tokens that were read from a cache over all calls. */
  cacheRead: number
  /** Tokens by which prompts shrank from one call to the next: the client left out text that its file still has. */
  leftOut: number
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { json: { type: 'string' } } })
  const [folder] = positionals
  if (folder === undefined) throw new Error('Name a folder of transcripts.')
  const sessions: Calibrated[] = []
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
    sessions.push(...(await calibrationsIn(join(folder, file), relative('.', file))))
  }
  for (const line of tables(sessions)) console.log(line)
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(sessions, undefined, 1))
}

async function calibrationsIn(path: string, name: string): Promise<Calibrated[]> {
  try {
    const { format, sessions } = await readTranscript(path)
    const found = sessions.filter(({ usage }) => usage.length > 0).map(session => calibrate(session, name, format))
    return (await Promise.all(found)).filter(({ calls, billedUsd }) => calls >= MIN_CALLS && billedUsd > 0)
  } catch (error) {
    if (isPalimpsestError(error)) return []
    throw error
  }
}

async function calibrate(session: TranscriptSession, name: string, format: string): Promise<Calibrated> {
  const timeline = await recordedTimeline(session)
  const calls = timeline.calls.filter(({ inherited, paid }) => !inherited && !paid.estimated)
  const differences: Calibrated['differences'] = {}
  for (const { cause, differenceUsd } of whyOf(timeline).causes) differences[cause] = differenceUsd
  const billedUsd = sum(calls.map(billedInput))
  const predictedUsd = sum(calls.map(({ sent }) => sent.cost))
  return {
    name: session.id === '' ? name : `${name} ${session.id}`,
    format,
    model: calls.at(-1)?.model ?? '',
    calls: calls.length,
    billedUsd,
    predictedUsd,
    ratio: predictedUsd / billedUsd,
    perCall: calls.filter(call => billedInput(call) > 0).map(call => call.sent.cost / billedInput(call)),
    warm: warmCalls(timeline, calls),
    differences,
    cacheRead: sum(calls.map(({ reported }) => reported?.cacheRead ?? 0)),
    leftOut: sum(calls.map((call, i) => Math.max(0, inputOf(calls[i - 1]) - inputOf(call) - MIN_LEFT_OUT))),
  }
}

function inputOf(call: TimelineCall | undefined): number {
  const { input = 0, cacheRead = 0, cacheWrite = 0 } = call?.reported ?? {}
  return input + cacheRead + cacheWrite
}

function billedInput({ paid }: TimelineCall): number {
  return paid.dollars - paid.output
}

/** Calls that should have found their prefix, where the provider reports its cache. */
function warmCalls(timeline: Timeline, calls: readonly TimelineCall[]): Calibrated['warm'] {
  const counts: Calibrated['warm'] = {}
  for (const call of calls) {
    if (call.sent.cached === 0 || call.reported?.cacheRead === undefined) continue
    const cause = timeline.lossOf(call)?.cause ?? 'none'
    counts[cause] = (counts[cause] ?? 0) + 1
  }
  return counts
}

function* tables(sessions: readonly Calibrated[]): Generator<string> {
  const calls = sessions.flatMap(({ perCall }) => perCall)
  const near = calls.filter(ratio => Math.abs(ratio - 1) <= NEAR).length
  yield `${sessions.length} sessions, ${withCommas(calls.length)} calls, $${withCommas(Math.round(sum(sessions.map(one => one.billedUsd))))} of input.`
  yield ''
  yield '| | number | 10th percentile | 25th | median | 75th | 90th | over all dollars |'
  yield '|--|--:|--:|--:|--:|--:|--:|--:|'
  const ratios = (some: readonly Calibrated[]) => some.map(({ ratio }) => ratio)
  yield row('per session', ratios(sessions), wholeOf(sessions))
  for (const [format, own] of byFormat(sessions)) yield row(format, ratios(own), wholeOf(own))
  yield row('per call', calls, '')
  yield ''
  yield `${percent(near / calls.length)} of the calls are within 10 %.`
  for (const [format, own] of [['all', sessions] as const, ...byFormat(sessions)]) yield warmLine(format, own)
  yield ''
  yield `| the ${WORST} lowest and the ${WORST} highest | predicted / billed | billed | where the difference comes from |`
  yield '|--|--:|--:|--|'
  const sorted = sessions.toSorted((a, b) => a.ratio - b.ratio)
  for (const one of [...sorted.slice(0, WORST), ...sorted.slice(-WORST)]) yield worstRow(one)
}

function byFormat(sessions: readonly Calibrated[]): [string, Calibrated[]][] {
  return [...Map.groupBy(sessions, ({ format }) => format)].sort((a, b) => b[1].length - a[1].length)
}

function row(name: string, ratios: readonly number[], whole: string): string {
  const sorted = ratios.toSorted((a, b) => a - b)
  const places = PLACES.map(place => sorted[Math.min(sorted.length - 1, Math.floor(place * sorted.length))]!.toFixed(2))
  return `| ${name} | ${withCommas(ratios.length)} | ${places.join(' | ')} | ${whole} |`
}

function wholeOf(sessions: readonly Calibrated[]): string {
  return (sum(sessions.map(one => one.predictedUsd)) / sum(sessions.map(one => one.billedUsd))).toFixed(2)
}

function warmLine(format: string, sessions: readonly Calibrated[]): string {
  const counts = new Map<string, number>()
  for (const { warm } of sessions)
    for (const [cause, number] of Object.entries(warm)) counts.set(cause, (counts.get(cause) ?? 0) + number)
  const all = sum([...counts.values()])
  const lost = [...counts].filter(([cause]) => cause !== 'none').map(([cause, number]) => `${cause} ${number}`)
  if (all === 0) return `${format}: no cache reported`
  return `${format}: ${withCommas(all)} calls on a warm cache, ${percent((counts.get('none') ?? 0) / all)} lost nothing${lost.length > 0 ? `; lost: ${lost.join(', ')}` : ''}`
}

/** An explanation of each cause of a difference: the cost model knows of the loss, but not of these. */
const CAUSES: Record<WhyCause, string> = {
  provider: 'the provider did not find what it should have had',
  none: 'other sizes and reads than the file shows',
  start: 'the first call read system prompt and tools from the cache of an earlier session',
  pause: 'a smaller prompt after a pause',
  edit: 'edits',
  client: 'changes of the client',
  model: 'another model',
  server: "the provider's own edits",
}

function worstRow(session: Calibrated): string {
  const { name, model, ratio, billedUsd, differences, cacheRead, leftOut } = session
  const largest = Object.entries(differences).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]))
  const causes = largest
    .filter(([, dollars]) => Math.abs(dollars) >= billedUsd / 50)
    .map(
      ([cause, dollars]) => `${CAUSES[cause as WhyCause]} (${dollars < 0 ? '−' : ''}$${Math.abs(dollars).toFixed(2)})`,
    )
  const notes = [
    ...(cacheRead === 0 ? ['nothing was ever read from a cache'] : causes),
    ...(leftOut > 0 ? [`the client left out ${withCommas(leftOut)} tokens that its file still has`] : []),
  ]
  const short = name.replace(/ [0-9a-f-]{36}/, '')
  return `| ${short} (${model}) | ${ratio.toFixed(2)} | $${billedUsd.toFixed(2)} | ${notes.join('; ')} |`
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`
}

await main()
