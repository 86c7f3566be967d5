/**
 * Writes the types of the API for the pages, from the OpenAPI document: `node scripts/build-api-types.ts`. A test
 * compares web/src/api-types.ts with the text that this would write.
 *
 * Each named schema becomes a type. `Routes` has one row for each route: its parameters, its body and its answer. Only
 * the parts of JSON Schema that our document has are read; any other part is an error.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Operation, toDocument } from '../src/doors/server/document.ts'
import { allRoutes } from '../src/doors/server/server.ts'

export const API_TYPES = join(import.meta.dirname, '../web/src/api-types.ts')
const LINE_LENGTH = 100
const HEADER = '/** Made from the OpenAPI document by scripts/build-api-types.ts. A test compares. */\n'

type Schema = {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  items?: Schema
  prefixItems?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  propertyNames?: Schema
  additionalProperties?: Schema | boolean
}

export function apiTypes(): string {
  const { paths, components } = toDocument(allRoutes, { version: '0', requireToken: false })
  const { Error: _, ...schemas } = components.schemas
  const named = Object.entries(schemas).map(([name, schema]) => `export type ${name} = ${typeOf(schema as Schema)}\n`)
  const rows = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => `'${method.toUpperCase()} ${path}': ${rowOf(operation)}`),
  )
  return [HEADER, ...named, `export type Routes = ${block(rows)}\n`].join('\n')
}

/** A route. The answer of a stream or a file is unknown. */
function rowOf({ parameters, requestBody, responses }: Operation): string {
  const body = requestBody?.content['application/json']?.schema
  const answer = (responses['200'] ?? responses['201'])?.content?.['application/json']?.schema
  return block([
    ...field('params', parametersIn('path')),
    ...field('query', parametersIn('query')),
    ...(body ? [`${requestBody.required ? 'body' : 'body?'}: ${typeOf(body)}`] : []),
    `answer: ${typeOf(answer ?? {})}`,
  ])

  function parametersIn(place: string): Schema {
    const own = parameters.filter(parameter => parameter.in === place)
    return {
      type: 'object',
      properties: Object.fromEntries(own.map(({ name, schema }) => [name, schema])),
      required: own.filter(({ required }) => required).map(({ name }) => name),
    }
  }
}

/** Nothing for an object without properties. If no property is required, the whole object may be left out. */
function field(name: string, schema: Schema): string[] {
  if (Object.keys(schema.properties ?? {}).length === 0) return []
  return [`${name}${schema.required?.length ? '' : '?'}: ${typeOf(schema)}`]
}

function typeOf(schema: Schema): string {
  const { $ref, const: value, enum: values, anyOf, oneOf = anyOf } = schema
  if ($ref !== undefined) return $ref.replace('#/components/schemas/', '')
  if (value !== undefined) return literal(value)
  if (values) return unionOf(values.map(literal))
  if (oneOf) return unionOf(oneOf.map(typeOf))
  if (Array.isArray(schema.type)) return unionOf(schema.type.map(type => typeOf({ ...schema, type })))
  switch (schema.type) {
    case undefined:
      return 'unknown'
    case 'integer':
      return 'number'
    case 'array':
      return schema.prefixItems
        ? `[${schema.prefixItems.map(typeOf).join(', ')}]`
        : `Array<${typeOf(schema.items ?? {})}>`
    case 'object':
      return objectOf(schema)
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
      return schema.type
    default:
      throw new Error(`No type is known for ${JSON.stringify(schema)}`)
  }
}

function unionOf(types: readonly string[]): string {
  const line = [...new Set(types)].join(' | ')
  return line.length <= LINE_LENGTH ? line : types.map(type => `\n  | ${type.replaceAll('\n', '\n    ')}`).join('')
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value)
}

function objectOf({ properties = {}, required = [], propertyNames, additionalProperties: others }: Schema): string {
  const rest = typeof others === 'object' ? typeOf(others) : 'unknown'
  if (Object.keys(properties).length === 0) {
    // A record of all names of an enum may lack some of them.
    return propertyNames?.enum ? `Partial<Record<${typeOf(propertyNames)}, ${rest}>>` : `Record<string, ${rest}>`
  }
  const isRequired = new Set(required)
  return block(
    Object.entries(properties).map(([name, inner]) => `${name}${isRequired.has(name) ? '' : '?'}: ${typeOf(inner)}`),
  )
}

function block(lines: readonly string[]): string {
  const line = `{ ${lines.join('; ')} }`
  if (line.length <= LINE_LENGTH && !line.includes('\n')) return line
  return `{\n${lines.join('\n').replace(/^/gm, '  ')}\n}`
}

if (import.meta.main) writeFileSync(API_TYPES, apiTypes())
