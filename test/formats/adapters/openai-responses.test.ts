import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  fromOpenAIResponses,
  type OpenAIResponsesItem,
  type OpenAIResponsesPrompt,
  toOpenAIResponses,
} from '../../../src/formats/adapters/openai-responses.ts'
import { adapterContract, argumentTexts, ids, marker, names, texts, wire } from '../../contracts/adapter.ts'
import * as fc from '../../property.ts'

const inputText = wire({ type: fc.constant('input_text'), text: texts })
const inputImage = wire({ type: fc.constant('input_image'), image_url: fc.webUrl() }, { detail: fc.constant('auto') })
const inputFile = wire({ type: fc.constant('input_file'), file_id: ids })
const inputBlocks = fc.array(fc.oneof(inputText, inputImage, inputFile), { maxLength: 3 })
const answerBlock = fc.oneof(
  wire({ type: fc.constant('output_text'), text: texts }, { annotations: fc.constant([]), logprobs: fc.constant([]) }),
  wire({ type: fc.constant('refusal'), refusal: texts }),
)
const optional = { type: fc.constant('message'), id: ids, status: fc.constant('completed') }
const user = wire(
  { role: fc.constantFrom('user', 'system', 'developer'), content: fc.oneof(texts, inputBlocks) },
  optional,
)
const answer = wire(
  { role: fc.constant('assistant'), content: fc.oneof(texts, fc.array(answerBlock, { maxLength: 3 })) },
  optional,
)
const summary = fc.array(wire({ type: fc.constant('summary_text'), text: texts }), { maxLength: 2 })
const reasoning = wire({ type: fc.constant('reasoning'), id: ids, summary }, { encrypted_content: texts })
const opaque = wire({
  type: fc.constantFrom('web_search_call', 'compaction', 'local_shell_call_output', 'item_reference'),
})

/** Tools and settings that newer models get in the list of messages. */
const settings = fc.oneof(
  wire({ type: fc.constant('additional_tools'), role: fc.constant('developer'), tools: fc.constant([]) }, { id: ids }),
  wire({ type: fc.constant('configuration_update') }, { reasoning: fc.constant({ effort: 'low' }) }),
)

const step = fc
  .uniqueArray(ids, { minLength: 1, maxLength: 3 })
  .chain(calls =>
    fc
      .tuple(fc.array(fc.oneof(reasoning, answer), { maxLength: 2 }), ...calls.map(pair))
      .map(([before, ...pairs]) => [
        ...before,
        ...pairs.map(([call]) => call),
        ...pairs.map(([, output]) => output).reverse(),
      ]),
  )

function pair(id: string) {
  const call_id = fc.constant(id)
  const output = fc.oneof(texts, inputBlocks)
  const rest = { id: ids, status: fc.constant('completed') }
  return fc.oneof(
    fc.tuple(
      wire({ type: fc.constant('item_reference'), id: fc.constant(`fc_${id}`) }),
      wire({ type: fc.constant('function_call_output'), call_id, output }, rest),
    ),
    fc.tuple(
      wire({ type: fc.constant('function_call'), call_id, name: names, arguments: argumentTexts }, rest),
      wire({ type: fc.constant('function_call_output'), call_id, output }, rest),
    ),
    fc.tuple(
      wire({ type: fc.constant('custom_tool_call'), call_id, name: names, input: texts }, rest),
      wire({ type: fc.constant('custom_tool_call_output'), call_id, output }, rest),
    ),
  )
}

const items = fc.array(fc.oneof(step, step, ...[user, answer, opaque, settings].map(one => one.map(item => [item]))))
const conversations = fc
  .record(
    { instructions: texts, input: fc.oneof({ weight: 9, arbitrary: items.map(list => list.flat()) }, texts) },
    { requiredKeys: ['input'] },
  )
  .map(fields => ({ ...fields }) as OpenAIResponsesPrompt)

function blocks({ instructions, input }: OpenAIResponsesPrompt): unknown[] {
  if (typeof input === 'string') return [instructions, input]
  return [
    instructions,
    ...input.flatMap(({ content, ...rest }) => [rest, ...(Array.isArray(content) ? content : [content])]),
  ]
}

const sample = {
  instructions: marker(1),
  input: [
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: marker(2) },
        { type: 'input_image', detail: 'auto', image_url: `data:image/png;base64,${marker(3)}` },
      ],
    },
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: marker(4) },
    {
      id: 'msg_1',
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', annotations: [], text: marker(5) }],
    },
    {
      id: 'fc_1',
      type: 'function_call',
      status: 'completed',
      call_id: 'a',
      name: 'bash',
      arguments: JSON.stringify({ command: marker(6) }),
    },
    { type: 'custom_tool_call', call_id: 'b', name: 'apply_patch', input: marker(7) },
    { type: 'function_call_output', call_id: 'a', output: marker(8) },
    { type: 'custom_tool_call_output', call_id: 'b', output: [{ type: 'input_text', text: marker(9) }] },
  ] as OpenAIResponsesItem[],
}

adapterContract<OpenAIResponsesPrompt>({
  dialect: 'openai-responses',
  from: ({ input, instructions }) => fromOpenAIResponses(input, instructions),
  to: messages => toOpenAIResponses(messages),
  conversations,
  blocks,
  sample,
})

describe('fromOpenAIResponses', () => {
  test("makes one message of the assistant's items, and one of the outputs", () => {
    assert.deepEqual(
      fromOpenAIResponses(sample.input, sample.instructions).map(({ role, parts }) => [
        role,
        parts.map(part => part.type),
      ]),
      [
        ['system', ['text']],
        ['user', ['text', 'image']],
        ['assistant', ['reasoning', 'text', 'tool-call', 'tool-call']],
        ['tool', ['tool-result', 'tool-result']],
      ],
    )
  })

  test('turns a string input into an item when the conversation continues', () => {
    const [first] = fromOpenAIResponses('hi')
    const { input } = toOpenAIResponses([first!, { role: 'assistant', parts: [{ type: 'text', text: 'hello' }] }])
    assert.deepEqual(input, [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'hello' },
    ])
  })

  test('keeps the blocks of one item together when one block is dropped', () => {
    const item = (texts: string[]) => ({
      id: 'msg_1',
      role: 'assistant',
      content: texts.map(text => ({ type: 'output_text', text })),
    })
    const [message] = fromOpenAIResponses([item(['a', 'b', 'c'])])
    const { input } = toOpenAIResponses([{ ...message!, parts: message!.parts.filter((_, i) => i !== 1) }])
    assert.deepEqual(input, [item(['a', 'c'])])
  })
})
