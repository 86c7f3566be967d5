/** Edits of any policy that wait until they pay: in a cold cache, a full window, or when later calls pay for them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whenItPays } from '../../src/planner/hold.ts'
import type { Policy } from '../../src/policies/policy.ts'
import { modelInfo } from '../../src/providers/models.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'
import { bash, user } from '../policies/talk.ts'

const MINUTE = 60_000
/** 600 words, so that their tokens differ clearly from those of a note. */
const LONG = 'word '.repeat(600)

/** Clears every result after it has been sent: each such edit breaks the cache. */
const clearsAll: Policy = {
  name: 'clears-all',
  start: () => ({
    plan: ({ units, fresh }) =>
      units
        .slice(0, fresh)
        .flatMap(({ entry, part, original }) =>
          original.type === 'tool-result'
            ? [{ policy: 'clears-all', target: { type: 'part', entry, part }, replacement: 'gone', why: 'test' }]
            : [],
        ),
  }),
}

async function open(options: Parameters<typeof whenItPays>[2] = {}, model = 'claude-sonnet-4-5') {
  const time = { now: 1_000_000 }
  const models = { small: { window: 4000 }, large: { window: 4_000_000 } }
  const pal = await openPalimpsest({ home: ':memory:', clock: () => time.now, models })
  const planner = whenItPays('held', [clearsAll], { horizonMin: 1, horizonMax: 1, ...options })
  const session = await pal.session('t', { planner, model })
  await session.append(user('go'))
  await session.view()
  return { session, time }
}

/** One call, and the view that is sent with its result. */
async function step(session: Session, time: { now: number }, text = LONG) {
  time.now += 1000
  await session.append(...bash('make', text))
  return session.view()
}

const made = (session: Session) => session.edits().map(({ edit }) => edit.target)

test('while the cache is warm edits wait, with the reason; in a cold cache all are made', async () => {
  const { session, time } = await open()
  await step(session, time)
  const second = await step(session, time)
  assert.deepEqual(made(session), [])
  const [waiting] = second.pending
  assert.match(
    waiting!.reason,
    /^1 edit, \d+ tokens: rewriting [\d,]+ tokens pays off after \d+ calls, with about 1 call to come$/,
  )
  assert.ok(waiting!.saves > 500)
  assert.equal((await step(session, time)).pending.length, 2)
  time.now += 6 * MINUTE
  const { decision, pending } = await session.view()
  assert.match(decision!, /^\d edits, [\d,]+ tokens: the cache is cold, so they cost nothing$/)
  assert.deepEqual(pending, [])
  assert.deepEqual(
    made(session).slice(0, 2),
    [2, 4].map(entry => ({ type: 'part', entry, part: 0 })),
  )
})

test('the reason sums up all waiting edits, and the text after the first of them', async () => {
  const { session, time } = await open()
  for (let i = 0; i < 3; i++) await step(session, time)
  const { pending } = await step(session, time)
  const saves = pending.reduce((sum, one) => sum + one.saves, 0)
  const [, edits, tokens, behind, after] =
    /^(\d+) edits, ([\d,]+) tokens: rewriting ([\d,]+) tokens pays off after (\d+) calls/
      .exec(pending[0]!.reason)!
      .map(number => Number(number.replaceAll(',', '')))
  const { scale } = modelInfo('claude-sonnet-4-5')
  assert.deepEqual([edits, tokens], [3, Math.round(saves * scale)], 'in tokens of the provider')
  const { messages } = await session.view({ plan: false })
  assert.ok(behind! > 4 * 600 && messages.length === 9, 'all four results and their calls')
  assert.equal(after, Math.ceil((behind! * 1.15) / (saves * scale * 0.1)))
})

test('waiting edits are made when the expected calls pay for them', async () => {
  const { session, time } = await open({ horizonMin: 40, horizonMax: 40 })
  await step(session, time)
  const { decision } = await step(session, time)
  assert.match(decision!, /pays off after \d+ calls, with about 40 calls to come$/)
  assert.deepEqual(made(session), [{ type: 'part', entry: 2, part: 0 }])
})

test('waiting edits are made when the window fills', async () => {
  const { session, time } = await open({ pressure: 0.5 }, 'small')
  await step(session, time)
  assert.deepEqual(made(session), [])
  let decision: string | undefined
  for (let i = 0; i < 4 && decision === undefined; i++) ({ decision } = await step(session, time))
  assert.match(decision!, /the view takes more than 50% of the window$/)
})

test('edits of parts that were pinned or hidden meanwhile are dropped', async () => {
  const { session, time } = await open()
  for (let i = 0; i < 4; i++) await step(session, time)
  await session.pin(2)
  await session.apply([{ target: { type: 'range', from: 3, to: 4 }, replacement: null, why: 'by hand' }])
  time.now += 6 * MINUTE
  await session.view()
  const own = session.edits().filter(({ edit }) => edit.by === 'policy:clears-all')
  assert.deepEqual(
    own.map(({ edit }) => edit.target),
    [{ type: 'part', entry: 6, part: 0 }],
  )
})
