import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type AiSdkMessage, fromAiSdk, toAiSdk } from '../../../src/formats/adapters/ai-sdk.ts'
import { adapterContract, ids, inputs, marker, names, texts, wire } from '../../contracts/adapter.ts'
import * as fc from '../../property.ts'

const options = { providerOptions: fc.constant({ anthropic: { cacheControl: { type: 'ephemeral' } } }) }
const textBlock = wire({ type: fc.constant('text'), text: texts }, options)
const reasoning = wire(
  { type: fc.constant('reasoning'), text: texts },
  { providerOptions: fc.constant({ anthropic: { signature: 's' } }) },
)
const fileData = fc.oneof(
  fc.base64String(),
  fc.webUrl(),
  wire({ type: fc.constant('data'), data: fc.base64String() }),
  wire({ type: fc.constant('url'), url: fc.webUrl() }),
  wire({ type: fc.constant('reference'), reference: fc.constant({ openai: 'file_1' }) }),
)
const mediaType = fc.constantFrom('image/png', 'image', 'application/pdf')
const file = wire({ type: fc.constant('file'), data: fileData, mediaType }, options)
const image = wire({ type: fc.constant('image'), image: fc.oneof(fc.base64String(), fc.webUrl()) }, { mediaType })
const opaque = wire({ type: fc.constantFrom('custom', 'reasoning-file', 'tool-approval-request') })
const served = wire({
  type: fc.constant('tool-call'),
  toolCallId: ids,
  toolName: names,
  input: inputs,
  providerExecuted: fc.constant(true),
})

const contents = fc.array(
  fc.oneof(
    textBlock,
    file,
    wire({ type: fc.constant('image-data'), data: fc.base64String(), mediaType: fc.constant('image/png') }),
    opaque,
  ),
)
const output = fc.oneof(
  wire({ type: fc.constantFrom('text', 'error-text'), value: texts }),
  wire({ type: fc.constantFrom('json', 'error-json'), value: fc.jsonValue({ maxDepth: 2 }) }),
  wire({ type: fc.constant('content'), value: contents }),
  wire({ type: fc.constant('execution-denied') }, { reason: texts }),
)

const user = wire(
  { role: fc.constant('user'), content: fc.oneof(texts, fc.array(fc.oneof(textBlock, file, image))) },
  options,
)
const system = wire({ role: fc.constant('system'), content: texts }, options)
const said = fc.array(fc.oneof(textBlock, reasoning, served, opaque), { maxLength: 3 })
const answer = wire({ role: fc.constant('assistant'), content: fc.oneof(texts, said) }, options)
const step = fc.uniqueArray(fc.tuple(ids, names), { minLength: 1, maxLength: 3, selector: ([id]) => id }).chain(calls =>
  fc.tuple(said, fc.tuple(...calls.map(call)), fc.tuple(...calls.map(result))).map(([before, uses, results]) => [
    { role: 'assistant', content: [...before, ...uses] },
    { role: 'tool', content: results.reverse() },
  ]),
)

function call([id, name]: [string, string]) {
  return wire(
    { type: fc.constant('tool-call'), toolCallId: fc.constant(id), toolName: fc.constant(name), input: inputs },
    options,
  )
}

function result([id, name]: [string, string]) {
  return wire(
    { type: fc.constant('tool-result'), toolCallId: fc.constant(id), toolName: fc.constant(name), output },
    options,
  )
}

const conversations = fc
  .array(fc.oneof(step, step, ...[user, system, answer].map(one => one.map(message => [message]))))
  .map(turns => turns.flat() as AiSdkMessage[])

const sample = [
  { role: 'system', content: marker(1), providerOptions: { anthropic: {} } },
  {
    role: 'user',
    content: [
      { type: 'text', text: marker(2) },
      { type: 'image', image: marker(3), mediaType: 'image/png' },
    ],
  },
  {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: marker(4), providerOptions: { anthropic: { signature: 's' } } },
      { type: 'tool-call', toolCallId: 'a', toolName: 'bash', input: { command: marker(5) } },
      { type: 'tool-call', toolCallId: 'b', toolName: 'look', input: { command: marker(6) }, providerOptions: {} },
    ],
  },
  {
    role: 'tool',
    content: [
      { type: 'tool-result', toolCallId: 'a', toolName: 'bash', output: { type: 'json', value: { out: marker(7) } } },
      {
        type: 'tool-result',
        toolCallId: 'b',
        toolName: 'look',
        output: {
          type: 'content',
          value: [
            { type: 'text', text: marker(8) },
            { type: 'image-data', data: marker(9), mediaType: 'image/png' },
          ],
        },
      },
    ],
  },
]

adapterContract<AiSdkMessage[]>({
  dialect: 'ai-sdk',
  from: fromAiSdk,
  to: messages => toAiSdk<AiSdkMessage>(messages),
  conversations,
  blocks: messages =>
    messages.flatMap(({ content, ...rest }) => [rest, ...(Array.isArray(content) ? content : [content])]),
  sample,
})

describe('fromAiSdk', () => {
  test('stores bytes and URLs as JSON', () => {
    const png = new Uint8Array([137, 80, 78, 71])
    const url = new URL('https://example.org/a.png')
    const messages = fromAiSdk([
      { role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: png } }] },
      { role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: { type: 'url', url } }] },
      { role: 'user', content: [{ type: 'file', mediaType: 'application/pdf', data: { type: 'url', url } }] },
    ])
    const sent = toAiSdk<AiSdkMessage>(JSON.parse(JSON.stringify(messages)))
    assert.deepEqual(
      sent.map(({ content }) => content),
      [
        [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw==' } }],
        [{ type: 'file', mediaType: 'image/png', data: { type: 'url', url } }],
        [{ type: 'file', mediaType: 'application/pdf', data: { type: 'url', url } }],
      ],
    )
  })

  test('sends an edited JSON result as text', () => {
    const [message] = fromAiSdk([
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'a', toolName: 'bash', output: { type: 'json', value: { a: 1 } } },
        ],
      },
    ])
    const [part] = message!.parts
    const edited = { ...part, output: 'gone', edit: 'e1' } as typeof part
    assert.deepEqual(toAiSdk<AiSdkMessage>([{ ...message!, parts: [edited!] }]), [
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'a', toolName: 'bash', output: { type: 'text', value: 'gone' } }],
      },
    ])
  })
})
