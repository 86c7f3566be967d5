/**
 * What recorded sessions cost and where, from their accounts (account.ts): the billed amount, the estimate of the cost
 * model, and the savings that `thrifty` would have made; the same by day, project, model and agent; the rent, and the
 * most expensive habits. The page is in report-page.ts. Pure except for the replays.
 */

import { titleIn } from '../calls/requests.ts'
import type { TranscriptSession } from '../formats/transcripts/sessions.ts'
import { boundedTo, headOf, onOneLine } from '../model/text.ts'
import { thrifty } from '../planner/thrifty.ts'
import { KEEP_LEVELS, type KeepLevel } from '../planner/tuning.ts'
import type { ModelTable } from '../providers/models.ts'
import type { KnobPoint } from '../view/figures.ts'
import { addRents, OTHER, type Rent, rentOf } from '../view/rent.ts'
import type { Timeline, TimelineCall } from '../view/timeline.ts'
import { dayOf, summaryOf } from '../view/totals.ts'
import { assumedPrices, prepareReplay, type Replayable, recordedTimeline, savedByCall, sum } from './account.ts'
import { addHabits, type Habits, habitsIn } from './habits.ts'

export type SessionReport = {
  id: string
  /** The first request; the parent's title if the session only continues another. */
  title: string
  parent?: string
  format: string
  model: string
  calls: number
  /** Calls that were copied from the parent, which counts them. */
  copiedCalls: number
  /** When it began, if the recording says. */
  at: number
  tokens: number
  /** The folder that the agent worked in. */
  project: string
  /** Whether the session is part of another session's work: a subagent's. */
  isSubagent: boolean
  billedUsd: number
  /** Calls that the provider did not report: their part of the bill is estimated. */
  estimatedCalls: number
  modelledUsd: number
  savedUsd: number
  /** The bill call by call. */
  bill: BillLine[]
  /** What is assumed of models without a known price. */
  assumed: string[]
  evidence: { kept: number; quotes: number }
  peak: number
  waste: Habits
  rent: Rent
}

/** `calls` is 0 for what another model did for a call, an advisor for example. */
export type BillLine = Bill & { at: number; model: string }

/** Dollars of input, cache and output over some calls. */
export type Bill = { calls: number; billedUsd: number; modelledUsd: number; savedUsd: number }
export type NamedBill = Bill & { name: string }

export type Totals = Bill & {
  estimatedCalls: number
  subagents: Bill
  evidence: number
  waste: Habits
}

const MOST_TITLE = 120
const LEVELS = Object.keys(KEEP_LEVELS) as KeepLevel[]

/** `model` prices every call as that model; `models` are a user's own rows of the table. */
export type Pricing = { model?: string; models?: ModelTable }
type Given = { format: string } & Pricing

export async function reportOn(session: TranscriptSession, { format, ...given }: Given): Promise<SessionReport> {
  const timeline = await recordedTimeline(session, given)
  const { recorded, options, base, under } = await prepareReplay(timeline, session.messages, given.model)
  const outcome = await under('thrifty')
  const saved = savedByCall(timeline, base, outcome)
  const bill = timeline.calls.flatMap((call, i) => (call.inherited ? [] : linesOf(call, saved[i] ?? 0)))
  const { money, sent } = summaryOf(timeline)
  const title = titleIn(timeline.requests.first ?? '') ?? ''
  const { kept, quotes } = outcome.measures.evidence['quotes']!
  const isSubagent = session.reason === 'sub-agent'
  return {
    id: session.id,
    title: boundedTo(onOneLine(headOf(title, 4 * MOST_TITLE)), MOST_TITLE),
    ...(session.parent === undefined || isSubagent ? {} : { parent: session.parent }),
    format,
    model: options.model,
    ...billOf(bill),
    bill,
    assumed: assumedPrices([timeline]),
    copiedCalls: session.reason === 'fork' ? timeline.calls.filter(({ inherited }) => inherited).length : 0,
    project: session.cwd ?? '',
    isSubagent,
    estimatedCalls: money.estimated,
    at: recorded.messages.find(({ at }) => at)?.at ?? 0,
    tokens: sent.raw,
    evidence: { kept, quotes },
    peak: timeline.theirs(base.measures.peak),
    waste: habitsIn(timeline),
    rent: rentOf(timeline, { isSubagent }),
  }
}

function linesOf({ at, model, paid, modelled }: TimelineCall, savedUsd: number): BillLine[] {
  const others = (paid.beside ?? []).map(({ model: other = model, dollars }): BillLine => {
    return { at, model: other, calls: 0, billedUsd: dollars, modelledUsd: 0, savedUsd: 0 }
  })
  const billedUsd = paid.dollars - billOf(others).billedUsd
  return [{ at, model, calls: 1, billedUsd, modelledUsd: modelled, savedUsd }, ...others]
}

