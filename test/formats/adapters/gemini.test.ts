import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fromGemini, type GeminiContent, type GeminiPrompt, toGemini } from '../../../src/formats/adapters/gemini.ts'
import type { Message, Part } from '../../../src/model/types.ts'
import { adapterContract, ids, inputs, marker, names, texts, wire } from '../../contracts/adapter.ts'
import * as fc from '../../property.ts'

const signed = { thoughtSignature: fc.base64String() }
const textPart = wire({ text: texts }, signed)
const blobs = (type: string) => wire({ mimeType: fc.constant(type), data: fc.base64String() })
const image = wire({ inlineData: blobs('image/png') }, { videoMetadata: fc.constant({}) })
const file = wire({ fileData: wire({ mimeType: fc.constant('image/png'), fileUri: fc.webUrl() }) })
const unknown = fc.oneof(
  wire({ inlineData: blobs('audio/wav') }),
  wire({ executableCode: wire({ language: fc.constant('PYTHON'), code: texts }) }),
  wire({ codeExecutionResult: wire({ outcome: fc.constant('OUTCOME_OK'), output: texts }) }),
  wire({ fileData: wire({ fileUri: fc.webUrl() }) }),
  wire({ inlineData: blobs('image/png'), thoughtSignature: fc.base64String() }),
  fc.constantFrom({}, null, 'x'),
)
const thought = wire({ thought: fc.constant(true) }, { text: texts, ...signed })
const userParts = fc.array(fc.oneof(textPart, image, file, unknown), { maxLength: 3 })
const user = wire({}, { role: fc.constantFrom('user', 'function'), parts: userParts })
const answer = wire(
  { role: fc.constant('model') },
  { parts: fc.array(fc.oneof(textPart, thought, unknown, image), { maxLength: 3 }) },
)

const responses = fc.oneof(
  wire({ output: texts }),
  wire({ error: texts }),
  wire({ output: texts, exitCode: fc.nat() }),
  fc.dictionary(fc.constantFrom('stdout', 'stderr', 'output', 'rows', '__proto__'), fc.jsonValue({ maxDepth: 2 })),
  fc.jsonValue({ maxDepth: 1 }),
)
const media = { parts: fc.array(fc.oneof(image, unknown), { maxLength: 2 }) }

/** Calls with ids, without ids, or with ids only in the responses, as some clients write them. */
const step = fc
  .array(fc.record({ name: names, id: fc.option(ids, { nil: undefined }), late: fc.boolean() }), {
    minLength: 1,
    maxLength: 3,
  })
  .chain(calls =>
    fc
      .tuple(
        fc.array(fc.oneof(textPart, thought)),
        fc.tuple(...calls.map(({ name, id, late }) => callPart(name, late ? undefined : id))),
        fc.tuple(...calls.map(({ name, id }) => responsePart(name, id))),
        fc.boolean(),
        fc.constantFrom('user', 'function'),
        userParts,
      )
      .map(([before, parts, results, apart, role, after]): unknown[] => [
        { role: 'model', parts: [...before, ...parts] },
        ...(apart
          ? results.map(one => ({ role, parts: [one] }))
          : [{ role, parts: [...results.toReversed(), ...after] }]),
      ]),
  )

function callPart(name: string, id: string | undefined) {
  const own: Record<string, fc.Arbitrary<unknown>> = id === undefined ? {} : { id: fc.constant(id) }
  const call = wire({ name: fc.constant(name) }, { args: inputs, ...own })
  return wire({ functionCall: call }, signed)
}

function responsePart(name: string, id: string | undefined) {
  const own: Record<string, fc.Arbitrary<unknown>> = id === undefined ? {} : { id: fc.constant(id) }
  return wire({ functionResponse: wire({ name: fc.constant(name), response: responses }, { ...own, ...media }) })
}

const systems = fc.oneof(
  texts,
  wire({ parts: fc.array(textPart) }, { role: fc.constantFrom('user', 'system') }),
  fc.constant({}),
)
const conversations = fc
  .record(
    {
      systemInstruction: systems,
      contents: fc.array(
        fc.oneof(
          user.map(one => [one]),
          answer.map(one => [one]),
          step,
          step,
        ),
      ),
    },
    { requiredKeys: ['contents'] },
  )
  .map(({ systemInstruction, contents }) => ({
    ...(systemInstruction !== undefined && { systemInstruction }),
    contents: contents.flat() as GeminiContent[],
  }))
  .chain(prompt => fc.boolean().map(snake => (snake ? (inSnake(prompt) as typeof prompt) : prompt)))

