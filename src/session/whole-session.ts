/**
 * A session as one value with every event of its ledger, and back: `export` writes it and `import` reads it. The same
 * session gives the same bytes in every home. A value from a file is checked here and then written unchanged, since
 * other bytes would give another chain.
 */
import { z } from 'zod'
import { SESSION_REASONS } from '../formats/transcripts/transcript.ts'
import { isPalimpsestError } from '../model/errors.ts'
import { isRecord } from '../model/json.ts'
import type { Event, Message } from '../model/types.ts'
import { checkMessage } from '../view/messages.ts'
import type { Palimpsest } from './engine.ts'
import { type Meta, type SessionInfo, TAG } from './session-info.ts'

export const EXPORT = { format: 'palimpsest-sessions', version: 1 } as const

type Placed = { seq: number; at: number } & Event
export type WholeSession = SessionInfo & { ledger: Placed[] }

/** Throws if the ledger does not verify. Leaves out the import's id, which only means something in that home. */
export async function exportSession(pal: Palimpsest, name: string): Promise<WholeSession> {
  const session = await pal.session(name, { mustExist: true, asGuest: true })
  const info = (await pal.find(name))!
  const { importedBy: _, ...about } = info.about
  const ledger = (await session.events()).map(({ seq, at, event }) => ({ seq, at, ...event }))
  return { ...info, about, ledger }
}

const count = z.int().min(0)
const author = z.union([z.enum(['agent', 'user', 'engine']), z.templateLiteral(['policy:', z.string()])])

const isMessage = (value: unknown): boolean => {
  try {
    checkMessage(value as Message)
    return true
  } catch (error) {
    if (isPalimpsestError(error) || error instanceof TypeError) return false
    throw error
  }
}
const message = z.custom<Message>(value => isRecord(value) && isMessage(value))

const target = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('entry'), entry: count }),
  z.strictObject({
    type: z.literal('part'),
    entry: count,
    part: count,
    leaf: count.optional(),
    span: z.tuple([count, count]).optional(),
  }),
  z.strictObject({ type: z.literal('range'), from: count, to: count }),
  z.strictObject({ type: z.literal('after'), entry: z.int().min(-1) }),
])

const edit = z.strictObject({
  id: z.string().min(1),
  target,
  replacement: z.union([
    z.string(),
    z.null(),
    z.strictObject({ messages: z.array(message) }),
    z.strictObject({ input: z.unknown() }),
  ]),
  by: author,
  why: z.string(),
  saved: z.number(),
  mark: z.string().optional(),
})

/** An event with a schema for each of its fields; a missing one is a type error. */
function shape<
  T extends Event['type'],
  F extends Record<Exclude<keyof Extract<Event, { type: T }>, 'type'>, z.ZodType>,
>(type: T, fields: F) {
  return z.strictObject({ seq: count, at: z.number(), type: z.literal(type), ...fields })
}

const switched = { edits: z.array(z.string()).min(1), by: author, why: z.string().optional() }
const covered = z.strictObject({
  length: count,
  hash: z.string(),
  places: z.array(z.strictObject({ kind: z.string(), start: count, end: count })),
})

const usage = z.object({}).catchall(z.union([z.number(), z.string()]))

const event = z.discriminatedUnion('type', [
  shape('entry', { message }),
  shape('edit', { edits: z.array(edit), decision: z.string().optional() }),
  shape('revert', switched),
  shape('reapply', switched),
  shape('pin', { entry: count, part: count.optional(), on: z.boolean(), by: author }),
  shape('decision', { text: z.string() }),
  shape('usage', {
    usage: usage.extend({ beside: z.array(usage).optional() }),
    shown: z.number().optional(),
    edited: z.literal(true).optional(),
    miss: z.looseObject({ cause: z.string(), tokens: z.number() }).optional(),
    server: z.array(z.looseObject({ type: z.string() })).optional(),
    dropped: z.number().optional(),
  }),
  shape('file', {
    action: z.enum(['read', 'write']),
    path: z.string(),
    hash: z.string(),
    before: z.string().nullable().optional(),
    after: z.string().nullable().optional(),
    intent: z.string().optional(),
  }),
  shape('redact', {
    by: z.string(),
    kinds: z.record(z.string(), count),
    ...{ from: count, events: count, head: z.string(), salt: z.string(), link: z.string() },
    texts: z.array(covered),
  }),
])

const wholeSchema = z.object({
  id: z.string().min(1),
  createdAt: z.int(),
  parent: z.strictObject({ id: z.string(), seq: z.int() }).optional(),
  policy: z.string(),
  model: z.string(),
  cacheTtl: z.string().optional(),
  cacheKept: z.number().optional(),
  overhead: z.number().optional(),
  ids: z.number().optional(),
  about: z.strictObject({
    client: z.string().optional(),
    project: z.string().optional(),
    title: z.string().optional(),
    parent: z.string().optional(),
    reason: z.enum(SESSION_REASONS).optional(),
    carried: count.optional(),
    forkedAt: z.number().optional(),
    tags: z.array(z.string().min(1).regex(TAG)).optional(),
    recorded: z.literal(true).optional(),
  }),
  ledger: z.array(event).refine(events => events.every(({ seq }, i) => seq === i)),
})

/** A session that can be restored. `readWhole` gives `undefined` if a file has other content. */
export type ReadSession = {
  id: string
  createdAt: number
  parent?: { id: string; seq: number }
  meta: Meta
  events: { at: number; event: Event }[]
}

export function readWhole(value: unknown): ReadSession | undefined {
  if (!wholeSchema.safeParse(value).success) return undefined
  // Use the value as it was read, not the schema's copy: the hashes depend on the order of its keys.
  const { ledger, ...info } = value as WholeSession
  const { id, createdAt, parent, policy, model, cacheTtl, cacheKept, overhead, ids: over, about } = info
  const given = { policy, model, cacheTtl, cacheKept, overhead, ids: over, about }
  const meta = Object.fromEntries(Object.entries(given).filter(([, field]) => field !== undefined)) as Meta
  const events = ledger.map(({ seq: _, at, ...rest }) => ({ at, event: rest as Event }))
  return { id, createdAt, ...(parent ? { parent } : {}), meta, events }
}
