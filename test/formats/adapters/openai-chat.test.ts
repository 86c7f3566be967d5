import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fromOpenAIChat, type OpenAIChatMessage, toOpenAIChat } from '../../../src/formats/adapters/openai-chat.ts'
import type { Message } from '../../../src/model/types.ts'
import { adapterContract, argumentTexts, ids, marker, names, texts, wire } from '../../contracts/adapter.ts'
import * as fc from '../../property.ts'

const textBlock = wire({ type: fc.constant('text'), text: texts })
const urls = fc.oneof(
  fc.webUrl(),
  fc.base64String().map(data => `data:image/png;base64,${data}`),
  fc.constant('data:text/plain,x'),
)
const imageUrl = wire({ url: urls }, { detail: fc.constant('low') })
const imageBlock = wire({ type: fc.constant('image_url'), image_url: imageUrl })
const unknownBlock = wire({ type: fc.constantFrom('input_audio', 'file', 'refusal') })
const userContent = fc.oneof(texts, fc.array(fc.oneof(textBlock, imageBlock, unknownBlock), { maxLength: 3 }))

const user = wire({ role: fc.constantFrom('user', 'system', 'developer'), content: userContent }, { name: names })
const answerFields = {
  content: fc.oneof(texts, fc.constant(null), fc.array(fc.oneof(textBlock, unknownBlock), { maxLength: 2 })),
  refusal: fc.constant(null),
  reasoning_content: fc.oneof(texts, fc.constant(null)),
  reasoning_details: fc.array(wire({ type: fc.constant('reasoning.text'), text: texts, signature: texts }), {
    maxLength: 2,
  }),
}
const answer = wire({ role: fc.constant('assistant') }, { ...answerFields, tool_calls: fc.constantFrom([], null) })
const old = wire({ role: fc.constant('function'), name: names, content: texts })

const step = fc
  .uniqueArray(ids, { minLength: 1, maxLength: 3 })
  .chain(calls =>
    fc
      .tuple(
        wire({ role: fc.constant('assistant'), tool_calls: fc.tuple(...calls.map(call)) }, answerFields),
        fc.tuple(...calls.map(id => result(id))),
      )
      .map(([message, results]) => [message, ...results.reverse()]),
  )

function call(id: string) {
  const body = wire({ name: names, arguments: argumentTexts })
  const custom = wire({ name: names, input: texts })
  return fc.oneof(
    { weight: 4, arbitrary: wire({ id: fc.constant(id), type: fc.constant('function'), function: body }) },
    { weight: 1, arbitrary: wire({ id: fc.constant(id), type: fc.constant('custom'), custom }) },
  )
}

function result(id: string) {
  const content = fc.oneof(texts, fc.array(textBlock, { maxLength: 2 }), fc.constant(null))
  return wire({ role: fc.constant('tool'), tool_call_id: fc.constant(id) }, { content })
}

const conversations = fc
  .array(
    fc.oneof(
      user.map(one => [one]),
      answer.map(one => [one]),
      old.map(one => [one]),
      step,
      step,
    ),
  )
  .map(turns => turns.flat() as OpenAIChatMessage[])

function blocks(messages: OpenAIChatMessage[]): unknown[] {
  return messages.flatMap(message => {
    if (message.role === 'tool') return [message]
    const { content, tool_calls, reasoning_content, reasoning_details, ...rest } = message as Record<string, unknown>
    const lists = [content, tool_calls].flatMap(list => (Array.isArray(list) ? list : [list]))
    return [rest, ...lists, ...[reasoning_content, reasoning_details].filter(field => field !== undefined)]
  })
}

