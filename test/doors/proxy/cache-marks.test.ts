import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { withFreeMark, withMarks } from '../../../src/doors/proxy/cache-marks.ts'
import * as fc from '../../property.ts'
import { checkingAnthropic } from '../../providers/checking-anthropic.ts'
import { AnthropicAgent, thinkingModel } from './anthropic-agent.ts'
import { setUp } from './setup.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies as they go over the wire
type Json = any

const marksIn = ({ cache_control, tools = [], system = [], messages }: Json): Json[] => [
  ...[...tools, ...system, ...messages.flatMap(({ content }: Json) => content)].filter(block => block.cache_control),
  ...(cache_control ? [cache_control] : []),
]

test('after an edit deep in the conversation, the text before it is read from the cache', async () => {
  const clock = { now: Date.parse('2026-11-17T00:00:00Z') }
  const provider = checkingAnthropic(thinkingModel(), { clock: () => clock.now })
  await using it = await setUp(provider.script, { clock: () => clock.now, policy: 'none' }, provider)
  const agent = new AnthropicAgent(it.url, { model: 'claude-opus-5' })
  const round = async () => {
    clock.now += 10_000
    await agent.round()
    await it.proxy.idle()
  }
  for (let i = 0; i < 30; i++) await round()
  const session = await it.pal.session('one')
  const results = session.fold.entries.flatMap(({ role }, entry) => (role === 'tool' ? [entry] : []))
  const target = { type: 'part' as const, entry: results.at(-11)!, part: 0 }
  await session.apply([{ target, replacement: 'short', why: 'a test' }])
  await round()
  const { cache_read_input_tokens: read, cache_creation_input_tokens: written } = agent.last.usage
  assert.ok(read > written, `${read} read, ${written} written`)
  assert.equal(marksIn(it.upstream.requests.at(-1)!.json).length, 3)
  await round()
  assert.ok(agent.last.usage.cache_creation_input_tokens < 5000)
  assert.deepEqual(provider.refusals, [])
})

const mark = fc.constantFrom({ type: 'ephemeral' }, { type: 'ephemeral', ttl: '1h' })
const block = fc.record({ type: fc.constant('text'), text: fc.string({ minLength: 1 }) })
const messages = fc.array(
  fc.record({ role: fc.constantFrom('user', 'assistant'), content: fc.array(block, { minLength: 1, maxLength: 3 }) }),
  { minLength: 1, maxLength: 40 },
)

test('there are at most four cache marks, none if the client sets none, and at most one of ours', () => {
  fc.assert(
    fc.property(messages, fc.array(fc.tuple(fc.nat(), mark), { maxLength: 4 }), fc.nat(), (list, places, cut) => {
      const body: Json = { system: [{ type: 'text', text: 'Be brief.' }], messages: structuredClone(list) }
      const blocks = [...body.system, ...body.messages.flatMap(({ content }: Json) => content)]
      for (const [place, cache_control] of places) Object.assign(blocks[place % blocks.length], { cache_control })
      const before = list.map((message, i) => (i < cut % (list.length + 1) ? message : 'other'))
      const [had, has] = [marksIn(body).length, marksIn(withFreeMark(body, before)).length]
      assert.ok(has === had || (had > 0 && has === had + 1 && has <= 4), `${had} became ${has}`)
      assert.deepEqual(plain(withFreeMark(body, before)), plain(body))
    }),
  )
})

const plain = (body: Json) =>
  JSON.parse(JSON.stringify(body, (key, value) => (key === 'cache_control' ? undefined : value)))

describe('cache marks of a client', () => {
  const short = { type: 'ephemeral' }
  const long = { type: 'ephemeral', ttl: '1h' }
  const said = (text: string, cache_control?: object, type = 'text') => ({
    role: 'user' as const,
    content: [{ type, text, ...(cache_control ? { cache_control } : {}) }],
  })
  /** Where the marks are, as message and lifetime. */
  const places = (list: Json[]) =>
    list.flatMap(({ content }, i) =>
      (Array.isArray(content) ? content : []).flatMap((block: Json) =>
        block.cache_control ? [`${i} ${block.cache_control.ttl ?? '5m'}`] : [],
      ),
    )
  const moved = (before: object[], after: object[]) => places(withMarks(before as never, after as never))

  test('stay with unchanged blocks', () => {
    const list = [said('a', long), said('b'), said('c', short)]
    assert.equal(withMarks(list as never, list as never), list as never)
    assert.deepEqual(moved(list, list), ['0 1h', '2 5m'])
  })

  test('move to the nearest earlier block that can have one, if an edit removes their block', () => {
    const before = [said('a'), said('b'), said('c', long), said('d'), said('e', short)]
    assert.deepEqual(moved(before, [said('a'), said('b'), said('x'), said('d'), said('e', short)]), ['3 1h', '4 5m'])
    assert.deepEqual(moved(before, [said('a'), said('x'), said('y', undefined, 'thinking'), said('e', short)]), [
      '1 1h',
      '3 5m',
    ])
    assert.deepEqual(moved(before, [said('a'), said('b')]), ['1 5m'], 'two have no place for one')
    const texts = [{ role: 'user', content: 'plain' }, said('e', short)]
    assert.deepEqual(moved(before, texts), ['1 5m'], 'a bare text carries none')
  })

  test('that come back with an old message are removed, the first ones first', () => {
    const before = [said('a'), said('b', short)]
    assert.deepEqual(moved(before, [said('a', long), said('b', short)]), ['1 5m'])
    assert.deepEqual(moved([said('a')], [said('a', long), said('b', short)]), [])
    const double = { role: 'user', content: [...said('x', long).content, ...said('y', short).content] }
    assert.deepEqual(moved(before, [double]), ['0 5m'])
  })
})

