/** The ledger behind pgbouncer in transaction mode: no statement depends on the connection of the one before. */
import { after, before, describe } from 'node:test'
import { findPooler, Pooler } from '../../../scripts/postgres.ts'
import { PostgresLedger } from '../../../src/ledger/postgres/ledger.ts'
import { ledgerStoreContract } from '../../contracts/ledger-store.ts'
import { noPostgres, startPostgres } from '../../postgres.ts'

const noPooler = noPostgres || (findPooler() ? false : 'no pgbouncer here; get it with: apt-get install pgbouncer')

describe('the ledger behind pgbouncer', { skip: noPooler }, () => {
  let pooler: Pooler
  let create: (name: string) => Promise<string>
  const made = new Map<string, Promise<string>>()

  before(async () => {
    const server = await startPostgres()
    pooler = await Pooler.start(server.url())
    create = async name => pooler.url(new URL(await server.create(name)))
  })
  after(() => pooler.stop())

  ledgerStoreContract('postgres behind pgbouncer', async name => {
    const url = made.get(name) ?? create(`d${made.size}`)
    made.set(name, url)
    // Versions of pgbouncer before 1.21 do not support prepared statements.
    return PostgresLedger.open(`${await url}?prepared=off`)
  })
})
