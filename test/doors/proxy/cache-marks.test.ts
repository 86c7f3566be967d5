import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withFreeMark } from '../../../src/doors/proxy/cache-marks.ts'
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

test('after an edit deep in the conversation what is in front of it is read from the cache', async () => {
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

test('there are never more than four marks, none where the client sets none, and one more at most', () => {
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
