import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anthropic } from '../../../src/doors/proxy/anthropic.ts'
import { chainOf } from '../../../src/doors/proxy/conversation.ts'
import type { ProxyDialect } from '../../../src/doors/proxy/dialect.ts'
import { gemini } from '../../../src/doors/proxy/gemini.ts'
import { openaiChat } from '../../../src/doors/proxy/openai-chat.ts'
import { openaiResponses } from '../../../src/doors/proxy/openai-responses.ts'
import { Readings } from '../../../src/doors/proxy/reading.ts'
import * as fc from '../../property.ts'

/** The events of a conversation, which every dialect writes in its own way. */
type Step = { kind: 'say' | 'call' | 'think'; text: string; calls: number; mark: boolean }

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('say', 'call', 'think'),
  text: fc.oneof(fc.string({ unit: 'binary' }), fc.constant('plain \\ "messages":[1] \n ä')),
  calls: fc.integer({ min: 1, max: 3 }),
  mark: fc.boolean(),
})

const exchange = (text: string, content: unknown = text) => [
  { role: 'user', content },
  { role: 'assistant', content: text },
]

const MARK = { cache_control: { type: 'ephemeral' } }

const WRITERS: [ProxyDialect, (step: Step, n: number, last: boolean) => object[]][] = [
  [
    anthropic,
    ({ kind, text, calls, mark }, n, last) => {
      const marked = mark && last ? MARK : {}
      if (kind === 'say') return exchange(text, mark && !last ? text : [{ type: 'text', text, ...marked }])
      const ids = Array.from({ length: calls }, (_, i) => `t${n}_${i}`)
      const uses = ids.map(id => ({ type: 'tool_use', id, name: `tool${n % 3}`, input: { text } }))
      const thought = kind === 'think' ? [{ type: 'thinking', thinking: text, signature: 's' }] : []
      const results = ids.map(id => ({ type: 'tool_result', tool_use_id: id, content: text, ...marked }))
      return [
        { role: 'assistant', content: [...thought, ...uses] },
        { role: 'user', content: results },
      ]
    },
  ],
  [
    openaiChat,
    ({ kind, text, calls }, n) => {
      if (kind === 'say') return exchange(text)
      const ids = Array.from({ length: calls }, (_, i) => `t${n}_${i}`)
      const tool_calls = ids.map(id => ({ id, type: 'function', function: { name: `tool${n % 3}`, arguments: '{}' } }))
      const thought = kind === 'think' ? { reasoning_content: text } : {}
      const results = ids.map(id => ({ role: 'tool', tool_call_id: id, content: text }))
      return [{ role: 'assistant', content: null, tool_calls, ...thought }, ...results]
    },
  ],
  [
    openaiResponses,
    ({ kind, text, calls }, n) => {
      if (kind === 'say') return exchange(text)
      const ids = Array.from({ length: calls }, (_, i) => `t${n}_${i}`)
      const thought = kind === 'think' ? [{ type: 'reasoning', id: `r${n}`, summary: [], encrypted_content: text }] : []
      const made = ids.map(call_id => ({ type: 'function_call', call_id, name: `tool${n % 3}`, arguments: '{}' }))
      const results = ids.map(call_id => ({ type: 'function_call_output', call_id, output: text }))
      return [...thought, ...made, ...results]
    },
  ],
  [
    gemini,
    ({ kind, text, calls, mark }, n) => {
      const parts = [{ text }]
      if (kind === 'say')
        return [
          { role: 'user', parts },
          { role: 'model', parts },
        ]
      const names = Array.from({ length: calls }, (_, i) => ({
        name: `tool${(n + i) % 2}`,
        ...(mark ? { id: `t${n}_${i}` } : {}),
      }))
      const thought = kind === 'think' ? [{ text, thought: true, thoughtSignature: 's' }] : []
      const made = names.map(one => ({ functionCall: { ...one, args: { text } } }))
      const results = names.map(one => ({ functionResponse: { ...one, response: { output: text } } }))
      return [
        { role: 'model', parts: [...thought, ...made] },
        { role: 'user', parts: results },
      ]
    },
  ],
]

