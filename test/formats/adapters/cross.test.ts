/** Every dialect to every other: all that both can express survives. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromAiSdk, toAiSdk } from '../../../src/formats/adapters/ai-sdk.ts'
import { fromAnthropic, toAnthropic } from '../../../src/formats/adapters/anthropic.ts'
import { fromGemini, toGemini } from '../../../src/formats/adapters/gemini.ts'
import { fromLangChain, toLangChain } from '../../../src/formats/adapters/langchain.ts'
import { fromOpenAIChat, toOpenAIChat } from '../../../src/formats/adapters/openai-chat.ts'
import { fromOpenAIResponses, toOpenAIResponses } from '../../../src/formats/adapters/openai-responses.ts'
import type { Dialect, Message } from '../../../src/model/types.ts'

const through: Record<Dialect, (messages: Message[]) => Message[]> = {
  anthropic: messages => {
    const { system, messages: sent } = toAnthropic(messages)
    return fromAnthropic(sent, system)
  },
  'openai-chat': messages => fromOpenAIChat(toOpenAIChat(messages)),
  'openai-responses': messages => {
    const { input, instructions } = toOpenAIResponses(messages)
    return fromOpenAIResponses(input, instructions)
  },
  gemini: messages => {
    const { contents, systemInstruction } = toGemini(messages)
    return fromGemini(contents, systemInstruction)
  },
  'ai-sdk': messages => fromAiSdk(toAiSdk(messages)),
  langchain: messages => fromLangChain(toLangChain(messages)),
}

const conversation: Message[] = [
  { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] },
  {
    role: 'user',
    parts: [
      { type: 'text', text: 'What is in these?' },
      { type: 'image', mediaType: 'image/png', data: 'iVBORw==' },
    ],
  },
  {
    role: 'assistant',
    parts: [
      { type: 'reasoning', text: 'They want two files.' },
      { type: 'text', text: 'I look.' },
      { type: 'tool-call', id: 'a', name: 'read_file', input: { path: 'a.txt' } },
      { type: 'tool-call', id: 'b', name: 'read_file', input: { path: 'b.txt' } },
    ],
  },
  { role: 'tool', parts: [{ type: 'tool-result', id: 'b', name: 'read_file', output: 'b!' }] },
  { role: 'tool', parts: [{ type: 'tool-result', id: 'a', name: 'read_file', output: 'no such file', isError: true }] },
  { role: 'assistant', parts: [{ type: 'text', text: 'Done.' }] },
]

/** Text, calls, results and images, in order, without the limits of messages. */
function said(messages: readonly Message[]): unknown[] {
  return messages.flatMap(({ role, parts }) =>
    parts.flatMap(part => {
      if (part.type === 'text') return part.text === '' ? [] : [[role, part.text]]
      if (part.type === 'tool-call') return [['call', part.id, part.name, part.input]]
      if (part.type === 'tool-result') return [['result', part.id, part.name, part.output]]
      return part.type === 'image' ? [['image', part.mediaType, part.data]] : []
    }),
  )
}

for (const first of Object.keys(through) as Dialect[]) {
  for (const second of Object.keys(through) as Dialect[]) {
    test(`a conversation survives ${first} and then ${second}`, () => {
      assert.deepEqual(said(through[second](through[first](conversation))), said(conversation))
    })
  }
  test(`reasoning of another dialect is not sent as ${first}`, () => {
    const foreign = {
      dialect: first === 'anthropic' ? 'openai-chat' : 'anthropic',
      value: { type: 'thinking' },
    } as const
    const parts = [
      { type: 'reasoning', text: 'secret', original: foreign } as const,
      { type: 'text', text: 'hi' } as const,
    ]
    assert.ok(!JSON.stringify(through[first]([{ role: 'assistant', parts }])).includes('secret'))
  })

  test(`in ${first}, an opaque block of another dialect is named in user messages and left out of assistant messages`, () => {
    const raw = { type: 'raw', provider: 'elsewhere', value: { type: 'document', body: 'secret' } } as const
    const text = { type: 'text', text: 'see' } as const
    const shown = said(
      through[first]([
        { role: 'user', parts: [text, raw] },
        { role: 'assistant', parts: [text, raw] },
      ]),
    )
    assert.deepEqual(shown, [
      ['user', 'see'],
      ['user', '[document left out: only elsewhere can carry it]'],
      ['assistant', 'see'],
    ])
  })
}
