/**
 * The memory of a home: on the Dolt server that PALIMPSEST_DOLT_URL names, else in the database that
 * PALIMPSEST_DATABASE_URL names, else in `memory.sqlite`. The schemas that blocks name are in the home too, as
 * `schemas/NAME.json`.
 */
import { readFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { ignoreMissing } from '../files/root.ts'
import { databaseUrl } from '../ledger/postgres/database.ts'
import { type Environment, MEMORY } from '../model/defaults.ts'
import type { WorkspaceOf } from './file-blocks.ts'
import { Memory } from './memory.ts'
import { openPostgresMemory } from './postgres.ts'
import type { SchemaSource } from './schema.ts'
import { SqliteMemory } from './sqlite.ts'

export type OpenMemoryOptions = {
  home: string
  /** `mysql://user:password@host:port/database`. */
  doltUrl?: string
  env?: Environment
  clock?: () => number
  /** The workspace of each user, if its files change by proposal here. */
  workspaceOf?: WorkspaceOf
}

export async function openMemory(given: OpenMemoryOptions): Promise<Memory> {
  const { home, doltUrl, env = process.env, clock, workspaceOf } = given
  const url = doltUrl ?? env['PALIMPSEST_DOLT_URL']
  const options = { schemas: schemasIn(home), clock, workspaceOf }
  const database = home === MEMORY ? undefined : databaseUrl(env)
  if (!url && database) return new Memory(await openPostgresMemory(database), options)
  if (!url) return new Memory(new SqliteMemory(home === MEMORY ? MEMORY : join(home, 'memory.sqlite')), options)
  // The driver is large, and only users of a Dolt server need it.
  const { DoltMemory } = await import('./dolt.ts')
  return new Memory(new DoltMemory({ url, clock }), options)
}

/** The default user: from the environment, from the configuration, or the user of this machine. */
export function userIn(env: Environment, configured?: string): string {
  return env['PALIMPSEST_USER'] ?? configured ?? userInfo().username
}

function schemasIn(home: string): SchemaSource {
  return async name => {
    if (home === MEMORY || !/^\w[\w.-]{0,99}$/.test(name)) return undefined
    return readFile(join(home, 'schemas', `${name}.json`), 'utf8').catch(ignoreMissing)
  }
}
