/** Routes: the list of sessions, what they cost by day, and a session's title. */
import { z } from 'zod'
import type { Palimpsest } from '../../session/engine.ts'
import { openSample } from '../../session/sample.ts'
import { MAX_TITLE, MOST_TAGS, TAG } from '../../session/session-info.ts'
import { dayOf } from '../../view/totals.ts'
import { familiesOf, type Listed, overviewOf, SORTS, toListed } from './families.ts'
import type { Caller } from './gate.ts'
import {
  type Doors,
  defineRoute,
  END_OF_TIME,
  EVERYBODY,
  Next,
  named,
  numberIn,
  PageQuery,
  PEOPLE,
  pageOf,
  type Route,
} from './route.ts'
import { FamilyOut, SessionOut, SessionRow } from './schemas.ts'
import { summaryFor } from './session-timeline.ts'

const DAYS = 30
const DAY_MS = 24 * 60 * 60 * 1000

const contains = z
  .string()
  .min(1)
  .max(200)
  .optional()
  .describe('Only sessions with this text in their name, title, policy, model, agent or project.')

const list = defineRoute({
  method: 'get',
  path: '/sessions',
  summary: 'List the sessions, most recently used first',
  roles: EVERYBODY,
  query: { ...PageQuery, contains },
  answer: named('SessionList', { sessions: z.array(SessionRow), next: Next }),
  refusals: [404],
  async run({ query, caller, doors }) {
    const page = await pageOf(query, 'id', page => doors.desk.list(caller, { ...page, contains: query.contains }))
    return { sessions: page.items.map(row => listedIn(doors, caller, row)), next: page.next }
  },
})

const families = defineRoute({
  method: 'get',
  path: '/families',
  summary: 'List the sessions, each with its continuations and subagents; filtered and sorted',
  description: 'Sums are over the sessions whose numbers are known; the others are read in the background.',
  roles: EVERYBODY,
  query: {
    ...PageQuery,
    contains,
    agent: z.string().max(200).optional().describe('Only sessions of this agent.'),
    project: z.string().max(200).optional().describe('Only sessions in a folder with this name.'),
    model: z.string().max(200).optional(),
    tag: z.string().regex(TAG).optional().describe('Only sessions with this tag.'),
    from: numberIn(0, END_OF_TIME)
      .optional()
      .describe('Only sessions used since this time, in milliseconds since 1970.'),
    to: numberIn(0, END_OF_TIME).optional().describe('Only sessions used up to this time.'),
    sort: z.enum(SORTS).optional().describe('`used` by default.'),
    order: z.enum(['up', 'down']).optional().describe('`down` (the default) lists the largest first.'),
  },
  answer: named('Families', {
    families: z.array(FamilyOut),
    next: Next,
    found: z.number().describe('Matching families.'),
    sessions: z.number().describe('Sessions in them.'),
    billed: z.number().describe('Dollars of all matching sessions.'),
  }),
  refusals: [404],
  async run({ query, caller, doors }) {
    const { order, cursor, limit, ...wanted } = query
    const all = familiesOf(await everything(doors, caller), { ...wanted, ascending: order === 'up' })
    const place = cursor === undefined ? 0 : all.findIndex(({ id }) => id === cursor) + 1
    const { items, next } = await pageOf({ limit }, 'id', page => all.slice(place, place + page.limit))
    const members = all.reduce((sum, { children }) => sum + 1 + children.length, 0)
    const billed = all.reduce((sum, { total }) => sum + total.billed, 0)
    return { families: items, next, found: all.length, sessions: members, billed }
  },
})

const Named = z.array(named('Named', { name: z.string(), sessions: z.number() }))