describe('our additional mark', () => {
  const mark = { cache_control: { type: 'ephemeral' } }
  const said = (i: number, more: object = {}) => ({ role: 'user', content: [{ type: 'text', text: `${i}`, ...more }] })
  const many = (length: number) => Array.from({ length }, (_, i) => said(i))
  /** The messages that carry a mark, after a change at a place. */
  const marked = (body: Json, before: Json[]) =>
    (withFreeMark(body, before)['messages'] as Json[]).flatMap(({ content }, i) =>
      Array.isArray(content) && content.some(block => block.cache_control) ? [i] : [],
    )
  const changedAt = (at: number, list: Json[]) => list.with(at, said(-1))
  const last = (list: Json[]) => list.with(-1, said(list.length - 1, mark))

  test('is set before the first change if more than twenty blocks follow it', () => {
    const list = last(many(30))
    assert.deepEqual(marked({ messages: list }, changedAt(9, list)), [8, 29], 'with 21 behind')
    assert.deepEqual(marked({ messages: list }, changedAt(10, list)), [29], 'with 20 behind')
    assert.deepEqual(marked({ messages: list }, list.slice(0, 9)), [29], 'what is only longer has no change')
    assert.deepEqual(marked({ messages: list }, changedAt(0, list)), [29], 'nothing is in front')
    const odd: Json[] = [null, 'odd', 7]
    for (const other of odd) assert.deepEqual(marked({ messages: list }, list.with(9, other)), [8, 29], 'anything else')
  })

  test('has the lifetime of the next mark, because no later mark may live longer', () => {
    const lives = (...ttls: [at: number, ttl: string][]) => {
      const list = ttls.reduce((messages, [at, ttl]) => {
        return messages.with(at, said(at, { cache_control: { type: 'ephemeral', ttl } }))
      }, many(30))
      const { messages } = withFreeMark({ messages: list }, changedAt(6, list)) as Json
      return messages[5].content[0].cache_control.ttl
    }
    assert.equal(lives([6, '1h'], [29, '5m']), '1h', 'the changed message has a mark')
    assert.equal(lives([9, '1h'], [29, '5m']), '1h')
    assert.equal(lives([2, '1h'], [29, '5m']), '5m', 'an earlier mark may live longer')
    const list = many(30)
    const body = { cache_control: { type: 'ephemeral', ttl: '1h' }, messages: list }
    const { messages } = withFreeMark(body, changedAt(6, list)) as Json
    assert.equal(messages[5].content[0].cache_control.ttl, '1h', 'the mark of the whole request')
  })

  test('counts blocks: a message may have several, and a string is one', () => {
    const block = (text: string, more: object = {}) => ({ type: 'text', text, ...more })
    const threes = Array.from({ length: 9 }, (_, i) => ({
      role: 'user',
      content: ['a', 'b', `${i}`].map(t => block(t)),
    }))
    const list: Json[] = [...threes, { role: 'user', content: 'plain' }, said(10, mark)]
    assert.deepEqual(marked({ messages: list }, changedAt(2, list)), [1, 10], '21 blocks and two')
    assert.deepEqual(marked({ messages: list }, changedAt(3, list)), [10], '18 blocks and two')
  })

  test('is not set if the client sets none, nor as a fifth mark', () => {
    const list = many(30)
    assert.deepEqual(marked({ messages: list }, changedAt(5, list)), [])
    const three = { system: [{ type: 'text', ...mark }], tools: [{ name: 'a', ...mark }] }
    const ended = last(list)
    assert.deepEqual(marked({ ...three, messages: ended }, changedAt(5, ended)), [4, 29])
    const four = { ...three, ...mark }
    assert.deepEqual(marked({ ...four, messages: ended }, changedAt(5, ended)), [29])
  })

  test('ignores cache marks and the form of a text when it looks for changes', () => {
    const list = last(many(30))
    const otherwise = list.map(({ role, content }) => ({ role, content: content[0].text }))
    assert.deepEqual(marked({ messages: list }, otherwise), [29])
    assert.deepEqual(marked({ messages: list }, otherwise.with(6, { role: 'assistant', content: '6' })), [5, 29])
  })
})
