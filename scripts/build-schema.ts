/** Writes the JSON Schema of palimpsest.json to schema/palimpsest.schema.json. Run: node scripts/build-schema.ts */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { configJsonSchema } from '../src/session/config.ts'

export const SCHEMA_PATH = join(import.meta.dirname, '..', 'schema', 'palimpsest.schema.json')

export function schemaText(): string {
  return `${JSON.stringify(configJsonSchema(), null, 2)}\n`
}

if (import.meta.main) {
  await mkdir(dirname(SCHEMA_PATH), { recursive: true })
  await writeFile(SCHEMA_PATH, schemaText())
}
