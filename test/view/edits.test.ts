/** The places of edits, their relations, and how an entry looks under them. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { imageStub } from '../../src/model/leaves.ts'
import type { Edit, Message, Part, PartTarget, Target } from '../../src/model/types.ts'
import {
  assertLaminar,
  contains,
  describeTarget,
  entriesOf,
  isInEntry,
  isRange,
  onlyAdds,
  outermost,
  outermostRanges,
  relate,
  renderEntry,
  savedByCall,
} from '../../src/view/edits.ts'
import { toEdit } from '../../src/view/proposal.ts'
import { user } from '../policies/talk.ts'

const range = (from: number, to: number): Target => ({ type: 'range', from, to })
const part = (entry: number, index: number, leaf?: number, span?: [number, number]): PartTarget => {
  return { type: 'part', entry, part: index, ...(leaf === undefined ? {} : { leaf }), ...(span ? { span } : {}) }
}
const after = (entry: number): Target => ({ type: 'after', entry })

let order = 0
function active<T extends Target>(target: T, replacement: Edit['replacement'] = 'X', id = `e${order}`) {
  return { id, target, replacement, by: 'user' as const, why: 'test', saved: 0, order: order++ }
}

describe('two targets', () => {
  const MIRRORED: Partial<Record<ReturnType<typeof relate>, string>> = { inside: 'around', around: 'inside' }
  const cases: [Target, Target, ReturnType<typeof relate>][] = [
    [range(0, 3), range(1, 2), 'around'],
    [range(1, 2), range(0, 3), 'inside'],
    [range(0, 3), range(0, 3), 'same'],
    [range(0, 1), range(2, 3), 'disjoint'],
    [range(0, 2), range(2, 3), 'overlapping'],
    [range(0, 2), range(0, 3), 'inside'],
    [range(1, 3), range(0, 3), 'inside'],
    [range(0, 3), range(1, 3), 'around'],
    [range(0, 3), range(0, 1), 'around'],
    [{ type: 'entry', entry: 2 }, range(2, 2), 'same'],
    [part(1, 0), { type: 'entry', entry: 1 }, 'inside'],
    [part(1, 0), part(1, 1), 'disjoint'],
    [part(1, 0, 0), part(1, 0), 'inside'],
    [part(1, 0, 0), part(1, 0, 1), 'disjoint'],
    [part(1, 0, 0, [2, 4]), part(1, 0, 0), 'inside'],
    [part(1, 0, 0, [2, 4]), part(1, 0, 0, [4, 6]), 'disjoint'],
    [part(1, 0, 0, [2, 5]), part(1, 0, 0, [4, 6]), 'overlapping'],
    [part(1, 0, 0, [4, 4]), part(1, 0, 0, [4, 6]), 'inside'],
    [part(1, 0, 0, [6, 6]), part(1, 0, 0, [4, 6]), 'inside'],
    [part(1, 0, 0, [4, 4]), part(1, 0, 0, [4, 4]), 'same'],
    [after(1), after(1), 'disjoint'],
    [after(1), range(0, 1), 'disjoint'],
    [after(1), range(0, 2), 'inside'],
    [after(1), range(2, 3), 'disjoint'],
    [after(1), part(1, 9), 'disjoint'],
  ]
  for (const [a, b, relation] of cases) {
    test(`${describeTarget(a)} is ${relation} to ${describeTarget(b)}`, () => {
      assert.equal(relate(a, b), relation)
      assert.equal(relate(b, a), MIRRORED[relation] ?? relation, 'the other way round')
    })
  }
})

test('edits that overlap in part are refused, with the names of both', () => {
  const others = [active(part(0, 0, 0, [2, 5]), 'X', 'old'), active(range(3, 6), 'X', 'cut')]
  const refused = (target: Target) =>
    assert.throws(() => assertLaminar('new', target, others), { code: 'EDITS_OVERLAP' })
  refused(part(0, 0, 0, [4, 7]))
  refused(range(2, 4))
  for (const target of [range(4, 5), range(0, 6), part(0, 0, 0, [5, 7]), part(0, 0), part(1, 0, 0, [4, 7])])
    assertLaminar('new', target, others)
  assert.throws(() => assertLaminar('new', range(2, 4), others), {
    message: /^overlapping edits: new \(entries 2–4\) and cut \(entries 3–6\)\. Choose a target that/,
  })
})

describe('a target', () => {
  test('names its entries', () => {
    assert.deepEqual({ ...entriesOf(range(2, 5)), type: 0 }, { from: 2, to: 5, type: 0 })
    assert.deepEqual(entriesOf(part(3, 1)), { from: 3, to: 3 })
    assert.deepEqual(entriesOf(after(4)), { from: 4, to: 4 })
    assert.deepEqual(
      [1, 2, 5, 6].map(entry => contains(range(2, 5), entry)),
      [false, true, true, false],
    )
  })

  test('is a range if it covers whole entries, and only adds if its span is empty', () => {
    const all = [range(0, 0), { type: 'entry', entry: 0 } as Target, part(0, 0), after(0)]
    assert.deepEqual(all.map(isRange), [true, true, false, false])
    assert.deepEqual(all.map(isInEntry), [false, true, true, false])
    const spans = [part(0, 0, 0, [3, 3]), part(0, 0, 0, [3, 4]), part(0, 0, 0), part(0, 0), range(0, 0)]
    assert.deepEqual(spans.map(onlyAdds), [true, false, false, false, false])
  })

  test('is described in words', () => {
    const all = [
      after(1),
      range(1, 2),
      { type: 'entry', entry: 1 } as Target,
      part(1, 0),
      part(1, 0, 2),
      part(1, 0, 2, [3, 4]),
    ]
    assert.deepEqual(all.map(describeTarget), [
      'after entry 1',
      'entries 1–2',
      'entry 1',
      'entry 1, part 0',
      'entry 1, part 0, text 2',
      'entry 1, part 0, text 2, characters 3–4',
    ])
  })
})

describe('an entry', () => {
  const image: Part = { type: 'image', mediaType: 'image/png', data: 'AA' }
  const message: Message = { role: 'user', parts: [{ type: 'text', text: 'abcdefghij' }, image] }

  test('without edits is the same object, and so are parts without edits', () => {
    assert.equal(renderEntry(message, []), message)
    const shown = renderEntry(message, [active(part(0, 0), 'X')])
    assert.equal(shown?.parts[1], image)
    assert.equal(shown?.role, 'user')
  })

  test('shows nothing if all its parts are dropped', () => {
    assert.equal(renderEntry(message, [active(part(0, 0), null), active(part(0, 1), null)]), undefined)
    assert.deepEqual(renderEntry(message, [active(part(0, 0), null)]), { role: 'user', parts: [image] })
  })

  test('shows a part as its last edit says, and names that edit', () => {
    const shown = renderEntry(message, [active(part(0, 0), 'one', 'a'), active(part(0, 0), 'two', 'b')])
    assert.deepEqual(shown?.parts[0], { type: 'text', text: 'two', edit: 'b' })
  })

  test('shows spans in the order of the text, whatever the order of the edits', () => {
    const late = active(part(0, 0, 0, [6, 8]), 'Y', 'late')
    const early = active(part(0, 0, 0, [1, 3]), 'X', 'early')
    const shown = renderEntry(message, [late, early])
    assert.deepEqual(shown?.parts[0], { type: 'text', text: 'aXdefYij', edit: 'early' })
  })

  test('shows a whole text in place of the spans in it', () => {
    const shown = renderEntry(message, [active(part(0, 0, 0, [1, 3]), 'X'), active(part(0, 0, 0), 'all')])
    assert.ok(shown?.parts[0]?.type === 'text' && shown.parts[0].text === 'all')
  })

  test('shows an edit of a part in place of edits of its texts, even later ones', () => {
    const whole = active(part(0, 0), 'whole', 'whole')
    const shown = renderEntry(message, [whole, active(part(0, 0, 0), 'later')])
    assert.deepEqual(shown?.parts[0], { type: 'text', text: 'whole', edit: 'whole' })
  })

  test('can have another input in a call, another output in a result, and a text in place of an image', () => {
    const call: Part = { type: 'tool-call', id: 'c', name: 'bash', input: { command: 'ls' } }
    const result: Part = { type: 'tool-result', id: 'c', name: 'bash', output: 'long' }
    const mixed: Message = { role: 'assistant', parts: [call, result, image] }
    const edits = [
      active(part(0, 0), { input: { command: '…' } }, 'a'),
      active(part(0, 1), 'short', 'b'),
      active(part(0, 2), '[image]', 'c'),
    ]
    assert.deepEqual(renderEntry(mixed, edits)?.parts, [
      { ...call, input: { command: '…' }, edit: 'a' },
      { ...result, output: 'short', edit: 'b' },
      { type: 'text', text: '[image]', edit: 'c' },
    ])
    const misplaced = renderEntry(mixed, [active(part(0, 1), { input: {} }), active(part(0, 0), { messages: [] })])
    assert.deepEqual(misplaced?.parts.slice(0, 2), [call, result], 'an input is for a call, and messages for entries')
  })

  test('mentions images that a text for a result replaces, unless the text mentions them', () => {
    const stub = imageStub({ type: 'image', mediaType: 'image/png', data: 'AA' })
    const result: Part = { type: 'tool-result', id: 'c', name: 'bash', output: [{ type: 'text', text: 'long' }, image] }
    const shown = (text: string) => {
      const [only] = renderEntry({ role: 'tool', parts: [result] }, [active(part(0, 0), text)])!.parts
      return only?.type === 'tool-result' && only.output
    }
    assert.equal(shown('short'), `short\n${stub}`)
    assert.equal(shown(''), stub)
    assert.equal(shown(`see ${stub}`), `see ${stub}`)
  })

  test('has each text of a part replaced alone, and nothing of a dropped one', () => {
    const input = { path: 'abcdef', content: 'ghijkl', mode: 'x' }
    const call: Part = { type: 'tool-call', id: 'c', name: 'write', input }
    const edits = [active(part(0, 0, 0, [2, 4]), null), active(part(0, 0, 0, [6, 6]), '!'), active(part(0, 0, 1), '-')]
    const shown = renderEntry({ role: 'assistant', parts: [call] }, edits)
    assert.deepEqual(shown?.parts, [{ ...call, input: { path: 'abef!', content: '-', mode: 'x' }, edit: edits[2]!.id }])
  })
})

describe('of a family of edits', () => {
  test('the outermost edits show', () => {
    const inner = active(part(0, 0, 0, [1, 3]))
    const outer = active(part(0, 0, 0))
    const beside = active(part(0, 1))
    assert.deepEqual(outermost([inner, outer, beside]), [outer, beside])
    assert.deepEqual(outermost([inner]), [inner])
    const again = active(part(0, 0, 0))
    assert.deepEqual(outermost([outer, again]), [again], 'the later of two with one target')
  })

  test('the outermost ranges come in the order of the entries', () => {
    const late = active(range(6, 8))
    const outer = active(range(0, 4))
    const inner = active(range(1, 2))
    const start = active(range(0, 2))
    const again = active(range(6, 8))
    const next = active(range(5, 5))
    assert.deepEqual(outermostRanges([late, outer, inner, start, again, next]), [outer, next, again])
    assert.deepEqual(outermostRanges([]), [])
  })
})

describe('what edits save', () => {
  const tokensIn = (messages: readonly Message[]) => 10 * messages.length
  const inserted = { messages: [user('a'), user('b')] }

  test('is shared by the edits of the same entries, and an insertion costs what it adds', () => {
    const edits = [active(part(0, 0)), active(part(0, 1)), active(part(1, 0)), active(after(0), inserted)]
    assert.deepEqual(savedByCall(edits, [100, 100, 30, 100], tokensIn), [60, 60, 30, -20])
  })

  test('belongs entirely to a single edit', () => {
    assert.deepEqual(savedByCall([active(range(0, 3), inserted)], [70], tokensIn), [70])
    assert.deepEqual(savedByCall([active(after(3), inserted)], [-20], tokensIn), [-20])
    assert.deepEqual(savedByCall([], [], tokensIn), [])
  })

  test('is counted separately for ranges with different ends', () => {
    const edits = [active(range(0, 3)), active(range(0, 1)), active(range(2, 3))]
    assert.deepEqual(savedByCall(edits, [9, 5, 4], tokensIn), [9, 5, 4])
  })
})

test('a proposal becomes an edit of its policy, with its mark if it has one', () => {
  const proposal = { policy: 'thrifty', target: part(0, 0), replacement: 'x', why: 'old' }
  const asked = { target: part(0, 0), replacement: 'x', why: 'old', by: 'policy:thrifty' }
  assert.deepEqual(toEdit(proposal), asked)
  assert.deepEqual(toEdit({ ...proposal, mark: 'server' }), { ...asked, mark: 'server' })
})
