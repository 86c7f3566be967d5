/** The map of a small session, bar by bar, now and before each call. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Edit, Event, Message, Part, Target } from '../../src/model/types.ts'
import { applyEvent, createFold } from '../../src/view/fold.ts'
import { type Bar, PartMap } from '../../src/view/part-map.ts'
import { bash, read, says, step, user } from '../policies/talk.ts'

const text = (words: string): Part => ({ type: 'text', text: words })
const range = (from: number, to: number): Target => ({ type: 'range', from, to })
const part = (entry: number, index = 0): Target => ({ type: 'part', entry, part: index })
const summary = (words: string) => ({ messages: [user(words)] })

function edit(id: string, target: Target, replacement: Edit['replacement']): Edit {
  return { id, target, replacement, by: 'user', why: 'test', saved: 0 }
}

function mapOf(...messages: Message[]) {
  const fold = createFold(words => words.length)
  const map = new PartMap(fold)
  let seq = 0
  const take = (event: Event) => applyEvent(fold, event, { seq: seq++, at: 0 })
  const add = (message: Message) => {
    take({ type: 'entry', message })
    return map.add(message)
  }
  const tokens = messages.map(add)
  return {
    map,
    tokens,
    apply(call: number, ...edits: Edit[]) {
      take({ type: 'edit', edits })
      map.follow(edits, call)
    },
    undo(call: number, ...edits: Edit[]) {
      take({ type: 'revert', edits: edits.map(({ id }) => id), by: 'user' })
      map.follow(edits, call)
    },
    redo(call: number, ...edits: Edit[]) {
      take({ type: 'reapply', edits: edits.map(({ id }) => id), by: 'user' })
      map.follow(edits, call)
    },
    at: (call: number, entries = messages.length) => [...map.bars(entries, call)],
  }
}

/** Each bar as its place, its shown tokens, and its edits. */
const stand = (bars: readonly Bar[]) =>
  bars.map(({ entry, part: index, shown, edits }) => [`${entry}.${index ?? '+'}`, shown, edits.join()].join(' ').trim())

describe('a bar', () => {
  test('has the speaker, or what the tool does and to which subject', () => {
    const image: Part = { type: 'image', mediaType: 'image/png', data: 'AA' }
    const odd: Message = { role: 'assistant', parts: [{ type: 'reasoning', text: 'well\n then' }, text('so'), image] }
    const prompt: Message = { ...user('be brief'), role: 'system' }
    const told: Message = { role: 'tool', parts: [text('beside results')] }
    const search = step({ name: 'grep', input: { pattern: 'needle' }, output: 'found' })
    const all = [prompt, odd, ...read('/a.ts', 'x'), ...bash('make', 'ok'), ...search, told]
    const bars = mapOf(...all).at(0)
    assert.deepEqual(
      bars.map(({ role, kind, tool, path, label }) => [role, kind, tool, path, label]),
      [
        ['system', 'system', undefined, undefined, 'be brief'],
        ['assistant', 'reasoning', undefined, undefined, 'well then'],
        ['assistant', 'assistant', undefined, undefined, 'so'],
        ['assistant', 'image', undefined, undefined, 'image/png'],
        ['assistant', 'read', 'read_file', '/a.ts', '/a.ts'],
        ['tool', 'read', 'read_file', '/a.ts', '/a.ts'],
        ['assistant', 'shell', 'bash', undefined, 'make'],
        ['tool', 'shell', 'bash', undefined, 'make'],
        ['assistant', 'search', 'grep', undefined, 'needle'],
        ['tool', 'search', 'grep', undefined, 'needle'],
        ['tool', 'other', undefined, undefined, 'beside results'],
      ],
    )
  })

  test('has the beginning of its text as its label, on one line and shortened', () => {
    const [first, second] = mapOf(user(`${'many\n words '.repeat(100)}`), user('few words')).at(0)
    assert.equal(second!.label, 'few words')
    assert.ok(first!.label.startsWith('many words many words') && !first!.label.includes('\n'))
    assert.ok(first!.label.length > 90 && first!.label.length <= 100, `${first!.label.length}`)
  })

  test('has the tokens of the original, which add up to those of its entry', () => {
    const { at, tokens } = mapOf({ role: 'user', parts: [text('ab'), text('cde')] }, says('f'))
    assert.deepEqual(
      at(0).map(({ raw, shown }) => [raw, shown]),
      [
        [2, 2],
        [3, 3],
        [1, 1],
      ],
    )
    assert.deepEqual(tokens, [5, 1])
    assert.deepEqual(stand(at(0, 1)), ['0.0 2', '0.1 3'], 'of the first entries alone')
    assert.deepEqual(stand(at(0, 9)).length, 3)
  })
})

