import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leavesOf } from '../../src/model/leaves.ts'
import { characterStart } from '../../src/model/text.ts'
import type { Edit, Message, Target } from '../../src/model/types.ts'
import { relate } from '../../src/view/edits.ts'
import { callsIn } from '../../src/view/legality.ts'
import * as fc from '../property.ts'
import { checkLaws } from './law.ts'
import { session } from './sessions.ts'

/** Random choices for one edit, scaled to a session: numbers in [0, 1). */
type Pick = { kind: 'part' | 'leaf' | 'span' | 'add' | 'range' | 'insert'; where: number[]; text: string }

const pick: fc.Arbitrary<Pick> = fc.record({
  kind: fc.constantFrom('part', 'leaf', 'span', 'add', 'range', 'insert'),
  where: fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 4, maxLength: 4 }),
  text: fc.string({ maxLength: 12 }),
})

const edited = fc
  .tuple(session, fc.array(pick, { maxLength: 12 }))
  .map(([messages, picks]) => ({ messages, edits: laminar(picks.flatMap(choice => toEdit(messages, choice))) }))
  .chain(({ messages, edits }) =>
    fc
      .shuffledSubarray(
        edits.map((_, i) => i),
        { minLength: edits.length },
      )
      .map(undo => ({ messages, edits, undo })),
  )

test('the laws of edits hold on any session, with nested edits, undone in any order', () => {
  fc.assert(
    fc.property(edited, ({ messages, edits, undo }) => checkLaws({ messages, edits, undo })),
    { numRuns: 400, seeds: [2109875445] },
  )
})

test('two edits that partly overlap are refused, and both are named', () => {
  const messages: Message[] = [{ role: 'user', parts: [{ type: 'text', text: 'abcdefghij' }] }]
  const first = edit('e1', { type: 'part', entry: 0, part: 0, leaf: 0, span: [2, 6] }, 'X')
  const second = edit('e2', { type: 'part', entry: 0, part: 0, leaf: 0, span: [4, 8] }, 'Y')
  assert.throws(() => checkLaws({ messages, edits: [first, second] }), {
    code: 'EDITS_OVERLAP',
    message: /overlapping edits: e2 .*e1/s,
  })
})

test('of two edits with the same target the later one shows, and after an undo the earlier one', () => {
  const messages: Message[] = [{ role: 'user', parts: [{ type: 'text', text: 'a long text' }] }]
  const target: Target = { type: 'part', entry: 0, part: 0 }
  const shownText = (text: string): Message[] => [{ role: 'user', parts: [{ type: 'text', text }] }]
  checkLaws({ messages, edits: [edit('e1', target, 'one')], expect: shownText('one') })
  checkLaws({ messages, edits: [edit('e1', target, 'one'), edit('e2', target, 'two')], expect: shownText('two') })
})

test('a range covers texts added inside it, but not those after it', () => {
  const text = (value: string): Message => ({ role: 'user', parts: [{ type: 'text', text: value }] })
  checkLaws({
    messages: ['a', 'b', 'c', 'd'].map(text),
    edits: [
      edit('e1', { type: 'after', entry: 1 }, { messages: [text('inside')] }),
      edit('e2', { type: 'after', entry: 2 }, { messages: [text('behind')] }),
      edit('e3', { type: 'range', from: 1, to: 2 }, { messages: [text('b and c')] }),
    ],
    expect: [text('a'), text('b and c'), text('behind'), text('d')],
  })
})

test('a text added at the end stays until an edit covers the end, and returns when that is undone', () => {
  const messages: Message[] = [{ role: 'user', parts: [{ type: 'text', text: 'abcdefghij' }] }]
  const shownText = (text: string): Message[] => [{ role: 'user', parts: [{ type: 'text', text }] }]
  const id = edit('e1', { type: 'part', entry: 0, part: 0, leaf: 0, span: [10, 10] }, ' [id]')
  const cases: [Target, string][] = [
    [{ type: 'part', entry: 0, part: 0, leaf: 0, span: [2, 6] }, 'abXghij [id]'],
    [{ type: 'part', entry: 0, part: 0, leaf: 0, span: [6, 10] }, 'abcdefX'],
    [{ type: 'part', entry: 0, part: 0, leaf: 0, span: [10, 10] }, 'abcdefghijX'],
    [{ type: 'part', entry: 0, part: 0, leaf: 0 }, 'X'],
    [{ type: 'part', entry: 0, part: 0 }, 'X'],
  ]
  for (const [target, text] of cases) {
    checkLaws({ messages, edits: [id, edit('e2', target, 'X')], expect: shownText(text) })
  }
})

