/** The ledger of a home: in the PostgreSQL database that PALIMPSEST_DATABASE_URL names, else in `ledger.sqlite`. */
import { join } from 'node:path'
import { MEMORY } from '../model/defaults.ts'
import { databaseUrl } from './postgres/database.ts'
import type { PostgresLedger } from './postgres/ledger.ts'
import { SqliteLedger } from './sqlite.ts'

export async function openLedger(
  home: string,
  url: string | false = databaseUrl() ?? false,
): Promise<SqliteLedger | PostgresLedger> {
  if (home === MEMORY) return new SqliteLedger(MEMORY)
  if (url === false) return new SqliteLedger(join(home, 'ledger.sqlite'))
  // The driver is loaded only when it is needed.
  const postgres = await import('./postgres/ledger.ts')
  return postgres.PostgresLedger.open(url)
}
