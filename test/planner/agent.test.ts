/** The planner of our own agent: one warning before each summary, and never beside another message of ours. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentPlanner } from '../../src/planner/agent.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'
import { bash, user } from '../policies/talk.ts'

const WINDOW = 6000
/** Half of the window may be filled; at 80% of that the agent is warned. */
const OPTIONS = { budget: 0.5, keep: 4, warnFrom: 0.8 }
const LIMIT = WINDOW * OPTIONS.budget

async function work(steps: number, goal: Parameters<typeof agentPlanner>[1]): Promise<Session> {
  const pal = await openPalimpsest({ home: ':memory:', clock: () => 1000, models: { small: { window: WINDOW } } })
  const session = await pal.session('work', { planner: agentPlanner(OPTIONS, goal), model: 'small' })
  await session.append(user('Number every line.'))
  for (let i = 0; i < steps; i++) {
    await session.view()
    await session.append(
      ...bash(`make part-${i}`, `the part ${i} was made, and this is ${'what is told of it '.repeat(20)}`),
    )
    await session.view()
    // Another request for the same view adds no message.
    await session.view()
  }
  return session
}

const made = (session: Session) =>
  session
    .edits()
    .flatMap(({ edit }) => (/policy:(warn|summarize)/.test(edit.by) ? [edit.by.slice('policy:'.length)] : []))

test('the agent is warned once before each summary, when most of the room for it is filled', async () => {
  const session = await work(90, { goal: false })
  const order = made(session)
  assert.ok(order.length >= 4, order.join())
  assert.deepEqual(
    order,
    order.map((_, i) => (i % 2 === 0 ? 'warn' : 'summarize')),
    'one, then the other',
  )
  const warnings = session.edits().filter(({ edit }) => edit.by === 'policy:warn')
  for (const { edit } of warnings) {
    const [, tokens, limit] = /^(\d+) of (\d+) tokens: old steps will be summarised soon$/.exec(edit.why)!.map(Number)
    assert.equal(limit, LIMIT)
    assert.ok(tokens! >= 0.8 * LIMIT && tokens! < LIMIT, edit.why)
    assert.match(JSON.stringify(edit.replacement), new RegExp(`${Math.round((100 * tokens!) / LIMIT)} ?%`))
  }
})

test('where a reminder of the goal is put in at every call, there is no warning beside it', async () => {
  const session = await work(40, { goal: { every: 1 } })
  const order = made(session)
  assert.ok(order.includes('summarize'))
  assert.ok(!order.includes('warn'))
})
