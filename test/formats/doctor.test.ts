import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { diagnose, heal } from '../../src/formats/doctor.ts'
import { leavesOf } from '../../src/model/leaves.ts'
import type { Message, Part } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { checkView } from '../../src/view/legality.ts'
import { session as anySession } from '../laws/sessions.ts'
import * as fc from '../property.ts'

const user = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] })
const calls = (...ids: string[]): Message => ({
  role: 'assistant',
  parts: ids.map(id => ({ type: 'tool-call', id, name: 'bash', input: { command: `run ${id}` } })),
})
const result = (id: string, output: string | Part[] = `output of ${id}`): Message => ({
  role: 'tool',
  parts: [{ type: 'tool-result', id, name: 'bash', output }],
})

async function assertAccepted(messages: readonly Message[], model: string): Promise<void> {
  const pal = await openPalimpsest({ home: ':memory:', clock: () => 1000 })
  const session = await pal.session('healed', { model })
  await session.append(...messages)
  const view = await session.view()
  assert.deepEqual(view.report, [])
  assert.deepEqual(checkView(view.messages, { dialect: session.options.model.dialect }), [])
  await pal.close()
}

/** Every text, image and opaque block, wherever it is. */
function contentsOf(messages: readonly Message[]): string[] {
  const inPart = (part: Part): string[] => {
    if (part.type === 'image') return [part.data ?? part.url ?? '']
    if (part.type === 'raw') return [JSON.stringify(part.value)]
    if (part.type === 'tool-result' && typeof part.output !== 'string') return part.output.flatMap(inPart)
    return leavesOf(part)
  }
  return messages.flatMap(message => message.parts.flatMap(inPart)).filter(text => text !== '')
}

function assertNothingLost(before: readonly Message[], after: readonly Message[]): void {
  const there = contentsOf(after).join('\u0001')
  for (const text of contentsOf(before)) {
    const asJson = JSON.stringify(text).slice(1, -1)
    assert.ok(there.includes(text) || there.includes(asJson), `lost: ${asJson.slice(0, 80)}`)
  }
}

const assistants = (messages: readonly Message[]) => messages.filter(({ role }) => role === 'assistant').length

describe('any broken conversation', () => {
  const broken = anySession.chain(messages =>
    fc
      .array(fc.tuple(fc.constantFrom('drop', 'double', 'move', 'rename', 'role'), fc.nat(), fc.nat()), {
        maxLength: 8,
      })
      .map(damage => damage.reduce(harm, messages)),
  )

  function harm(messages: Message[], [kind, at, to]: [string, number, number]): Message[] {
    if (messages.length === 0) return messages
    const index = at % messages.length
    const message = messages[index]!
    if (kind === 'drop') return messages.toSpliced(index, 1)
    if (kind === 'double') return messages.toSpliced(to % messages.length, 0, message)
    if (kind === 'move') return messages.toSpliced(index, 1).toSpliced(to % messages.length, 0, message)
    if (kind === 'role')
      return messages.with(index, { ...message, role: (['user', 'assistant', 'tool'] as const)[to % 3]! })
    const ids = ['', 'same', 'call_0_0', 'same~1']
    const parts = message.parts.map(part => ('id' in part ? { ...part, id: ids[to % ids.length]! } : part))
    return messages.with(index, { ...message, parts })
  }

  for (const model of ['claude-sonnet-4-5', 'gpt-5', 'gpt-4o']) {
    test(`heals into one that a ledger accepts whole and whose view is legal (${model})`, async () => {
      await fc.assert(
        fc.asyncProperty(broken, async messages => assertAccepted(heal(messages).messages, model)),
        { numRuns: 150 },
      )
    })
  }

  test('loses nothing, keeps its assistant messages, and is not changed a second time', () => {
    fc.assert(
      fc.property(broken, messages => {
        const before = JSON.stringify(messages)
        const once = heal(messages)
        assert.equal(JSON.stringify(messages), before, 'the input is left alone')
        assertNothingLost(messages, once.messages)
        assert.equal(assistants(once.messages), assistants(messages))
        const twice = heal(once.messages)
        assert.deepEqual(twice, { messages: once.messages, healed: [] })
      }),
      { numRuns: 400 },
    )
  })

  test('without faults gives the same messages', () => {
    fc.assert(
      fc.property(anySession, messages => {
        const { messages: same, healed } = heal(messages)
        assert.deepEqual(healed, [])
        assert.ok(messages.every((message, i) => same[i] === message))
      }),
      { numRuns: 200 },
    )
  })
})

