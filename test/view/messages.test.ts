import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Message, Part } from '../../src/model/types.ts'
import { Calls, checkMessage, commonLength, copyOf, leadingSystem, MAX_PART } from '../../src/view/messages.ts'
import { session as anySession } from '../laws/sessions.ts'
import * as fc from '../property.ts'

const call = (id: string, input: unknown = {}, name = 'bash'): Message => ({
  role: 'assistant',
  parts: [{ type: 'tool-call', id, name, input }],
})
const tool = (...ids: string[]): Message => ({
  role: 'tool',
  parts: ids.map(id => ({ type: 'tool-result', id, name: 'bash', output: '' })),
})
const user: Message = { role: 'user', parts: [{ type: 'text', text: 'go' }] }
const of = (part: unknown, role: Message['role'] = 'user') => ({ role, parts: [part as Part] })

describe('one message', () => {
  test('every message of any session is accepted', () => {
    fc.assert(fc.property(anySession, messages => messages.forEach(checkMessage)))
  })

  test('a value of the wrong shape is refused with the reason', () => {
    const cyclic: Record<string, unknown> = {}
    cyclic['self'] = cyclic
    let deep: unknown = 1
    for (let i = 0; i < 100_000; i++) deep = [deep]
    const wrong: [unknown, RegExp][] = [
      [null, /role must be/],
      [{ role: 'robot', parts: [] }, /role must be/],
      [{ role: 'user' }, /parts must be an array/],
      [{ ...user, at: Number.NaN }, /at must be a number/],
      [of(null), /the type of a part is/],
      [of({ type: 'video' }), /the type of a part is/],
      [of({ type: 'text' }), /text of a part must be a string/],
      [of({ type: 'tool-call', id: 'a', name: 'b', input: {} }), /belongs to an assistant/],
      [call(''), /needs an id/],
      [call('a', {}, ''), /needs an id and a name/],
      [of({ type: 'tool-result', id: 'a', name: 'b', output: 'x' }), /role tool/],
      [of({ type: 'tool-result', id: '', name: 'b', output: 'x' }, 'tool'), /id of its call/],
      [of({ type: 'tool-result', id: 'a', name: 'b', output: 5 }, 'tool'), /a string or an array/],
      [
        of({ type: 'tool-result', id: 'a', name: 'b', output: [{ type: 'text', text: 5 }] }, 'tool'),
        /must be a string/,
      ],
      [call('a', { n: 5n }), /bigint/],
      [call('a', cyclic), /nested more than 500 levels deep/],
      [call('a', deep), /nested more than 500 levels deep/],
      [of({ type: 'raw', provider: 'x', value: cyclic }), /nested more than 500 levels deep/],
    ]
    for (const [message, reason] of wrong) {
      assert.throws(() => checkMessage(message as Message), { code: 'INVALID_MESSAGE', message: reason })
    }
  })

  test('a value may be nested 500 deep', () => {
    const nested = (depth: number): unknown => (depth === 0 ? 'x' : [nested(depth - 1)])
    checkMessage(call('a', nested(501)))
    assert.throws(() => checkMessage(call('a', nested(502))), { message: /nested more than 500 levels deep/ })
  })

  test('text that is not Unicode is refused anywhere, even deep in an input', () => {
    const odd = ['\ud800', 'a\udc00b']
    for (const bad of odd) {
      for (const message of [
        of({ type: 'text', text: bad }),
        of({ type: 'image', mediaType: 'image/png', url: bad }),
        of({ type: 'tool-result', id: 'a', name: 'b', output: bad }, 'tool'),
        call('a', { deep: [{ text: bad }] }),
        call('a', bad),
        of({ type: 'tool-result', id: 'a', name: 'b', output: [{ type: 'text', text: bad }] }, 'tool'),
      ]) {
        assert.throws(() => checkMessage(message), { code: 'INVALID_UNICODE', message: /toWellFormed/ })
      }
    }
    checkMessage(of({ type: 'raw', provider: 'x', value: { kept: '\ud800' } }))
    checkMessage({ ...of({ type: 'image', mediaType: 'image/png' }), at: 5 })
  })

  test('a part over the limit is refused, one at the limit is not, and many texts count together', () => {
    const large = 'x'.repeat(MAX_PART)
    checkMessage(of({ type: 'text', text: large }))
    checkMessage(call('a', { content: large }))
    const over = { code: 'TOO_LARGE', message: /Put it in a file/ }
    assert.throws(() => checkMessage(of({ type: 'text', text: `${large}x` })), over)
    assert.throws(() => checkMessage(call('a', { content: [large, 'x'] })), over)
    assert.throws(() => checkMessage(of({ type: 'image', mediaType: 'image/png', data: `${large}x` })), over)
    assert.throws(() => checkMessage(of({ type: 'raw', provider: 'x', value: [large, large] })), over)
  })
})