/**
 * The same session at each position of the knob: one replay each, except for the position that the report has replayed.
 */
export async function knobOn(session: TranscriptSession, report: SessionReport, given: Pricing = {}) {
  const { billedUsd, savedUsd, evidence } = report
  const normal: KnobPoint = { keep: 'normal', withoutUsd: billedUsd, savedUsd, ...evidence }
  const timeline = await recordedTimeline(session, given)
  return knobOf(timeline, await prepareReplay(timeline, session.messages, given.model), normal)
}

export async function knobOf(
  timeline: Timeline,
  { base, under }: Replayable,
  normal?: KnobPoint,
): Promise<KnobPoint[]> {
  const withoutUsd = summaryOf(timeline).money.without
  const points: KnobPoint[] = []
  for (const keep of LEVELS) {
    if (keep === normal?.keep) {
      points.push(normal)
      continue
    }
    const outcome = await under(thrifty({ keep }))
    const { kept, quotes } = outcome.measures.evidence['quotes']!
    points.push({ keep, withoutUsd, savedUsd: sum(savedByCall(timeline, base, outcome)), kept, quotes })
  }
  return points
}

export function addKnobs(all: readonly KnobPoint[][]): KnobPoint[] {
  return LEVELS.map((keep, i) => {
    const keys = ['withoutUsd', 'savedUsd', 'kept', 'quotes'] as const
    const [withoutUsd, savedUsd, kept, quotes] = keys.map(key => sum(all.map(points => points[i]![key])))
    return { keep, withoutUsd: withoutUsd!, savedUsd: savedUsd!, kept: kept!, quotes: quotes! }
  })
}

/** Gives a session that continues another the title of that one. */
export function withTitles(sessions: readonly SessionReport[]): SessionReport[] {
  const known = new Map(sessions.map(session => [session.id, session]))
  const titleOf = (session: SessionReport, depth = 0): string => {
    const parent = session.title === '' && depth < 100 ? known.get(session.parent ?? '') : undefined
    return parent ? titleOf(parent, depth + 1) : session.title || `session ${headOf(session.id, 12)}`
  }
  return sessions.map(session => ({ ...session, title: titleOf(session) }))
}

/** The same without names of projects, files and servers, and without requests. */
export function withoutNames(sessions: readonly SessionReport[]): SessionReport[] {
  const numbers = new Map<string, Map<string, number>>()
  const named = (what: string, name: string) => {
    const known = numbers.get(what) ?? new Map<string, number>()
    numbers.set(what, known)
    if (!known.has(name)) known.set(name, known.size + 1)
    return `${what} ${known.get(name)}`
  }
  const hide = (what: string, rows: Rent['kind'], isName: (name: string) => boolean) => {
    return rows.map(row => (isName(row.name) ? { ...row, name: named(what, row.name) } : row))
  }
  return sessions.map(({ parent: _, ...session }) => ({
    ...session,
    id: named('session', session.id),
    title: named('session', session.id),
    project: session.project === '' ? '' : named('project', session.project),
    rent: {
      ...session.rent,
      file: hide('file', session.rent.file, name => name !== OTHER),
      server: hide('server', session.rent.server, name => name !== OTHER),
      tool: hide('MCP tool', session.rent.tool, name => name.startsWith('mcp__')),
    },
  }))
}

/** The bill over some calls. */
export function billOf(lines: readonly Bill[]): Bill {
  const total = (key: keyof Bill) => sum(lines.map(line => line[key]))
  return {
    calls: total('calls'),
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
  const named = sessions.flatMap(session => session.bill.map(line => ({ ...line, name: nameOf(session, line) })))
  return [...Map.groupBy(named, ({ name }) => name)].map(([name, lines]) => ({ name, ...billOf(lines) }))
}

function byCost(bills: NamedBill[]): NamedBill[] {
  return bills.sort((a, b) => b.billedUsd - a.billedUsd)
}

export function totalsOf(sessions: readonly SessionReport[]): Totals {
  const [kept, quotes] = [sum(sessions.map(one => one.evidence.kept)), sum(sessions.map(one => one.evidence.quotes))]
  return {
    ...billOf(sessions.flatMap(({ bill }) => bill)),
    estimatedCalls: sum(sessions.map(one => one.estimatedCalls)),
    subagents: billOf(sessions.filter(({ isSubagent }) => isSubagent).flatMap(({ bill }) => bill)),
    evidence: quotes === 0 ? 1 : kept / quotes,
    waste: addHabits(sessions.map(({ waste }) => waste)),
  }
}

export function totalRent(sessions: readonly SessionReport[]): Rent {
  return addRents(sessions.map(({ rent }) => rent))
}
