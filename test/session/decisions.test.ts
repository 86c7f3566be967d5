/** Decisions of a planner without an edit are recorded in the ledger: once, until the decision changes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PlannerFactory } from '../../src/policies/policy.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { says, user } from '../policies/talk.ts'

test('a decision is recorded once, even if its numbers change, and again after another one', async () => {
  const decisions = [
    undefined,
    'waiting: 5 calls',
    'waiting: 1.5k calls',
    undefined,
    'waiting: 5 calls',
    'later',
    'later',
  ]
  const left = [...decisions]
  const policy: PlannerFactory = {
    name: 'test',
    start: () => ({
      plan() {
        const decision = left.shift()
        return { proposals: [], pending: [], ...(decision === undefined ? {} : { decision }) }
      },
    }),
  }
  await using pal = await openPalimpsest({ home: ':memory:' })
  const session = await pal.session('s', { policy })
  for (const decision of decisions) {
    await session.append(user('go'), says('done'))
    assert.equal((await session.view()).decision, decision)
  }
  assert.deepEqual(left, [])
  const recorded = (await session.events()).flatMap(({ event }) => (event.type === 'decision' ? event.text : []))
  assert.deepEqual(recorded, ['waiting: 5 calls', 'waiting: 5 calls', 'later'])
})
