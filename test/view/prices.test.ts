/** The prices of the calls in a timeline: by model, hour, size, tier and lifetime; and the cache that a call lost. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CacheMiss, Edit, Event, Usage } from '../../src/model/types.ts'
import { type ModelTable, modelInfo } from '../../src/providers/models.ts'
import { Timeline } from '../../src/view/timeline.ts'

const HOUR = 3_600_000
const NOON = new Date(2026, 10, 15, 12).getTime()
const plain = { input: 1_000_000, output: 2_000_000, read: 0.1, write: 1, window: 100_000, minimum: 0, scale: 2 }

/** A session of one user message and one answer after the other; each report is given after its answer. */
function follow(name: string, models: ModelTable = {}) {
  const model = modelInfo(name, models)
  const timeline = new Timeline({ count: words => words.length, model, name, models, overhead: 100 })
  let seq = 0
  const take = (at: number, event: Event) => timeline.take({ seq: seq++, at, event })
  const says = (role: 'user' | 'assistant', text: string): Event => {
    return { type: 'entry', message: { role, parts: [{ type: 'text', text }] } }
  }
  return {
    timeline,
    take,
    call(at: number, usage?: Usage, { asked = 'x'.repeat(50), answer = 'yes', miss }: Call = {}) {
      take(at, says('user', asked))
      take(at, says('assistant', answer))
      if (usage) take(at, { type: 'usage', usage, ...(miss ? { miss } : {}) })
      return timeline.calls.at(-1)!
    },
  }
}

type Call = { asked?: string; answer?: string; miss?: CacheMiss }

const edit = (by: Edit['by'], id = 'e1'): Event => {
  const target = { type: 'part', entry: 0, part: 0 } as const
  return { type: 'edit', edits: [{ id, target, replacement: id, by, why: 'because', saved: 0 }] }
}

