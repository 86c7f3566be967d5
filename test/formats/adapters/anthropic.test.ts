import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type AnthropicPrompt, fromAnthropic, toAnthropic } from '../../../src/formats/adapters/anthropic.ts'
import type { Message } from '../../../src/model/types.ts'
import { adapterContract, ids, inputs, marker, names, texts, wire } from '../../contracts/adapter.ts'
import * as fc from '../../property.ts'

const cache = { cache_control: fc.constant({ type: 'ephemeral' }) }
const textBlock = wire({ type: fc.constant('text'), text: texts }, cache)
const base64 = fc.record({ type: fc.constant('base64'), media_type: fc.constant('image/png'), data: fc.base64String() })
const source = fc.oneof(
  base64,
  wire({ type: fc.constant('url'), url: fc.webUrl() }),
  wire({ type: fc.constant('file'), file_id: ids }),
)
const imageBlock = wire({ type: fc.constant('image'), source }, cache)
const unknownBlock = wire({ type: fc.constantFrom('document', 'server_tool_use', 'tool_reference', 'compaction') })
const thinkingBlock = wire({ type: fc.constant('thinking'), thinking: texts, signature: texts })
const redacted = wire({ type: fc.constant('redacted_thinking'), data: texts })
const userBlocks = fc.array(fc.oneof(textBlock, imageBlock, unknownBlock), { maxLength: 3 })
const resultContent = fc.oneof(texts, fc.constant(null), fc.array(fc.oneof(textBlock, imageBlock, unknownBlock)))

const user = wire({ role: fc.constant('user'), content: fc.oneof(texts, userBlocks) }).map(message => [message])
const note = wire({ role: fc.constant('system'), content: fc.oneof(texts, fc.array(textBlock)) }).map(one => [one])
const said = fc.array(fc.oneof(textBlock, thinkingBlock, redacted, unknownBlock), { maxLength: 3 })
const answer = wire({ role: fc.constant('assistant'), content: fc.oneof(texts, said) }).map(message => [message])
const step = fc.uniqueArray(ids, { minLength: 1, maxLength: 3 }).chain(calls =>
  fc
    .tuple(
      said,
      fc.tuple(
        ...calls.map(id =>
          wire({ type: fc.constant('tool_use'), id: fc.constant(id), name: names, input: inputs }, cache),
        ),
      ),
      fc.tuple(...calls.map(id => result(id))),
      userBlocks,
    )
    .map(([before, uses, results, after]) => [
      { role: 'assistant', content: [...before, ...uses] },
      { role: 'user', content: [...results.reverse(), ...after] },
    ]),
)

function result(id: string) {
  const optional = { content: resultContent, is_error: fc.boolean(), ...cache }
  return wire({ type: fc.constant('tool_result'), tool_use_id: fc.constant(id) }, optional)
}

const conversations = fc
  .record(
    { system: fc.oneof(texts, fc.array(textBlock)), messages: fc.array(fc.oneof(user, answer, step, step, note)) },
    { requiredKeys: ['messages'] },
  )
  .map(({ system, messages }) => ({ ...(system !== undefined && { system }), messages: messages.flat() }))

type Block = { content?: unknown }
function blocks({ system, messages }: AnthropicPrompt): unknown[] {
  const flat = (content: unknown) => (Array.isArray(content) ? content : [content])
  return [...flat(system), ...messages.flatMap(({ content, ...rest }: Block) => [rest, ...flat(content)])]
}

const call = (id: string, text: string) => ({ type: 'tool_use', id, name: 'bash', input: { command: text } })
const sample = {
  system: [{ type: 'text', text: marker(1), cache_control: { type: 'ephemeral' } }],
  messages: [
    { role: 'user', content: marker(2) },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: marker(3), signature: 'c2ln' },
        { ...call('a', marker(4)), caller: {} },
        call('b', marker(5)),
      ],
    },
    {
      role: 'user',
      content: [
        { tool_use_id: 'b', type: 'tool_result', content: marker(6), is_error: false },
        {
          tool_use_id: 'a',
          type: 'tool_result',
          content: [
            { type: 'text', text: marker(7) },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: marker(8) }, x: 1 },
          ],
        },
        { type: 'text', text: marker(9), cache_control: { type: 'ephemeral' } },
      ],
    },
  ],
}

adapterContract<AnthropicPrompt>({
  dialect: 'anthropic',
  from: ({ system, messages }) => fromAnthropic(messages, system),
  to: messages => toAnthropic(messages),
  conversations: conversations as fc.Arbitrary<AnthropicPrompt>,
  blocks,
  sample,
})

describe('toAnthropic', () => {
  const user = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] })
  const tool = (id: string): Message => ({
    role: 'tool',
    parts: [{ type: 'tool-result', id, name: 'bash', output: `of ${id}` }],
  })

  test('joins the results of one batch from several messages', () => {
    const { messages } = toAnthropic([tool('a'), tool('b'), user('next')])
    assert.deepEqual(messages, [
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: 'of a' },
          { type: 'tool_result', tool_use_id: 'b', content: 'of b' },
          { type: 'text', text: 'next' },
        ],
      },
    ])
  })

  test('keeps two consecutive user messages separate', () => {
    const wire = [
      { role: 'user', content: 'a' },
      { role: 'user', content: 'b' },
    ]
    assert.deepEqual(toAnthropic(fromAnthropic(wire)).messages, wire)
  })

  test('sends no edited reasoning, because its signature would not fit', () => {
    const [message] = fromAnthropic([
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'long', signature: 's' },
          { type: 'text', text: 'hi' },
        ],
      },
    ])
    const parts = message!.parts.map(part =>
      part.type === 'reasoning' ? { ...part, text: 'short', edit: 'e1' } : part,
    )
    assert.deepEqual(toAnthropic([{ ...message!, parts }]).messages, [
      { role: 'assistant', content: [{ type: 'text', text: 'hi' }] },
    ])
  })

  test('leaves out an empty message', () => {
    const [first] = fromAnthropic([
      { role: 'assistant', content: [{ type: 'thinking', thinking: 't', signature: 's' }] },
    ])
    assert.deepEqual(toAnthropic([{ ...first!, parts: [] }, user('hi')]).messages, [{ role: 'user', content: 'hi' }])
  })

  test('keeps a string a string when it is edited', () => {
    const [first] = fromAnthropic([{ role: 'user', content: 'long' }])
    const parts = [{ type: 'text', text: 'short', edit: 'e1' } as const]
    assert.deepEqual(toAnthropic([{ ...first!, parts }]).messages, [{ role: 'user', content: 'short' }])
  })
})

describe('fromAnthropic', () => {
  test('names the message with an unknown role', () => {
    assert.throws(
      () =>
        fromAnthropic([
          { role: 'user', content: 'a' },
          { role: 'robot', content: 'b' },
        ]),
      /messages\[1\].*"robot"/,
    )
  })

  test('keeps no original that can be rebuilt', () => {
    const messages = fromAnthropic(
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [{ type: 'text', text: 'b' }] },
      ],
      'c',
    )
    assert.ok(!JSON.stringify(messages).includes('original'))
  })
})