describe('the calls of a session', () => {
  const after = (...messages: Message[]) => {
    const calls = new Calls()
    for (const message of messages) {
      calls.check(message)
      calls.add(message)
    }
    return calls
  }

  test('name the waiting calls, and those that a message would leave without a result', () => {
    const calls = after(call('a'), call('b'))
    assert.deepEqual(calls.open, ['a', 'b'])
    assert.deepEqual(calls.check(call('c')).interrupted, [])
    assert.deepEqual(calls.check(user).interrupted, ['a', 'b'])
    calls.add(tool('a'))
    assert.deepEqual(calls.check(call('c')).interrupted, ['b'])
    assert.deepEqual(calls.check(tool('b')), { interrupted: [], late: [] })
    const withText: Message = { role: 'tool', parts: [...user.parts, ...tool('b').parts] }
    assert.deepEqual(calls.check(withText), { interrupted: [], late: [] })
    calls.add(user)
    assert.deepEqual(calls.open, [], 'nothing waits behind a request')
  })

  test('distinguish a late result from a second one and from one without a call', () => {
    const calls = after(call('a'), user)
    assert.deepEqual(calls.check(tool('a')).late, [{ part: 0, id: 'a', name: 'bash' }])
    calls.add(tool('a'))
    assert.throws(() => calls.check(tool('a')), { code: 'INVALID_MESSAGE', message: /a already has a result/ })
    assert.throws(() => calls.check(tool('z')), { message: /no tool call z/ })
    calls.note('tool', [], ['z'])
    assert.throws(() => calls.check(tool('z')), { message: /no tool call z/ }, 'a result alone makes no call')
    assert.throws(() => calls.check(call('a')), { message: /a is already used/ })
  })

  test('count the messages of the last step', () => {
    const lengths: number[] = []
    const calls = new Calls()
    for (const message of [user, call('a'), call('b'), tool('a'), tool('b'), call('c'), user, call('d')]) {
      calls.add(message)
      lengths.push(calls.stepLength)
    }
    assert.deepEqual(lengths, [0, 1, 2, 3, 4, 1, 0, 1])
    assert.equal(calls.draft().stepLength, 1)
  })

  test('of a draft are copies, and the originals stay as they were', () => {
    const calls = after(call('a'), call('b'), tool('a'))
    const draft = calls.draft()
    assert.deepEqual(draft.check(call('c')).interrupted, ['b'], 'results have begun to come')
    assert.throws(() => draft.check(tool('a')), { message: /a already has a result/ })
    assert.deepEqual([draft.nameOf('a'), draft.nameOf('z')], ['bash', undefined])
    draft.add(user)
    assert.deepEqual(draft.check(tool('b')).late, [{ part: 0, id: 'b', name: 'bash' }])
    assert.deepEqual(calls.check(tool('b')).late, [])
    assert.throws(() => calls.check(tool('b', 'b')), { message: /b already has a result/ })
    assert.throws(() => calls.check({ role: 'assistant', parts: [...call('e').parts, ...call('e').parts] }), {
      message: /e is already used/,
    })
  })

  test('can be tried in a draft, which can be dropped', () => {
    const calls = after(call('a'))
    const draft = calls.draft()
    draft.add(tool('a'))
    draft.add(call('b'))
    assert.deepEqual(draft.open, ['b'])
    assert.deepEqual(calls.open, ['a'])
    assert.equal(calls.nameOf('b'), undefined)
  })
})

test('the common beginning of two lists is counted in identical objects', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((text): Message => ({ role: 'user', parts: [{ type: 'text', text }] }))
  assert.equal(commonLength([a!, b!], [a!, b!]), 2)
  assert.equal(commonLength([a!, b!], [a!, b!, c!]), 2)
  assert.equal(commonLength([a!, b!, c!], [a!, b!]), 2)
  assert.equal(commonLength([a!, b!, c!], [a!, c!, b!]), 1)
  assert.equal(commonLength([{ ...a! }], [a!]), 0)
  assert.equal(commonLength([], [a!]), 0)
})

test('the system messages at the beginning are counted', () => {
  const system = { role: 'system' as const }
  assert.deepEqual([[], [user], [system, system, user, system], [system, system]].map(leadingSystem), [0, 0, 2, 2])
})

test('a copy is what JSON would return', () => {
  const own: unknown = JSON.parse('{"__proto__":{"a":1},"b":2}')
  const input = {
    at: new Date(0),
    own,
    list: [undefined, null],
    f: { toJSON: () => ({ deep: [1] }) },
    no: { toJSON: 1 },
  }
  const [part] = copyOf(call('a', input)).parts
  assert.equal(JSON.stringify(part?.type === 'tool-call' && part.input), JSON.stringify(input))
  assert.equal(part?.type === 'tool-call' && Object.getPrototypeOf(part.input), Object.prototype)
  const copied = part?.type === 'tool-call' ? (part.input as { own: object }).own : {}
  assert.deepEqual(Object.getOwnPropertyDescriptors(copied), Object.getOwnPropertyDescriptors(own))
})

test('a copy is equal and shares no object', () => {
  const input = { list: [{ deep: [null, 1, 'x', true] }], gone: undefined }
  const message: Message = { role: 'assistant', parts: [{ type: 'tool-call', id: 'c', name: 'bash', input }] }
  const copy = copyOf(message)
  assert.deepEqual(copy, JSON.parse(JSON.stringify(message)))
  input.list[0]!.deep.push('later')
  assert.notDeepEqual(copy, JSON.parse(JSON.stringify(message)))
})