describe('a call is priced', () => {
  test('at its hour if the price depends on it, and at the full price if its time is not known', () => {
    const { timeline, call } = follow('deepseek-flash')
    // A Monday, in UTC: the peak hours are 1 to 4 and 6 to 10.
    const [peak, night, later] = [2, 12, 7].map(hour => Date.UTC(2026, 10, 16, hour))
    const usage: Usage = { input: 1000, output: 0 }
    const calls = [0, peak!, night!, later!].map(at => call(at, usage))
    const [unknown, ...others] = calls.map(({ paid }) => paid.dollars / calls[0]!.paid.dollars)
    assert.deepEqual([unknown, ...others], [1, 1, 0.5, 1])
    assert.deepEqual(
      calls.map(made => timeline.modelOf(made).input / timeline.modelOf(calls[0]!).input),
      [1, 1, 0.5, 1],
    )
  })

  test('at the prices of the session if no model has a name', () => {
    const model = { ...modelInfo('claude'), input: 7_000_000 }
    const timeline = new Timeline({ count: words => words.length, model })
    const events: Event[] = [
      { type: 'entry', message: { role: 'assistant', parts: [{ type: 'text', text: 'so' }] } },
      { type: 'usage', usage: { input: 3 } },
    ]
    for (const [seq, event] of events.entries()) timeline.take({ seq, at: NOON, event })
    assert.equal(timeline.calls[0]!.paid.dollars, 21)
  })

  test('at the price of the model that answered it', () => {
    const models = { round: plain, dear: { ...plain, input: 3_000_000, ttl: HOUR } }
    const { timeline, call } = follow('round', models)
    const usage: Usage = { input: 300, output: 0 }
    const [first, second] = [call(NOON, usage), call(NOON, { ...usage, model: 'dear' })]
    assert.deepEqual([first.paid.dollars, second.paid.dollars], [300, 900])
    const plainly = (made: typeof first) =>
      made.sent.cost / ((made.sent.tokens - 0.9 * made.sent.cached) * timeline.scale)
    assert.deepEqual(
      [first, second].map(made => Math.round(plainly(made))),
      [1, 3],
    )
    assert.deepEqual(
      [first, second].map(made => timeline.inputPriceOf(made)),
      [1_000_000, 3_000_000],
    )
    assert.equal(timeline.cacheAt(NOON + HOUR).cold, false, 'and its cache lasts as long')
    assert.equal(call(NOON).model, 'dear', 'the next call is of the same model, until its report says another')
  })

  test('at the band of its size, answer included, whether it was reported or estimated', () => {
    const models = { round: { ...plain, bands: [{ above: 400, input: 2, output: 5 }] } }
    const { timeline, call } = follow('round', models)
    const small = call(NOON)
    assert.deepEqual(
      [small.sent.cost, small.paid.output, timeline.inputPriceOf(small)],
      [150 * 2, 3 * 2 * 2, 1_000_000],
    )
    const large = call(NOON + HOUR, undefined, { asked: 'x'.repeat(150) })
    assert.ok(large.sent.tokens > 200 && large.sent.tokens < 400, 'it is large by the count of the provider')
    assert.deepEqual([large.sent.cost, large.paid.output], [large.sent.tokens * 2 * 2, 3 * 2 * 2 * 5])
    assert.equal(timeline.inputPriceOf(large), 2_000_000)
    const told = call(NOON + HOUR, { input: 100, output: 7 })
    assert.deepEqual(told.paid, { dollars: 100 + 14, output: 14, estimated: false })
    assert.equal(timeline.inputPriceOf(told), 1_000_000)
    assert.equal(told.modelled, told.sent.cost + 7 * 2 * 5)
    const answer = call(NOON + HOUR, { output: 7 })
    assert.equal(timeline.inputPriceOf(answer), 2_000_000, 'a report of the answer alone says nothing about the prompt')
  })

  test('at the tier of its report; the cost of the answer does not include searches', () => {
    const { timeline, call } = follow('round', { round: { ...plain, tiers: { batch: 0.5 }, search: 10 } })
    const told = call(NOON, { input: 300, output: 7, tier: 'batch', searches: 1 })
    assert.equal(timeline.inputPriceOf(told), 500_000)
    assert.deepEqual([told.paid.dollars, told.paid.output], [150 + 7 + 10, 7 + 10])
    const unpriced = call(NOON, { output: 7, tier: 'batch' })
    assert.equal(unpriced.paid.estimated, true)
  })

  test('with what was sampled beside its answer, at the price of the model that did that', () => {
    const { call } = follow('round', { round: plain, dear: { ...plain, input: 3_000_000 } })
    const beside: Usage[] = [{ model: 'dear', input: 10 }, { input: 10 }]
    const { dollars, output } = call(NOON, { input: 300, beside }).paid
    assert.deepEqual([dollars, output], [300 + 30 + 10, 30 + 10])
  })

  test('by its own tokens if a gateway reports zeros', () => {
    const paidWith = (usage?: Usage) => follow('round', { round: plain }).call(NOON, usage)
    const zeros = paidWith({ id: 'r', input: 0, cacheRead: 0, cacheWrite: 0, output: 0 })
    assert.deepEqual(zeros.paid, paidWith().paid)
    assert.deepEqual(zeros.reported, { id: 'r' })
    assert.ok(zeros.paid.estimated && zeros.paid.output > 0)
  })

  test('with the reported numbers of its prompt', () => {
    const { call } = follow('round', { round: plain })
    for (const usage of [{ input: 30 }, { cacheRead: 300 }, { cacheWrite: 30 }] as Usage[]) {
      assert.deepEqual(call(NOON, usage).paid, { dollars: 30, output: 0, estimated: false }, JSON.stringify(usage))
    }
  })

  test('with the lifetime of the latest write', () => {
    const lifetimes = [
      { name: 'short', ttl: HOUR / 12, write: 1.25 },
      { name: 'long', ttl: HOUR, write: 2 },
    ]
    const { timeline, call } = follow('round', { round: { ...plain, lifetimes, write: 1.25, ttl: HOUR / 12 } })
    const written = (made: { sent: { tokens: number; cost: number } }) => made.sent.cost / made.sent.tokens / 2
    assert.equal(written(call(NOON)), 1.25)
    const long = call(NOON + 2 * HOUR, { input: 0, cacheWrite: 300, cacheWriteLong: 300 })
    assert.equal(timeline.modelOf(long).write, 2)
    assert.deepEqual([timeline.lifetime, timeline.cacheAt(NOON + 3 * HOUR).cold], ['long', false])
    call(NOON + 3 * HOUR, { input: 0, cacheWrite: 300 })
    assert.deepEqual([timeline.lifetime, timeline.cacheAt(NOON + 4 * HOUR).cold], [undefined, true])
  })
})

