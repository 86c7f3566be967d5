/**
 * Answers a request to one route: finds the caller, checks the role, checks the input, and only then does the work.
 *
 * The order is the guarantee: no body is read before the caller is known to be allowed, and nothing is done twice under
 * one idempotency key.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { isPalimpsestError, PalimpsestError } from '../../model/errors.ts'
import { parseJsonBody, readBytes } from './bodies.ts'
import { KeySchema } from './document.ts'
import { authenticate, type Caller, checkRole, type GateOptions, mayActFor, NOBODY } from './gate.ts'
import type { RateLimiter } from './rates.ts'
import { forbidden, toRefusal, toResponse } from './refusals.ts'
import { type Doors, isKeyed, type Route } from './route.ts'

export type AnswerContext = {
  gate: GateOptions
  doors: Doors
  rates: RateLimiter | undefined
  maxBody: number
  log: (line: string) => void
}

export async function answer(
  route: Route,
  request: Request,
  raw: { params: Record<string, string>; from: string },
  context: AnswerContext,
): Promise<Response> {
  const caller = await admit(route, request, raw, context)
  const { bytes: limit } = route
  const bytes = request.method === 'GET' ? new Uint8Array() : await readBytes(request, limit ?? context.maxBody)
  const work = async () => {
    const params = check(route.params, raw.params, 'path')
    const query = check(route.query, queryOf(request), 'query')
    const body = limit === undefined ? bodyOf(route, bytes, request) : undefined
    return run(route, { params, query, body, bytes, caller, doors: context.doors, request })
  }
  const key = isKeyed(route) ? keyOf(request) : undefined
  return key === undefined ? work() : once({ key, caller, request, bytes }, work, context)
}

/** The caller, if it may use this route for this user. */
async function admit(
  { roles }: Route,
  request: Request,
  { params, from }: { params: Record<string, string>; from: string },
  { gate, rates }: AnswerContext,
): Promise<Caller> {
  if (roles === 'public') {
    rates?.take(`address ${from}`)
    return NOBODY
  }
  const caller = await admitCaller(() => authenticate(request, gate), rates, from)
  checkRole(caller, roles)
  const { user } = params
  if (user !== undefined && !mayActFor(caller, user)) throw forbidden('This token is for another user.')
  return caller
}

/** Limits each caller by its token, and a caller without a valid token by its address. */
export async function admitCaller(
  find: () => Promise<Caller>,
  rates: RateLimiter | undefined,
  from: string,
): Promise<Caller> {
  try {
    const caller = await find()
    rates?.take(caller === NOBODY ? `address ${from}` : caller.id)
    return caller
  } catch (error) {
    if (error instanceof PalimpsestError && error.code === 'UNAUTHORIZED') rates?.take(`address ${from}`)
    throw error
  }
}

async function run(route: Route, asked: Parameters<Route['run']>[0]): Promise<Response> {
  const value = await route.run(asked)
  return value instanceof Response ? value : Response.json(value, { status: route.status ?? 200 })
}

function bodyOf(route: Route, bytes: Uint8Array, request: Request): unknown {
  if (!route.body) return undefined
  const value = parseJsonBody(bytes, request.headers.get('content-type'))
  if (value === undefined && route.bodyOptional) return undefined
  return parse(route.body, value, 'body')
}

function check(shape: Route['query'], values: Record<string, unknown>, where: string): Record<string, unknown> {
  return shape ? parse(z.object(shape), values, where) : {}
}

function parse<T>(schema: z.ZodType<T>, value: unknown, where: string): T {
  const result = schema.safeParse(value, { reportInput: true })
  if (result.success) return result.data
  const problems = result.error.issues
    .flatMap(nearestIssues)
    .slice(0, 10)
    .map(({ path, message, code, input }) => {
      const isMissing = code === 'invalid_type' && input === undefined
      return { at: [where, ...path].join('.'), message: isMissing ? 'is missing' : message }
    })
  const [first] = problems
  throw new PalimpsestError(
    'INVALID_INPUT',
    `${first?.at ?? where}: ${first?.message ?? 'does not match the schema'}.`,
    { problems },
  )
}

/** For a union of several forms: the problems of the form that comes nearest. */
function nearestIssues(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const forms = issue.errors.map(issues => issues.flatMap(nearestIssues))
  const [nearest] = forms.sort((a, b) => strangersIn(a) - strangersIn(b) || a.length - b.length)
  return nearest?.map(inner => ({ ...inner, path: [...issue.path, ...inner.path] })) ?? [issue]
}

/** A form without a given key is a worse match than one that needs a missing key. */
function strangersIn(issues: readonly z.core.$ZodIssue[]): number {
  return issues.reduce((total, issue) => total + (issue.code === 'unrecognized_keys' ? issue.keys.length : 0), 0)
}

/** A parameter that is given twice stays a list, and every schema refuses a list. */
function queryOf(request: Request): Record<string, string | string[]> {
  const { searchParams } = new URL(request.url)
  return Object.fromEntries(
    [...new Set(searchParams.keys())].map(name => {
      const values = searchParams.getAll(name)
      return [name, values.length === 1 ? values[0]! : values]
    }),
  )
}

function keyOf(request: Request): string | undefined {
  const key = request.headers.get('idempotency-key')
  return key === null ? undefined : parse(KeySchema, key, 'Idempotency-Key')
}

type Keyed = { key: string; caller: Caller; request: Request; bytes: Uint8Array }

/** The same key with the same request gets the same answer, and the work is done once. */
async function once(given: Keyed, work: () => Promise<Response>, { doors, log }: AnswerContext): Promise<Response> {
  const { key, caller, request, bytes } = given
  const { pathname, search } = new URL(request.url)
  const hash = createHash('sha256').update(`${request.method} ${pathname}${search}\n`).update(bytes).digest('hex')
  const taken = await doors.store.takeKey(caller.id, key, { hash, at: doors.clock() })
  if (taken.state === 'answered') {
    const { status, type, body } = taken.answer
    return new Response(body, { status, headers: { 'content-type': type, 'idempotency-replayed': 'true' } })
  }
  if (taken.state === 'other-request') {
    throw new PalimpsestError('KEY_REUSED', 'This idempotency key was used for another request. Use a new one.')
  }
  if (taken.state === 'pending') {
    throw new PalimpsestError(
      'KEY_PENDING',
      'The request with this key is not finished, or the server stopped while it was running. Wait, or check whether it was done.',
      { retryAfter: 1 },
    )
  }
  let isKnown = true
  const response = await work().catch(error => {
    // The database is unreachable. Only the caller can check whether the work was done, so the key stays taken.
    if (isPalimpsestError(error) && error.code === 'STORE_UNAVAILABLE') isKnown = false
    return toResponse(toRefusal(error, log))
  })
  const body = await response.text()
  const { status } = response
  const type = response.headers.get('content-type') ?? 'application/json'
  // An internal error is not final: the same request may be tried again.
  const isFinal = status < 500 && status !== 429
  if (isKnown) await doors.store.settleKey(caller.id, key, isFinal ? { status, type, body } : undefined)
  return new Response(body, { status, headers: response.headers })
}
