/** The ledger on every installed PostgreSQL: the contract, and the same answers as SQLite after any operations. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { PostgresServer } from '../../../scripts/postgres.ts'
import { Ledger, type Timed } from '../../../src/ledger/ledger.ts'
import { ownedBy } from '../../../src/ledger/owners.ts'
import { Postgres } from '../../../src/ledger/postgres/database.ts'
import { PostgresLedger } from '../../../src/ledger/postgres/ledger.ts'
import { SqliteLedger } from '../../../src/ledger/sqlite.ts'
import type { LedgerStore } from '../../../src/ledger/store.ts'
import type { Event } from '../../../src/model/types.ts'
import type { Scope } from '../../../src/recall/index.ts'
import { search } from '../../../src/recall/search.ts'
import { ledgerStoreContract } from '../../contracts/ledger-store.ts'
import { noPostgres, POSTGRES, startPostgres } from '../../postgres.ts'
import * as fc from '../../property.ts'

describe('the ledger on PostgreSQL', { skip: noPostgres }, () => {
  for (const programs of POSTGRES) {
    describe(`PostgreSQL ${programs.version}`, () => {
      let server: PostgresServer
      const made = new Map<string, Promise<string>>()
      before(async () => {
        server = await startPostgres(programs)
      })

      ledgerStoreContract('postgres', async name => {
        const url = made.get(name) ?? server.create(`d${made.size}`)
        made.set(name, url)
        return PostgresLedger.open(await url)
      })

      test('after any appends, forks, removals and redactions, it answers as SQLite does', async () => {
        const stores = [new SqliteLedger(':memory:'), await PostgresLedger.open(await server.create('alike'))]
        let run = 0
        await fc.assert(
          fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 10 }), async actions => {
            const owner = `run ${run++}`
            const [lite, pg] = stores.map(store => ownedBy(owner, store))
            for (const [at, one] of actions.entries())
              assert.deepEqual(await act(pg!, one, at), await act(lite!, one, at))
            assert.deepEqual(await answers(pg!), await answers(lite!))
          }),
          { numRuns: 12 },
        )
        for (const store of stores) await store.close()
      })

      test('indexing does not read sessions again that are already indexed', async t => {
        const store = await PostgresLedger.open(await server.create('many_sessions'))
        const transactions = t.mock.method(Postgres.prototype, 'transaction').mock
        for (let i = 0; i < 60; i++) {
          await act(store, { do: 'say', session: `s${i}`, words: WORDS, times: 1 }, i)
        }
        await store.index('all')
        // One for each, a few merges, and the work in the background.
        assert.ok(transactions.callCount() < 150, `${transactions.callCount()} transactions for 60 sessions`)
        await store.close()
      })

      test('reading on in a session costs the same for any number of sessions', async t => {
        const store = await PostgresLedger.open(await server.create('read_on'))
        const events = Array.from(
          { length: 60 },
          (_, i): Timed => ({ at: i, event: { type: 'decision', text: `${i}` } }),
        )
        for (let i = 0; i < 100; i++) {
          await store.open(`s${i}`, { at: 0, meta: '{}' })
          assert.ok(await new Ledger(store, `s${i}`).appendTimed(events))
        }
        await store.open('fork', { at: 0, meta: '{}', parent: { id: 's7', seq: 58 } })
        const db = await Postgres.open(server.url('read_on'))
        await db.read('ANALYZE')
        const reads = t.mock.method(Postgres.prototype, 'read').mock
        for (const [id, from] of Object.entries({ s5: 58, fork: 57 })) {
          assert.equal((await store.read(id, { from })).length, 2)
          const [sql, values] = reads.calls.at(-1)!.arguments
          const [row] = await db.read(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${sql}`, values)
          const [{ Plan: plan }] = row!['QUERY PLAN'] as [{ Plan: Record<string, number> }]
          const pages = plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!
          assert.ok(pages < 40, `${pages} pages for two events of ${id}`)
        }
        await db.close()
        await store.close()
      })

      test('a search asks for all its words and filters in one statement', async t => {
        const store = await PostgresLedger.open(await server.create('asked_once'))
        await act(store, { do: 'say', session: 'one', words: WORDS, times: 1 }, 0)
        const index = await store.index({ session: 'one' })
        await search(index, 'zero', { limit: 5 })
        const reads = t.mock.method(Postgres.prototype, 'read').mock
        const postings = () => reads.calls.filter(call => String(call.arguments[0]).includes('recall_postings')).length
        const hits = await search(index, 'apple running zero x src/a/b.ts', { limit: 5, types: ['tool-result'] })
        assert.equal(hits.length, 1)
        assert.equal(postings(), 1)
        // Segments, postings and places; segments that were read are cached.
        assert.equal(reads.callCount(), 3)
        await store.close()
      })
    })
  }
})

const NAMES = ['one', 'two', 'three', 'four']
const WORDS = ['apple', 'apples', 'connectionTimeoutMs', 'src/a/b.ts', 'Straße', '漢字', '𝐀𝐁𝐂𝐃', 'x', 'running', 'zero']
const QUERIES = ['apple', 'meout', 'app', 'src/a/b.ts running zero', '字', 'strasse', '𝐁𝐂𝐃', 'nothing']

type Action =
  | { do: 'say'; session: string; words: string[]; times: number }
  | { do: 'fork'; session: string; of: string; at: number }
  | { do: 'remove'; session: string }
  | { do: 'redact'; session: string }

const name = fc.constantFrom(...NAMES)
const words = fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 6 })
const say = fc.record({
  do: fc.constant('say' as const),
  session: name,
  words,
  // The last one is so long that its text is stored separately.
  times: fc.constantFrom(1, 1, 2, 500),
})
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 6, arbitrary: say },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('fork' as const), session: name, of: name, at: fc.nat(4) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), session: name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('redact' as const), session: name }) },
)

async function act(store: LedgerStore, one: Action, at: number): Promise<unknown> {
  if (one.do === 'remove')
    return (await store.remove([one.session], { at, by: 'me' })).map(tombstone => tombstone.events)
  if (one.do === 'redact') return store.redact([one.session], { text: 'zero' }, { at, by: 'me' })
  if (one.do === 'fork') {
    const parent = await store.find(one.of)
    if (!parent || parent.length === 0 || one.of === one.session) return undefined
    const seq = Math.min(one.at, parent.length - 1)
    return store.open(one.session, { at, meta: '{"title":"zero apples"}', parent: { id: one.of, seq } })
  }
  await store.open(one.session, { at, meta: '{}' })
  const ledger = new Ledger(store, one.session)
  await ledger.load()
  const text = `${one.words.join(' ')} `.repeat(one.times)
  const call: Event = {
    type: 'entry',
    message: {
      role: 'assistant',
      parts: [{ type: 'tool-call', id: `c${at}`, name: 'read', input: { path: one.words[0]! } }],
    },
  }
  const result: Event = {
    type: 'entry',
    message: {
      role: 'tool',
      parts: [{ type: 'tool-result', id: `c${at}`, name: 'read', output: [{ type: 'text', text }] }],
    },
  }
  const said: Event = { type: 'entry', message: { role: 'user', parts: [{ type: 'text', text }] } }
  return (await ledger.append(one.words.length > 3 ? [call, result] : [said], at))?.map(({ seq }) => seq)
}

/** All answers of a store, without the random parts of a redaction. */
async function answers(store: LedgerStore): Promise<unknown> {
  const sessions = await store.list()
  const found: unknown[] = []
  const scopes: Scope[] = ['all', { among: id => id < 'p' }, ...sessions.map(({ id }) => ({ session: id }))]
  for (const scope of scopes) {
    for (const query of QUERIES) {
      const index = await store.index(scope)
      found.push([
        query,
        await search(index, query, { limit: 5 }),
        await search(index, query, { limit: 5, types: ['tool-result'], distinct: true }),
      ])
    }
  }
  const events = []
  for (const { id } of sessions) {
    const all = await new Ledger(store, id).verify()
    events.push([
      id,
      all.map(({ event }) => (event.type === 'redact' ? { ...event, salt: '', texts: [], head: '' } : event)),
    ])
  }
  return {
    sessions,
    found,
    events,
    tombstones: (await store.tombstones()).map(({ session, events: n }) => [session, n]),
  }
}
