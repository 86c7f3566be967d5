/** Writes the JSON Schemas of palimpsest.json and of the table of models to schema/. Run: node scripts/build-schema.ts */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { tableJsonSchema } from '../src/providers/table.ts'
import { configJsonSchema } from '../src/session/config.ts'

export const SCHEMA_FOLDER = join(import.meta.dirname, '..', 'schema')

/** Each file in schema/ and its content. */
export const SCHEMAS: Record<string, () => Record<string, unknown>> = {
  'palimpsest.schema.json': configJsonSchema,
  'models.schema.json': tableJsonSchema,
}

export function schemaText(name: string): string {
  return `${JSON.stringify(SCHEMAS[name]!(), null, 2)}\n`
}

if (import.meta.main) {
  await mkdir(SCHEMA_FOLDER, { recursive: true })
  for (const name of Object.keys(SCHEMAS)) await writeFile(join(SCHEMA_FOLDER, name), schemaText(name))
}
