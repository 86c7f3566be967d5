import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesOfImage, imageStub, imagesIn, leavesOf, stringsIn, textOf, withLeaves } from '../../src/model/leaves.ts'
import type { Part } from '../../src/model/types.ts'
import { session as anySession } from '../laws/sessions.ts'
import * as fc from '../property.ts'

const everyPart = anySession.map(messages => messages.flatMap(message => message.parts))

test('the texts of a part have a fixed order, and nothing else is a text', () => {
  const input = { b: 'one', a: ['two', 3, null, { c: 'three', d: true }], __proto__: null }
  assert.deepEqual(stringsIn(input), ['one', 'two', 'three'])
  assert.deepEqual(stringsIn('alone'), ['alone'])
  assert.deepEqual(stringsIn(undefined), [])
  const output: Part[] = [
    { type: 'text', text: 'a' },
    { type: 'image', mediaType: 'x', data: 'no' },
    { type: 'text', text: 'b' },
  ]
  assert.deepEqual(leavesOf({ type: 'tool-result', id: 'i', name: 'n', output }), ['a', 'b'])
  assert.equal(textOf({ type: 'tool-result', id: 'i', name: 'n', output }), 'a\nb')
  assert.deepEqual(leavesOf({ type: 'raw', provider: 'p', value: { text: 'no' } }), [])
})

test('putting back every text gives the same part', () => {
  fc.assert(
    fc.property(everyPart, parts => {
      for (const part of parts) assert.deepEqual(json(withLeaves(part, text => text)), json(part))
    }),
  )
})

test('a text put in a place is read from that place, and all others stay', () => {
  fc.assert(
    fc.property(everyPart, fc.nat(), (parts, pick) => {
      for (const part of parts) {
        const leaves = leavesOf(part)
        if (leaves.length === 0) continue
        const at = pick % leaves.length
        const changed = withLeaves(part, (text, leaf) => (leaf === at ? '<new>' : text))
        assert.deepEqual(leavesOf(changed), leaves.with(at, '<new>'))
      }
    }),
  )
})

test('a key named __proto__ is an ordinary key', () => {
  const input: unknown = JSON.parse('{"__proto__":"x","y":{"__proto__":["z"]}}')
  assert.deepEqual(stringsIn(input), ['x', 'z'])
  const changed = withLeaves({ type: 'tool-call', id: 'i', name: 'n', input }, text => text.toUpperCase())
  assert.equal(
    changed.type === 'tool-call' && JSON.stringify(changed.input),
    '{"__proto__":"X","y":{"__proto__":["Z"]}}',
  )
})

function json(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

test('the images of a part are the part itself, or those inside a result', () => {
  const image: Part = { type: 'image', mediaType: 'image/png', data: 'AA' }
  const result = (output: string | Part[]): Part => ({ type: 'tool-result', id: 'i', name: 'n', output })
  assert.deepEqual(imagesIn(image), [image])
  assert.deepEqual(imagesIn(result([{ type: 'text', text: 'a' }, image])), [image])
  for (const none of [result('text'), { type: 'text', text: 'a' } as Part]) assert.deepEqual(imagesIn(none), [])
})

test('the bytes of an image are those of its data, or of its URL', () => {
  const image = { type: 'image', mediaType: 'image/png' } as const
  assert.equal(bytesOfImage({ ...image, data: 'AAAA' }), 4)
  assert.equal(bytesOfImage({ ...image, url: 'http://x/y' }), 10)
  assert.equal(bytesOfImage(image), 0)
  assert.equal(imageStub({ ...image, data: 'A'.repeat(1200) }), '[Image left out: image/png, 1,200 bytes]')
})
