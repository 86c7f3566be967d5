/** Routes: reading a session. Recall, suggestions, parts, changelog, the state of a file, verification. */
import { z } from 'zod'
import { narrowedBy, type SessionHit } from '../../session/recall.ts'
import type { Session } from '../../session/session.ts'
import { TAG } from '../../session/session-info.ts'
import { checkNotHidden, hiddenError } from '../../tools/recall.ts'
import { HIDDEN, hiddenByUser, hiddenUpTo } from '../../view/hidden.ts'
import type { Caller } from './gate.ts'
import { defineRoute, EVERYBODY, MAX_INDEX, named, numberIn, type Route, Time } from './route.ts'
import { Hit, Nearby, Violation } from './schemas.ts'

const HITS = 20

const TIME =
  /^(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?:T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,3})?)?Z?)?$/
const time = (what: string) => z.string().regex(TIME).optional().describe(`${what}: 2026-05-18 or 2026-05-18T09:00Z.`)
const several = (what: string) =>
  z.string().min(1).max(500).optional().describe(`${what}; separate several with commas.`)

const RecallQuery = {
  q: z.string().min(1).max(2000).describe('A question, a line, a name, a path or a command; any word may match.'),
  limit: numberIn(1, 100).optional(),
  type: several('Kinds of parts (text, reasoning, tool-call, tool-result) or roles (user, assistant, tool)'),
  tool: several('Only calls and results of these tools'),
  path: several('Only calls on these files, and their results; the end of a path is enough'),
  since: time('Only hits from this time on'),
  until: time('Only hits up to this time'),
}

/** Any hidden call or result may have the text of a file, and the reason of its change. */
function checkNothingHidden({ role }: Caller, { fold }: Session, what: string): void {
  const hider = role === 'agent' && hiddenUpTo(fold, fold.entries.length)
  if (hider) throw hiddenError(what, hider)
}

/** An agent gets the position of a part that its user has hidden, but none of its text. */
function shownTo(caller: Caller, hit: SessionHit): SessionHit {
  return caller.role === 'agent' && hit.hidden ? { ...hit, snippet: HIDDEN } : hit
}