describe('the cache that a call lost', () => {
  const lossAfter = (
    change: (session: ReturnType<typeof follow>) => void,
    { usage, later = 0, miss }: { usage?: Usage; later?: number; miss?: CacheMiss } = {},
  ) => {
    const session = follow('round', { round: { ...plain, ttl: HOUR } })
    session.call(NOON, usage ? { input: 300 } : undefined)
    change(session)
    const made = session.call(NOON + later, usage, miss ? { miss } : {})
    return session.timeline.lossOf(made)
  }
  const nothing = () => undefined

  test('has the cause that the ledger shows, and its tokens by the count of the provider, without a report', () => {
    assert.equal(lossAfter(nothing), undefined)
    assert.deepEqual(lossAfter(nothing, { later: 2 * HOUR }), { cause: 'pause', tokens: 2 * 150 })
    assert.deepEqual(
      lossAfter(({ take }) => take(NOON, edit('user'))),
      { cause: 'edit', tokens: 2 * 50 },
    )
    assert.deepEqual(
      lossAfter(({ take }) => take(NOON, edit('engine'))),
      { cause: 'client', tokens: 2 * 50 },
    )
  })

  test('is the same with a report without numbers of the cache', () => {
    const usage: Usage = { input: 400 }
    assert.equal(lossAfter(nothing, { usage }), undefined)
    assert.deepEqual(lossAfter(nothing, { usage, later: 2 * HOUR }), { cause: 'pause', tokens: 300 })
    assert.deepEqual(
      lossAfter(({ take }) => take(NOON, edit('user')), { usage }),
      { cause: 'edit', tokens: 100 },
    )
    assert.deepEqual(
      lossAfter(({ take }) => take(NOON, edit('engine')), { usage }),
      { cause: 'client', tokens: 100 },
    )
    const other = { input: 1000, model: 'rounder' }
    assert.deepEqual(lossAfter(nothing, { usage: other }), { cause: 'model', tokens: 300 }, 'what was sent before')
    assert.equal(lossAfter(nothing, { usage, miss: { cause: 'server', tokens: 7 } })?.cause, 'server')
  })

  test('is the reported number, whatever the ledger shows', () => {
    const usage: Usage = { input: 0, cacheRead: 400 }
    assert.equal(
      lossAfter(({ take }) => take(NOON, edit('user')), { usage }),
      undefined,
    )
    const told: CacheMiss = { cause: 'server', tokens: 7 }
    assert.deepEqual(lossAfter(nothing, { usage, miss: told }), told)
  })
})

describe('the prefix that is still cached', () => {
  const cachedAfter = (...messages: { role: 'user' | 'assistant'; text: string }[]) => {
    const { timeline, take, call } = follow('round', { round: plain })
    call(NOON, undefined, { asked: 'same text' })
    const target = { type: 'entry', entry: 0 } as const
    const replacement = {
      messages: messages.map(({ role, text }) => ({ role, parts: [{ type: 'text' as const, text }] })),
    }
    take(NOON, { type: 'edit', edits: [{ id: 'e1', target, replacement, by: 'user', why: '', saved: 0 }] })
    return timeline.cacheAt(NOON).tokens
  }

  test('includes messages that an edit left as they were sent: the same words of the same speaker', () => {
    const whole = 100 + 'same text'.length
    assert.equal(cachedAfter({ role: 'user', text: 'same text' }), whole)
    assert.equal(cachedAfter({ role: 'assistant', text: 'same text' }), 100)
    assert.equal(cachedAfter({ role: 'user', text: 'other text' }), 100)
    assert.equal(cachedAfter({ role: 'user', text: 'same text' }, { role: 'user', text: 'more' }), whole)
    assert.equal(cachedAfter(), 100)
  })

  test('is shorter if the end of the sent messages is hidden', () => {
    const { timeline, take, call } = follow('round', { round: plain })
    call(NOON, undefined, { asked: 'first' })
    call(NOON, undefined, { asked: 'second' })
    const target = { type: 'range', from: 1, to: 3 } as const
    const replacement = { messages: [] }
    take(NOON, { type: 'edit', edits: [{ id: 'e1', target, replacement, by: 'user', why: '', saved: 0 }] })
    assert.equal(timeline.cacheAt(NOON).tokens, 100 + 'first'.length)
  })
})
