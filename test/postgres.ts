/** Real PostgreSQL servers for tests, or the reason for skipping them. */
import { after } from 'node:test'
import { findPostgres, PostgresServer } from '../scripts/postgres.ts'

export const POSTGRES = findPostgres()

export const noPostgres = POSTGRES.length > 0 ? false : 'no PostgreSQL here; get it with: npm run postgres:install'

const started: PostgresServer[] = []
after(async () => {
  for (const server of started) await server.stop()
})

/** A server that stops with the test file; of the first installed version unless another one is given. */
export async function startPostgres(programs = POSTGRES[0]!, settings: Record<string, string> = {}) {
  const server = await PostgresServer.start(programs, { fsync: 'off', ...settings })
  started.push(server)
  return server
}