const recall = defineRoute({
  method: 'get',
  path: '/sessions/{session}/recall',
  summary: 'Search everything that happened in a session',
  roles: EVERYBODY,
  query: RecallQuery,
  answer: z.object({ hits: z.array(Hit) }),
  async run({ params, query, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    const hits = await session.recall(query.q, { limit: query.limit ?? HITS, ...narrowedBy(query) })
    return { hits: hits.map(hit => shownTo(caller, { session: session.id, ...hit })) }
  },
})

const recallAll = defineRoute({
  method: 'get',
  path: '/recall',
  summary: 'Search everything that happened in all sessions of the caller',
  roles: EVERYBODY,
  query: {
    ...RecallQuery,
    project: z
      .string()
      .min(1)
      .max(500)
      .optional()
      .describe('Only sessions in this folder or inside it; the end of its path is enough.'),
    tag: z.string().min(1).regex(TAG).optional().describe('Only sessions with this tag.'),
  },
  answer: z.object({
    hits: z.array(Hit),
    behind: z.boolean().describe('Whether older sessions are still being indexed; search again later for more.'),
  }),
  async run({ query, caller, doors: { desk } }) {
    const { project, tag } = query
    const { hits, behind } = await desk
      .of(caller)
      .recall(query.q, { limit: query.limit ?? HITS, ...narrowedBy(query), project, tag })
    return { hits: hits.map(hit => shownTo(caller, hit)), behind }
  },
})

const around = defineRoute({
  method: 'get',
  path: '/sessions/{session}/around',
  summary: 'The surroundings of a hit: the parts of the entries before and after it',
  roles: EVERYBODY,
  query: {
    id: z.string().min(1).max(40).describe('The `hash` of a hit.'),
    before: numberIn(0, 50).optional().describe('The number of entries; 3 by default.'),
    after: numberIn(0, 50).optional().describe('The number of entries; 3 by default.'),
  },
  answer: z.object({ parts: z.array(Nearby) }),
  async run({ params, query: { id, before = 3, after = 3 }, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    const near = await session.around(id, { before, after })
    const isHidden = (part: (typeof near)[number]) =>
      caller.role === 'agent' && !part.inView && hiddenByUser(session.fold, part.entry, part.part)
    return { parts: near.map(part => (isHidden(part) ? { ...part, preview: HIDDEN } : part)) }
  },
})

const original = defineRoute({
  method: 'get',
  path: '/sessions/{session}/original',
  summary: 'The original text of a part; changes nothing',
  roles: EVERYBODY,
  query: { id: z.string().min(1).max(40).describe('The id of a part or of an edit.') },
  answer: z.object({ entry: z.number(), part: z.number(), text: z.string() }),
  refusals: [409],
  async run({ params, query, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    const { entry, part, text } = await session.original(query.id)
    if (caller.role === 'agent') checkNotHidden(session, { id: query.id, entry, part })
    return { entry, part, text }
  },
})

const suggest = defineRoute({
  method: 'get',
  path: '/sessions/{session}/suggestions',
  summary: 'Texts that could be replaced with little loss, as targets for an edit',
  roles: EVERYBODY,
  query: { limit: numberIn(1, 100).optional() },
  answer: z.object({
    suggestions: z.array(
      named('Suggestion', {
        operation: z.object({ start: z.string(), end: z.string(), replacement: z.string() }),
        reason: z.string(),
        entry: z.number(),
        part: z.number(),
        tokens: z.number(),
      }),
    ),
  }),
  async run({ params, query, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    return { suggestions: await session.suggest(query.limit) }
  },
})

const parts = defineRoute({
  method: 'get',
  path: '/sessions/{session}/parts',
  summary: 'The parts in view with their ids and sizes, largest first',
  roles: EVERYBODY,
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
  async run({ params, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    return { parts: await session.parts() }
  },
})

const changelog = defineRoute({
  method: 'get',
  path: '/sessions/{session}/changelog',
  summary: 'File changes with the reasons that the agent gave for them',
  roles: EVERYBODY,
  answer: z.object({
    changes: z.array(
      named('FileChange', {
        turn: z.number(),
        path: z.string(),
        kind: z.enum(['write', 'edit', 'remove']),
        intent: z.string().optional(),
      }),
    ),
    text: z.string(),
  }),
  refusals: [409],
  async run({ params, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    checkNothingHidden(caller, session, 'a change')
    return session.changelog()
  },
})

const fileAt = defineRoute({
  method: 'get',
  path: '/sessions/{session}/file',
  summary: 'A file as it was after a turn, derived from the ledger',
  roles: EVERYBODY,
  query: {
    path: z.string().min(1).max(1024),
    turn: numberIn(0, MAX_INDEX).optional().describe('The number of a model call, from 1; the last one by default.'),
  },
  answer: named('FileState', {
    path: z.string(),
    turn: z.number(),
    content: z.string().nullable().describe('Null if it cannot be derived.'),
    basis: z.array(z.string()).describe('The entries that the answer is based on, in order.'),
  }),
  refusals: [409],
  async run({ params, query, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    checkNothingHidden(caller, session, `a part that ${query.path} may rest on`)
    const { path, turn, content, basis } = await session.fileStateAt(query.path, query.turn ?? session.callsMade)
    return { path, turn, content: content ?? null, basis }
  },
})

const verify = defineRoute({
  method: 'get',
  path: '/sessions/{session}/verify',
  summary: 'Check hashes, contents, the fold and legality',
  roles: EVERYBODY,
  answer: z.object({
    ok: z.boolean(),
    events: z.number(),
    entries: z.number(),
    edits: z.number(),
    violations: z.array(Violation),
    redacted: z
      .array(z.object({ at: Time, by: z.string(), from: z.number(), kinds: z.record(z.string(), z.number()) }))
      .optional()
      .describe('When and by whom texts were redacted, and the first changed event.'),
  }),
  async run({ params, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    const found = await session.verify()
    return { ok: found.violations.length === 0, ...found }
  },
})

export const lookRoutes: readonly Route[] = [
  recall,
  recallAll,
  around,
  original,
  suggest,
  parts,
  changelog,
  fileAt,
  verify,
]
