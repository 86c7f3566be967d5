/**
 * What recorded sessions cost and where, from their accounts (account.ts): what was billed, what the model of costs
 * says, and what `thrifty` would have saved; the same by day, project, model and agent.
 *
 * Pure but for the replay itself; the page is one string of HTML that loads nothing, with every text from a session
 * escaped.
 */

import type { TranscriptSession } from '../formats/transcripts/sessions.ts'
import { textOf } from '../model/leaves.ts'
import { headOf } from '../model/text.ts'
import { loadCounter, partTokens } from '../model/tokens.ts'
import type { Message, ToolResultPart } from '../model/types.ts'
import { type Model, modelInfo, PRICES_AS_OF } from '../providers/models.ts'
import { dayOf, summaryOf } from '../view/totals.ts'
import { replayOptionsOf, savingsOf, sum, timelineOf } from './account.ts'
import type { Measures } from './measure/measure.ts'
import { prepareSession, tryPolicy } from './measure/policies.ts'
import { escapeXml, toSvg } from './plot.ts'

export type Waste = { name: string; about: string; times: number; tokens: number; dollars: number }
export type WasteKind = 'repeated' | 'huge' | 'cold' | 'busts'

export type SessionReport = {
  id: string
  format: string
  model: string
  calls: number
  /** When it began, if the recording says. */
  at: number
  tokens: number
  /** The folder that the agent worked in. */
  project: string
  /** Part of another session's work: a subagent's. */
  isSubagent: boolean
  billedUsd: number
  /** Calls that the provider reported nothing of: their part of the bill is estimated. */
  estimatedCalls: number
  modelledUsd: number
  savedUsd: number
  /** The same call by call. */
  bill: BillLine[]
  evidence: { kept: number; quotes: number }
  peak: number
  waste: Record<WasteKind, Waste>
  perCall: { none: number[]; thrifty: number[] }
}

export type BillLine = { at: number; model: string; billedUsd: number; modelledUsd: number; savedUsd: number }

/** Dollars of input, cache and output over some calls. */
export type Bill = { calls: number; billedUsd: number; modelledUsd: number; savedUsd: number }
export type NamedBill = Bill & { name: string }

export type Totals = Bill & {
  estimatedCalls: number
  /** The part of it that subagents spent. */
  subagents: Bill
  evidence: number
  waste: Record<WasteKind, Waste>
}

const HUGE_TOKENS = 8000
const WASTE: Record<WasteKind, Pick<Waste, 'name' | 'about'>> = {
  repeated: { name: 'results that stood in view already', about: 'the same text from a tool, sent and held once more' },
  huge: {
    name: 'huge results',
    about: `what results over ${HUGE_TOKENS} tokens cost beyond that size, over all calls that held them`,
  },
  cold: {
    name: 'cold restarts',
    about: 'writing everything again after a pause longer than the provider keeps a prompt',
  },
  busts: {
    name: 'cache misses',
    about: 'calls soon after another for which the provider reported far fewer cached tokens than before',
  },
}

export async function reportOn(
  session: TranscriptSession,
  { format, ...given }: { format: string; model?: string },
): Promise<SessionReport> {
  const timeline = await timelineOf(session, given)
  const options = { ...replayOptionsOf(timeline), ...given }
  const model = modelInfo(options.model)
  const recorded = prepareSession(session.id, session.messages)
  const base = await tryPolicy(recorded, 'none', options)
  const outcome = await tryPolicy(recorded, 'thrifty', options)
  const [none, thrifty] = [base.measures, outcome.measures]
  const toDollars = (units: number) => (units * model.input * timeline.scale) / 1e6
  const saved = savingsOf(timeline, base, outcome)
  const bill = timeline.calls.flatMap(({ at, model: name, paid, modelled, inherited }, i): BillLine[] =>
    inherited ? [] : [{ at, model: name, billedUsd: paid.dollars, modelledUsd: modelled, savedUsd: saved[i] ?? 0 }],
  )
  const { calls, ...sums } = billOf(bill)
  return {
    id: session.id,
    format,
    model: options.model,
    calls,
    ...sums,
    bill,
    project: session.cwd ?? '',
    isSubagent: session.reason === 'sub-agent',
    estimatedCalls: summaryOf(timeline).money.estimated,
    at: recorded.messages.find(({ at }) => at)?.at ?? 0,
    tokens: none.sent,
    evidence: { kept: thrifty.evidence['quotes']!.kept, quotes: thrifty.evidence['quotes']!.quotes },
    peak: none.peak,
    waste: await wasteIn(session, recorded.messages, none, { model, toDollars }),
    perCall: { none: none.perCall.map(({ cost }) => cost), thrifty: thrifty.perCall.map(({ cost }) => cost) },
  }
}