test('relate is symmetric', () => {
  const target: fc.Arbitrary<Target> = fc.oneof(
    fc.record({ type: fc.constant('after' as const), entry: fc.nat(5) }),
    fc.tuple(fc.nat(5), fc.nat(3)).map(([from, more]) => ({ type: 'range' as const, from, to: from + more })),
    fc.record({ type: fc.constant('entry' as const), entry: fc.nat(5) }),
    fc.record({ type: fc.constant('part' as const), entry: fc.nat(5), part: fc.nat(2) }),
    fc.record({ type: fc.constant('part' as const), entry: fc.nat(5), part: fc.nat(2), leaf: fc.nat(2) }),
    fc.tuple(fc.nat(5), fc.nat(2), fc.nat(9), fc.nat(9)).map(([entry, part, start, length]) => {
      return { type: 'part' as const, entry, part, leaf: 0, span: [start, start + length] as [number, number] }
    }),
  )
  const mirror = { disjoint: 'disjoint', same: 'same', inside: 'around', around: 'inside', overlapping: 'overlapping' }
  fc.assert(fc.property(target, target, (a, b) => assert.equal(relate(a, b), mirror[relate(b, a)])))
})

function edit(id: string, target: Target, replacement: Edit['replacement']): Edit {
  return { id, target, replacement, by: 'user', why: 'test', saved: 0 }
}

function toEdit(messages: readonly Message[], { kind, where, text }: Pick): Omit<Edit, 'id'>[] {
  const [a = 0, b = 0, c = 0, d = 0] = where
  const entry = Math.floor(a * messages.length)
  const rest = { by: 'user' as const, why: 'generated', saved: 0 }
  const inserted = { messages: [{ role: 'user' as const, parts: [{ type: 'text' as const, text: `[${text}]` }] }] }
  if (kind === 'range')
    return legalRange(messages, entry, b).map(target => ({ target, replacement: inserted, ...rest }))
  if (kind === 'insert')
    return isBoundary(messages, entry)
      ? [{ target: { type: 'after', entry: entry }, replacement: inserted, ...rest }]
      : []
  const { parts } = messages[entry]!
  const part = Math.floor(b * parts.length)
  const chosen = parts[part]
  if (!chosen || chosen.type === 'raw' || chosen.type === 'reasoning') return []
  if (kind === 'part') {
    const replacement = chosen.type === 'tool-call' ? { input: { text } } : text
    return [{ target: { type: 'part', entry, part }, replacement, ...rest }]
  }
  const leaves = leavesOf(chosen)
  const leaf = Math.floor(c * leaves.length)
  if (leaves[leaf] === undefined) return []
  if (kind === 'leaf') return [{ target: { type: 'part', entry, part, leaf }, replacement: text, ...rest }]
  if (kind === 'add') {
    // The end is twice as likely as any other place, because ids are there.
    const at = d < 0.3 ? leaves[leaf].length : characterStart(leaves[leaf], Math.floor(d * (leaves[leaf].length + 1)))
    return [{ target: { type: 'part', entry, part, leaf, span: [at, at] }, replacement: text, ...rest }]
  }
  // A session refuses an edit of half a character.
  const start = characterStart(leaves[leaf], Math.floor(d * leaves[leaf].length))
  const end = characterStart(leaves[leaf], Math.min(leaves[leaf].length, start + 1 + Math.floor(c * 10)))
  return start < end
    ? [{ target: { type: 'part', entry, part, leaf, span: [start, end] }, replacement: text, ...rest }]
    : []
}

/** A range of whole steps, so that no call is separated from its result. */
function legalRange(messages: readonly Message[], from: number, length: number): Target[] {
  const to = Math.min(messages.length - 1, from + Math.floor(length * 5))
  if (messages[from]!.role === 'tool' || !isBoundary(messages, to)) return []
  if (messages[from]!.role === 'assistant' && messages[from - 1]?.role === 'assistant') return []
  return [{ type: 'range', from, to }]
}

/** Whether another message may follow: no result is missing. */
function isBoundary(messages: readonly Message[], index: number): boolean {
  const next = messages[index + 1]
  if (next?.role === 'tool' || next?.role === 'assistant') return false
  return messages[index]!.role !== 'assistant' || callsIn(messages[index]!).length === 0
}

/** The edits, in order, that overlap no earlier one; numbered. */
function laminar(edits: readonly Omit<Edit, 'id'>[]): Edit[] {
  const kept: Edit[] = []
  for (const candidate of edits) {
    if (kept.some(other => relate(candidate.target, other.target) === 'overlapping')) continue
    kept.push({ ...candidate, id: `e${kept.length + 1}` })
  }
  return kept
}
