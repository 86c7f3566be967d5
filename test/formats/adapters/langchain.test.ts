import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  ChatMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from '@langchain/core/messages'
import { fromLangChain, toLangChain } from '../../../src/formats/adapters/langchain.ts'
import { adapterContract, ids, inputs, marker, names, texts, wire } from '../../contracts/adapter.ts'
import * as fc from '../../property.ts'

type Fields = Record<string, unknown>
const make = (Class: new (fields: never) => BaseMessage) => (fields: Fields) => new Class(fields as never)

const textBlock = wire(
  { type: fc.constant('text'), text: texts },
  { cache_control: fc.constant({ type: 'ephemeral' }) },
)
const imageBlock = wire({ type: fc.constant('image_url'), image_url: wire({ url: fc.webUrl() }) })
const opaque = wire({ type: fc.constantFrom('file', 'image', 'server_tool_use'), id: ids })
const thought = wire({ type: fc.constant('thinking'), thinking: texts, signature: texts })
const shared = { id: ids, name: names, response_metadata: fc.constant({ model_provider: 'x' }) }
const content = fc.oneof(texts, fc.array(fc.oneof(textBlock, imageBlock, opaque), { maxLength: 3 }))

const human = fc.oneof(
  wire({ content }, shared).map(make(HumanMessage)),
  texts.map(text => new HumanMessage(text)),
)
const system = wire({ content: fc.oneof(texts, fc.array(textBlock)) }, shared).map(make(SystemMessage))
const other = fc.record({ content: texts, role: fc.constant('critic') }).map(make(ChatMessage))
const said = fc.oneof(texts, fc.array(fc.oneof(textBlock, thought, opaque), { maxLength: 3 }))
const usage = fc.constant({ input_tokens: 1, output_tokens: 2, total_tokens: 3 })
const answer = wire({ content: said }, { ...shared, usage_metadata: usage }).map(make(AIMessage))

const step = fc.uniqueArray(ids, { minLength: 1, maxLength: 3 }).chain(calls =>
  fc
    .tuple(said, fc.tuple(...calls.map(call)), fc.tuple(...calls.map(result)), fc.boolean(), fc.boolean())
    .map(([before, uses, results, inContent, chunk]) => {
      const blocks = uses.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args }))
      const full = inContent && Array.isArray(before) ? [...before, ...blocks] : before
      const streamed = uses.map(({ id, name, args }, index) => ({
        id,
        name,
        args: JSON.stringify(args),
        index,
        type: 'tool_call_chunk',
      }))
      const message = chunk
        ? make(AIMessageChunk)({ content: full, tool_call_chunks: streamed })
        : make(AIMessage)({ content: full, tool_calls: uses })
      return [message, ...results.map(make(ToolMessage))]
    }),
)

function call(id: string): fc.Arbitrary<Fields> {
  return wire({ name: names, args: inputs, id: fc.constant(id), type: fc.constant('tool_call') })
}

function result(id: string): fc.Arbitrary<Fields> {
  const status = fc.constantFrom('success', 'error')
  return wire({ content, tool_call_id: fc.constant(id) }, { id: ids, status, artifact: fc.jsonValue() })
}

const one = [human, system, answer, other].map(arbitrary => arbitrary.map(message => [message]))
const conversations = fc.array(fc.oneof(step, step, ...one)).map(turns => turns.flat())

/** A call in both the content and `tool_calls` counts as one block. */
function blocks(messages: BaseMessage[]): unknown[] {
  return messages.flatMap(message => {
    if (message.type === 'tool') return [message]
    const list = Array.isArray(message.content) ? message.content : [message.content]
    const calls = 'tool_calls' in message && Array.isArray(message.tool_calls) ? message.tool_calls : []
    const alone = list.filter(block => typeof block === 'string' || !calls.some(({ id }) => id === block.id))
    return [message.type, message.id, ...alone, ...calls]
  })
}

const sample = [
  new SystemMessage(marker(1)),
  new HumanMessage({
    content: [
      { type: 'text', text: marker(2) },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${marker(3)}` } },
    ],
    id: 'h',
  }),
  new AIMessage({
    content: [
      { type: 'thinking', thinking: marker(4), signature: 's' },
      { type: 'text', text: marker(5) },
      { type: 'tool_use', id: 'a', name: 'bash', input: { command: marker(6) } },
    ],
    tool_calls: [{ id: 'a', name: 'bash', args: { command: marker(6) }, type: 'tool_call' }],
  }),
  new ToolMessage({ content: marker(7), tool_call_id: 'a', id: 't' }),
]

adapterContract<BaseMessage[]>({
  dialect: 'langchain',
  from: fromLangChain,
  to: toLangChain,
  conversations,
  blocks,
  sample,
})

describe('toLangChain', () => {
  test('returns messages of the same classes', () => {
    const classes = toLangChain(fromLangChain(sample)).map(message => message.constructor)
    assert.deepEqual(classes, [SystemMessage, HumanMessage, AIMessage, ToolMessage])
  })

  test('writes an edited call to every place of the message that has it', () => {
    const args = { command: 'long' }
    const message = new AIMessage({
      content: [{ type: 'tool_use', id: 'a', name: 'bash', input: args }],
      tool_calls: [{ id: 'a', name: 'bash', args, type: 'tool_call' }],
      additional_kwargs: {
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'bash', arguments: '{"command":"long"}' } }],
      },
      response_metadata: { output: [{ type: 'function_call', arguments: '{"command":"long"}' }] },
    })
    const [read] = fromLangChain([message])
    const parts = read!.parts.map(part =>
      part.type === 'tool-call' ? { ...part, input: { command: 'short' }, edit: 'e1' } : part,
    )
    const [sent] = toLangChain([{ ...read!, parts }])
    assert.ok(!JSON.stringify(sent).includes('long'))
    assert.deepEqual(sent instanceof AIMessage && sent.tool_calls?.[0]?.args, { command: 'short' })
  })
})