/** Over some calls. */
export function billOf(lines: readonly BillLine[]): Bill {
  const total = (key: 'billedUsd' | 'modelledUsd' | 'savedUsd') => sum(lines.map(line => line[key]))
  return {
    calls: lines.length,
    billedUsd: total('billedUsd'),
    modelledUsd: total('modelledUsd'),
    savedUsd: total('savedUsd'),
  }
}

/** The same money by day, project, model and agent; each list adds up to the whole. */
export function billsBy(sessions: readonly SessionReport[]) {
  return {
    days: grouped(sessions, (_, { at }) => dayOf(at)).sort((a, b) => (a.name < b.name ? -1 : 1)),
    projects: byCost(grouped(sessions, ({ project }) => project || 'unknown')),
    models: byCost(grouped(sessions, (_, { model }) => model || 'unknown')),
    agents: byCost(grouped(sessions, ({ format }) => format)),
  }
}

function grouped(
  sessions: readonly SessionReport[],
  nameOf: (session: SessionReport, line: BillLine) => string,
): NamedBill[] {
  const groups = new Map<string, BillLine[]>()
  for (const session of sessions) {
    for (const line of session.bill) {
      const name = nameOf(session, line)
      const group = groups.get(name)
      if (group) group.push(line)
      else groups.set(name, [line])
    }
  }
  return [...groups].map(([name, lines]) => ({ name, ...billOf(lines) }))
}

function byCost(bills: NamedBill[]): NamedBill[] {
  return bills.sort((a, b) => b.billedUsd - a.billedUsd)
}

type Money = { model: Model; toDollars: (units: number) => number }

async function wasteIn(
  session: TranscriptSession,
  messages: readonly Message[],
  none: Measures,
  money: Money,
): Promise<Record<WasteKind, Waste>> {
  const { model, toDollars } = money
  const found = emptyWaste()
  const add = (kind: WasteKind, tokens: number, units: number) => {
    found[kind].times++
    found[kind].tokens += tokens
    found[kind].dollars += toDollars(units)
  }
  for (const { tokens, left, kind } of await heldResults(messages, none.calls)) {
    add(kind, tokens, tokens * (model.write + model.read * left))
  }
  for (const { tokens } of coldCalls(messages, none, model)) add('cold', tokens, tokens * (model.write - model.read))
  for (const missed of missesIn(session, model)) add('busts', missed, missed * (model.write - model.read))
  return found
}

/** Results that say again what stood there, and the excess of huge ones, with the calls that held them. */
async function heldResults(
  messages: readonly Message[],
  calls: number,
): Promise<{ kind: 'repeated' | 'huge'; tokens: number; left: number }[]> {
  const count = await loadCounter()
  const seen = new Set<string>()
  const found: { kind: 'repeated' | 'huge'; tokens: number; left: number }[] = []
  let call = 0
  for (const { role, parts } of messages) {
    if (role === 'assistant') call++
    for (const part of parts) {
      if (part.type !== 'tool-result') continue
      const tokens = partTokens(part, count)
      const left = calls - call
      const again = isRepeated(part, seen)
      if (again && tokens > 100) found.push({ kind: 'repeated', tokens, left })
      else if (tokens > HUGE_TOKENS) found.push({ kind: 'huge', tokens: tokens - HUGE_TOKENS, left })
    }
  }
  return found
}

function isRepeated(part: ToolResultPart, seen: Set<string>): boolean {
  const text = textOf(part)
  if (seen.has(text)) return true
  seen.add(text)
  return false
}

function coldCalls(messages: readonly Message[], none: Measures, model: Model): { tokens: number }[] {
  const found: { tokens: number }[] = []
  let call = 0
  let before = 0
  let answered = 0
  for (const { role, at = 0 } of messages) {
    if (role === 'assistant') {
      const now = before || at
      if (call > 0 && now - answered > model.ttl) found.push({ tokens: none.perCall[call - 1]?.tokens ?? 0 })
      answered = at || now
      call++
    }
    before = at
  }
  return found
}

/** Calls whose cached share fell by half and more while the cache should have been warm, by the recorded usage. */
function missesIn({ messages, usage }: TranscriptSession, { ttl }: Model): number[] {
  const missed: number[] = []
  let before: { total: number; at: number } | undefined
  for (const { message, usage: used } of usage) {
    const read = used.cacheRead ?? 0
    const total = (used.input ?? 0) + read + (used.cacheWrite ?? 0)
    const at = messages[message]?.at ?? 0
    if (before && before.total > 20_000 && at - before.at < ttl && read < before.total / 2)
      missed.push(before.total - read)
    if (total > 0) before = { total, at }
  }
  return missed
}

