/** Routes: a user's memory blocks. People write them; agents read them, and propose (proposals.ts). */
import { z } from 'zod'
import { blockFacts, staleFacts, utcDayOf } from '../../memory/facts.ts'
import type { Actor, Block as EngineBlock, Version as EngineVersion } from '../../memory/store.ts'
import { PalimpsestError } from '../../model/errors.ts'
import type { Caller } from './gate.ts'
import {
  defineRoute,
  EVERYBODY,
  Next,
  named,
  nameSchema,
  PageQuery,
  PEOPLE,
  pageOf,
  type Route,
  Time,
} from './route.ts'

export const MAX_BODY = 100_000
export const MAX_TITLE = 200
export const MAX_WHY = 2000
export const BlockParam = { label: nameSchema(100) }
export const VersionName = z.string().regex(/^[0-9A-Za-z_-]{1,100}$/)

export const Block = named('Block', {
  user_id: z.string(),
  label: z.string(),
  title: z.string(),
  body: z.string(),
  schema_ref: z.string().nullable(),
  updated_at: Time,
  stale: z
    .array(z.object({ text: z.string(), since: z.string().optional(), replacedBy: z.string().optional() }))
    .describe('Facts that are out of date: they were replaced, or their last valid day has passed.'),
  version: z.string().describe('Changes with every change to the block.'),
})

const Version = named('Version', {
  version: z.string(),
  at: Time,
  by: z.string(),
  action: z.enum(['set', 'delete', 'approve', 'reject', 'revert', 'restore', 'import']),
  why: z.string(),
  proposal: z.string().nullable(),
  title: z.string().nullable(),
  body: z.string().nullable().describe('Null if the block was deleted.'),
  commit: z.string().nullable().describe("The store's own name for the version, if it has one."),
})

const why = z.string().max(MAX_WHY).optional()
const expected = VersionName.optional().describe(
  'The version that was read. If the block has changed since, the write is refused with 409.',
)

const list = defineRoute({
  method: 'get',
  path: '/users/{user}/blocks',
  summary: "A user's memory blocks, by label",
  roles: EVERYBODY,
  query: PageQuery,
  answer: z.object({ blocks: z.array(Block), next: Next }),
  async run({ params, query, doors }) {
    const page = await pageOf(query, 'label', page => doors.memory.blocks(params.user, page))
    return { blocks: page.items.map(toBlock), next: page.next }
  },
})

const read = defineRoute({
  method: 'get',
  path: '/users/{user}/blocks/{label}',
  summary: 'One block',
  roles: EVERYBODY,
  params: BlockParam,
  answer: Block,
  async run({ params, doors }) {
    const block = await doors.memory.block(params.user, params.label)
    if (block) return toBlock(block)
    throw new PalimpsestError('BLOCK_NOT_FOUND', `Memory block '${params.label}' not found.`, { label: params.label })
  },
})

const search = defineRoute({
  method: 'get',
  path: '/users/{user}/memory',
  summary: "Search a user's blocks: the best matches, each with the matching passage",
  roles: EVERYBODY,
  query: { q: z.string().min(1).max(2000), limit: PageQuery.limit },
  answer: z.object({
    hits: z.array(named('BlockHit', { label: z.string(), title: z.string(), snippet: z.string() })),
  }),
  async run({ params, query, doors }) {
    return { hits: await doors.memory.search(params.user, query.q, { limit: query.limit }) }
  },
})

const put = defineRoute({
  method: 'put',
  path: '/users/{user}/blocks/{label}',
  summary: 'Write a block; omitted fields are not changed',
  roles: PEOPLE,
  params: BlockParam,
  body: z.strictObject({
    body: z.string().max(MAX_BODY).optional(),
    title: z.string().max(MAX_TITLE).optional(),
    schema_ref: z.string().max(MAX_BODY).nullable().optional().describe('A JSON Schema, or the name of one.'),
    expected,
    why,
  }),
  answer: Block,
  refusals: [409],
  async run({ params, body, caller, doors }) {
    const { user, label } = params
    const { schema_ref: schemaRef, ...rest } = body
    return toBlock(await doors.memory.set(user, label, { ...rest, schemaRef, by: actorOf(caller, user) }))
  },
})

const remove = defineRoute({
  method: 'delete',
  path: '/users/{user}/blocks/{label}',
  summary: 'Delete a block; its history is kept, and it can be restored',
  roles: PEOPLE,
  params: BlockParam,
  query: { expected },
  answer: z.object({ deleted: z.string() }),
  refusals: [409],
  async run({ params, query, caller, doors }) {
    const { user, label } = params
    await doors.memory.remove(user, label, { by: actorOf(caller, user), expected: query.expected })
    return { deleted: label }
  },
})

const history = defineRoute({
  method: 'get',
  path: '/users/{user}/blocks/{label}/history',
  summary: "A block's versions, newest first",
  roles: EVERYBODY,
  params: BlockParam,
  query: { limit: PageQuery.limit, cursor: VersionName.optional() },
  answer: z.object({ versions: z.array(Version), next: Next }),
  async run({ params, query, doors }) {
    const { user, label } = params
    if (query.cursor !== undefined) await doors.memory.version(user, label, query.cursor)
    const page = await pageOf(query, 'id', ({ limit, after }) =>
      doors.memory.history(user, label, { limit, before: after }),
    )
    if (page.items.length === 0 && query.cursor === undefined) {
      throw new PalimpsestError('BLOCK_NOT_FOUND', `Memory block '${label}' not found.`, { label })
    }
    return { versions: page.items.map(toVersion), next: page.next }
  },
})

const restore = defineRoute({
  method: 'post',
  path: '/users/{user}/blocks/{label}/restore',
  summary: 'Restore an old version as the newest one, even of a deleted block',
  roles: PEOPLE,
  params: BlockParam,
  body: z.strictObject({ version: VersionName, why }),
  answer: Block,
  refusals: [409],
  async run({ params, body, caller, doors }) {
    const { user, label } = params
    const { content } = await doors.memory.version(user, label, body.version)
    if (!content) {
      throw new PalimpsestError(
        'BLOCK_DELETED',
        'This version is the deletion of the block. Choose the version before it.',
        { label },
      )
    }
    const by = actorOf(caller, user)
    return toBlock(await doors.memory.restore(user, label, body.version, { by, why: body.why }))
  },
})

export const blockRoutes: readonly Route[] = [list, search, read, put, remove, history, restore]

/** The name recorded with a decision. Without a token the local user decides, for any user they name. */
export function actorOf(caller: Caller, user: string): Actor {
  if (caller.role === 'admin' && caller.user !== undefined) return `admin:${caller.user}`
  return `${caller.role === 'agent' ? 'agent' : 'user'}:${caller.user ?? user}`
}

export function toBlock(block: EngineBlock): z.input<typeof Block> {
  const { userId, label, title, body, schemaRef, updatedAt, version } = block
  const day = utcDayOf(Date.now())
  const { since, replacedBy } = blockFacts(body, day)
  const whole = since === undefined && replacedBy === undefined ? [] : [{ text: title || label, since, replacedBy }]
  const stale = [...whole, ...staleFacts(body, day)]
  return { user_id: userId, label, title, body, schema_ref: schemaRef, updated_at: updatedAt, stale, version }
}

function toVersion({ id, at, by, action, why, proposal, content, commit }: EngineVersion): z.input<typeof Version> {
  return {
    version: id,
    at,
    by,
    action,
    why,
    proposal: proposal ?? null,
    title: content?.title ?? null,
    body: content?.body ?? null,
    commit: commit ?? null,
  }
}
