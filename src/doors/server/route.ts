/**
 * What a route is: a value that says its path, who may use it, what it takes and what it answers. The OpenAPI
 * document is made from the same value, so the two cannot differ.
 *
 * A route translates and never decides: `run` gets what was checked at the door and calls the engine. It gives the
 * answer as a value (sent as JSON) or, for pages and streams, as a Response.
 */

import { z } from 'zod'
import type { AgentDesk } from '../../agent/desk.ts'
import type { Files } from '../../files/store.ts'
import type { Memory } from '../../memory/memory.ts'
import type { Environment } from '../../model/defaults.ts'
import type { Palimpsest } from '../../session/engine.ts'
import type { SettingsGiven } from '../../session/settings.ts'
import type { Timelines } from '../../session/timelines.ts'
import type { EventHub } from './event-hub.ts'
import type { Caller } from './gate.ts'
import type { Slots } from './rates.ts'
import type { Role, ServerStore } from './server-store.ts'
import type { SessionDesk } from './session-desk.ts'

/** What routes work with. */
export type Doors = {
  pal: Palimpsest
  memory: Memory
  desk: SessionDesk
  store: ServerStore
  hub: EventHub
  timelines: Timelines
  /** The folder of the knowledge files. */
  workspace: Files
  /** Our own agent, where this server has one. */
  agent?: AgentDesk | undefined
  /** The environment by which sessions of the user's own agents are found; nothing where the server is not for this machine. */
  agentsEnv?: Environment | undefined
  /** What settings are read from beside the file, for those who ask where one came from. */
  given?: Pick<SettingsGiven, 'env' | 'flags'> | undefined
  /** Whether a user without sessions gets the sample. */
  sample?: boolean
  /** For work that takes seconds. */
  heavy: Slots
  clock: () => number
}

type Shape = Record<string, z.ZodType>
type Values<S extends Shape> = z.output<z.ZodObject<S>>

export type Asked<P extends Shape, Q extends Shape, B extends z.ZodType> = {
  params: Values<P>
  query: Values<Q>
  body: z.output<B>
  caller: Caller
  doors: Doors
  request: Request
  /** The body of a route that takes bytes. */
  bytes: Uint8Array
}

export type RouteSpec<P extends Shape, Q extends Shape, B extends z.ZodType, A extends z.ZodType> = {
  method: 'get' | 'post' | 'put' | 'delete'
  path: string
  tag: 'sessions' | 'memory' | 'agent' | 'server'
  summary: string
  description?: string
  /** Who may; `public` needs no token. */
  roles: readonly Role[] | 'public'
  params?: P
  query?: Q
  body?: B
  /** A body may be left out when everything in it may. */
  bodyOptional?: boolean
  /** The route takes the body as it is, up to this many bytes. */
  bytes?: number
  answer: A
  status?: 200 | 201
  /** The type of an answer that is no JSON. */
  type?: string
  /** What else it may answer, beside what every route of its kind may. */
  refusals?: readonly (404 | 409 | 413)[]
  /** A POST that changes nothing, or may be repeated anyway, needs no idempotency key. */
  unkeyed?: boolean
  run(asked: Asked<P, Q, B>): Promise<z.input<A> | Response>
}

/** A route with its types forgotten: they hold inside it, and the door checks what goes in. */
export type Route = RouteSpec<Shape, Shape, z.ZodType, z.ZodType>

export function defineRoute<
  A extends z.ZodType,
  P extends Shape = Record<never, never>,
  Q extends Shape = Record<never, never>,
  B extends z.ZodType = z.ZodUndefined,
>(spec: RouteSpec<P, Q, B, A>): Route {
  return spec as unknown as Route
}

export const EVERYBODY: readonly Role[] = ['user', 'agent', 'admin']
/** Decisions are for people. */
export const PEOPLE: readonly Role[] = ['user', 'admin']
export const ADMINS: readonly Role[] = ['admin']

/** Whether an idempotency key counts here. */
export function isKeyed({ method, unkeyed, bytes }: Route): boolean {
  return method !== 'get' && !unkeyed && bytes === undefined
}

export const ErrorSchema = z
  .object({
    error: z
      .looseObject({
        code: z.string().describe('Stable; see docs/errors.md.'),
        message: z.string().describe('What went wrong and what to do.'),
      })
      .describe('Further fields carry the data behind the message.'),
  })
  .meta({ id: 'Error' })

/**
 * Printable characters, spaces only inside: what can be read can be decided on. Names of the Basic Multilingual
 * Plane without its invisible format characters; a name of dots alone would be lost in an address.
 */
const VISIBLE =
  '!-~\\u00a1-\\u00ac\\u00ae-\\u05ff\\u0606-\\u061b\\u061d-\\u06dc\\u06de-\\u070e\\u0710-\\u088f\\u0892-\\u08e1' +
  '\\u08e3-\\u167f\\u1681-\\u180d\\u180f-\\u1fff\\u2010-\\u2027\\u2030-\\u205e\\u2070-\\u2fff\\u3001-\\ud7ff' +
  '\\uf900-\\ufefe\\uff00-\\uff9f\\uffa1-\\uffef'
const NAME = new RegExp(`^(?!\\.{1,2}$)[${VISIBLE}](?:[${VISIBLE} ]*[${VISIBLE}])?$`)

export function nameSchema(most: number): z.ZodString {
  return z.string().min(1).max(most).regex(NAME)
}

const NAME_LENGTH = 100
/** As admins name a session: the user, escaped, before its name of at most 200 characters. */
const SESSION_LENGTH = 520
export const UserParam = { user: nameSchema(NAME_LENGTH) }
export const SessionParam = { session: nameSchema(SESSION_LENGTH) }

/** How schemas that read texts (in a query) are documented. */
export const documentedAs = z.registry<{ type: 'integer'; minimum: number; maximum: number }>()

/** A whole number in a query. */
export function numberIn(min: number, max: number): z.ZodType<number, string> {
  const schema = z
    .string()
    .regex(/^(?:0|[1-9]\d{0,14})$/)
    .transform(Number)
    .pipe(z.number().min(min).max(max))
  documentedAs.add(schema, { type: 'integer', minimum: min, maximum: max })
  return schema
}

const PAGE = 50
const MOST = 200
export const PageQuery = {
  limit: numberIn(1, MOST).optional().describe(`How many; ${PAGE} if not given.`),
  cursor: nameSchema(SESSION_LENGTH).optional().describe('The `next` of the page before.'),
}

/** A page of a list: one more is asked for than is given, to know whether there are more. */
export async function pageOf<T>(
  query: { limit?: number | undefined; cursor?: string | undefined },
  read: (page: { limit: number; after?: string }) => Promise<T[]> | T[],
  cursorOf: (item: T) => string,
): Promise<{ items: T[]; next: string | null }> {
  const limit = query.limit ?? PAGE
  const found = await read({ limit: limit + 1, ...(query.cursor === undefined ? {} : { after: query.cursor }) })
  const items = found.slice(0, limit)
  return { items, next: found.length > limit ? cursorOf(items.at(-1)!) : null }
}

export const Next = z.string().nullable().describe('The cursor of the next page; null at the end.')
/** Milliseconds since 1970. */
export const Time = z.number().describe('Milliseconds since 1970.')
