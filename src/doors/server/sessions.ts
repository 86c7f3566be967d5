/** Routes: the sessions themselves. Create them, append to them, read their entries and their view. */
import { z } from 'zod'
import type { Edit as EngineEdit, Message as EngineMessage } from '../../model/types.ts'
import type { Session } from '../../session/session.ts'
import type { View as EngineView } from '../../session/session-view.ts'
import { renderEntry } from '../../view/edits.ts'
import { explainView, tokensSaved } from '../../view/explain.ts'
import { editsInside, type Fold, isPinned, rangeAround } from '../../view/fold.ts'
import { withoutHidden, withoutHiddenTexts } from '../../view/hidden.ts'
import type { Caller } from './gate.ts'
import { forbidden } from './refusals.ts'
import {
  defineRoute,
  EVERYBODY,
  MAX_INDEX,
  named,
  nameSchema,
  numberIn,
  PAGE_ITEMS,
  PageQuery,
  type Route,
  Time,
} from './route.ts'
import { Message, Messages, SessionOut, View } from './schemas.ts'

const MAX_OVERHEAD = 10_000_000

const create = defineRoute({
  method: 'post',
  path: '/sessions',
  summary: 'Create a session',
  description: 'It belongs to the user of the token. An admin may name another owner.',
  roles: EVERYBODY,
  body: z.strictObject({
    id: nameSchema(200).optional().describe('A name; generated if omitted.'),
    policy: nameSchema(100).optional().describe('A preset: none, thrifty, smart-history, …'),
    model: nameSchema(100).optional(),
    overhead: z.int().min(0).max(MAX_OVERHEAD).optional().describe('Tokens of system prompt and tools.'),
    owner: nameSchema(100).optional(),
    messages: Messages.optional(),
  }),
  bodyOptional: true,
  answer: SessionOut,
  status: 201,
  refusals: [409],
  async run({ body = {}, caller, doors }) {
    const { id = crypto.randomUUID(), messages = [], owner, ...options } = body
    if (owner !== undefined && caller.role !== 'admin' && owner !== caller.user) {
      throw forbidden('Only an admin can create sessions for others.', { owner })
    }
    const session = await doors.desk.create(caller, id, { ...options, owner })
    if (messages.length > 0) await session.append(...(messages as EngineMessage[]))
    return (await doors.desk.find(caller, session.id))!
  },
})

