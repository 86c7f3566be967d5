/** The contract of the server's own store, on every database. Run by each database's test. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ServerStore } from '../../src/doors/server/server-store.ts'

/** Opens a store; the same name gives the same data. */
export type ServerStoreFactory = (name: string) => Promise<ServerStore>

const DAY = 24 * 60 * 60 * 1000

export function serverStoreContract(kind: string, open: ServerStoreFactory): void {
  let names = 0

  /** Two handles, as two servers have them. */
  async function withTwo(work: (here: ServerStore, there: ServerStore) => Promise<void>): Promise<void> {
    const name = `contract-${names++}`
    const [here, there] = [await open(name), await open(name)]
    await work(here, there)
    await here.close()
    await there.close()
  }

  describe(`server store: ${kind}`, () => {
    test('a token of one server is valid at another until either revokes it', () =>
      withTwo(async (here, there) => {
        const { token, ...info } = await here.createToken({ user: 'ada', role: 'agent', name: 'tutor', at: 5 })
        assert.deepEqual(await there.findToken(token, 10), info)
        assert.equal((await here.token(info.id))?.lastUsedAt, null, 'within a minute of 1970 nothing is noted')
        await there.findToken(token, DAY)
        assert.equal((await here.token(info.id))?.lastUsedAt, DAY)
        assert.equal(await there.findToken(`${token}x`, 10), undefined)
        assert.equal((await there.revokeToken(info.id, 20)).revokedAt, 20)
        assert.equal((await here.revokeToken(info.id, 30)).revokedAt, 20, 'the first time counts')
        assert.equal(await here.findToken(token, 40), undefined)
        await assert.rejects(here.revokeToken('t_none', 1), { code: 'TOKEN_NOT_FOUND' })
      }))

    test('a proposal is announced once, by whichever server', () =>
      withTwo(async (here, there) => {
        assert.deepEqual(await here.untold('ada', ['p1', 'p2']), ['p1', 'p2'])
        const claims = await Promise.all([
          here.claimTelling('ada', ['p1', 'p2']),
          there.claimTelling('ada', ['p2', 'p1']),
        ])
        assert.deepEqual(claims.toSorted(), [false, true])
        assert.deepEqual(await there.untold('ada', ['p1', 'p2', 'p3']), ['p3'])
        assert.equal(await there.claimTelling('ada', ['p1', 'p3']), true)
        assert.equal(await here.claimTelling('ada', ['p1', 'p3']), false)
        assert.deepEqual(await here.untold('bob', ['p1']), ['p1'])
        await here.forgetUser('ada')
        assert.deepEqual(await here.untold('ada', ['p1']), ['p1'])
      }))

    test('tokens are listed in pages, newest first, even with equal times', () =>
      withTwo(async (here, there) => {
        const made = []
        for (const at of [1, 2, 2, 2, 3]) made.push((await here.createToken({ user: 'ada', role: 'user', at })).id)
        const first = await there.tokens({ limit: 2 })
        const rest = await there.tokens({ after: first[1]!.id })
        assert.deepEqual([...first, ...rest].map(({ id }) => id).sort(), made.sort())
        assert.deepEqual(
          [...first, ...rest].map(({ createdAt }) => createdAt),
          [3, 2, 2, 2, 1],
        )
        assert.deepEqual(await there.tokens({ after: 't_none' }), [])
      }))

    test('a user counts as only an admin if all their tokens are for admins', () =>
      withTwo(async here => {
        await here.createToken({ user: 'root', role: 'admin', at: 1 })
        assert.equal(await here.isOnlyAdmin('root'), true)
        await here.createToken({ user: 'root', role: 'user', at: 1 })
        assert.equal(await here.isOnlyAdmin('root'), false)
        assert.equal(await here.isOnlyAdmin('nobody'), false)
      }))

    test('of many concurrent requests with one key, at two servers, one gets the key', () =>
      withTwo(async (here, there) => {
        const request = { hash: 'h', at: 10 }
        const taken = await Promise.all(
          Array.from({ length: 20 }, (_, i) => (i % 2 ? here : there).takeKey('t_1', 'k', request)),
        )
        assert.equal(taken.filter(({ state }) => state === 'new').length, 1)
        assert.equal(taken.filter(({ state }) => state === 'pending').length, 19)
      }))

    test('an idempotency key has its answer at every server, for one request, one caller and one day', () =>
      withTwo(async (here, there) => {
        const answer = { status: 201, type: 'application/json', body: '{"a":"\\u0000 🙂 \u0000"}' }
        await here.takeKey('t_1', 'k', { hash: 'h', at: 10 })
        await here.settleKey('t_1', 'k', answer)
        assert.deepEqual(await there.takeKey('t_1', 'k', { hash: 'h', at: 11 }), { state: 'answered', answer })
        assert.deepEqual(await there.takeKey('t_1', 'k', { hash: 'other', at: 11 }), { state: 'other-request' })
        assert.deepEqual(await there.takeKey('t_2', 'k', { hash: 'h', at: 11 }), { state: 'new' })
        await there.settleKey('t_2', 'k', undefined)
        assert.deepEqual(await here.takeKey('t_2', 'k', { hash: 'h', at: 12 }), { state: 'new' })
        assert.deepEqual(await here.takeKey('t_1', 'k', { hash: 'h', at: 12 + DAY }), { state: 'new' })
      }))

    test('all servers get the same secret', () =>
      withTwo(async (here, there) => {
        const [one, two] = await Promise.all([here.secret('links'), there.secret('links')])
        assert.deepEqual(one, two)
        assert.equal(one.length, 32)
        assert.notDeepEqual(await here.secret('other'), one)
      }))

    test('the statistics of a session are the last saved ones, until it is forgotten', () =>
      withTwo(async (here, there) => {
        const kept = { session: '@ada/plan', length: 3, model: 'm', summary: '{}' }
        await here.keepSummary(kept, 1)
        await there.keepSummary({ ...kept, length: 4 }, 1)
        await here.keepSummary({ ...kept, session: 'old' }, 0)
        assert.deepEqual(await here.summaries(1), [{ ...kept, length: 4 }])
        await here.forgetSessions(['@ada/plan', 'none'])
        assert.deepEqual(await there.summaries(1), [])
      }))

    test('forgetting a session forgets its answers, and their keys stay taken', () =>
      withTwo(async (here, there) => {
        const made = async (user: string, role: 'user' | 'agent' | 'admin') =>
          (await here.createToken({ user, role, at: 1 })).id
        const having = [await made('ada', 'user'), await made('ada', 'agent'), await made('root', 'admin'), 'local']
        const other = await made('bob', 'user')
        const request = { hash: 'h', at: 1 }
        const answer = { status: 200, type: 'text/plain', body: 'a passphrase' }
        for (const scope of [...having, other]) {
          await here.takeKey(scope, 'k', request)
          await here.settleKey(scope, 'k', answer)
        }
        await there.forgetSessions(['@ada/plan'])
        for (const scope of having) assert.deepEqual(await here.takeKey(scope, 'k', request), { state: 'pending' })
        assert.deepEqual(await here.takeKey(other, 'k', request), { state: 'answered', answer })
        // The answer to the deletion itself comes after it.
        await here.settleKey(having[0]!, 'k', answer)
        assert.deepEqual(await here.takeKey(having[0]!, 'k', request), { state: 'answered', answer })
      }))

    test('forgetting a user removes their tokens and answers, and nothing of others', () =>
      withTwo(async (here, there) => {
        const [ada, bob] = [
          await here.createToken({ user: 'ada', role: 'user', at: 1 }),
          await here.createToken({ user: 'bob', role: 'user', at: 1 }),
        ]
        for (const { id } of [ada, bob]) await here.takeKey(id, 'k', { hash: 'h', at: 1 })
        await there.forgetUser('ada')
        assert.deepEqual(
          (await here.tokens()).map(({ id }) => id),
          [bob.id],
        )
        assert.deepEqual(await here.takeKey(ada.id, 'k', { hash: 'h', at: 2 }), { state: 'new' })
        assert.deepEqual(await here.takeKey(bob.id, 'k', { hash: 'h', at: 2 }), { state: 'pending' })
      }))
  })
}
