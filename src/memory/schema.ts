/**
 * The optional shape of a block: a JSON Schema for a body that is JSON, or for the front matter of one that is not.
 *
 * `schemaRef` is the schema itself as JSON, or a name that the caller can look up. An unknown name is kept and checks
 * nothing: blocks from other systems have their own references. The validator interprets the schema and generates no
 * code, because on a server users write schemas. For the same reason it has a time limit: a pattern or references can
 * make it endless.
 */
import { type OutputUnit, type Schema, Validator } from '@cfworker/json-schema'
import { withinTime } from '../ledger/time-limit.ts'
import { messageOf, PalimpsestError } from '../model/errors.ts'
import { parseJson } from '../model/json.ts'
import { readFrontMatter } from './front-matter.ts'
import type { Content } from './store.ts'

const MAX_MS = 200
const TOO_LONG = `Checking the body takes longer than ${MAX_MS} ms`

export type SchemaSource = (name: string) => Promise<string | undefined>

/** Throws SCHEMA_VIOLATION, with each reason, if the body does not fit its schema. */
export async function checkSchema({ body, schemaRef }: Content, source: SchemaSource): Promise<void> {
  if (schemaRef === null) return
  const text = schemaRef.trimStart().startsWith('{') ? schemaRef : await source(schemaRef)
  if (text === undefined) return
  const problems = problemsOf(readData(body), readSchema(text))
  if (problems.length === 0) return
  throw new PalimpsestError('SCHEMA_VIOLATION', `The body does not match the block's schema: ${problems.join('; ')}.`, {
    problems,
  })
}

function readSchema(text: string): Schema {
  try {
    const schema: unknown = parseJson(text)
    if (typeof schema === 'object' && schema !== null && !Array.isArray(schema)) return schema
  } catch (cause) {
    throw new PalimpsestError('INVALID_INPUT', `The schema is not valid JSON: ${String(cause)}`, {}, cause)
  }
  throw new PalimpsestError('INVALID_INPUT', 'A schema must be a JSON object.')
}

type Data = { value: unknown } | { problem: string }

/** The data of a body: its front matter if it has one, else the body as JSON. */
function readData(body: string): Data {
  const frontMatter = readFrontMatter(body)
  if (frontMatter) return frontMatter
  try {
    return { value: parseJson(body) }
  } catch (error) {
    return { problem: `it is not JSON (${messageOf(error)}) and does not begin with front matter` }
  }
}

function problemsOf(data: Data, schema: Schema): string[] {
  if ('problem' in data) return [data.problem]
  try {
    const { value } = data
    const validate = () => new Validator(schema, '2020-12', false).validate(value)
    const { valid, errors } = withinTime(MAX_MS, TOO_LONG, validate)
    return valid ? [] : describe(errors)
  } catch (cause) {
    throw new PalimpsestError('INVALID_INPUT', `The schema cannot be used: ${messageOf(cause)}`, {}, cause)
  }
}

/** Only the innermost errors: an error of "properties" adds nothing to the property's own error. */
function describe(errors: readonly OutputUnit[]): string[] {
  const own = errors.filter(({ keyword }) => !['properties', 'items', '$ref', 'allOf', 'prefixItems'].includes(keyword))
  const lines = (own.length > 0 ? own : errors).map(({ instanceLocation, error }) => {
    const place = instanceLocation.replace(/^#\/?/, '')
    return `${place ? `${place}: ` : ''}${error.replace(/\.$/, '')}`
  })
  return [...new Set(lines)].slice(0, 10)
}
