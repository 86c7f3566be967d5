import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  bestCut,
  type Candidate,
  type Choice,
  dueReason,
  explain,
  explainLog,
  horizonOf,
  isCold,
  orderQuantity,
  type Situation,
  worthOf,
} from '../../src/planner/planner.ts'
import * as fc from '../property.ts'

const shape = 'prefix' as const
const prices = { read: 0.1, write: 1.25, shape }
const situation = fc.record({
  model: fc.constantFrom(
    prices,
    { read: 0.1, write: 1, shape },
    { read: 0.5, write: 1, shape },
    { read: 0.025, write: 2, shape },
  ),
  cold: fc.boolean(),
  horizon: fc.integer({ min: 1, max: 150 }),
  quote: fc.constantFrom(0, 20_000, 56_000),
  whole: fc.constant(0),
  thought: fc.constantFrom(0, 5),
})
const bound = fc.option(fc.record({ leaves: fc.boolean(), running: fc.boolean() }), { nil: undefined, freq: 3 })
const part = fc.record({
  bound,
  tokens: fc.integer({ min: 0, max: 5000 }),
  choices: fc.array(
    fc.record({ keep: fc.double({ min: 0, max: 1, noNaN: true }), lost: fc.double({ min: 0, max: 2, noNaN: true }) }),
    { maxLength: 2 },
  ),
})
const parts = fc.array(part, { maxLength: 12 }).map(list =>
  list.map(({ tokens, choices, bound }, i) => ({
    part: i,
    tokens,
    age: list.length - i,
    ...(bound ? { bound } : {}),
    choices: choices.map<Choice<number>>(({ keep, lost }, n) => ({ form: n, tokens: Math.floor(tokens * keep), lost })),
  })),
)

test('the best cut is the best of all possible cuts', () => {
  fc.assert(
    fc.property(parts, situation, (list, now) => {
      const cut = bestCut(list, now, { minSave: 40 })
      const best = Math.max(0, ...list.map((_, i) => netOf(list.slice(0, i + 1), now)))
      assert.ok(Math.abs((cut?.net ?? 0) - best) < 1e-6, `${cut?.net} is not ${best}`)
      if (!cut) return
      assert.ok(cut.net > 0)
      const behind = list.slice(0, cut.picks.at(-1)!.part).filter(({ bound }) => bound)
      const tokensOf = (some: typeof behind) => some.reduce((sum, { tokens }) => sum + tokens, 0)
      assert.equal(cut.reasoning, tokensOf(behind))
      assert.equal(cut.running, tokensOf(behind.filter(({ bound }) => bound?.running)))
      const left = tokensOf(behind.filter(({ bound }) => bound?.leaves))
      assert.equal(cut.freed, left + cut.picks.reduce((sum, pick) => sum + pick.saves, 0))
    }),
  )
})

/** The gain of a cut with every part in its most valuable form. */
function netOf(list: readonly Candidate<number, number>[], now: Situation): number {
  let [gain, rewritten, running, any] = [0, 0, 0, false]
  for (const { tokens, choices, bound } of list) {
    if (bound) {
      any = false
      running += bound.running ? tokens : 0
      gain += bound.leaves ? worthOf(tokens, 0, now) : 0
      rewritten += bound.leaves ? 0 : tokens
      continue
    }
    const fitting = choices.filter(choice => tokens - choice.tokens >= 40 || choice.tokens === 0)
    const worths = fitting.map(choice => ({
      worth: worthOf(tokens - choice.tokens, choice.lost, now),
      left: choice.tokens,
    }))
    const best = worths.filter(({ worth }) => worth > 0).sort((a, b) => b.worth - a.worth)[0]
    rewritten += best ? best.left : tokens
    gain += best?.worth ?? 0
    any = best !== undefined
  }
  const written = now.cold ? 0 : rewritten * (now.model.write - now.model.read)
  return any ? gain - written - running * now.thought : 0
}

test('an edit is free in a cold cache and due in a full window, and a small batch waits while the cache is warm', () => {
  const cut = { picks: [], freed: 1000, rewritten: 50_000, net: 1, reasoning: 0, running: 0 }
  const base = { model: prices, horizon: 50, quote: 0, whole: 0, thought: 5 }
  const calm = { pressure: false, growth: 500, batch: 2 }
  assert.equal(dueReason(cut, { ...base, cold: true }, calm), 'cold')
  assert.equal(dueReason(cut, { ...base, cold: false }, { ...calm, pressure: true }), 'pressure')
  assert.equal(dueReason(cut, { ...base, cold: false }, calm), undefined)
  const enough = { ...cut, freed: 2 * orderQuantity(cut.rewritten * 1.15, 500, prices) }
  assert.equal(dueReason(enough, { ...base, cold: false }, calm), 'batch')
  assert.equal(dueReason(cut, { ...base, cold: false }, { ...calm, overBand: 900 }), 'band')
  assert.equal(dueReason(cut, { ...base, cold: false }, { ...calm, overBand: 1100 }), undefined)
})

