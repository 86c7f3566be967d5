/** The OpenAPI document of a list of routes: each says by itself what it takes, what it answers and who may. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import type { Document } from './docs.ts'
import { ErrorSchema, isKeyed, type Route } from './route.ts'

const SCHEME = 'token'

export function toDocument(routes: readonly Route[], info: { version: string; requireToken: boolean }): Document {
  const app = new OpenAPIHono()
  app.openAPIRegistry.registerComponent('securitySchemes', SCHEME, {
    type: 'http',
    scheme: 'bearer',
    description: 'Made with `palimpsest token create`.',
  })
  for (const route of routes) app.openAPIRegistry.registerPath(toPath(route, info.requireToken))
  const document: unknown = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Palimpsest',
      version: info.version,
      description:
        'A memory and context engine for LLM agents. Times are milliseconds since 1970. Errors are ' +
        '{ error: { code, message, … } }. Writes take an Idempotency-Key; lists have a `next` to go on with.',
    },
  })
  return document as Document
}

/** What every caller may be told, beside what the route itself names. */
const REASONS: Record<number, string> = {
  400: 'The request is not well formed.',
  401: 'There is no token, or it is not known.',
  403: 'The token may not do this.',
  404: 'It is not there, or the caller may not see it.',
  409: 'It does not fit how things are.',
  413: 'The body is too large.',
  415: 'The body is of another type.',
  422: 'The request does not fit the schema, or an idempotency key came with another request.',
  429: 'Too many requests.',
  503: 'The server cannot do this now.',
}

function toPath(route: Route, requireToken: boolean) {
  const { method, path, tag, summary, description, roles, params, query, body, bytes, answer, status = 200 } = route
  const headers = isKeyed(route) ? { headers: z.object({ 'Idempotency-Key': KeySchema.optional() }) } : {}
  return createRoute({
    method,
    path,
    tags: [tag],
    summary,
    ...(description ? { description } : {}),
    operationId: `${method}${path.replace(/[/{}]+(\w)/g, (_, letter: string) => letter.toUpperCase()).replace(/\W/g, '')}`,
    'x-roles': roles,
    security: roles === 'public' ? [] : requireToken ? [{ [SCHEME]: [] }] : [{}, { [SCHEME]: [] }],
    request: {
      ...(params ? { params: z.object(params) } : {}),
      ...(query ? { query: z.object(query) } : {}),
      ...headers,
      ...(body ? { body: { content: { 'application/json': { schema: body } }, required: !route.bodyOptional } } : {}),
      ...(bytes === undefined
        ? {}
        : { body: { content: { 'application/octet-stream': { schema: binary } }, required: true } }),
    },
    responses: {
      [status]: { description: 'Done.', content: { [route.type ?? 'application/json']: { schema: answer } } },
      ...Object.fromEntries(refusalsOf(route).map(code => [code, refusal(code)])),
    },
  })
}

const binary = z.string().openapi({ format: 'binary' })

export const KeySchema = z
  .string()
  .regex(/^[!-~]{1,200}$/)
  .openapi({ description: 'The same key and the same request give the same answer for a day.' })

function refusalsOf({ roles, refusals = [], params, query, body, bytes, method }: Route): number[] {
  const codes = new Set<number>([403, 429, 503, ...refusals])
  if (roles !== 'public') codes.add(401)
  if (params || query || body || method !== 'get') codes.add(422)
  if (body) for (const code of [400, 413, 415]) codes.add(code)
  if (bytes !== undefined) for (const code of [400, 413]) codes.add(code)
  if (method !== 'get') codes.add(409)
  return [...codes].sort((a, b) => a - b)
}

function refusal(code: number) {
  return { description: REASONS[code] ?? '', content: { 'application/json': { schema: ErrorSchema } } }
}