function emptyWaste(): Record<WasteKind, Waste> {
  const empty = (kind: WasteKind): Waste => ({ ...WASTE[kind], times: 0, tokens: 0, dollars: 0 })
  return { repeated: empty('repeated'), huge: empty('huge'), cold: empty('cold'), busts: empty('busts') }
}

export function totalsOf(sessions: readonly SessionReport[]): Totals {
  const waste = emptyWaste()
  const totals = { estimatedCalls: 0, kept: 0, quotes: 0 }
  for (const session of sessions) {
    totals.estimatedCalls += session.estimatedCalls
    totals.kept += session.evidence.kept
    totals.quotes += session.evidence.quotes
    for (const kind of Object.keys(waste) as WasteKind[]) {
      waste[kind].times += session.waste[kind].times
      waste[kind].tokens += session.waste[kind].tokens
      waste[kind].dollars += session.waste[kind].dollars
    }
  }
  const { kept, quotes, estimatedCalls } = totals
  const whole = billOf(sessions.flatMap(({ bill }) => bill))
  const subagents = billOf(sessions.filter(({ isSubagent }) => isSubagent).flatMap(({ bill }) => bill))
  return { ...whole, estimatedCalls, subagents, evidence: quotes === 0 ? 1 : kept / quotes, waste }
}

const MOST_ROWS = 100

export function toHtml(sessions: readonly SessionReport[]): string {
  const totals = totalsOf(sessions)
  const dearest = sessions.toSorted((a, b) => b.billedUsd - a.billedUsd)
  const cells = (list: readonly (string | number)[]) =>
    `<tr>${list.map(cell => `<td>${escapeXml(String(cell))}</td>`).join('')}</tr>`
  const waste = Object.values(totals.waste).map(({ name, about, times, tokens, dollars }) =>
    cells([name, times, tokens.toLocaleString('en-US'), money(dollars), about]),
  )
  const rows = dearest.slice(0, MOST_ROWS).map(one => {
    const day = one.at > 0 ? new Date(one.at).toISOString().slice(0, 10) : ''
    return cells([
      headOf(one.id, 60),
      one.format,
      day,
      one.calls,
      one.peak.toLocaleString('en-US'),
      money(one.billedUsd),
      money(one.billedUsd - one.savedUsd),
    ])
  })
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Palimpsest report</title><style>${STYLE}</style></head><body>
<h1>What your sessions cost</h1>
<p>${sessions.length} sessions, ${totals.calls.toLocaleString('en-US')} calls of a model: <b>${money(totals.billedUsd)}</b> for input, cache and output, as providers reported it, by the prices of ${PRICES_AS_OF}${estimatedNote(totals)}. With <code>thrifty</code> about <b>${money(totals.billedUsd - totals.savedUsd)}</b>: ${money(totals.savedUsd)} less, with ${(totals.evidence * 100).toFixed(1)} % of what was quoted later still in view. Made on this machine; nothing was sent anywhere.</p>
<h2>Where the waste is</h2>
<p>The kinds overlap: a huge result that comes twice counts as both.</p>
<table><tr><th>what</th><th>times</th><th>tokens</th><th>dollars</th><th></th></tr>${waste.join('')}</table>
<h2>Sessions, the dearest first</h2>
${dearest[0] ? plotOf(dearest[0]) : ''}
<table><tr><th>session</th><th>agent</th><th>day</th><th>calls</th><th>most tokens</th><th>cost</th><th>with thrifty</th></tr>${rows.join('')}</table>
<p class="small">The cost of a session is what the provider reported for each call, at list prices. What <code>thrifty</code> would have saved is the difference of two replays by the model of costs. A replay does not react: an agent that saw less might have done something else.</p>
</body></html>
`
}

function plotOf({ id, perCall }: SessionReport): string {
  const series = Object.entries(perCall).map(([name, costs]) => ({
    name,
    points: costs.map((cost, i) => [i + 1, cost] as const),
  }))
  return toSvg({
    title: `The dearest session, ${headOf(id, 40)}: cost per call`,
    description:
      'Cost of each call of the dearest session as it was, and with thrifty. An uncached input token costs 1.',
    panels: [{ x: { label: 'call' }, y: { label: 'cost' }, series }],
  })
}

function estimatedNote({ calls, estimatedCalls }: Totals): string {
  return estimatedCalls === 0 ? '' : ` (${estimatedCalls} of ${calls} calls estimated: nothing was reported)`
}

function money(dollars: number): string {
  return `$${dollars.toFixed(2)}`
}

const STYLE = [
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}',
  'table{border-collapse:collapse;margin:1rem 0;display:block;overflow-x:auto}td,th{padding:.3rem .7rem;border-bottom:1px solid #8884;text-align:left}',
  'td{font-variant-numeric:tabular-nums}svg{max-width:100%;height:auto}.small{font-size:.85rem;opacity:.8}',
].join('')
