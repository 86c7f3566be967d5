import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scanList } from '../../../src/doors/proxy/list-bytes.ts'
import { splice } from '../../../src/doors/proxy/splice.ts'
import { piecesOf, type Spliced, spliceBody, spliceOn } from '../../../src/doors/proxy/splice-body.ts'
import type { Wire } from '../../../src/formats/adapters/original.ts'
import { parseJson } from '../../../src/model/json.ts'
import * as fc from '../../property.ts'

const dialect = { list: 'messages' }

function written(spliced: Spliced): string {
  return Buffer.concat(piecesOf(spliced)).toString()
}

function spliced(text: string, body: Wire, to: Wire): string {
  const bytes = Buffer.from(text)
  return written(spliceBody({ dialect, bytes, body, list: scanList(bytes, dialect.list) }, to))
}

const element = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
const others = fc.dictionary(fc.constantFrom('model', 'system', 'tools'), fc.jsonValue({ maxDepth: 2 }))
/** What is done to each element: kept, left out, changed, or followed by another. */
const fate = fc.constantFrom('keep', 'keep', 'drop', 'change', 'insert')

test('the bytes have the new value after any change', () => {
  const space = fc.constantFrom(undefined, 1, '\t')
  fc.assert(
    fc.property(
      fc.array(fc.tuple(element, fate)),
      element,
      others,
      others,
      space,
      (list, other, before, after, gap) => {
        const text = JSON.stringify({ ...before, messages: list.map(([value]) => value), last: 1 }, null, gap)
        const body = parseJson<{ messages: Wire[] }>(text)
        const messages = list.flatMap(([, what], i) => {
          if (what === 'drop') return []
          if (what === 'change') return [{ ...body.messages[i], content: other }]
          return what === 'insert' ? [body.messages[i], other] : [body.messages[i]]
        })
        const to = { ...after, messages, last: 1 }
        assert.deepEqual(parseJson(spliced(text, body, to)), parseJson(JSON.stringify(to)))
        assert.equal(spliced(text, body, parseJson(text)), text)
      },
    ),
  )
})

test('in a list of the same length only changed elements are rewritten, as in any text', () => {
  fc.assert(
    fc.property(fc.array(element, { minLength: 1 }), fc.nat(), fc.string(), (messages, pick, content) => {
      const text = JSON.stringify({ model: 'm', messages, max: 1 }, null, 2)
      const body = parseJson<{ messages: Wire[] }>(text)
      const index = pick % messages.length
      const to = { ...body, messages: body.messages.with(index, { ...body.messages[index], content }) }
      assert.equal(spliced(text, body, to), splice(text, body, to))
    }),
  )
})

test('unchanged elements around a fold keep their spelling', () => {
  const text = '{"n":1.0, "messages":[ {"a":1.0} , {"b":2.0},{"c":3.0},{"d":"x"}, {"e":5.0}\n], "max": 1e2}'
  const body = JSON.parse(text)
  const [a, , , , e] = body.messages
  const to = { ...body, messages: [a, { folded: true }, { d: 'y' }, e] }
  const expected = '{"n":1.0, "messages":[ {"a":1.0},{"folded":true},{"d":"y"}, {"e":5.0}\n], "max": 1e2}'
  assert.equal(spliced(text, body, to), expected)
})

test('the edit of an element is remembered, and forgotten when the element is edited differently', () => {
  const text = '{"messages":[ {"role":"user","content":"long old text", "n":1.0} ]}'
  const body = JSON.parse(text)
  for (const content of ['a', 'a', 'b', 'a']) {
    const to = { messages: [{ ...body.messages[0], content }] }
    assert.equal(spliced(text, body, to), text.replace('long old text', content))
  }
  const longer = text.replace(' ]}', ', {"role":"assistant"} ]}')
  const grown = { messages: [body.messages[0], { role: 'assistant' }] }
  const to = { messages: [{ ...body.messages[0], content: 'a' }, grown.messages[1]] }
  assert.equal(spliced(longer, grown, to), longer.replace('long old text', 'a'))
})

test('edits spliced into a continued body give the same bytes as a new splice', () => {
  const space = fc.constantFrom(undefined, 1)
  const tail = fc.array(element, { maxLength: 3 })
  fc.assert(
    fc.property(fc.array(fc.tuple(element, fate)), tail, tail, element, space, (list, old, now, other, gap) => {
      const textOf = (more: readonly object[], max: number) =>
        JSON.stringify({ model: 'm', messages: [...list.map(([value]) => value), ...more], max }, null, gap)
      const edited = (text: string) => {
        const bytes = Buffer.from(text)
        const body = parseJson<{ messages: Wire[] }>(text)
        const messages = body.messages.flatMap((value, i) => {
          const what = list[i]?.[1]
          if (what === 'drop') return []
          if (what === 'change') return [{ ...value, content: other }]
          return what === 'insert' ? [value, other] : [value]
        })
        return spliceBody({ dialect, bytes, body, list: scanList(bytes, dialect.list) }, { ...body, messages })
      }
      const before = edited(textOf(old, 1))
      const text = textOf([...old, ...now], 2)
      const on = spliceOn(before, Buffer.from(text))
      // There is no place after the edits in a body that ends with them.
      if (on) assert.equal(written(on), written(edited(text)))
      else
        assert.ok(
          before.same === 0 ||
            !Buffer.from(text)
              .subarray(0, before.bytes.length - before.same)
              .equals(before.bytes.subarray(0, before.bytes.length - before.same)),
        )
    }),
    { seeds: [1347288209] },
  )
})

test('a body with a list that was or became empty is not continued, because of the comma', () => {
  for (const [text, messages, longer] of [
    ['{"messages":[{"a":1}]}', [], '{"messages":[{"a":1},{"b":2}]}'],
    ['{"messages":[]}', [{ x: 1 }], '{"messages":[{"b":2}]}'],
  ] as const) {
    const bytes = Buffer.from(text)
    const before = spliceBody(
      { dialect, bytes, body: JSON.parse(text), list: scanList(bytes, 'messages') },
      { messages },
    )
    assert.deepEqual(JSON.parse(written(before)), { messages })
    assert.equal(spliceOn(before, Buffer.from(longer)), undefined)
  }
})

test('a body that differs before the end of its edits is not continued', () => {
  const text = '{"messages":[{"a":"long"},{"b":1}]}'
  const body = JSON.parse(text)
  const bytes = Buffer.from(text)
  const before = spliceBody(
    { dialect, bytes, body, list: scanList(bytes, 'messages') },
    { messages: [{ a: 'x' }, body.messages[1]] },
  )
  assert.equal(written(before), '{"messages":[{"a":"x"},{"b":1}]}')
  assert.equal(
    written(spliceOn(before, Buffer.from('{"messages":[{"a":"long"},{"b":2},{"c":3}]}'))!),
    '{"messages":[{"a":"x"},{"b":2},{"c":3}]}',
  )
  for (const other of ['{"messages":[{"a":"Long"},{"b":1}]}', '{"messages":[', '']) {
    assert.equal(spliceOn(before, Buffer.from(other)), undefined)
  }
})