for (const [dialect, write] of WRITERS) {
  test(`a body of ${dialect.name} gives the same messages with and without a memory of earlier bodies`, () => {
    const cut = fc.integer({ min: 0, max: 40 })
    const turn = {
      back: cut,
      steps: fc.array(step, { maxLength: 4 }),
      system: fc.boolean(),
      // The memory may be of the same sender, another or none.
      sender: fc.constantFrom(undefined, 'one', 'other'),
    }
    const runs = fc.array(fc.record(turn), { maxLength: 8 })
    fc.assert(
      fc.property(runs, fc.boolean(), (turns, spaced) => {
        const readings = new Readings()
        let all: Step[] = []
        for (const { back, steps, system, sender } of turns) {
          // Mostly the conversation continues; sometimes the client goes back, possibly by nothing.
          all = [...all.slice(0, back < 30 ? all.length : back - 30), ...steps]
          const elements = all.flatMap((one, n) => write(one, n, n === all.length - 1))
          const body = { model: 'm', [dialect.list]: elements, ...(system ? SYSTEMS[dialect.name] : {}), x: 'messages' }
          const bytes = Buffer.from(JSON.stringify(body, null, spaced ? 1 : 0))
          const reading = readings.read(dialect, bytes, sender)!
          const plain = dialect.read(JSON.parse(bytes.toString()))!
          assert.deepEqual(reading.body, JSON.parse(bytes.toString()))
          assert.deepEqual(reading.messages, plain)
          assert.deepEqual(reading.chain, chainOf(plain))
        }
      }),
      { numRuns: 300 },
    )
  })
}

for (const [dialect, write] of WRITERS) {
  test(`a body of ${dialect.name} reuses the objects of the body that it continues, while that is remembered`, () => {
    const readings = new Readings()
    const bodyOf = (name: string, length: number, sender?: string) => {
      const steps = Array.from({ length }, (): Step => ({ kind: 'say', text: `${name} says`, calls: 1, mark: false }))
      const elements = steps.flatMap((one, n) => write(one, n, n === steps.length - 1))
      const bytes = Buffer.from(JSON.stringify({ model: 'm', [dialect.list]: elements }))
      return readings.read(dialect, bytes, sender)!.body[dialect.list] as unknown[]
    }
    const [first] = bodyOf('ann', 3)
    assert.equal(bodyOf('ann', 4)[0], first, 'found among all')
    assert.equal(bodyOf('ann', 5, 'ann')[0], first)
    for (let i = 0; i < 20; i++) bodyOf(`other ${i}`, 2)
    assert.equal(bodyOf('ann', 6, 'ann')[0], first, 'others are remembered beside it')
    for (let i = 0; i < 130; i++) bodyOf(`another ${i}`, 2)
    assert.notEqual(bodyOf('ann', 7, 'ann')[0], first, 'it was forgotten for others')
  })
}

const SYSTEMS: Record<string, object> = {
  anthropic: { system: 'Be brief.' },
  'openai-chat': {},
  'openai-responses': { instructions: 'Be brief.' },
  gemini: { systemInstruction: { parts: [{ text: 'Be brief.' }] } },
}

const said = (...texts: string[]) =>
  texts.map((content, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content: content.repeat(50) }))
const bytesOf = (body: object) => Buffer.from(JSON.stringify(body))

test('known messages are returned as the same objects', () => {
  const readings = new Readings()
  const first = readings.read(anthropic, bytesOf({ messages: said('a', 'b', 'c') }))!
  const second = readings.read(anthropic, bytesOf({ messages: said('a', 'b', 'c', 'd', 'e') }))!
  for (const i of [0, 1, 2]) assert.equal(second.messages![i], first.messages![i])
  assert.equal(second.messages!.length, 5)
})

test('two conversations with the same beginning stay apart', () => {
  const readings = new Readings()
  const one = ['a', 'b', 'c']
  const other = ['a', 'b', 'x']
  for (let i = 0; i < 6; i++) {
    for (const texts of [one, other]) {
      texts.push(`${texts[2]}${i}`)
      const { messages } = readings.read(anthropic, bytesOf({ messages: said(...texts) }))!
      assert.deepEqual(messages, anthropic.read({ messages: said(...texts) }))
    }
  }
})

test('a list that occurs twice is read as the JSON parser reads it', () => {
  const readings = new Readings()
  const once = `{"messages":${JSON.stringify(said('a', 'b', 'c'))}}`
  readings.read(anthropic, Buffer.from(once))
  const twice = `${once.slice(0, -1)},"messages":${JSON.stringify(said('d'))}}`
  assert.deepEqual(readings.read(anthropic, Buffer.from(twice))!.messages, anthropic.read(JSON.parse(twice)))
})

test('a body that is not a JSON object, or is cut off after a known beginning, is not read', () => {
  const readings = new Readings()
  const whole = bytesOf({ messages: said('a', 'b', 'c') })
  readings.read(anthropic, whole)
  assert.equal(readings.read(anthropic, whole.subarray(0, -3)), undefined)
  assert.equal(readings.read(anthropic, Buffer.concat([whole, Buffer.from('}')])), undefined)
  assert.equal(readings.read(anthropic, Buffer.from('[]')), undefined)
  assert.equal(readings.read(anthropic, Buffer.from([0x7b, 0xff, 0x7d])), undefined)
})
