/**
 * The OpenAPI document of a list of routes: each route declares its input, its answer and the roles that may use it.
 *
 * OpenAPI 3.1 uses JSON Schema, and zod can write it: schemas are translated one by one, and those with a name become
 * components. `x-roles` lists the roles of a route; the tests of access are made from it.
 */
import { z } from 'zod'
import { documentedAs, ErrorSchema, isKeyed, type Route } from './route.ts'

type Json = Record<string, unknown>

export type Operation = {
  operationId: string
  tags: string[]
  summary: string
  description?: string
  'x-roles': readonly string[] | 'public'
  security: Record<string, string[]>[]
  parameters: { name: string; in: 'path' | 'query' | 'header'; required: boolean; description?: string; schema: Json }[]
  requestBody?: { required: boolean; content: Record<string, { schema: Json }> }
  responses: Record<string, { description: string; content?: Record<string, { schema: Json }> }>
}

export type Document = {
  openapi: string
  info: { title: string; version: string; description: string }
  paths: Record<string, Record<string, Operation>>
  components: { securitySchemes: Json; schemas: Json }
}

const SCHEME = 'token'

export function toDocument(routes: readonly Route[], info: { version: string; requireToken: boolean }): Document {
  const schemas: Json = {}
  const paths: Document['paths'] = {}
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method]: toOperation(route, info.requireToken, schemas) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Palimpsest',
      version: info.version,
      description:
        'A memory and context engine for LLM agents. Times are milliseconds since 1970. Errors are ' +
        '{ error: { code, message, … } }. Writes take an Idempotency-Key; lists have a `next` cursor.',
    },
    paths,
    components: {
      securitySchemes: {
        [SCHEME]: { type: 'http', scheme: 'bearer', description: 'Created with `palimpsest token create`.' },
      },
      schemas,
    },
  }
}

export const KeySchema = z
  .string()
  .regex(/^[!-~]{1,200}$/)
  .describe('For a day, the same key with the same request gives the same answer.')

const binary: Json = { type: 'string', format: 'binary' }

function toOperation(route: Route, requireToken: boolean, schemas: Json): Operation {
  const { method, path, tag, summary, description, roles, status = 200 } = route
  const key: Route['query'] = isKeyed(route) ? { 'Idempotency-Key': KeySchema.optional() } : {}
  const body = bodyOf(route, schemas)
  const type = route.type ?? 'application/json'
  const done = { description: 'Done.', content: { [type]: { schema: toSchema(route.answer, schemas) } } }
  return {
    operationId: `${method}${path.replace(/\W+(\w)?/g, (_, letter = '') => letter.toUpperCase())}`,
    tags: [tag],
    summary,
    ...(description ? { description } : {}),
    'x-roles': roles,
    security: roles === 'public' ? [] : requireToken ? [{ [SCHEME]: [] }] : [{}, { [SCHEME]: [] }],
    parameters: [
      ...parametersOf(route.params, 'path', schemas),
      ...parametersOf(route.query, 'query', schemas),
      ...parametersOf(key, 'header', schemas),
    ],
    ...(body ? { requestBody: body } : {}),
    responses: { [status]: done, ...refusalsOf(route, schemas) },
  }
}

function bodyOf({ body, bodyOptional = false, bytes }: Route, schemas: Json): Operation['requestBody'] {
  if (bytes !== undefined) return { required: true, content: { 'application/octet-stream': { schema: binary } } }
  if (!body) return undefined
  return { required: !bodyOptional, content: { 'application/json': { schema: toSchema(body, schemas) } } }
}

function parametersOf(shape: Route['query'], where: 'path' | 'query' | 'header', schemas: Json) {
  return Object.entries(shape ?? {}).map(([name, schema]) => {
    const { description, ...rest } = toSchema(schema, schemas)
    const about = typeof description === 'string' ? { description } : {}
    const required = where === 'path' || !schema.safeParse(undefined).success
    return { name, in: where, required, ...about, schema: rest }
  })
}

/** Refusals that any route may give, besides those that it declares itself. */
const REASONS: Record<number, string> = {
  400: 'The request is not well formed.',
  401: 'The token is missing or not known.',
  403: 'The caller may not do this.',
  404: 'It does not exist, or the caller may not see it.',
  409: 'It conflicts with the current state, or the idempotency key was used for another request.',
  413: 'The body is too large.',
  415: 'The body has the wrong media type.',
  422: 'The request does not match the schema.',
  429: 'Too many requests.',
  431: 'The address or the headers are too long.',
  503: 'The server cannot do this now.',
}

function refusalsOf(route: Route, schemas: Json): Operation['responses'] {
  const { path, roles, refusals = [], query, body, bytes, method } = route
  const codes = new Set<number>([403, 429, 431, 503, ...refusals])
  if (roles !== 'public') codes.add(401)
  if (path.includes('{') || query || body || method !== 'get') codes.add(422)
  if (body || bytes !== undefined) codes.add(400).add(413)
  if (body) codes.add(415)
  if (isKeyed(route)) codes.add(409)
  const content = { 'application/json': { schema: toSchema(ErrorSchema, schemas) } }
  return Object.fromEntries(
    // Node itself answers 431, without a body.
    [...codes].map(code => [code, { description: REASONS[code] ?? '', ...(code === 431 ? {} : { content }) }]),
  )
}

/** A schema as JSON Schema; a schema with a name becomes a component and is referenced. */
function toSchema(schema: z.ZodType, schemas: Json): Json {
  const {
    $schema: _,
    $defs,
    ...json
  } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      const documented = documentedAs.get(zodSchema)
      if (!documented) return
      for (const key of Object.keys(jsonSchema)) if (key !== 'description') delete jsonSchema[key]
      Object.assign(jsonSchema, documented)
    },
  }) as Json
  for (const [name, definition] of Object.entries(($defs as Json) ?? {})) schemas[name] = relocated(definition)
  const { id, ...rest } = json
  if (typeof id !== 'string') return relocated(json) as Json
  schemas[id] = relocated(rest)
  return { $ref: `#/components/schemas/${id}` }
}

/** Makes references point to the components, and drops the names that definitions carry. */
function relocated(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(relocated)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, inner]) => !(key === 'id' && typeof inner === 'string'))
      .map(([key, inner]) => [
        key,
        key === '$ref' && typeof inner === 'string'
          ? inner.replace('#/$defs/', '#/components/schemas/')
          : relocated(inner),
      ]),
  )
}