const sample = [
  { role: 'developer', content: marker(1) },
  {
    role: 'user',
    content: [
      { type: 'text', text: marker(2) },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${marker(3)}`, detail: 'low' } },
    ],
  },
  {
    role: 'assistant',
    content: null,
    reasoning_content: marker(4),
    tool_calls: [
      { id: 'a', type: 'function', function: { name: 'bash', arguments: JSON.stringify({ command: marker(5) }) } },
      { id: 'b', type: 'custom', custom: { name: 'patch', input: marker(6) } },
    ],
  },
  { role: 'tool', content: marker(7), tool_call_id: 'b' },
  { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: marker(8) }] },
  { role: 'assistant', content: marker(9), refusal: null, annotations: [] },
]

adapterContract<OpenAIChatMessage[]>({
  dialect: 'openai-chat',
  from: fromOpenAIChat,
  to: messages => toOpenAIChat(messages),
  conversations,
  blocks,
  sample,
})

describe('toOpenAIChat', () => {
  test('gives each result a message, and other parts follow them', () => {
    const image = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const
    const messages = toOpenAIChat([
      {
        role: 'tool',
        parts: [
          { type: 'text', text: 'beside' },
          { type: 'tool-result', id: 'a', name: 'bash', output: 'ok' },
          { type: 'tool-result', id: 'b', name: 'look', output: [{ type: 'text', text: 'seen' }, image] },
        ],
      },
      { role: 'tool', parts: [{ type: 'tool-result', id: 'c', name: 'bash', output: 'late' }] },
    ])
    assert.deepEqual(messages, [
      { role: 'tool', tool_call_id: 'a', content: 'ok' },
      { role: 'tool', tool_call_id: 'b', content: 'seen' },
      { role: 'tool', tool_call_id: 'c', content: 'late' },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'text', text: 'beside' },
        ],
      },
    ])
  })

  test('puts no message between a call and its result: assistant text comes after it', () => {
    const called = (id: string) => ({ role: 'assistant', parts: [{ type: 'tool-call', id, name: 'x', input: {} }] })
    const said = { role: 'assistant', parts: [{ type: 'text', text: 'wait' }] }
    const output = (id: string) => ({ type: 'tool-result', id, name: 'x', output: `of ${id}` })
    const results = { role: 'tool', parts: [output('c1'), output('c2')] }
    const written = toOpenAIChat<{ role: string; content: unknown; tool_call_id?: string }>([
      called('c1'),
      said,
      called('c2'),
      results,
    ] as Message[])
    assert.deepEqual(
      written.map(({ role, tool_call_id: id }) => id ?? role),
      ['assistant', 'c1', 'assistant', 'assistant', 'c2'],
    )
  })

  test('keeps calls in the old form with their message', () => {
    const messages = [
      { role: 'user', content: 'weather?' },
      { role: 'assistant', content: null, function_call: { name: 'weather', arguments: '{"city": "Rome"}' } },
      { role: 'function', name: 'weather', content: 'sunny' },
    ]
    const read = fromOpenAIChat(messages)
    assert.deepEqual(
      read.map(({ parts }) => parts.length),
      [1, 1, 1],
    )
    assert.deepEqual(toOpenAIChat(read), messages)
  })

  test('sends edited arguments as compact JSON and keeps the rest of the call', () => {
    const call = { index: 0, id: 'a', type: 'function', function: { name: 'bash', arguments: '{ "command": "ls" }' } }
    const [message] = fromOpenAIChat([{ role: 'assistant', content: null, tool_calls: [call] } as OpenAIChatMessage])
    const [part] = message!.parts
    assert.deepEqual(part?.type === 'tool-call' && part.input, { command: 'ls' })
    const edited = { ...part, input: { command: '…' }, edit: 'e1' } as typeof part
    const [sent] = toOpenAIChat<{ tool_calls: unknown[] }>([{ ...message!, parts: [edited!] }])
    assert.deepEqual(sent?.tool_calls, [{ ...call, function: { name: 'bash', arguments: '{"command":"…"}' } }])
  })

  test('drops the reasoning field with the reasoning', () => {
    const wire = { role: 'assistant', reasoning_content: 'hm', content: 'hi' }
    const [message] = fromOpenAIChat([wire])
    const parts = message!.parts.filter(part => part.type !== 'reasoning')
    assert.deepEqual(toOpenAIChat([{ ...message!, parts }]), [{ role: 'assistant', content: 'hi' }])
  })
})
