/** The numbers of a proxy: of the calls since it started, by model, and none of them ever falls. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProxyAccount } from '../../../src/doors/proxy/account.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'
import type { Session } from '../../../src/session/session.ts'

const pal = await openPalimpsest({ home: ':memory:', config: false, clock: () => 1000 })

/** A question, what the provider reports for it if it does, and the answer. */
async function call(session: Session, input: number | undefined, model = 'claude-sonnet-4-5'): Promise<void> {
  await session.append({ role: 'user', parts: [{ type: 'text', text: `question ${input}` }] })
  if (input !== undefined) await session.reportUsage({ input, output: 1, model })
  await session.append({ role: 'assistant', parts: [{ type: 'text', text: 'an answer' }] })
}

function touch(account: ProxyAccount, session: Session, before = session.fold.entries.length): void {
  account.touch(session.id, { find: () => pal.find(session.id), open: async () => session, before })
}

async function inputs(account: ProxyAccount): Promise<Record<string, readonly number[]>> {
  const sums = [...(await account.byModel())].map(([model, { calls, input }]) => [model, [calls, input]] as const)
  return Object.fromEntries(sums)
}

test('calls count from the first sight of a session, under the model that answered', async () => {
  const account = new ProxyAccount()
  const [one, two] = [await pal.session('one'), await pal.session('two')]
  await call(one, 1000)
  touch(account, one)
  touch(account, two)
  assert.deepEqual(await inputs(account), {})
  await call(one, 20)
  touch(account, one)
  await call(one, 3)
  await call(two, 400)
  await call(two, 5, 'claude-opus-4-5')
  assert.deepEqual(await inputs(account), { 'claude-sonnet-4-5': [3, 423], 'claude-opus-4-5': [1, 5] })
  assert.deepEqual(await inputs(account), { 'claude-sonnet-4-5': [3, 423], 'claude-opus-4-5': [1, 5] }, 'asked again')
  const { calls, input } = await account.totals()
  assert.deepEqual([calls, input], [4, 428])
})

test('a last call without a report counts only in the totals', async () => {
  const account = new ProxyAccount()
  const session = await pal.session('unreported')
  touch(account, session)
  await call(session, 10)
  await call(session, undefined)
  assert.equal((await inputs(account))['claude-sonnet-4-5']![0], 1)
  assert.equal((await account.totals()).calls, 2)
  assert.equal((await inputs(account))['claude-sonnet-4-5']![0], 2, 'no number falls')
})

test('counters keep the calls of a deleted session', async () => {
  const account = new ProxyAccount()
  const session = await pal.session('gone')
  touch(account, session)
  await call(session, 70)
  assert.deepEqual(await inputs(account), { 'claude-sonnet-4-5': [1, 70] })
  await pal.remove(['gone'], { by: 'user:ann' })
  assert.deepEqual(await inputs(account), { 'claude-sonnet-4-5': [1, 70] })
  const unseen = new ProxyAccount()
  unseen.touch('never', { find: async () => undefined, open: () => assert.fail('there is nothing to open'), before: 0 })
  assert.deepEqual(await inputs(unseen), {})
})

test("calls have the user's prices", async () => {
  const models = { 'claude-sonnet-4-5': { input: 1000, output: 0 } }
  const own = await openPalimpsest({ home: ':memory:', config: false, models })
  const account = new ProxyAccount(own)
  const session = await own.session('priced')
  account.touch('priced', { find: () => own.find('priced'), open: async () => session, before: 0 })
  await call(session, 2000)
  assert.equal((await account.totals()).cost, 2)
})
