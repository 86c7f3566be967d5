/** The elements of a list are found in the bytes where a parser finds them, or not at all. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { behindElement, type ListSpan, scanList, scanOn } from '../../../src/doors/proxy/list-bytes.ts'
import { parseJson } from '../../../src/model/json.ts'
import * as fc from '../../property.ts'

type Json = Record<string, unknown>

/** JSON with all kinds of whitespace between its tokens. */
function spaced(value: unknown, blank: () => string): string {
  const between = (text: string) => `${blank()}${text}${blank()}`
  if (Array.isArray(value)) return `[${value.map(one => between(spaced(one, blank))).join(',') || blank()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([key, one]) => {
    return `${between(JSON.stringify(key))}:${between(spaced(one, blank))}`
  })
  return `{${members.join(',') || blank()}}`
}

/** The elements of a span, as texts. */
function elementsOf(bytes: Buffer, { open, ends, close }: ListSpan): string[] {
  assert.equal(bytes.toString('utf8', close, close + 1), ']')
  assert.equal(bytes.toString('utf8', open - 1, open), '[')
  return ends.map((end, i) => {
    const start = i === 0 ? open : behindElement(bytes, ends[i - 1]!)
    return bytes.toString('utf8', start, end)
  })
}

const words = fc.oneof(fc.string(), fc.constantFrom('"', '\\', '\\"', '[', ']}', '{,', '\\\\"', 'é\n', '"messages":['))
const leaf = fc.oneof(words, fc.integer(), fc.boolean(), fc.constant(null))
const tree = fc.letrec<{ value: unknown }>(tie => ({
  value: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(words, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value
const element = fc.dictionary(words, tree, { maxKeys: 3, noNullPrototype: true })
const body = fc.record({
  before: fc.dictionary(words, tree, { maxKeys: 3, noNullPrototype: true }),
  list: fc.array(element, { maxLength: 5 }),
})
const blanks = fc.infiniteStream(fc.constantFrom('', '', '', ' ', '\n', '\t', '\r\n  '))

describe('the elements of a list', () => {
  test('are those that a parser finds, with any text around and in them', () =>
    fc.assert(
      fc.property(body, fc.boolean(), blanks, ({ before, list }, first, stream) => {
        const { messages: _, ...others } = before
        const whole: Json = first ? { messages: list, ...others } : { ...others, messages: list }
        const blank = () => stream.next().value as string
        const bytes = Buffer.from(`${blank()}${spaced(whole, blank)}${blank()}`)
        const span = scanList(bytes, 'messages')
        assert.ok(span)
        assert.deepEqual(
          elementsOf(bytes, span).map(text => parseJson(text)),
          list,
        )
        for (let known = 0; known <= list.length; known++) {
          assert.deepEqual(scanOn(bytes, span.open, span.ends.slice(0, known)), span, 'from any element on')
        }
      }),
    ))

  const none = (text: string) => assert.equal(scanList(Buffer.from(text), 'messages'), undefined, text)

  test('are not found if the list is missing or not a list', () => {
    for (const text of ['{}', '{"other":[{}]}', '{"messages":{}}', '{"messages":1}', '[{"messages":[]}]', '1', ''])
      none(text)
    none('{"outer":{"messages":[{}]}}')
    none('{"messagesx":[{}],"x":"messages"}')
  })

  test('are not found if one of them is not an object', () => {
    for (const text of ['[1]', '[{},1]', '["a"]', '[null,{}]', '[[{}]]']) none(`{"messages":${text}}`)
  })

  test('are not found in bytes that end too early or lack a comma', () => {
    const whole = '{"a":"b\\"c","messages":[{"a":["}"]},{"b":1}]}'
    const list = whole.indexOf(':[') + 2
    for (let end = 0; end < whole.length - 1; end++) none(whole.slice(0, end))
    assert.ok(scanList(Buffer.from(whole), 'messages'))
    none(whole.replace('},{', '}{'))
    assert.equal(scanList(Buffer.from(whole), 'messages')?.open, list)
  })
})
