/** Routes: the history of a session call by call, and the same in a few numbers. */
import { z } from 'zod'
import { PalimpsestError } from '../../model/errors.ts'
import { Remembered } from '../../model/remembered.ts'
import { reasonFor } from '../../replay/why.ts'
import { HIDDEN, hiddenUpTo, hiderIn } from '../../view/hidden.ts'
import type { Timeline, TimelineCall } from '../../view/timeline.ts'
import type { Summary } from '../../view/totals.ts'
import { type SubAgent, stepsOf, subAgentOf, turnsOf } from '../../view/turns.ts'
import type { Caller } from './gate.ts'
import { type Doors, defineRoute, EVERYBODY, MAX_INDEX, named, numberIn, type Route, Time } from './route.ts'
import { SummaryOut } from './schemas.ts'

const MOST_CALLS = 5000
const CALLS = 1000
/** A batch may hold thousands of edits; the list of all of them is at /edits. */
const MOST_IDS = 50

const summary = defineRoute({
  method: 'get',
  path: '/sessions/{session}/summary',
  summary: 'Totals of a session: turns, calls, original tokens and tokens in view, money with and without edits',
  description:
    'Reads the ledger on the first request, and after that only new events. The list of sessions has it if it is known. ' +
    'Cost is the reported usage at table prices; calls without a report are estimated.',
  roles: EVERYBODY,
  answer: SummaryOut,
  async run({ params, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    const found = await doors.timelines.summary(session, await timed(doors, caller, session))
    return summaryFor(caller, found)
  },
})

/** For an agent without the first request, because the user may have hidden it. */
export function summaryFor({ role }: Caller, summary: Summary): Summary {
  return role === 'agent' ? { ...summary, title: '' } : summary
}

export const LossCause = z.enum(['edit', 'pause', 'client', 'model', 'server', 'provider']).meta({
  id: 'LossCause',
  description: 'The cause of a lost cache: our edit, a pause, a change by the client or the server …',
})

const Sum = z
  .object({
    tokens: z.number(),
    cached: z.number().describe('The prefix of them that the provider has in its cache.'),
    written: z.number(),
    cost: z.number().describe('Dollars for input, at table prices.'),
  })
  .meta({ id: 'CallSum', description: 'System prompt and tools included.' })

const Reported = z.object({
  input: z.number().optional(),
  cacheRead: z.number().optional(),
  cacheWrite: z.number().optional(),
  cacheWriteLong: z.number().optional(),
  output: z.number().optional(),
  searches: z.number().optional().describe('Web searches by the provider.'),
  reasoning: z.number().optional(),
  model: z.string().optional(),
  id: z.string().optional().describe("The provider's id of the answer."),
  tier: z.string().optional(),
})

const TimelineCallOut = named('TimelineCall', {
  call: z.number().describe('From 1.'),
  entry: z.number().describe('The answer.'),
  at: Time,
  model: z.string(),
  paid: z
    .object({ dollars: z.number(), output: z.number().describe('For the answer.'), estimated: z.boolean() })
    .describe('As the provider reported it, the answer included; estimated by the cost model if it did not.'),
  modelled: z.number().describe('The estimate of the cost model in dollars, the answer included.'),
  inherited: z.boolean().describe('Paid in the session that this one was forked from.'),
  unanswered: z.boolean().describe('The provider reported the call, but its answer is not in the ledger (yet).'),
  sent: Sum,
  raw: Sum.describe('The same call without edits, with the same caching by the provider.'),
  miss: z
    .object({
      kind: LossCause,
      lost: z.number().describe('Tokens that had been sent before and were written again.'),
      cause: z.string().describe('The cause as a sentence.'),
    })
    .nullable()
    .describe('The cache that was lost: as the provider reported it, or by the cost model if it did not.'),
  edits: z.object({
    made: z.number(),
    ids: z.array(z.string()).describe(`The first ${MOST_IDS}.`),
    saved: z.number(),
    undone: z.array(z.string()),
  }),
  decision: z.string().nullable().describe("The planner's sentence before this call."),
  reported: Reported.extend({
    beside: z.array(Reported).optional().describe('What else it sampled for the answer and billed: an advisor.'),
  })
    .nullable()
    .describe('The counts of the provider.'),
})

const timeline = defineRoute({
  method: 'get',
  path: '/sessions/{session}/timeline',
  summary:
    'Call by call: tokens with and without edits, cached and written, cost with and without edits, cache misses and their causes',
  roles: EVERYBODY,
  query: {
    from: numberIn(1, MAX_INDEX).optional().describe('The first call; 1 by default.'),
    limit: numberIn(1, MOST_CALLS).optional().describe(`The number of calls; ${CALLS} by default.`),
  },
  answer: named('Timeline', {
    session: z.string(),
    length: z.number().describe('Number of events of the ledger that this covers.'),
    calls: z.array(TimelineCallOut),
    total: z.number().describe('Calls of the session.'),
    next: z.number().nullable().describe('The `from` of the next page; null at the end.'),
    window: z.number(),
    overhead: z.number().describe('Tokens of system prompt and tools.'),
  }),
  async run({ params, query, caller, doors }) {
    const { timeline: found, session } = await openTimeline(doors, caller, params.session)
    const from = query.from ?? 1
    const to = from - 1 + (query.limit ?? CALLS)
    return {
      session,
      length: found.length,
      calls: found.calls.slice(from - 1, to).map((call, i) => toCall(found, call, from + i)),
      total: found.calls.length,
      next: to < found.calls.length ? to + 1 : null,
      window: found.model.window,
      overhead: found.theirs(found.overhead),
    }
  },
})

const TurnOut = named('Turn', {
  turn: z.number().describe('From 1; 0 is everything before the first request.'),
  entry: z.number(),
  to: z.number().describe('The last entry.'),
  at: Time,
  ended: Time,
  title: z.string(),
  calls: z.number().describe('Model calls.'),
  firstCall: z.number(),
  dollars: z.number(),
  saved: z.number(),
  tokens: z.number().describe('Added to the conversation.'),
  tools: z.number(),
  agents: z.number(),
  errors: z.number(),
  cacheLost: z.number(),
})

const MOST_AGENTS = 50

/** The sessions of the agents that a session has started. */
async function subAgents(doors: Doors, caller: Caller, id: string): Promise<SubAgent[]> {
  const all = await doors.desk.all(caller)
  const own = all.filter(({ about: { parent, reason } }) => parent === id && reason === 'sub-agent')
  const found: SubAgent[] = []
  for (const { id: child } of own.sort((a, b) => a.createdAt - b.createdAt).slice(0, MOST_AGENTS)) {
    const { timeline: own } = await openTimeline(doors, caller, child)
    const agent = subAgentOf(child, own)
    const hides = caller.role === 'agent' && hiddenUpTo(own.fold, own.fold.entries.length)
    if (agent) found.push(hides ? { ...agent, title: HIDDEN } : agent)
  }
  return found
}

const turns = defineRoute({
  method: 'get',
  path: '/sessions/{session}/turns',
  summary: 'The session as a tree: turns with time, tokens, cost and errors; calls and tools for one of them',
  roles: EVERYBODY,
  query: { entry: numberIn(0, MAX_INDEX).optional().describe('Return the calls of the turn with this entry.') },
  answer: z.object({
    turns: z.array(TurnOut),
    agents: z
      .array(
        named('SubAgent', {
          session: z.string(),
          title: z.string(),
          at: Time,
          ended: Time,
          calls: z.number(),
          tokens: z.number(),
          tools: z.number(),
          dollars: z.number(),
          errors: z.number(),
        }),
      )
      .describe(`Subagents started in the turn, each with its own session; at most ${MOST_AGENTS}.`),
    steps: z.array(
      named('Step', {
        call: z.number(),
        entry: z.number(),
        at: Time,
        dollars: z.number(),
        tokens: z.number().describe('Sent.'),
        cacheLost: z.boolean(),
        tools: z.array(
          z.object({
            entry: z.number(),
            part: z.number(),
            name: z.string(),
            about: z.string(),
            kind: z.string(),
            at: Time,
            tokens: z.number().describe('Tokens of its result.'),
            error: z.boolean(),
          }),
        ),
      }),
    ),
  }),
  async run({ params, query, caller, doors }) {
    const { timeline: found } = await openTimeline(doors, caller, params.session)
    const hides = caller.role === 'agent' ? hiderIn(found.fold) : () => undefined
    const all = turnsOf(found).map(one => (hides(one.entry) ? { ...one, title: HIDDEN } : one))
    const { entry } = query
    if (entry === undefined) return { turns: all, steps: [], agents: [] }
    const at = all.findIndex(one => entry >= one.entry && entry <= one.to)
    const turn = all[at]
    if (!turn) return { turns: [], steps: [], agents: [] }
    const until = all[at + 1]?.at ?? Number.POSITIVE_INFINITY
    const agents = await subAgents(doors, caller, params.session)
    const steps = stepsOf(found, turn).map(({ tools, ...step }) => ({
      ...step,
      tools: tools.map(tool => (hides(tool.entry, tool.part) ? { ...tool, about: HIDDEN } : tool)),
    }))
    return { turns: [], steps, agents: agents.filter(one => one.at >= turn.at && one.at < until) }
  },
})

export const timelineRoutes: readonly Route[] = [summary, timeline, turns]

/** The list's row of a session, under its id in the ledger: timelines are shared by all callers. */
export async function timed({ desk }: Pick<Doors, 'desk'>, caller: Caller, { id }: { id: string }) {
  const info = await desk.find(caller, id)
  return { ...info!, id: desk.idOf(caller, id) }
}

/** The timeline of a session that the caller may see, up to now. */
export async function openTimeline({ desk, timelines }: Doors, caller: Caller, name: string) {
  const session = await desk.open(caller, name)
  const timeline = await timelines.of(session, await timed({ desk }, caller, session))
  return { timeline, session: session.id, options: session.options }
}

/** The number of results that are kept for one session. */
const MOST_REMEMBERED = 4

/** Caches the results of replays of a session until the session grows. */
export function remember<T>() {
  const kept = new WeakMap<Timeline, Remembered<string, { length: number; made: Promise<T> }>>()
  return (timeline: Timeline, key: string, make: () => Promise<T>): Promise<T> => {
    const { length } = timeline
    const known = kept.get(timeline) ?? new Remembered(MOST_REMEMBERED)
    kept.set(timeline, known)
    const before = known.get(key)
    if (before?.length === length) return before.made
    const made = make()
    known.set(key, { length, made })
    made.catch(() => known.get(key)?.made === made && known.delete(key))
    return made
  }
}

/** The number of a call, counted from 0 as in the timeline; by default the next call. */
export function callIn({ calls }: Timeline, call: number | undefined): number {
  if (call === undefined) return calls.length
  if (call <= calls.length) return call - 1
  const there = calls.length === 0 ? 'there are no calls yet' : `there are 1–${calls.length}`
  throw new PalimpsestError('ENTRY_NOT_FOUND', `There is no call ${call}; ${there}.`, { call })
}

function toCall(timeline: Timeline, call: TimelineCall, number: number): z.input<typeof TimelineCallOut> {
  const { entry, at, model, paid, modelled, edits, decision, reported } = call
  const loss = timeline.lossOf(call)
  return {
    call: number,
    entry,
    at,
    model,
    paid: { dollars: paid.dollars, output: paid.output, estimated: paid.estimated },
    modelled,
    sent: inTheirs(timeline, call.sent),
    raw: inTheirs(timeline, call.raw),
    inherited: call.inherited ?? false,
    unanswered: call.unanswered ?? false,
    miss: loss
      ? { kind: loss.cause, lost: loss.tokens, cause: reasonFor(loss.cause, call, timeline.calls[number - 2]) }
      : null,
    edits: { made: edits.ids.length, ids: edits.ids.slice(0, MOST_IDS), saved: edits.saved, undone: edits.undone },
    decision: decision ?? null,
    reported: reported ?? null,
  }
}

function inTheirs(timeline: Timeline, { cost, ...tokens }: TimelineCall['sent']): TimelineCall['sent'] {
  const [all, cached, written] = [tokens.tokens, tokens.cached, tokens.written].map(each => timeline.theirs(each))
  return { tokens: all!, cached: cached!, written: written!, cost }
}
