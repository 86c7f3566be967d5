/**
 * The rent of a session is its cost, distributed: every list adds up to the whole, whatever happened in the session.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Edit, Event, Message, Part, Usage } from '../../src/model/types.ts'
import { modelInfo } from '../../src/providers/models.ts'
import { addRents, largestRows, RENT_BY, type RentRow, rentOf } from '../../src/view/rent.ts'
import { Timeline } from '../../src/view/timeline.ts'
import { summaryOf } from '../../src/view/totals.ts'
import { count } from '../laws/law.ts'
import { session } from '../laws/sessions.ts'
import * as fc from '../property.ts'

const MODELS = ['claude-sonnet-4-5', 'claude-haiku-4-5', 'gpt-5']
const usage: fc.Arbitrary<Usage | undefined> = fc.option(
  fc.record(
    {
      input: fc.nat(5000),
      cacheRead: fc.nat(50_000),
      cacheWrite: fc.nat(50_000),
      output: fc.nat(3000),
      model: fc.constantFrom(...MODELS),
    },
    { requiredKeys: [] },
  ),
  { nil: undefined },
)

function timelineOf(messages: readonly Message[], usages: readonly (Usage | undefined)[], hidden: readonly number[]) {
  const timeline = new Timeline({ count, model: modelInfo(MODELS[0]!), name: MODELS[0]!, overhead: 400 })
  let seq = 0
  const take = (event: Event) => timeline.take({ seq, at: 1_760_000_000_000 + seq++ * 60_000, event })
  for (const [i, message] of messages.entries()) {
    take({ type: 'entry', message })
    const used = usages[i % usages.length]
    if (message.role === 'assistant' && used) take({ type: 'usage', usage: used })
    const target = { type: 'part', entry: i, part: 0 } as const
    if (hidden.includes(i) && message.parts[0]?.type === 'text')
      take({
        type: 'edit',
        edits: [{ id: `e${i}`, target, replacement: 'x', by: 'policy:thrifty', why: '', saved: 1 }],
      })
  }
  return timeline
}

const total = (rows: readonly { dollars: number }[]) => rows.reduce((sum, { dollars }) => sum + dollars, 0)
const isSame = (a: number, b: number) => Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b))

test('every list adds up to the bill', () => {
  const usages = fc.array(usage, { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(session, usages, fc.array(fc.nat(30), { maxLength: 6 }), (messages, used, hidden) => {
      const timeline = timelineOf(messages, used, hidden)
      const rent = rentOf(timeline)
      assert.ok(isSame(rent.dollars, summaryOf(timeline).money.with))
      for (const by of RENT_BY) {
        assert.ok(isSame(total(rent[by]), rent.dollars), `${by}: ${total(rent[by])} of ${rent.dollars}`)
        assert.ok(isSame(total(largestRows(rent[by], 2)), rent.dollars))
        assert.ok(rent[by].every(({ dollars, tokens }) => dollars >= 0 && tokens >= 0))
      }
      const twice = addRents([rent, rent])
      for (const by of RENT_BY) assert.ok(isSame(total(twice[by]), 2 * rent.dollars))
    }),
    { numRuns: 200 },
  )
})

describe('a session of two calls', () => {
  const models = {
    round: { input: 1_000_000, output: 0, read: 0.1, write: 1.25, window: 100_000, minimum: 0, scale: 2 },
  }
  const rentAfter = (...events: Event[]) => {
    const model = modelInfo('round', models)
    const timeline = new Timeline({ count: words => words.length, model, name: 'round', models, overhead: 100 })
    for (const [seq, event] of events.entries()) timeline.take({ seq, at: 1000 + seq, event })
    return rentOf(timeline)
  }
  const entry = (role: 'user' | 'assistant', ...parts: Part[]): Event => ({ type: 'entry', message: { role, parts } })
  const text = (words: string): Part => ({ type: 'text', text: words })
  const edit = (target: Edit['target'], by: Edit['by'], replacement: Edit['replacement']): Event => {
    return { type: 'edit', edits: [{ id: `by ${by}`, target, replacement, by, why: '', saved: 0 }] }
  }
  const rent = rentAfter(
    entry('user', text('0123456789'), text('go')),
    entry('assistant', { type: 'reasoning', text: '' }, text('on')),
    edit({ type: 'part', entry: 0, part: 0 }, 'policy:thrifty', null),
    edit({ type: 'range', from: 1, to: 1 }, 'agent', { messages: [{ role: 'assistant', parts: [text('so far')] }] }),
    entry('user', text('and?')),
    entry('assistant', text('done')),
  )
  const rowOf = (by: (typeof RENT_BY)[number], name: string) => rent[by].find(row => row.name === name)

  test('lists tokens by the count of the provider', () => {
    assert.equal(rowOf('kind', 'system prompt + tools')!.tokens, 2 * 2 * 100)
    assert.equal(rowOf('kind', 'summaries and notes')!.tokens, 2 * 6)
  })

  test('lists text that an edit hides, and nothing that was empty from the beginning', () => {
    const { tokens, saved } = rowOf('edit', 'policy:thrifty')!
    assert.ok(tokens === 0 && saved > 0)
    assert.equal(rowOf('kind', 'reasoning'), undefined)
  })

  test('has the tokens of all rows in a shortened list', () => {
    const tokens = (rows: readonly RentRow[]) => rows.reduce((sum, row) => sum + row.tokens, 0)
    assert.equal(tokens(largestRows(rent.kind, 1)), tokens(rent.kind))
  })

  test('can have a report without any tokens', () => {
    const usage: Usage = { input: 0, cacheRead: 0, output: 0 }
    const { kind } = rentAfter(entry('user', text('go')), entry('assistant', text('on')), { type: 'usage', usage })
    assert.ok(kind.every(({ dollars, tokens }) => Number.isFinite(dollars) && Number.isFinite(tokens)))
  })
})

test('a text in more calls pays more, and the cache makes it cheap', () => {
  const text = (role: 'user' | 'assistant', words: string): Message => ({
    role,
    parts: [{ type: 'text', text: words }],
  })
  const call = (id: string, name: string, input: Record<string, unknown>): Message => ({
    role: 'assistant',
    parts: [{ type: 'tool-call', id, name, input }],
  })
  const result = (id: string, name: string, output: string): Message => ({
    role: 'tool',
    parts: [{ type: 'tool-result', id, name, output }],
  })
  const messages = [
    text('user', 'go'),
    call('1', 'Read', { file_path: '/a.ts' }),
    result('1', 'Read', 'line\n'.repeat(500)),
    ...Array.from({ length: 10 }, (_, i) => [
      call(`m${i}`, 'mcp__github__search', {}),
      result(`m${i}`, 'mcp__github__search', 'x'),
    ]).flat(),
    call('2', 'Read', { file_path: '/b.ts' }),
    result('2', 'Read', 'line\n'.repeat(500)),
    text('assistant', 'done'),
  ]
  const rent = rentOf(timelineOf(messages, [undefined], []))
  const of = (by: (typeof RENT_BY)[number], name: string) => rent[by].find(row => row.name === name)!
  assert.ok(of('file', '/a.ts').dollars > 1.5 * of('file', '/b.ts').dollars)
  assert.ok(of('file', '/a.ts').dollars < 4 * of('file', '/b.ts').dollars, 'ten calls read it from the cache')
  assert.ok(of('server', 'github').dollars > 0)
  assert.ok(of('kind', 'system prompt + tools').dollars > 0)
  assert.deepEqual(
    rent.agent.map(({ name }) => name),
    ['main'],
  )
})
