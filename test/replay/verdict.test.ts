/** The results of edits, on the sample: the sums are the session's own, and a recording shows what would have been. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prepareSession, tryPolicy } from '../../src/replay/measure/policies.ts'
import { verdictOf, wouldBe } from '../../src/replay/verdict.ts'
import { whyOf } from '../../src/replay/why.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { openSample } from '../../src/session/sample.ts'
import { Timelines } from '../../src/session/timelines.ts'
import { statisticsOf } from '../../src/view/statistics.ts'
import { summaryOf } from '../../src/view/totals.ts'
import { stepsOf, turnsOf } from '../../src/view/turns.ts'

test('the verdict, the turns and the summary of a session have the same sums', async t => {
  const pal = await openPalimpsest({ home: ':memory:' })
  t.after(() => pal.close())
  const session = await openSample(pal)
  const timeline = await new Timelines().of(session, (await pal.find(session.id))!)
  const events = await session.events()
  const verdict = await verdictOf(timeline, events)
  const { money, calls, turns: asked } = summaryOf(timeline)
  assert.equal(verdict.billed, money.with)
  assert.deepEqual(verdict.assumed, [], 'the price of its model is known')
  assert.equal(verdict.saved, money.saved)
  assert.ok(verdict.quotes > 0 && verdict.lost >= 0 && verdict.lost <= verdict.quotes)
  assert.equal(verdict.cacheLost.edit ?? 0, timeline.calls.filter(({ miss }) => miss?.kind === 'edit').length)
  const lost = Object.entries(statisticsOf(timeline).busts).filter(([, times]) => times > 0)
  assert.deepEqual(verdict.cacheLost, Object.fromEntries(lost), 'one account of lost caches')
  const parts = verdict.parts.reduce((total, { dollars }) => total + dollars, 0)
  assert.ok(Math.abs(parts - money.with) < 1e-9, 'the parts of the bill add up to it')
  const anew = new Map(whyOf(timeline).causes.map(({ cause, extraUsd }) => [cause as string, extraUsd]))
  for (const { part, dollars } of verdict.parts) {
    if (anew.has(part)) assert.ok(Math.abs(dollars - anew.get(part)!) < 1e-9, part)
  }
  const turns = turnsOf(timeline)
  const sum = (pick: (turn: (typeof turns)[number]) => number) => turns.reduce((total, turn) => total + pick(turn), 0)
  assert.equal(turns.filter(({ turn }) => turn > 0).length, asked)
  assert.equal(
    sum(turn => turn.calls),
    calls,
  )
  assert.ok(Math.abs(sum(turn => turn.dollars) - money.with) < 1e-9)
  assert.ok(Math.abs(sum(turn => turn.saved) - money.saved) < 1e-9)
  for (const turn of turns) {
    const steps = stepsOf(timeline, turn)
    assert.equal(steps.length, turn.calls)
    assert.equal(
      steps.reduce((total, { tools }) => total + tools.length, 0),
      turn.tools,
    )
  }
})

test('the estimate for a policy ends with the last view of its replay', async () => {
  const pal = await openPalimpsest({ home: ':memory:' })
  const session = await openSample(pal)
  const timeline = await new Timelines().of(session, (await pal.find(session.id))!)
  const messages = (await session.events()).flatMap(({ event }) => (event.type === 'entry' ? [event.message] : []))
  await pal.close()
  const recorded = prepareSession('s', messages)
  const outcome = await tryPolicy(recorded, 'thrifty', { overhead: 0 })
  const { timeline: ghost, edits } = await wouldBe(recorded, outcome, timeline)
  assert.ok(edits.length > 0)
  assert.equal(ghost.calls.at(-1)?.sent.tokens, outcome.measures.perCall.at(-1)?.tokens)
})
