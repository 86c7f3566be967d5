/** Routes: looking back. Recall, suggestions, parts, changelog, the state of a file, verification. */
import { z } from 'zod'
import { defineRoute, EVERYBODY, numberIn, type Route, SessionParam } from './route.ts'
import { Hit, Violation } from './schemas.ts'

const HITS = 20
const LARGEST = 2 ** 31

const RecallQuery = {
  q: z.string().min(1).max(500).describe('All words must occur; the last may be the beginning of one.'),
  limit: numberIn(1, 100).optional(),
}

const recall = defineRoute({
  method: 'get',
  path: '/sessions/{session}/recall',
  tag: 'sessions',
  summary: 'Search everything that ever happened in a session',
  roles: EVERYBODY,
  params: SessionParam,
  query: RecallQuery,
  answer: z.object({ hits: z.array(Hit) }),
  refusals: [404],
  async run({ params, query, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    const hits = await session.recall(query.q, { limit: query.limit ?? HITS, distinct: true })
    return { hits: hits.map(hit => ({ session: session.id, ...hit })) }
  },
})

const recallAll = defineRoute({
  method: 'get',
  path: '/recall',
  tag: 'sessions',
  summary: 'Search everything that ever happened in all sessions of the caller',
  roles: EVERYBODY,
  query: RecallQuery,
  answer: z.object({ hits: z.array(Hit) }),
  async run({ query, caller, doors }) {
    const open = (session: string) => doors.desk.open(caller, session)
    return doors.desk.of(caller).recall(query.q, { limit: query.limit ?? HITS, distinct: true, open })
  },
})

const suggest = defineRoute({
  method: 'get',
  path: '/sessions/{session}/suggestions',
  tag: 'sessions',
  summary: 'Stretches that could be replaced at little loss, as targets for an edit',
  roles: EVERYBODY,
  params: SessionParam,
  query: { limit: numberIn(1, 100).optional() },
  answer: z.object({
    suggestions: z.array(
      z.object({
        operation: z.object({ start: z.string(), end: z.string(), replacement: z.string() }),
        reason: z.string(),
        entry: z.number(),
        part: z.number(),
        tokens: z.number(),
      }),
    ),
  }),
  refusals: [404],
  async run({ params, query, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    return { suggestions: await session.suggest(query.limit) }
  },
})

const parts = defineRoute({
  method: 'get',
  path: '/sessions/{session}/parts',
  tag: 'sessions',
  summary: 'The parts in view with their ids and sizes, largest first',
  roles: EVERYBODY,
  params: SessionParam,
  answer: z.object({
    parts: z.array(
      z.object({
        hash: z.string(),
        entry: z.number(),
        part: z.number(),
        kind: z.string(),
        tool: z.string().optional(),
        tokens: z.number(),
        preview: z.string(),
      }),
    ),
  }),
  refusals: [404],
  async run({ params, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    return { parts: await session.parts() }
  },
})

const changelog = defineRoute({
  method: 'get',
  path: '/sessions/{session}/changelog',
  tag: 'sessions',
  summary: 'What was changed in files and why, from the intents of edits',
  roles: EVERYBODY,
  params: SessionParam,
  answer: z.object({
    changes: z.array(
      z.object({ turn: z.number(), path: z.string(), kind: z.enum(['write', 'edit']), intent: z.string().optional() }),
    ),
    text: z.string(),
  }),
  refusals: [404],
  async run({ params, caller, doors }) {
    return (await doors.desk.open(caller, params.session)).changelog()
  },
})

const fileAt = defineRoute({
  method: 'get',
  path: '/sessions/{session}/file',
  tag: 'sessions',
  summary: 'What a file looked like after a turn, rebuilt from the ledger',
  roles: EVERYBODY,
  params: SessionParam,
  query: {
    path: z.string().min(1).max(1024),
    turn: numberIn(0, LARGEST).optional().describe('A call of the model, from 1; the last if left out.'),
  },
  answer: z.object({
    path: z.string(),
    turn: z.number(),
    content: z.string().nullable().describe('Null where it cannot be known.'),
    basis: z.array(z.string()).describe('What the answer rests on, in order.'),
  }),
  refusals: [404],
  async run({ params, query, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    const { path, turn, content, basis } = await session.fileStateAt(query.path, query.turn ?? session.callsMade)
    return { path, turn, content: content ?? null, basis }
  },
})

const verify = defineRoute({
  method: 'get',
  path: '/sessions/{session}/verify',
  tag: 'sessions',
  summary: 'Check hashes, contents, the fold and legality from the store up',
  roles: EVERYBODY,
  params: SessionParam,
  answer: z.object({
    ok: z.boolean(),
    events: z.number(),
    entries: z.number(),
    edits: z.number(),
    violations: z.array(Violation),
  }),
  refusals: [404],
  async run({ params, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    const found = await session.verify()
    return { ok: found.violations.length === 0, ...found }
  },
})

export const lookRoutes: readonly Route[] = [recall, recallAll, suggest, parts, changelog, fileAt, verify]
