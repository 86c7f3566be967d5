/**
 * A route is a value: its path, the roles that may use it, its input and its answer. The OpenAPI document is made from
 * the same value, so the two cannot differ.
 *
 * A route translates and never decides: `run` gets input that was checked at the door and calls the engine. It returns
 * the answer as a value (sent as JSON) or, for pages and streams, as a Response.
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

/** The parts of the program that routes call. */
export type Doors = {
  pal: Palimpsest
  memory: Memory
  desk: SessionDesk
  store: ServerStore
  hub: EventHub
  timelines: Timelines
  /** The folder of the knowledge files. */
  workspace: Files
  /** Our own agent, if this server has one. */
  agent?: AgentDesk
  /** The environment in which to find sessions of the user's own agents; only on a server for this machine. */
  agentsEnv?: Environment
  /** The other sources of settings besides the file, to say where a setting came from. */
  given?: Pick<SettingsGiven, 'env' | 'flags'>
  /** Whether a user without sessions gets the sample. */
  sample?: boolean
  /** Limits how many pieces of work of several seconds run at once. */
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

type RouteSpec<Path extends string, P extends Shape, Q extends Shape, B extends z.ZodType, A extends z.ZodType> = {
  method: 'get' | 'post' | 'put' | 'delete'
  path: Path
  summary: string
  description?: string
  /** The roles that may use it; `public` needs no token. */
  roles: readonly Role[] | 'public'
  /** Names in the path other than `{user}` and `{session}`. */
  params?: P
  query?: Q
  body?: B
  /** The body may be left out if all its fields may. */
  bodyOptional?: boolean
  /** The route takes the body as raw bytes, up to this many. */
  bytes?: number
  answer: A
  status?: 200 | 201
  /** The media type of an answer that is not JSON. */
  type?: string
  /** Further refusals, besides those of every route of its kind. */
  refusals?: readonly (404 | 409 | 413)[]
  /** Whether a POST needs no idempotency key, because it changes nothing or may be repeated. */
  unkeyed?: boolean
  run(asked: Asked<CommonParams<Path> & P, Q, B>): Promise<z.input<A> | Response>
}

/** A route without its own types, which are checked where it is defined; its input is checked for each request. */
export type Route = RouteSpec<string, Shape, Shape, z.ZodType, z.ZodType> & {
  tag: 'sessions' | 'memory' | 'agent' | 'server'
  params: Shape
}

export function defineRoute<
  A extends z.ZodType,
  Path extends string,
  P extends Shape = Record<never, never>,
  Q extends Shape = Record<never, never>,
  B extends z.ZodType = z.ZodUndefined,
>(spec: RouteSpec<Path, P, Q, B, A>): Route {
  const { path, params, refusals = [] } = spec
  const common = Object.entries(COMMON_PARAMS).filter(([name]) => path.includes(`{${name}}`))
  // Any path may name something that does not exist, except a user, who exists when first named.
  const missing = /\{(?!user\})/.test(path) ? [404 as const] : []
  return {
    ...spec,
    tag: TAGS[path.split('/')[1]!] ?? 'sessions',
    params: { ...Object.fromEntries(common), ...params },
    refusals: [...missing, ...refusals],
  } as unknown as Route
}

/** The group of a route in the documentation, by the first step of its path. */
const TAGS: Record<string, Route['tag']> = {
  users: 'memory',
  agent: 'agent',
  docs: 'server',
  events: 'server',
  healthz: 'server',
  me: 'server',
  'openapi.json': 'server',
  settings: 'server',
  tokens: 'server',
  workspace: 'server',
}

export const EVERYBODY: readonly Role[] = ['user', 'agent', 'admin']
/** Only people decide. */
export const PEOPLE: readonly Role[] = ['user', 'admin']
export const ADMINS: readonly Role[] = ['admin']

export function isKeyed({ method, unkeyed, bytes }: Route): boolean {
  return method !== 'get' && !unkeyed && bytes === undefined
}

/** An object that is a component of the OpenAPI document, and a type of the web UI. */
export function named<S extends z.ZodRawShape>(id: string, shape: S): z.ZodObject<S> {
  return z.object(shape).meta({ id })
}

export const ErrorSchema = named('Error', {
  error: z
    .looseObject({
      code: z.string().describe('Stable; see docs/errors.md.'),
      message: z.string().describe('The problem and what to do about it.'),
    })
    .describe('Further fields have the data of the message.'),
})

/**
 * Names have printable characters of the Basic Multilingual Plane, spaces only inside, and no invisible format
 * characters: a person who decides must see the whole name. `.` and `..` would be lost in an address.
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
/** Admins write the escaped user before a session's name of at most 200 characters. */
const SESSION_LENGTH = 520
const COMMON_PARAMS = { user: nameSchema(NAME_LENGTH), session: nameSchema(SESSION_LENGTH) }
type CommonParams<Path extends string> = {
  [K in keyof typeof COMMON_PARAMS as Path extends `${string}{${K}}${string}` ? K : never]: (typeof COMMON_PARAMS)[K]
}

/** How the document shows schemas that parse the text of a query parameter. */
export const documentedAs = z.registry<{ type: 'integer'; minimum: number; maximum: number }>()

/** The largest number of an entry, a part or a call. */
export const MAX_INDEX = 2 ** 31
export const Index = z.int().min(0).max(MAX_INDEX)

/** The last moment that a JavaScript date can hold. */
export const END_OF_TIME = 8.64e15

export function numberIn(min: number, max: number): z.ZodType<number, string> {
  const schema = z
    .string()
    .regex(/^(?:0|[1-9]\d{0,15})$/)
    .transform(Number)
    .pipe(z.number().min(min).max(max))
  documentedAs.add(schema, { type: 'integer', minimum: min, maximum: max })
  return schema
}

export const PAGE_ITEMS = 50
const MAX_PAGE_ITEMS = 200
export const PageQuery = {
  limit: numberIn(1, MAX_PAGE_ITEMS).optional().describe(`The number of items; ${PAGE_ITEMS} by default.`),
  cursor: nameSchema(SESSION_LENGTH).optional().describe('The `next` of the previous page.'),
}

/** A page of a list, with the `key` of its last item as the next cursor. Reads one item more than it returns. */
export async function pageOf<K extends string, T extends Record<K, string>>(
  query: { limit?: number; cursor?: string },
  key: K,
  read: (page: { limit: number; after?: string }) => Promise<T[]> | T[],
): Promise<{ items: T[]; next: string | null }> {
  const limit = query.limit ?? PAGE_ITEMS
  const found = await read({ limit: limit + 1, after: query.cursor })
  const items = found.slice(0, limit)
  return { items, next: found.length > limit ? items.at(-1)![key] : null }
}

export const Next = z.string().nullable().describe('The cursor of the next page; null at the end.')
export const Time = z.number().describe('Milliseconds since 1970.')