describe('an edit', () => {
  test('shows from the first call after it was made to the last call before it was undone', () => {
    const { apply, undo, at } = mapOf(user('abcd'), says('efgh'))
    const shorter = edit('e1', part(0), 'x')
    apply(1, shorter)
    undo(3, shorter)
    assert.deepEqual(
      [0, 1, 2, 3, 4].map(call => stand(at(call))[0]),
      ['0.0 4', '0.0 1 e1', '0.0 1 e1', '0.0 4', '0.0 4'],
    )
    assert.deepEqual(stand(at(2))[1], '1.0 4', 'of the other entry nothing changes')
  })

  test('leaves no trace if it is made and undone before the same call', () => {
    const { apply, undo, at } = mapOf(user('abcd'))
    const shorter = edit('e1', part(0), 'x')
    apply(1, shorter)
    undo(1, shorter)
    assert.deepEqual(stand(at(1)), ['0.0 4'])
  })

  test('shows nothing of a part that it drops, and is named there', () => {
    const { apply, at } = mapOf({ role: 'user', parts: [text('ab'), text('cde')] })
    apply(1, edit('e1', part(0, 1), null))
    assert.deepEqual(stand(at(1)), ['0.0 2', '0.1 0 e1'])
  })

  test('has its messages once after a redo, and no bar for an empty message', () => {
    const { apply, undo, redo, at } = mapOf(user('ab'), says('cd'))
    const outer = edit('e1', range(0, 0), { messages: [user('so far'), { role: 'user', parts: [] }] })
    apply(1, outer)
    const bars = ['0.+ 6 e1', '0.0 0 e1', '1.0 2']
    assert.deepEqual(stand(at(1)), bars)
    undo(2, outer)
    redo(3, outer)
    assert.deepEqual([stand(at(2)), stand(at(3))], [['0.0 2', '1.0 2'], bars])
  })

  test('of a range hides its entries, and its messages come before them', () => {
    const { apply, undo, at } = mapOf(user('ab'), says('cd'), user('ef'))
    const inner = edit('e1', range(0, 0), summary('xyz'))
    const outer = edit('e2', range(0, 1), summary('so far'))
    apply(1, inner)
    apply(2, outer)
    assert.deepEqual(stand(at(1)), ['0.+ 3 e1', '0.0 0 e1', '1.0 2', '2.0 2'])
    assert.deepEqual(stand(at(2)), ['0.+ 6 e2', '0.0 0 e2', '1.0 0 e2', '2.0 2'])
    undo(3, outer)
    assert.deepEqual(stand(at(3)), stand(at(1)))
    const [bar] = at(2)
    assert.deepEqual([bar!.kind, bar!.label, bar!.raw, bar!.role], ['inserted', 'so far', 0, 'user'])
  })

  test('after an entry follows it, and shows while the entry or a range that ends there shows', () => {
    const { apply, at } = mapOf(user('ab'), says('cd'), user('ef'))
    apply(1, edit('e1', { type: 'after', entry: 1 }, summary('note')))
    assert.deepEqual(stand(at(1)), ['0.0 2', '1.0 2', '1.+ 4 e1', '2.0 2'])
    apply(2, edit('e2', range(0, 1), summary('s')))
    assert.deepEqual(stand(at(2)), ['0.+ 1 e2', '0.0 0 e2', '1.0 0 e2', '1.+ 4 e1', '2.0 2'])
    apply(3, edit('e3', range(0, 2), summary('all')))
    assert.deepEqual(stand(at(3)), ['0.+ 3 e3', '0.0 0 e3', '1.0 0 e3', '2.0 0 e3'])
  })

  test('does not show inside another one', () => {
    const { apply, at } = mapOf(user('abcdef'))
    apply(1, edit('e1', { type: 'part', entry: 0, part: 0, leaf: 0, span: [0, 2] }, 'X'))
    apply(2, edit('e2', part(0), 'whole'))
    assert.deepEqual([stand(at(1)), stand(at(2))], [['0.0 5 e1'], ['0.0 5 e2']])
  })
})

describe('a pin', () => {
  test('is of an entry with all its parts, or of one part, until it is removed', () => {
    const { map, at } = mapOf({ role: 'user', parts: [text('a'), text('b')] }, says('c'))
    const pinned = (call: number) => at(call).map(bar => bar.pinned)
    map.pin(0, undefined, { on: true, call: 1 })
    map.pin(1, 0, { on: true, call: 2 })
    map.pin(0, undefined, { on: false, call: 3 })
    assert.deepEqual([0, 1, 2, 3].map(pinned), [
      [false, false, false],
      [true, true, false],
      [true, true, true],
      [false, false, true],
    ])
    map.pin(0, 1, { on: true, call: 4 })
    assert.deepEqual(pinned(4), [false, true, true])
  })

  test('is not of messages that an edit puts beside its entry', () => {
    const { map, apply, at } = mapOf(user('a'))
    map.pin(0, undefined, { on: true, call: 0 })
    apply(1, edit('e1', { type: 'after', entry: 0 }, summary('note')))
    assert.deepEqual(
      at(1).map(bar => bar.pinned),
      [true, false],
    )
  })
})
