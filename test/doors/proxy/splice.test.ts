import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splice } from '../../../src/doors/proxy/splice.ts'
import { parseJson } from '../../../src/model/json.ts'
import * as fc from '../../property.ts'

test('unchanged values keep their spelling', () => {
  const text =
    ' { "n" : 1.0, "big":12345678901234567890, "a": [ {"t":"\\u00e4\\/\\"" , "k":1}, {"t":"old"} ] ,"z":null}\n'
  const to = JSON.parse(text)
  to.a[1].t = 'new'
  assert.equal(
    splice(text, JSON.parse(text), to),
    '{ "n" : 1.0, "big":12345678901234567890, "a": [ {"t":"\\u00e4\\/\\"" , "k":1}, {"t":"new"} ] ,"z":null}',
  )
})

test('a shortened list keeps the spelling of its remaining elements', () => {
  const text = '{"m":[{"a":1.0},{"b":2.0},{"c":3.0},{"d":"x"},{"e":5.0}]}'
  const from = JSON.parse(text)
  const to = { m: [from.m[0], { folded: true }, { d: 'y' }, from.m[4]] }
  assert.equal(splice(text, from, to), '{"m":[{"a":1.0},{"folded":true},{"d":"y"},{"e":5.0}]}')
})

test('added and removed keys do not change their neighbours', () => {
  const text = '{"a":1.0,"b":2.0,"c":[3.0]}'
  assert.equal(splice(text, JSON.parse(text), { a: 1, c: [3], d: 4 }), '{"a":1.0,"c":[3.0],"d":4}')
})

test('the text has the new value after any change', () => {
  const spaced = fc.constantFrom(undefined, 1, '\t')
  const json = fc.jsonValue({ maxDepth: 4 })
  fc.assert(
    fc.property(json, json, spaced, (from, to, space) => {
      const text = JSON.stringify(from, null, space)
      assert.deepEqual(parseJson(splice(text, parseJson(text), to)), parseJson(JSON.stringify(to)))
      assert.equal(splice(text, parseJson(text), parseJson(text)), text)
    }),
    { seeds: [{ seed: 1999970485, path: '2:1:85' }] },
  )
})

test('with one changed string, the text before and after it is unchanged', () => {
  const list = fc.array(fc.record({ role: fc.string(), content: fc.string() }), { minLength: 1 })
  fc.assert(
    fc.property(list, fc.nat(), fc.string(), (messages, pick, content) => {
      const text = JSON.stringify({ model: 'm', messages }, null, 2)
      const from = JSON.parse(text)
      const index = pick % messages.length
      const to = { ...from, messages: from.messages.with(index, { ...from.messages[index], content }) }
      const expected = JSON.stringify(
        { model: 'm', messages: messages.with(index, { ...messages[index]!, content }) },
        null,
        2,
      )
      assert.equal(splice(text, from, to), expected)
    }),
  )
})