/** The other spelling of the fields of parts, as in Python clients; arguments and responses stay. */
function inSnake(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inSnake)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).map(([key, inner]) => {
    const name = SNAKE.has(key) ? key.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`) : key
    return [name, key === 'args' || key === 'response' ? inner : inSnake(inner)]
  })
  return Object.fromEntries(fields)
}

const SNAKE = new Set('functionCall functionResponse inlineData fileData mimeType fileUri thoughtSignature'.split(' '))

function blocks({ systemInstruction, contents }: GeminiPrompt): unknown[] {
  const apart = (content: unknown): unknown[] => {
    if (typeof content !== 'object' || content === null) return [content]
    const { parts, ...rest } = content as GeminiContent
    return [rest, ...(parts ?? [])]
  }
  return [systemInstruction, ...contents].flatMap(apart)
}

const sample: GeminiPrompt = {
  systemInstruction: { role: 'user', parts: [{ text: marker(1) }] },
  contents: [
    {
      role: 'user',
      parts: [{ text: marker(2) }, { inlineData: { mimeType: 'image/png', data: marker(3), displayName: 'x' } }],
    },
    {
      role: 'model',
      parts: [
        { text: marker(4), thought: true },
        { functionCall: { name: 'bash', args: { command: marker(5) } }, thoughtSignature: 'c2ln' },
        { functionCall: { id: 'x', name: 'bash', args: { command: marker(6) } } },
      ],
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { name: 'bash', response: { output: marker(7), exitCode: 0 } } },
        {
          functionResponse: {
            id: 'x',
            name: 'bash',
            response: { stdout: marker(8), lines: [{ n: 1 }] },
            parts: [{ inlineData: { mimeType: 'image/png', data: marker(9) } }],
          },
        },
      ],
    },
    { role: 'model', parts: [{ text: marker(10), thoughtSignature: 'c2ln' }] },
  ],
}

adapterContract<GeminiPrompt>({
  dialect: 'gemini',
  from: ({ contents, systemInstruction }) => fromGemini(contents, systemInstruction),
  to: messages => toGemini(messages),
  conversations,
  blocks,
  sample,
})

const model = (...parts: unknown[]) => ({ role: 'model', parts })
const told = (...parts: unknown[]) => ({ role: 'user', parts })
const called = (name: string, more: object = {}) => ({ functionCall: { name, args: {}, ...more } })
const responded = (name: string, output: string, more: object = {}) => ({
  functionResponse: { name, response: { output }, ...more },
})

function partsOf(messages: readonly Message[], type: Part['type']): Part[] {
  return messages.flatMap(({ parts }) => parts.filter(part => part.type === type))
}

describe('calls without ids', () => {
  const contents = [
    told({ text: 'go' }),
    model(called('read'), called('bash'), called('read')),
    told(responded('bash', 'b'), responded('read', 'r1'), responded('read', 'r2')),
    model(called('bash')),
    told(responded('bash', 'b2', { id: 'bash-17' })),
  ]

  test('get ids by their place, and responses belong to the first open call of their name', () => {
    const read = fromGemini(contents)
    const calls = partsOf(read, 'tool-call').map(part => part.type === 'tool-call' && part.id)
    assert.equal(new Set(calls).size, 4)
    const results = partsOf(read, 'tool-result').flatMap(part =>
      part.type === 'tool-result' ? [[part.id, part.output]] : [],
    )
    assert.deepEqual(results, [
      [calls[1], 'b'],
      [calls[0], 'r1'],
      [calls[2], 'r2'],
      [calls[3], 'b2'],
    ])
  })

  test('keep their ids as the conversation grows, and our ids are never sent', () => {
    const before = fromGemini(contents.slice(0, 3))
    assert.deepEqual(fromGemini(contents).slice(0, 3), before)
    assert.ok(!JSON.stringify(toGemini(fromGemini(contents))).includes('gemini-call'))
  })

  test('are distinguished from an older call that was never answered', () => {
    const read = fromGemini([
      model(called('read')),
      told({ text: 'stop' }),
      model(called('read')),
      told(responded('read', 'x')),
    ])
    const [, second] = partsOf(read, 'tool-call')
    const [result] = partsOf(read, 'tool-result')
    assert.equal(result?.type === 'tool-result' && result.id, second?.type === 'tool-call' && second.id)
  })

  test('two calls with the same id are different calls', () => {
    const twice = [model(called('read', { id: 'a' })), told(responded('read', 'x', { id: 'a' }))]
    const read = fromGemini([...twice, ...twice])
    const [first, second] = partsOf(read, 'tool-call').map(part => part.type === 'tool-call' && part.id)
    assert.notEqual(first, second)
    assert.deepEqual(toGemini(read).contents, [...twice, ...twice])
  })
})

describe('signatures', () => {
  const contents = [
    told({ text: 'go' }),
    model({ text: 'hm', thought: true, thoughtSignature: 'A' }, { ...called('bash'), thoughtSignature: 'B' }),
    told(responded('bash', 'out')),
    model({ text: 'so', thoughtSignature: 'C' }),
  ]

  test('stay with their parts when another part is edited', () => {
    const messages = fromGemini(contents).map(message => ({
      ...message,
      parts: message.parts.map(part => (part.type === 'tool-result' ? { ...part, output: 'x', edit: 'e1' } : part)),
    }))
    assert.deepEqual(toGemini(messages).contents, contents.with(2, told(responded('bash', 'x'))))
  })

  test('are removed when their own part is edited, and an edited thought goes with its signature', () => {
    const messages = fromGemini(contents).map(message => ({
      ...message,
      parts: message.parts.map(part => ({ ...part, edit: 'e1' })),
    }))
    const written = JSON.stringify(toGemini(messages))
    assert.ok(!written.includes('thoughtSignature') && !written.includes('hm'), written)
  })
})

describe('toGemini', () => {
  test('puts the responses of a batch into one content, followed by other parts', () => {
    const { contents } = toGemini([
      {
        role: 'tool',
        parts: [
          { type: 'text', text: 'beside' },
          { type: 'tool-result', id: 'a', name: 'bash', output: 'ok' },
        ],
      },
      { role: 'tool', parts: [{ type: 'tool-result', id: 'b', name: 'bash', output: 'no', isError: true }] },
      { role: 'assistant', parts: [{ type: 'text', text: '' }] },
      { role: 'assistant', parts: [{ type: 'text', text: 'done' }] },
    ])
    assert.deepEqual(contents, [
      told(
        { functionResponse: { id: 'a', name: 'bash', response: { output: 'ok' } } },
        { functionResponse: { id: 'b', name: 'bash', response: { error: 'no' } } },
      ),
      told({ text: 'beside' }),
      model({ text: 'done' }),
    ])
  })

  test('keeps other fields of an edited output, and gives an edited structure as text', () => {
    const response = (given: object) => {
      const read = fromGemini([model(called('bash')), told({ functionResponse: { name: 'bash', response: given } })])
      const [part] = read[1]!.parts
      const edited: Part = { ...(part as Part & { type: 'tool-result' }), output: 'short', edit: 'e1' }
      const [, content] = toGemini<{ parts: { functionResponse: { response: unknown } }[] }>([
        read[0]!,
        { ...read[1]!, parts: [edited] },
      ]).contents
      return content?.parts[0]?.functionResponse.response
    }
    assert.deepEqual(response({ output: 'long', exitCode: 1 }), { output: 'short', exitCode: 1 })
    assert.deepEqual(response({ error: 'long' }), { error: 'short' })
    assert.deepEqual(response({ stdout: 'long', stderr: '' }), { output: 'short' })
  })

  test('refuses an unknown role', () => {
    assert.throws(() => fromGemini([{ role: 'system', parts: [] }]), /role "system"/)
  })
})

test('parts in snake_case are calls, results and images, and keep their spelling when they are edited', () => {
  const contents = [
    { role: 'user', parts: [{ text: 'look' }, { inline_data: { mime_type: 'image/png', data: 'AAAA' } }] },
    { role: 'model', parts: [{ function_call: { name: 'bash', args: { command: 'ls' } }, thought_signature: 'c2ln' }] },
    { role: 'user', parts: [{ function_response: { name: 'bash', response: { output: 'a b c' } } }] },
  ]
  const messages = fromGemini(contents)
  const types = messages.map(({ parts }) => parts.map(({ type }) => type))
  assert.deepEqual(types, [['text', 'image'], ['tool-call'], ['tool-result']])
  const [, , result] = messages
  const edited: Message = { role: 'tool', parts: [{ ...result!.parts[0], output: 'short', edit: 'e1' } as Part] }
  assert.deepEqual(toGemini([messages[0]!, messages[1]!, edited]).contents, [
    ...contents.slice(0, 2),
    { role: 'user', parts: [{ function_response: { name: 'bash', response: { output: 'short' } } }] },
  ])
})
