/**
 * Routes: the cost of a session's next call right now, part by part, and the cost of taking some parts out. Also the
 * parts that a client's own compaction dropped, and restoring them.
 */
import { z } from 'zod'
import { type LiveContext, liveContext } from '../../session/live-context.ts'
import { momentOf, priceOf } from '../../session/moment.ts'
import { agentContext } from '../../tools/recall.ts'
import { summaryOf } from '../../view/totals.ts'
import type { Caller } from './gate.ts'
import { type Doors, defineRoute, EVERYBODY, named, type Route } from './route.ts'
import { Edit } from './schemas.ts'
import { openTimeline } from './session-timeline.ts'

const MOST_PARTS = 200
const MAX_DROP = 4000

const now = defineRoute({
  method: 'get',
  path: '/sessions/{session}/now',
  summary: 'The cost of the next call part by part, the state of the cache, and the price of an edit',
  description:
    'On a cold cache every edit is free, because the whole prompt is written again anyway. `drop` names parts; `price` has ' +
    'the one-time cost of removing them and the saving per call.',
  roles: EVERYBODY,
  query: { drop: z.string().max(MAX_DROP).optional().describe('Ids of parts, separated by commas.') },
  answer: named('Moment', {
    session: z.string(),
    tokens: z.number(),
    window: z.number(),
    edits: z.number().describe('In force.'),
    saved: z.number().describe('Dollars that edits have saved so far.'),
    cached: z.number().nullable().describe('Share of all input so far that was read from the cache.'),
    isCold: z.boolean().describe('Whether the next call writes the whole prompt again.'),
    coldAt: z.number().nullable().describe('When the cache expires, if there is no call before.'),
    nextUsd: z.number().describe('The input cost of the next call.'),
    parts: z
      .array(
        named('PricedPart', {
          id: z.string(),
          entry: z.number(),
          part: z.number(),
          kind: z.string(),
          tool: z.string().nullable(),
          tokens: z.number(),
          perCallUsd: z.number(),
          quotes: z
            .number()
            .nullable()
            .describe('How often similar parts of this age were quoted later in recorded sessions.'),
          preview: z.string(),
        }),
      )
      .describe(`The largest ${MOST_PARTS}.`),
    free: z
      .array(z.string())
      .describe('On a cold cache, ids of parts that can be removed for free and are rarely quoted later.'),
    price: named('EditPrice', {
      ids: z.array(z.string()),
      tokens: z.number(),
      perCallUsd: z.number(),
      rewritten: z.number().describe('Tokens that are written again.'),
      onceUsd: z.number(),
      paysAfter: z.number().nullable().describe('Calls; null if it never pays off.'),
      quotes: z.number(),
    }).nullable(),
  }),
  async run({ params, query, caller, doors }) {
    const { timeline, session } = await openTimeline(doors, caller, params.session)
    const at = doors.clock()
    const { parts, ...moment } = momentOf(timeline, at)
    const { edits, money, days } = summaryOf(timeline)
    const input = days.reduce((sum, day) => sum + day.input, 0)
    const cached = days.reduce((sum, day) => sum + day.cacheRead, 0)
    const ids = (query.drop ?? '').split(',').filter(id => id !== '')
    return {
      session,
      ...moment,
      edits,
      saved: money.saved,
      cached: input > 0 ? cached / input : null,
      parts: parts.slice(0, MOST_PARTS),
      price: ids.length === 0 ? null : priceOf(timeline, ids, at),
    }
  },
})

const dropped = defineRoute({
  method: 'get',
  path: '/sessions/{session}/dropped',
  summary: "Parts that the client's own compaction removed from the conversation",
  description: 'The session before it still has all of it. Empty where nothing was compacted.',
  roles: EVERYBODY,
  answer: named('Dropped', {
    session: z.string(),
    before: z.string().nullable().describe('The session that has them.'),
    parts: z
      .array(z.object({ id: z.string(), kind: z.string(), tokens: z.number(), preview: z.string() }))
      .describe(`The largest ${MOST_PARTS}.`),
  }),
  async run({ params, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    const { about } = (await doors.desk.find(caller, params.session))!
    if (about.parent === undefined || about.reason === 'sub-agent')
      return { session: session.id, before: null, parts: [] }
    const found = await contextOf(doors, caller).dropped(session)
    return { ...found, parts: found.parts.slice(0, MOST_PARTS) }
  },
})

const restore = defineRoute({
  method: 'post',
  path: '/sessions/{session}/dropped',
  summary: "Put back parts that the client's own compaction removed, as an edit",
  roles: EVERYBODY,
  body: z.strictObject({ ids: z.array(z.string().min(1).max(40)).min(1).max(MOST_PARTS) }),
  answer: z.object({ edits: z.array(Edit) }),
  status: 201,
  refusals: [409],
  async run({ params, body, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    return { edits: await contextOf(doors, caller).putBack(session, body.ids) }
  },
})

/** Parts that the user hid do not exist for an agent. */
function contextOf({ desk }: Doors, caller: Caller): LiveContext {
  return caller.role === 'agent' ? agentContext(desk.of(caller)) : liveContext(desk.of(caller), { by: 'user' })
}

export const nowRoutes: readonly Route[] = [now, dropped, restore]