const overview = defineRoute({
  method: 'get',
  path: '/overview',
  summary: 'Cost and savings this week and by day; all agents, projects, models and tags',
  description:
    'Sessions that nobody has looked at yet are read in the background: `counted` is the number read so far.',
  roles: EVERYBODY,
  answer: named('Overview', {
    days: z
      .array(z.object({ day: z.string(), billed: z.number(), saved: z.number(), could: z.number(), calls: z.number() }))
      .describe(`${DAYS} days. The last is today, or the last day with calls if there are none in this time.`),
    week: z.object({
      billed: z.number(),
      saved: z.number(),
      could: z.number().describe('Dollars that edits could have saved in recordings.'),
      calls: z.number(),
      sessions: z.number(),
      input: z.number(),
      cacheRead: z.number(),
    }),
    agents: Named,
    projects: Named,
    models: Named,
    tags: Named,
    sessions: z.number(),
    counted: z.number(),
    untried: z.number().describe('Recordings still to be replayed.'),
    live: z.number(),
  }),
  async run({ caller, doors }) {
    const sessions = await everything(doors, caller)
    const pal = doors.pal
    const old = sessions.filter(row => row.isOld || row.isUntried).sort((a, b) => b.updatedAt - a.updatedAt)
    doors.timelines.fill(
      old.map(row => ({ ...row, id: doors.desk.idOf(caller, row.id) })),
      id => pal.session(id, { mustExist: true, asGuest: true }),
    )
    return overviewOf(sessions, daysShown(sessions, doors.clock()))
  },
})

const entitle = defineRoute({
  method: 'put',
  path: '/sessions/{session}/title',
  summary: 'Give a session a title; an empty title removes it',
  roles: PEOPLE,
  body: z.strictObject({ title: z.string().max(MAX_TITLE) }),
  answer: SessionOut,
  async run({ params, body, caller, doors }) {
    const { desk } = doors
    await desk.of(caller).entitle(params.session, body.title)
    return (await desk.find(caller, params.session))!
  },
})

const tags = defineRoute({
  method: 'put',
  path: '/sessions/{session}/tags',
  summary: 'Replace the tags of a session',
  roles: PEOPLE,
  body: z.strictObject({ tags: z.array(z.string().regex(TAG)).max(MOST_TAGS) }),
  answer: SessionOut,
  async run({ params, body, caller, doors: { desk } }) {
    await desk.of(caller).setTags(params.session, body.tags)
    return (await desk.find(caller, params.session))!
  },
})

export const listRoutes: readonly Route[] = [list, families, overview, entitle, tags]

async function everything(doors: Doors, caller: Caller): Promise<Listed[]> {
  const rows = await doors.desk.all(caller)
  if (rows.length === 0 && doors.sample && caller.role === 'user' && (await isNew(doors.desk.of(caller)))) {
    await openSample(doors.desk.of(caller))
    return everything({ ...doors, sample: false }, caller)
  }
  await doors.timelines.load()
  return rows.map(row => listedIn(doors, caller, row))
}

/** A user who has deleted all sessions does not want the sample. */
async function isNew(pal: Palimpsest): Promise<boolean> {
  return (await pal.tombstones()).length === 0
}

type Row = Awaited<ReturnType<Doors['desk']['list']>>[number]

function listedIn({ desk, timelines, clock }: Doors, caller: Caller, row: Row): Listed {
  const latest = timelines.latest({ ...row, id: desk.idOf(caller, row.id) })
  const summary = latest.summary && summaryFor(caller, latest.summary)
  return toListed(row, { ...latest, summary }, clock())
}

/** The last days; if nothing was spent on them, the days up to the last one with costs. */
function daysShown(sessions: readonly Listed[], now: number): string[] {
  const days = lastDays(now)
  const spent = sessions.flatMap(({ summary }) => summary?.days.map(({ day }) => day) ?? [])
  const last = spent.filter(day => day !== dayOf(0) && day <= days.at(-1)!).reduce((a, b) => (a > b ? a : b), '')
  return last === '' || last >= days[0]! ? days : lastDays(Date.parse(`${last}T12:00`))
}

function lastDays(now: number): string[] {
  const noon = new Date(now).setHours(12, 0, 0, 0)
  return Array.from({ length: DAYS }, (_, i) => dayOf(noon - (DAYS - 1 - i) * DAY_MS))
}