describe('each fault by name', () => {
  const heals = (messages: Message[], why: RegExp, expected: string[]) => {
    const { messages: whole, healed } = heal(messages)
    assert.match(healed.join('\n'), why)
    assert.deepEqual(whole.map(summary), expected)
  }
  const summary = ({ role, parts }: Message) =>
    `${role}: ${parts.map(part => ('id' in part ? `${part.type} ${part.id}` : 'text' in part ? part.text.split('\n')[0] : part.type)).join(', ')}`

  test('a result before its call moves after it', () => {
    heals([user('go'), result('c1'), calls('c1'), user('next')], /c1 moved after its call/, [
      'user: go',
      'assistant: tool-call c1',
      'tool: tool-result c1',
      'user: next',
    ])
  })

  test('a result far after its call moves to it', () => {
    heals([calls('c1'), user('wait'), result('c1'), user('next')], /result-without-call: c1 moved/, [
      'assistant: tool-call c1',
      'tool: tool-result c1',
      'user: wait',
      'user: next',
    ])
  })

  test('a result without a call becomes text, with its images', () => {
    const image: Part = { type: 'image', mediaType: 'image/png', data: 'AAAA' }
    heals([user('go'), result('c9', [{ type: 'text', text: 'seen' }, image])], /result-without-call: c9 became text/, [
      'user: go',
      'user: [Result of bash without a call], image',
    ])
  })

  test('the second result of a call becomes text', () => {
    heals([calls('c1'), result('c1'), result('c1', 'again')], /two-results: c1 became text/, [
      'assistant: tool-call c1',
      'tool: tool-result c1',
      'user: [Result of bash that came again]',
    ])
  })

  test('repeated ids become unique, and each result stays with its call', () => {
    heals([calls('c1'), result('c1', 'one'), calls('c1'), result('c1', 'two')], /duplicate-call: c1 became c1~1/, [
      'assistant: tool-call c1',
      'tool: tool-result c1',
      'assistant: tool-call c1~1',
      'tool: tool-result c1~1',
    ])
    const { messages } = heal([calls('c1'), result('c1', 'one'), calls('c1'), result('c1', 'two')])
    assert.deepEqual(messages[3]!.parts[0], { type: 'tool-result', id: 'c1~1', name: 'bash', output: 'two' })
  })

  test('a new id is never one that exists', () => {
    const { messages } = heal([calls('c1'), calls('c1~1'), calls('c1'), user('go')])
    const ids = messages.flatMap(message => message.parts.flatMap(part => (part.type === 'tool-call' ? part.id : [])))
    assert.deepEqual(ids, ['c1', 'c1~1', 'c1~2'])
  })

  test('a call without an id or a name gets one, and its result gets the same', () => {
    const nameless: Message = { role: 'assistant', parts: [{ type: 'tool-call', id: '', name: '', input: {} }] }
    heals([nameless, result('', 'x')], /a call without an id became call~1/, [
      'assistant: tool-call call~1',
      'tool: tool-result call~1',
    ])
  })

  test('a call in a user message becomes text', () => {
    heals([{ ...calls('c1'), role: 'user' }], /call-dropped/, ['user: [Call of bash] {"command":"run c1"}'])
  })

  test('calls without a result are left for the ledger', async () => {
    const messages = [user('go'), calls('c1', 'c2'), result('c1'), user('next')]
    assert.deepEqual(heal(messages), { messages, healed: [] })
    await assertAccepted(messages, 'claude-sonnet-4-5')
  })

  test('invalid Unicode becomes readable text, in inputs too', () => {
    const messages: Message[] = [
      user('a \ud800 b'),
      { role: 'assistant', parts: [{ type: 'tool-call', id: 'c', name: 'x', input: { deep: ['\udc00'] } }] },
    ]
    const { messages: whole, violations, healed } = diagnose(messages)
    assert.deepEqual(
      violations.filter(({ rule }) => rule === 'invalid-unicode').map(({ index }) => index),
      [0, 1],
    )
    assert.equal(healed.length, 2)
    assert.deepEqual(contentsOf(whole), ['a \ufffd b', '\ufffd'])
  })

  test("diagnose names every broken rule in the provider's terms", () => {
    const messages = [user(' '), result('c0'), calls('c1'), user('on')]
    const rules = (dialect?: 'anthropic') => diagnose(messages, dialect).violations.map(({ rule }) => rule)
    assert.deepEqual(rules(), ['result-without-call', 'call-without-result'])
    assert.deepEqual(rules('anthropic'), ['blank-text', 'result-without-call', 'call-without-result'])
  })

  test("the provider's original is removed if it no longer fits", () => {
    const original = { dialect: 'openai-chat' as const, value: { role: 'tool' } }
    const { messages } = heal([{ ...result('c9'), original }])
    assert.equal(messages[0]!.original, undefined)
  })
})
