/**
 * The contract of all adapters; each adapter's test runs it on the conversations that it generates.
 *
 * The wire form is whatever the dialect sends (a list of messages, or a prompt with a system part); `blocks` splits it
 * into the smallest pieces that one edit may change.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseJson } from '../../src/model/json.ts'
import type { Dialect, Message, Part } from '../../src/model/types.ts'
import * as fc from '../property.ts'

export type AdapterCase<W> = {
  dialect: Dialect
  from: (wire: W) => Message[]
  to: (messages: Message[]) => W
  conversations: fc.Arbitrary<W>
  blocks: (wire: W) => unknown[]
  /** A conversation with every `marker(i)` once, in text, a call, a result, an image and reasoning. */
  sample: W
}

const RUNS = { numRuns: 200 }

export function adapterContract<W>(adapter: AdapterCase<W>): void {
  const { dialect, from, to, conversations, blocks, sample } = adapter
  const read = (wire: W) => from(wire)
  const json = (wire: W) => JSON.stringify(wire)

  describe(`the ${dialect} adapter`, () => {
    test('gives the same JSON back', () => {
      fc.assert(
        fc.property(conversations, wire => assert.equal(json(to(read(wire))), json(wire))),
        RUNS,
      )
    })

    test('gives the same JSON back after the neutral messages went through JSON', () => {
      fc.assert(
        fc.property(conversations, wire => assert.equal(json(to(parseJson(JSON.stringify(read(wire))))), json(wire))),
        RUNS,
      )
    })

    test('reads its own output as the same messages', () => {
      fc.assert(
        fc.property(conversations, wire => assert.deepEqual(plain(read(to(read(wire)))), plain(read(wire)))),
        RUNS,
      )
    })

    test('modifies neither its input nor the messages that it writes', () => {
      fc.assert(
        fc.property(conversations, wire => {
          const before = json(wire)
          const messages = read(wire)
          const neutral = JSON.stringify(messages)
          to(messages)
          assert.equal(json(wire), before)
          assert.equal(JSON.stringify(messages), neutral)
        }),
        RUNS,
      )
    })

    test('changes one block when one part is edited, and keeps every other byte', () => {
      fc.assert(
        fc.property(conversations, fc.nat(), (wire, pick) => {
          const messages = read(wire)
          const places = editable(messages)
          fc.pre(places.length > 0)
          const { message, part } = places[pick % places.length]!
          const after = blocks(to(withPart(messages, message, part, edited))).map(block => JSON.stringify(block))
          const before = blocks(wire).map(block => JSON.stringify(block))
          const changed = after.filter((block, i) => block !== before[i])
          assert.equal(after.length, before.length)
          assert.equal(changed.length, 1)
          assert.match(changed[0]!, /shortened/)
        }),
        RUNS,
      )
    })

    test('keeps every other byte when a part is dropped', () => {
      fc.assert(
        fc.property(conversations, fc.nat(), (wire, pick) => {
          const messages = read(wire)
          const places = droppable(messages)
          fc.pre(places.length > 0)
          const { message, part } = places[pick % places.length]!
          const after = blocks(to(withPart(messages, message, part, () => [])))
          const left = blocks(wire).map(block => JSON.stringify(block))
          for (const block of after) assert.ok(left.includes(JSON.stringify(block)), `new: ${JSON.stringify(block)}`)
          assert.ok(after.length < left.length)
        }),
        RUNS,
      )
    })

    test('stores no content twice', () => {
      const stored = JSON.stringify(read(sample))
      const marks = new Set(json(sample).match(/marker-\d+/g))
      assert.ok(marks.size >= 5)
      for (const mark of marks) assert.equal(stored.split(`${mark}.`).length - 1, 1, `${mark} in ${stored}`)
    })

    test('finds the tool name of each result', () => {
      fc.assert(
        fc.property(conversations, wire => {
          const calls = new Map<string, string>()
          for (const part of read(wire).flatMap(message => message.parts)) {
            if (part.type === 'tool-call') calls.set(part.id, part.name)
            if (part.type === 'tool-result') assert.equal(part.name, calls.get(part.id))
          }
        }),
        RUNS,
      )
    })
  })
}

