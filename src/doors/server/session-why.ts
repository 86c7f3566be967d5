/** Routes: the causes of a session's costs, and the texts that they were paid for. */
import { z } from 'zod'
import { Queues } from '../../model/queues.ts'
import { freeEditsOf, whyOf } from '../../replay/why.ts'
import { largestRows, type Rent, rentByCall } from '../../view/rent.ts'
import { defineRoute, EVERYBODY, named, type Route, Time } from './route.ts'
import { withoutHiddenLabels } from './session-map.ts'
import { openTimeline, remember } from './session-timeline.ts'

/** Finding free edits replays the whole session. */
const MAX_CALLS = 5000
const ROWS = 100

const Cause = z.enum(['edit', 'pause', 'client', 'model', 'server', 'provider', 'start', 'none'])

const WhyCall = named('WhyCall', {
  call: z.number().describe('From 1.'),
  at: Time,
  model: z.string(),
  predictedUsd: z.number().describe('The estimate of the cost model, the answer included.'),
  billedUsd: z.number().describe('As the provider reported it.'),
  estimated: z.boolean().describe('Nothing was reported, so the billed cost is the predicted one.'),
  differenceUsd: z.number(),
  cause: Cause.describe('Why cached tokens had to be written again; `none` if none were, `start` for the first call.'),
  lost: z.number().describe('Tokens that were cached and had to be written again.'),
  extraUsd: z.number().describe('The extra cost compared with reading them.'),
  text: z.string().describe('The cause as a sentence.'),
})

const why = defineRoute({
  method: 'get',
  path: '/sessions/{session}/why',
  summary:
    'Why a session cost what it cost: predicted and billed cost of each call, causes of cache misses, the most expensive calls, free edits',
  description:
    'An edit is free if nothing cached is lost: the cache is cold, or the part was never sent. With `free=true` two ' +
    'replays find out what free edits would have saved, which takes a while.',
  roles: EVERYBODY,
  query: { free: z.enum(['true', 'false']).optional().describe('Find out what free edits would have saved.') },
  answer: named('Why', {
    session: z.string(),
    billedUsd: z.number(),
    predictedUsd: z.number(),
    calls: z.array(WhyCall),
    causes: z.array(
      z.object({
        cause: Cause,
        times: z.number(),
        lost: z.number(),
        extraUsd: z.number(),
        differenceUsd: z.number(),
      }),
    ),
    moments: z.array(WhyCall).describe('The five calls that cost most.'),
    free: z
      .object({
        coldCalls: z.number().describe('Calls that found the cache cold.'),
        edits: z.number(),
        savedUsd: z.number(),
        evidence: z.number().describe('The share of later quotes that would still be visible.'),
      })
      .nullable()
      .describe(`Null if it was not requested, or the session has more than ${MAX_CALLS} calls.`),
  }),
  run: async ({ params, query, caller, doors }) => {
    const { timeline, session } = await openTimeline(doors, caller, params.session)
    const isAsked = query.free === 'true' && timeline.calls.length <= MAX_CALLS
    const free = isAsked ? await doors.heavy.run(() => freeEditsOf(timeline)) : null
    return { session, ...whyOf(timeline), free }
  },
})

const rememberRent = remember<Rent>()
/** One rent at a time: that of a long session takes seconds. */
const rents = new Queues()

/** Lets the server answer other requests in between. */
async function inPortions<T>(steps: Generator<unknown, T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    await new Promise(resolve => setImmediate(resolve))
  }
}

const Rows = z
  .array(
    z.object({
      name: z.string(),
      tokens: z.number().describe('Tokens times the calls that carried them.'),
      dollars: z.number(),
      saved: z.number().describe('Dollars that edits saved in these calls.'),
    }),
  )
  .describe(`Adds up to \`dollars\`. The largest ${ROWS}; the last row is for all others.`)

const rent = defineRoute({
  method: 'get',
  path: '/sessions/{session}/rent',
  summary: 'The cost of each text over all calls that contain it, by kind, tool, server, file, agent and edit',
  roles: EVERYBODY,
  answer: named('Rent', {
    session: z.string(),
    dollars: z.number(),
    kind: Rows,
    tool: Rows,
    server: Rows,
    file: Rows,
    agent: Rows,
    edit: Rows,
  }),
  async run({ params, caller, doors }) {
    const { timeline, session } = await openTimeline(doors, caller, params.session)
    const { about } = (await doors.desk.find(caller, params.session))!
    const isSubagent = about.reason === 'sub-agent'
    const seen = caller.role === 'agent' ? { seen: withoutHiddenLabels(timeline.fold) } : {}
    const made = () => rents.run('', () => inPortions(rentByCall(timeline, { isSubagent, ...seen })))
    const { dollars, ...lists } = await rememberRent(timeline, `${isSubagent} ${caller.role === 'agent'}`, made)
    const { kind, tool, server, file, agent, edit } = lists
    const most = (rows: typeof kind) => largestRows(rows, ROWS)
    return {
      session,
      dollars,
      kind: most(kind),
      tool: most(tool),
      server: most(server),
      file: most(file),
      agent: most(agent),
      edit: most(edit),
    }
  },
})

export const whyRoutes: readonly Route[] = [why, rent]