const show = defineRoute({
  method: 'get',
  path: '/sessions/{session}',
  summary: 'One session',
  roles: EVERYBODY,
  answer: SessionOut,
  async run({ params, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    return (await doors.desk.find(caller, session.id))!
  },
})

const append = defineRoute({
  method: 'post',
  path: '/sessions/{session}/messages',
  summary: 'Append messages; if one is refused, none is appended',
  description: 'Durable when it is answered. Messages that do not fit what the session holds are refused with 409.',
  roles: EVERYBODY,
  body: z.strictObject({ messages: Messages }),
  answer: z.object({ entries: z.array(z.number()).describe('The numbers of the new entries.') }),
  status: 201,
  refusals: [409],
  async run({ params, body, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    return { entries: await session.append(...(body.messages as EngineMessage[])) }
  },
})

const entries = defineRoute({
  method: 'get',
  path: '/sessions/{session}/entries',
  summary: 'The original entries',
  roles: EVERYBODY,
  query: {
    limit: PageQuery.limit,
    cursor: numberIn(0, MAX_INDEX).optional().describe('The number of the first entry.'),
  },
  answer: named('EntryPage', {
    entries: z.array(
      named('Entry', {
        entry: z.number(),
        seq: z.number(),
        at: Time,
        message: Message,
        shown: Message.nullable().optional().describe('The message in the view, if it differs; null if it is hidden.'),
        edits: z.array(z.string()).describe('The edits in force that touch it.'),
        pinned: z.boolean().describe('Whether it, or a part of it, is pinned.'),
      }),
    ),
    total: z.number().describe('Entries of the session.'),
    next: z.number().nullable(),
  }),
  async run({ params, query, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    const from = query.cursor ?? 0
    const found = await originals(session, from, from + (query.limit ?? PAGE_ITEMS))
    const page = caller.role === 'agent' ? found.map(one => withoutHiddenParts(session, one)) : found
    const to = from + page.length
    const total = session.fold.entries.length
    return { entries: page, total, next: to < total ? to : null }
  },
})

const look = defineRoute({
  method: 'get',
  path: '/sessions/{session}/view',
  summary: 'The view: the messages with the edits in force',
  description: 'Read-only: nothing is planned or recorded.',
  roles: EVERYBODY,
  answer: View,
  async run({ params, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    return viewOut(caller, session, await session.view({ plan: false }))
  },
})

const plan = defineRoute({
  method: 'post',
  path: '/sessions/{session}/view',
  summary: 'Edit by the policy, and return the messages to send now',
  description: "Asks the session's policy for edits first, and records them. With `plan: false` it only looks.",
  roles: EVERYBODY,
  body: z.strictObject({ plan: z.boolean().optional() }),
  bodyOptional: true,
  answer: View,
  unkeyed: true,
  async run({ params, body = {}, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    return viewOut(caller, session, await session.view({ plan: body.plan ?? true }))
  },
})

const explained = defineRoute({
  method: 'get',
  path: '/sessions/{session}/explained',
  summary: 'The view explained: the messages shown for each entry, and the edits that changed them',
  roles: EVERYBODY,
  answer: z.object({
    session: z.string(),
    slots: z.array(
      z.object({
        from: z.number(),
        to: z.number(),
        messages: z.array(z.object({ message: Message, tokens: z.number(), ids: z.array(z.string().nullable()) })),
        tokens: z.number(),
        edits: z.array(z.looseObject({ id: z.string(), shows: z.boolean() })),
        pinned: z.boolean(),
      }),
    ),
    tokens: z.number(),
    saved: z.number(),
  }),
  async run({ params, caller, doors }) {
    const session = await doors.desk.open(caller, params.session)
    const slots = explainView(session.fold).map(slot => ({ ...slot, edits: toldTo(caller, session.fold, slot.edits) }))
    const messagesOf = (slot: (typeof slots)[number]) =>
      slot.messages.map(({ ids, ...rest }) => ({ ...rest, ids: ids.map(id => id ?? null) }))
    return {
      session: session.id,
      slots: slots.map(slot => ({ ...slot, messages: messagesOf(slot) })),
      tokens: slots.reduce((total, slot) => total + slot.tokens, 0),
      saved: tokensSaved(slots),
    }
  },
})

const stats = defineRoute({
  method: 'get',
  path: '/sessions/{session}/stats',
  summary: 'Numbers of a session: entries, edits by author, tokens in view, usage reported by providers',
  roles: EVERYBODY,
  answer: z.object({
    session: z.string(),
    events: z.number(),
    entries: z.number(),
    calls: z.number(),
    tokens: z.object({ view: z.number(), saved: z.number(), window: z.number() }),
    edits: z.object({
      active: z.number(),
      undone: z.number(),
      by: z.array(z.object({ by: z.string(), edits: z.number(), saved: z.number() })),
    }),
    usage: z.object({
      reports: z.number(),
      input: z.number(),
      cacheRead: z.number(),
      cacheWrite: z.number(),
      output: z.number(),
    }),
  }),
  async run({ params, caller, doors }) {
    return statsOf(await doors.desk.open(caller, params.session))
  },
})

export const sessionRoutes: readonly Route[] = [create, show, append, entries, look, plan, explained, stats]

/** Edits as the caller may read them. */
export function toldTo<E extends EngineEdit>({ role }: Caller, fold: Fold, edits: readonly E[]): E[] {
  return role === 'agent' ? withoutHiddenTexts(fold, edits) : [...edits]
}

/** An edit with its state, flat. */
export function editStates(session: Session) {
  return session.edits().map(({ edit, active, seq }) => ({ ...edit, active, seq }))
}

function viewOut(caller: Caller, session: Session, view: EngineView): z.input<typeof View> {
  const edits = toldTo(caller, session.fold, view.edits)
  const { messages, tokens, pending, decision, waiting, report } = view
  return { session: session.id, messages, tokens, edits, pending, decision, waiting, report }
}

/** Entries with their content, and as they are shown. Entries that are not in view are read from the ledger. */
async function originals(session: Session, from: number, to: number) {
  const { fold } = session
  const found = fold.entries.slice(from, to)
  const hidden = found.filter(({ message }) => !message).map(({ seq }) => seq)
  const loaded = new Map(
    (hidden.length > 0 ? await session.eventsAt(hidden) : []).map(({ seq, event }) => [seq, event]),
  )
  return found.map(({ seq, at, message }, i) => {
    const event = loaded.get(seq)
    const whole = message ?? (event?.type === 'entry' ? event.message : undefined)
    return { entry: from + i, seq, at, message: whole!, ...shownAs(fold, from + i, whole!) }
  })
}

/** An agent gets the entries without the parts that its user has hidden. */
function withoutHiddenParts<E extends { entry: number; message: EngineMessage }>({ fold }: Session, found: E): E {
  return { ...found, message: withoutHidden(fold, found.entry, found.message) }
}

function shownAs(fold: Fold, entry: number, message: EngineMessage) {
  const range = rangeAround(fold, entry)
  const inside = editsInside(fold, entry)
  const edits = [...(range ? [range] : []), ...inside].map(({ id }) => id)
  const pinned = isPinned(fold, entry) || message.parts.some((_, part) => isPinned(fold, entry, part))
  if (range) return { shown: null, edits, pinned }
  return { ...(inside.length > 0 ? { shown: renderEntry(message, inside) ?? null } : {}), edits, pinned }
}

async function statsOf(session: Session) {
  const events = await session.events()
  const usage = { reports: 0, input: 0, cacheRead: 0, cacheWrite: 0, output: 0 }
  for (const { event } of events) {
    if (event.type !== 'usage') continue
    usage.reports++
    for (const key of ['input', 'cacheRead', 'cacheWrite', 'output'] as const) usage[key] += event.usage[key] ?? 0
  }
  const slots = explainView(session.fold)
  const records = session.edits()
  const active = records.filter(record => record.active)
  const authors = [...Map.groupBy(active, ({ edit }) => edit.by)]
  return {
    session: session.id,
    events: events.length,
    entries: session.fold.entries.length,
    calls: session.callsMade,
    tokens: {
      view: slots.reduce((total, slot) => total + slot.tokens, 0),
      saved: tokensSaved(slots),
      window: session.options.model.window,
    },
    edits: {
      active: active.length,
      undone: records.length - active.length,
      by: authors.map(([by, own]) => ({
        by,
        edits: own.length,
        saved: own.reduce((sum, { edit }) => sum + edit.saved, 0),
      })),
    },
    usage,
  }
}