test('lost reasoning of the running turn has a price, even in a cold cache, and long turns can pay it', () => {
  const cut = { freed: 30_000, rewritten: 20_000, net: 1, running: 2000 }
  const base = { model: prices, horizon: 50, quote: 0, whole: 0, thought: 5 }
  const calm = { pressure: false, growth: 50, batch: 1 }
  const costs = 20_000 * 1.15 + 2000 * 5
  const needed = Math.ceil(costs / (30_000 * 0.1))
  const warm = { ...base, cold: false }
  assert.equal(dueReason(cut, warm, { ...calm, callsOfTurn: needed - 1 }), undefined)
  assert.equal(dueReason(cut, warm, { ...calm, callsOfTurn: needed }), 'batch')
  assert.equal(dueReason(cut, { ...base, cold: true }, { ...calm, callsOfTurn: 1 }), undefined)
  assert.equal(dueReason({ ...cut, running: 0 }, { ...base, cold: true }, calm), 'cold')
})

test('the expected number of calls is the number so far, within limits', () => {
  const limits = { horizonMin: 10, horizonMax: 40 }
  const expected = [0, 8, 9, 10, 38, 39, 40, 500].map(calls => horizonOf(calls, limits))
  assert.deepEqual(expected, [10, 10, 10, 11, 39, 40, 40, 40])
})

test('a cache is cold before the first call, and after its lifetime', () => {
  const model = { ttl: 300_000 } as Parameters<typeof isCold>[0]['model']
  assert.equal(isCold({ now: 0, lastCallAt: undefined, model }), true)
  assert.equal(isCold({ now: 301_000, lastCallAt: 1000, model }), false)
  assert.equal(isCold({ now: 301_001, lastCallAt: 1000, model }), true)
})

test('an edit may cost no more than the budget plus the certain savings of the next calls', () => {
  const cut = { freed: 40_000, rewritten: 10_000, net: 1, reasoning: 0, running: 0 }
  const warm = { model: prices, cold: false, horizon: 50, quote: 0, whole: 0, thought: 5 }
  const calm = { pressure: false, growth: 50, batch: 1 }
  const [costs, savesInOneCall] = [10_000 * 1.15, 40_000 * 0.1]
  const atOnce = costs - savesInOneCall
  assert.equal(dueReason(cut, warm, { ...calm, budget: atOnce }), 'batch')
  assert.equal(dueReason(cut, warm, { ...calm, budget: atOnce - 1 }), undefined)
  // In a long turn more calls are certain to follow, but only up to a limit.
  assert.equal(dueReason(cut, warm, { ...calm, budget: atOnce - 1, callsOfTurn: 5 }), 'batch')
  const later = costs - 3 * savesInOneCall
  assert.equal(dueReason(cut, warm, { ...calm, budget: later, callsOfTurn: 30 }), 'batch')
  assert.equal(dueReason(cut, warm, { ...calm, budget: later - 1, callsOfTurn: 3000 }), undefined)
  assert.equal(
    dueReason(cut, warm, { ...calm, budget: -1e9, pressure: true }),
    'pressure',
    'a full window asks for no budget',
  )
})

test('every decision is a sentence with its numbers', () => {
  const picks = Array.from({ length: 31 }, (_, i) => ({ part: i, form: 0, saves: 1, value: 1 }))
  const cut = { picks, freed: 48_000, rewritten: 10_000, net: 1, reasoning: 0, running: 0 }
  const now = { model: prices, cold: true, horizon: 40, quote: 0, whole: 0, thought: 5 }
  assert.equal(explain(cut, 'cold', now), 'shortened 31 parts, 48.0k tokens: the cache is cold, so it costs nothing')
  assert.match(
    explain(cut, 'batch', now),
    /writing 10\.0k tokens again costs 11\.5k once and saves 4\.8k on each of about 40 expected calls/,
  )
  assert.match(explain(cut, 'pressure', now), /the window is filling up, and it pays off after 3 calls/)
  assert.match(
    explain({ ...cut, freed: 12_000 }, undefined, now),
    /^waiting: 12\.0k tokens would pay off after 10 calls/,
  )
  assert.match(
    explain({ ...cut, reasoning: 3000, running: 0 }, 'batch', now),
    /; 3\.0k tokens of reasoning after the first change are lost, all from past turns$/,
  )
  assert.match(explain({ ...cut, reasoning: 3000, running: 1200 }, 'batch', now), /lost, 1\.2k of them from this turn$/)
  assert.match(
    explain(cut, 'band', now, 'cleared'),
    /^cleared 31 parts.* falls into a lower price band, which pays off at once$/,
  )
  assert.match(explain({ ...cut, freed: 999_000 }, 'pressure', now), /pays off after 1 call$/)
  assert.match(explain({ ...cut, freed: 999.4 }, 'cold', now), /31 parts, 999 tokens/)
  const log = 'logged old steps, about 48.0k tokens: that costs'
  assert.equal(
    explainLog(cut, now),
    `${log} nothing, as the cache is cold, and saves 4.8k on each of about 40 expected calls`,
  )
  assert.match(explainLog(cut, { ...now, cold: false }), /that costs 11\.5k and saves/)
  assert.match(
    explainLog({ ...cut, reasoning: 1000, running: 1000 }, now),
    /costs 5\.0k and .*; 1\.0k tokens of reasoning/,
  )
})