/** A text long enough to be worth storing once. */
export function marker(n: number): string {
  return `marker-${n}. `
}

/** The messages without their originals. */
export function plain(messages: readonly Message[]): unknown {
  return parseJson(JSON.stringify(messages, (key, value) => (key === 'original' ? undefined : value)))
}

type Place = { message: number; part: number }

function editable(messages: readonly Message[]): Place[] {
  return placesOf(messages, part => part.type === 'text' || part.type === 'tool-result' || part.type === 'tool-call')
}

/** Reasoning and images, beside other parts that stay. */
function droppable(messages: readonly Message[]): Place[] {
  return placesOf(messages, (part, siblings) => {
    const stays = siblings.some(other => other.type === 'tool-call' || other.type === 'tool-result')
    return (part.type === 'image' || part.type === 'reasoning') && stays
  })
}

function placesOf(messages: readonly Message[], fits: (part: Part, siblings: Part[]) => boolean): Place[] {
  return messages.flatMap((message, m) =>
    message.parts.flatMap((part, p) => (fits(part, message.parts) ? [{ message: m, part: p }] : [])),
  )
}

function edited(part: Part): Part[] {
  if (part.type === 'text') return [{ ...part, text: 'shortened', edit: 'e1' }]
  if (part.type === 'tool-result') return [{ ...part, output: 'shortened', edit: 'e1' }]
  if (part.type === 'tool-call') return [{ ...part, input: { by: 'shortened' }, edit: 'e1' }]
  return [part]
}

export function withPart(
  messages: readonly Message[],
  index: number,
  at: number,
  change: (part: Part) => Part[],
): Message[] {
  return messages.map((message, m) =>
    m === index
      ? { ...message, parts: message.parts.flatMap((part, p) => (p === at ? change(part) : [part])) }
      : message,
  )
}

export const texts = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }) },
  { weight: 1, arbitrary: fc.constantFrom('', ' ', '…', '"', 'null', 'a\nb', '\u0000', '🧩é') },
)

export const ids = fc.uuid()
export const names = fc.constantFrom('read_file', 'bash', 'edit')
export const inputs = fc.dictionary(
  fc.constantFrom('path', 'command', 'n', '__proto__', '0'),
  fc.jsonValue({ maxDepth: 1 }),
)

/** Arguments as models and clients spell them. */
export const argumentTexts = fc.oneof(
  inputs.map(input => JSON.stringify(input)),
  inputs.map(input => JSON.stringify(input, null, 1)),
  inputs.map(input => JSON.stringify(input).replaceAll('":', '": ')),
  fc.constantFrom('', '{', '"text"', '…', '{"a": 1, "a": 2}', '1e400', ' {}'),
)

/** An object with the given fields, some of them missing, unknown fields, and keys in any order. */
export function wire<T extends Record<string, fc.Arbitrary<unknown>>>(
  required: T,
  optional: Record<string, fc.Arbitrary<unknown>> = {},
): fc.Arbitrary<Record<string, unknown>> {
  const known = fc.record({ ...required, ...optional }, { requiredKeys: Object.keys(required) })
  const unknown = fc.dictionary(fc.constantFrom('x_new', 'x_other'), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 1 })
  return fc.oneof(
    known.map(fields => ({ ...fields })),
    fc.tuple(known, unknown, fc.nat()).map(([fields, extra, by]) => rotated({ ...fields, ...extra }, by)),
  )
}

function rotated(fields: Record<string, unknown>, by: number): Record<string, unknown> {
  const entries = Object.entries(fields)
  const at = by % entries.length
  return Object.fromEntries([...entries.slice(at), ...entries.slice(0, at)])
}
