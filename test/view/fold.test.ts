/** The fold from outside: what it refuses, counts and undoes. The laws are in test/laws. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Edit, Event, Message, Target } from '../../src/model/types.ts'
import * as views from '../../src/view/fold.ts'
import { count, withoutMarks } from '../laws/law.ts'
import { session as anySession } from '../laws/sessions.ts'
import { says, user } from '../policies/talk.ts'
import * as fc from '../property.ts'

const range = (from: number, to: number): Target => ({ type: 'range', from, to })
const part = (entry: number, index = 0): Target => ({ type: 'part', entry, part: index })

function edit(id: string, target: Target, replacement: Edit['replacement'] = { messages: [user('so far')] }): Edit {
  return { id, target, replacement, by: 'user', why: 'test', saved: 0 }
}

function foldOf(messages: readonly Message[]): views.Fold {
  const fold = views.createFold(count)
  for (const [seq, message] of messages.entries()) views.applyEvent(fold, { type: 'entry', message }, { seq, at: seq })
  return fold
}

const put = (fold: views.Fold, event: Event) => views.applyEvent(fold, event, { seq: 99, at: 0 })
const apply = (fold: views.Fold, ...edits: Edit[]) => put(fold, { type: 'edit', edits })
const texts = (fold: views.Fold) =>
  views.shown(fold).map(({ parts }) => parts.map(one => (one.type === 'text' ? one.text : one.type)).join('|'))

const four = [user('a'), says('b'), user('c'), says('d')]

describe('a target outside the session', () => {
  const bad: Target[] = [
    range(0, 4),
    range(-1, 2),
    range(2, 1),
    range(0.5, 2),
    range(0, 2.5),
    range(Number.NaN, 2),
    part(4),
    part(-1),
    { type: 'after', entry: 4 },
    { type: 'entry', entry: 4 },
  ]
  for (const target of bad) {
    test(`is refused and changes nothing: ${JSON.stringify(target)}`, () => {
      const fold = foldOf(four)
      const { version, edited } = fold
      assert.throws(() => apply(fold, edit('e1', target)), { code: 'ENTRY_NOT_FOUND', message: /0–3/ })
      assert.deepEqual(texts(fold), ['a', 'b', 'c', 'd'])
      assert.deepEqual([fold.version, fold.edited, fold.records.size], [version, edited, 0])
    })
  }

  test('is refused together with the valid edits of its batch', () => {
    const fold = foldOf(four)
    assert.throws(() => apply(fold, edit('e1', part(0), 'x'), edit('e2', range(3, 4))), { code: 'ENTRY_NOT_FOUND' })
    assert.deepEqual(texts(fold), ['a', 'b', 'c', 'd'])
    assert.equal(fold.records.size, 0)
  })

  test('is named: one entry by its number, several by the first and the last', () => {
    assert.throws(() => apply(foldOf(four), edit('e1', part(9))), { message: /names 9\.$/ })
    assert.throws(() => apply(foldOf(four), edit('e1', range(3, 9))), { message: /names 3–9\.$/ })
  })

  test('does not include the first and the last entry', () => {
    const fold = foldOf(four)
    apply(fold, edit('e1', range(0, 3)))
    assert.deepEqual(texts(fold), ['so far'])
  })
})

describe('edits that overlap in part', () => {
  test('are refused within one batch and against edits in force', () => {
    const fold = foldOf(four)
    assert.throws(() => apply(fold, edit('e1', range(0, 1)), edit('e2', range(1, 2))), { code: 'EDITS_OVERLAP' })
    const three = [edit('e1', range(0, 1)), edit('e2', range(3, 3)), edit('e3', range(1, 2))]
    assert.throws(() => apply(fold, ...three), { code: 'EDITS_OVERLAP', message: /e3 .* and e1 / })
    apply(fold, edit('e1', range(0, 1)))
    assert.throws(() => apply(fold, edit('e2', range(1, 2))), { code: 'EDITS_OVERLAP' })
    const spans = foldOf([user('abcdefgh')])
    const span = (from: number, to: number): Target => ({ type: 'part', entry: 0, part: 0, leaf: 0, span: [from, to] })
    apply(spans, edit('e1', span(0, 4), 'X'))
    assert.throws(() => apply(spans, edit('e2', span(2, 6), 'Y')), { code: 'EDITS_OVERLAP' })
    apply(spans, edit('e2', span(4, 6), 'Y'))
    assert.deepEqual(texts(spans), ['XYgh'])
  })
})

describe('a record', () => {
  test('says whether an edit is in force, its group and its event', () => {
    const fold = foldOf(four)
    apply(fold, edit('e1', part(0), 'x'), edit('e2', part(1), 'y'))
    apply(fold, edit('e3', part(2), 'z'))
    put(fold, { type: 'revert', edits: ['e2'], by: 'user' })
    const all = [...fold.records.values()].map(({ edit: { id }, active, group, seq }) => [id, active, group, seq])
    assert.deepEqual(all, [
      ['e1', true, 0, 99],
      ['e2', false, 0, 99],
      ['e3', true, 1, 99],
    ])
    assert.deepEqual(
      [...views.activeEdits(fold)].map(({ id }) => id),
      ['e1', 'e3'],
    )
  })

  test('is not undone twice, redone in force, or found under another name', () => {
    const fold = foldOf(four)
    apply(fold, edit('e1', part(0), 'x'))
    assert.throws(() => put(fold, { type: 'reapply', edits: ['e1'], by: 'user' }), {
      code: 'ALREADY',
      message: /in force/,
    })
    put(fold, { type: 'revert', edits: ['e1'], by: 'user' })
    assert.throws(() => put(fold, { type: 'revert', edits: ['e1'], by: 'user' }), {
      code: 'ALREADY',
      message: /undone/,
    })
    assert.throws(() => put(fold, { type: 'revert', edits: ['e9'], by: 'user' }), { code: 'EDIT_NOT_FOUND' })
    assert.deepEqual(texts(fold), ['a', 'b', 'c', 'd'])
    assert.equal(views.recordOf(fold, 'e1').active, false)
  })
})

describe('the entries of a fold', () => {
  test('have a last one of the user, a last one of the assistant, and places of reasoning', () => {
    const fold = foldOf([])
    assert.deepEqual([fold.lastUser, fold.lastAssistant], [-1, -1])
    const thought: Message = { role: 'assistant', parts: [{ type: 'reasoning', text: 'hm' }] }
    for (const [seq, message] of [user('a'), thought, user('b'), says('c'), user('d')].entries()) {
      views.applyEvent(fold, { type: 'entry', message }, { seq, at: 0 })
    }
    assert.deepEqual([fold.lastUser, fold.lastAssistant, fold.reasoning], [4, 3, [1]])
  })

  test('are in view or inside a range, and have a place for their messages', () => {
    const fold = foldOf(four)
    const two = { messages: [user('so far'), user('and more')] }
    apply(fold, edit('in', range(1, 1)), edit('out', range(0, 2), two))
    assert.deepEqual(
      [0, 1, 2, 3].map(entry => [views.isVisible(fold, entry), views.rangeAround(fold, entry)?.id]),
      [
        [false, 'out'],
        [false, 'out'],
        [false, 'out'],
        [true, undefined],
      ],
    )
    assert.deepEqual(
      [0, 2, 3].map(entry => views.indexOf(fold, entry)),
      [0, 0, 2],
    )
    put(fold, { type: 'revert', edits: ['out'], by: 'user' })
    assert.equal(views.rangeAround(fold, 1)?.id, 'in')
    assert.deepEqual(
      [0, 1, 2, 3].map(entry => views.indexOf(fold, entry)),
      [0, 1, 2, 3],
    )
  })

  test('have the right places after several edits at once', () => {
    const fold = foldOf(four)
    assert.equal(views.indexOf(fold, 3), 3)
    apply(fold, edit('e1', part(1), 'x'), edit('e2', { type: 'after', entry: 2 }))
    assert.deepEqual(texts(fold), ['a', 'x', 'c', 'so far', 'd'])
    assert.equal(views.indexOf(fold, 3), 4)
    apply(fold, edit('e3', part(1), null))
    assert.deepEqual(texts(fold), ['a', 'c', 'so far', 'd'], 'nothing is left of an entry')
    assert.equal(views.indexOf(fold, 3), 3)
  })

  test('are missing without their content, until it is provided or hidden', () => {
    const fold = views.createFold(count)
    for (let seq = 0; seq < 3; seq++) {
      views.addEntry(fold, { seq, at: 0, message: undefined, role: seq === 1 ? 'assistant' : 'user' })
    }
    assert.deepEqual(views.missing(fold), [0, 1, 2])
    assert.deepEqual(views.shown(fold), [])
    apply(fold, edit('e1', range(0, 0)))
    assert.deepEqual(views.missing(fold), [1, 2])
    views.provide(fold, 2, user('c'))
    views.provide(fold, 1, { role: 'assistant', parts: [{ type: 'reasoning', text: 'hm' }] })
    views.provide(fold, 1, { role: 'assistant', parts: [{ type: 'reasoning', text: 'hm' }] })
    assert.deepEqual(views.missing(fold), [])
    assert.deepEqual(fold.reasoning, [1])
    assert.deepEqual(texts(fold), ['so far', 'reasoning', 'c'])
  })

  test('keep the order of reasoning that is provided late', () => {
    const fold = views.createFold(count)
    for (let seq = 0; seq < 4; seq++) views.addEntry(fold, { seq, at: 0, message: undefined, role: 'assistant' })
    const thought: Message = { role: 'assistant', parts: [{ type: 'reasoning', text: 'hm' }, ...says('so').parts] }
    for (const entry of [2, 0, 3, 1]) views.provide(fold, entry, thought)
    assert.deepEqual(fold.reasoning, [0, 1, 2, 3])
  })

  test('can be pinned whole or by part', () => {
    const fold = foldOf(four)
    const { edited } = fold
    assert.equal(views.isPinned(fold, 1), false)
    put(fold, { type: 'pin', entry: 1, on: true, by: 'user' })
    put(fold, { type: 'pin', entry: 2, part: 0, on: true, by: 'user' })
    assert.equal(fold.edited, edited + 2)
    assert.deepEqual(
      [views.isPinned(fold, 1), views.isPinned(fold, 1, 7), views.isPinned(fold, 2), views.isPinned(fold, 2, 0)],
      [true, true, false, true],
    )
    assert.deepEqual([views.isPinned(fold, 2, 1), views.isPinned(fold, 0, 0)], [false, false])
    put(fold, { type: 'pin', entry: 3, part: 1, on: true, by: 'user' })
    assert.deepEqual(
      [views.isPinned(fold, 3), views.isPinned(fold, 3, 0), views.isPinned(fold, 3, 1)],
      [false, false, true],
    )
    put(fold, { type: 'pin', entry: 1, on: false, by: 'user' })
    assert.equal(views.isPinned(fold, 1), false)
  })
})

describe('counts', () => {
  test('of some entries do not count all of them', () => {
    const [one, both] = [foldOf([user('a'.repeat(40))]), foldOf([user('a'.repeat(40)), says('b')])]
    assert.equal(views.tokensOf(both, 0, 0), views.shownTokens(one))
  })

  const bytesOf = (fold: views.Fold) =>
    views
      .shown(fold)
      .reduce((sum, { parts }) => sum + parts.reduce((n, one) => n + (one.type === 'text' ? one.text.length : 0), 0), 0)

  test('of tokens and bytes change with every edit and undo', () => {
    const fold = foldOf([user('a'.repeat(400)), says('b'.repeat(800)), user('c'.repeat(40))])
    const all = views.shownTokens(fold)
    const bytes = views.shownBytes(fold)
    assert.ok(bytes >= 1240 && bytes < 1400, `${bytes}`)
    const each = [0, 1, 2].map(entry => views.tokensOf(fold, entry, entry))
    assert.deepEqual([all, views.tokensOf(fold, 0, 1)], [each[0]! + each[1]! + each[2]!, each[0]! + each[1]!])
    apply(fold, edit('e1', part(1), 'b'.repeat(80)))
    assert.equal(views.shownTokens(fold), all - 180)
    assert.equal(views.shownBytes(fold), bytes - 720)
    assert.equal(views.tokensOf(fold, 1, 1), each[1]! - 180)
    apply(fold, edit('e2', range(0, 1)))
    assert.equal(
      views.tokensOf(fold, 0, 0),
      views.tokensOf(fold, 1, 1),
      'what stands for a range stands for each entry',
    )
    assert.equal(bytesOf(fold), 'so far'.length + 40)
    put(fold, { type: 'revert', edits: ['e1', 'e2'], by: 'user' })
    assert.deepEqual([views.shownTokens(fold), views.shownBytes(fold)], [all, bytes])
  })
})

describe('versions', () => {
  test('grow with every change to the view, and with edits and pins', () => {
    const fold = foldOf(four)
    const before = { version: fold.version, edited: fold.edited }
    views.applyEvent(fold, { type: 'entry', message: user('e') }, { seq: 4, at: 0 })
    assert.ok(fold.version > before.version)
    assert.equal(fold.edited, before.edited)
    const { version } = fold
    apply(fold, edit('e1', part(0), 'x'))
    assert.ok(fold.version > version && fold.edited > before.edited)
    const same = { version: fold.version, edited: fold.edited }
    put(fold, { type: 'usage', usage: { input: 1 } })
    put(fold, { type: 'decision', text: 'nothing' })
    assert.deepEqual({ version: fold.version, edited: fold.edited }, same)
  })

  test('have the first changed message in changedFrom', () => {
    const fold = foldOf(four)
    fold.changedFrom = Number.POSITIVE_INFINITY
    apply(fold, edit('e1', part(2), 'x'))
    assert.equal(fold.changedFrom, 2)
    apply(fold, edit('e2', part(3), 'y'))
    assert.equal(fold.changedFrom, 2)
    fold.changedFrom = Number.POSITIVE_INFINITY
    views.applyEvent(fold, { type: 'entry', message: user('e') }, { seq: 4, at: 0 })
    assert.equal(fold.changedFrom, 4)
    apply(fold, edit('e3', { type: 'after', entry: 1 }))
    assert.equal(fold.changedFrom, 2, 'the entry before an insertion is the same')
    apply(fold, edit('e4', range(0, 0)))
    assert.equal(fold.changedFrom, 0)
  })
})

describe('the changes since a caller last looked', () => {
  const seenOf = (fold: views.Fold) => ({ entries: fold.entries.length, touches: fold.touched.length })

  test('are the new messages, and the earlier stretches that edits and pins touched, in order', () => {
    const fold = foldOf(four)
    const seen = seenOf(fold)
    assert.deepEqual(views.changedSince(fold, seen), { from: 4, changed: [] })
    apply(fold, edit('e1', part(2), 'x'))
    put(fold, { type: 'pin', entry: 0, on: true, by: 'user' })
    put(fold, { type: 'entry', message: user('e') })
    apply(fold, edit('e2', part(4), 'y'))
    assert.deepEqual(views.changedSince(fold, seen), {
      from: 4,
      changed: [
        { from: 0, to: 1 },
        { from: 2, to: 3 },
      ],
    })
    assert.deepEqual(views.changedSince(fold, seenOf(fold)), { from: 5, changed: [] })
  })

  test('are given as places in the present view', () => {
    const fold = foldOf(four)
    const seen = seenOf(fold)
    apply(fold, edit('e1', range(0, 1), { messages: [user('so'), user('far'), user('here')] }))
    apply(fold, edit('e2', { type: 'after', entry: 3 }))
    assert.deepEqual(views.changedSince(fold, seen), {
      from: 6,
      changed: [
        { from: 0, to: 3 },
        { from: 4, to: 6 },
      ],
    })
    assert.deepEqual(
      views.outerRanges(fold).map(({ id }) => id),
      ['e1'],
    )
    assert.equal(views.peek(fold).length, 6)
  })
})

test('nearby edits change one stretch, distant edits change separate ones', () => {
  const changedBy = (...entries: number[]) => {
    const fold = foldOf(Array.from({ length: 20 }, (_, i) => says(`${i}`)))
    apply(fold, edit('far', range(18, 19)))
    const seen = { entries: fold.entries.length, touches: fold.touched.length }
    apply(fold, ...entries.map(entry => edit(`e${entry}`, part(entry), 'x')))
    return views.changedSince(fold, seen).changed.map(({ from, to }) => [from, to])
  }
  assert.deepEqual(changedBy(10, 12, 11), [[10, 13]])
  assert.deepEqual(changedBy(10, 17), [[10, 18]])
  assert.deepEqual(changedBy(17, 0), [
    [0, 1],
    [17, 18],
  ])
  assert.deepEqual(
    changedBy(1, 9),
    [
      [1, 2],
      [9, 10],
    ],
    'four entries for each edit are far',
  )
})

test('a text that was replaced before the first count is not counted', () => {
  const fold = foldOf(four)
  apply(fold, edit('e1', range(0, 1)), edit('e2', part(2), 'x'))
  const other = foldOf([user('so far'), user('x'), says('d')])
  assert.deepEqual(
    [views.shownTokens(fold), views.shownBytes(fold)],
    [views.shownTokens(other), views.shownBytes(other)],
  )
})

describe('an event that is tried', () => {
  const twice = () => {
    const fold = foldOf(four)
    apply(fold, edit('e1', part(0), 'first'))
    apply(fold, edit('e2', part(0), 'second'))
    return fold
  }

  test('and reversed leaves the order of edits as it was', () => {
    for (const id of ['e1', 'e2']) {
      const fold = twice()
      views.tryEvent(fold, { type: 'revert', edits: [id], by: 'user' }, 9)()
      assert.deepEqual(texts(fold)[0], 'second')
      put(fold, { type: 'revert', edits: ['e2'], by: 'user' })
      assert.deepEqual(texts(fold)[0], 'first')
    }
  })

  test('and reversed is not counted among the groups', () => {
    const fold = twice()
    views.tryEvent(fold, { type: 'edit', edits: [edit('e3', part(1), 'x')] }, 9)()
    apply(fold, edit('e4', part(1), 'y'))
    assert.deepEqual(
      [...fold.records.values()].map(({ edit: { id }, group }) => [id, group]),
      [
        ['e1', 0],
        ['e2', 1],
        ['e4', 2],
      ],
    )
  })

  test('with several nested edits is reversed whole', () => {
    const saying = (words: string) => ({ messages: [user(words)] })
    const front = edit('front', range(0, 3), saying('a–d'))
    const cases: [before: Edit[], inner: Target, outer: Target, shown: string[], without: string[]][] = [
      [[], range(1, 2), range(0, 3), ['out', 'e', 'f', 'g'], ['a', 'in', 'd', 'e', 'f', 'g']],
      [[front], range(4, 4), range(4, 5), ['a–d', 'out', 'g'], ['a–d', 'in', 'f', 'g']],
      [[front], range(5, 5), range(4, 5), ['a–d', 'out', 'g'], ['a–d', 'e', 'in', 'g']],
    ]
    for (const [before, inner, outer, shown, without] of cases) {
      const fold = foldOf([...four, user('e'), says('f'), user('g')])
      apply(fold, ...before, edit('in', inner, saying('in')), edit('out', outer, saying('out')))
      views.tryEvent(fold, { type: 'revert', edits: ['in', 'out'], by: 'user' }, 9)()
      assert.deepEqual(texts(fold), shown)
      put(fold, { type: 'revert', edits: ['out'], by: 'user' })
      assert.deepEqual(texts(fold), without)
    }
  })

  test('is refused if it names no edit', () => {
    const undo = () => views.tryEvent(foldOf(four), { type: 'revert', edits: ['e9'], by: 'user' }, 9)
    assert.throws(undo, { code: 'EDIT_NOT_FOUND' })
  })
})

test('edits that put calls into the view and clears by the provider are counted, undone ones included', () => {
  const fold = foldOf(four)
  assert.deepEqual([fold.callsInEdits, fold.serverClears], [0, 0])
  const calling: Message = { role: 'assistant', parts: [{ type: 'tool-call', id: 'c', name: 'bash', input: {} }] }
  apply(fold, edit('e1', range(0, 0)), edit('e2', range(1, 1), { messages: [user('a'), calling] }))
  apply(fold, { ...edit('e3', part(2), '-'), mark: 'server' }, edit('e4', part(3), '-'))
  put(fold, { type: 'revert', edits: ['e2', 'e3'], by: 'user' })
  assert.deepEqual([fold.callsInEdits, fold.serverClears], [1, 1])
})

test('an event that is tried and reversed leaves no trace, on any session', () => {
  const attempt = fc.tuple(
    anySession,
    fc.array(fc.tuple(fc.nat(), fc.nat(3), fc.boolean()), { minLength: 1, maxLength: 8 }),
  )
  let [sessions, taken] = [0, 0]
  fc.assert(
    fc.property(attempt, ([messages, picks]) => {
      const fold = foldOf(messages)
      sessions++
      for (const [n, [at, more, keep]] of picks.entries()) {
        const from = at % messages.length
        const to = Math.min(messages.length - 1, from + more)
        const before = stateOf(fold)
        const records = [...fold.records.values()].filter(({ active }) => active === (more % 2 === 0))
        const chosen = records[at % Math.max(1, records.length)]?.edit.id
        const event: Parameters<typeof views.tryEvent>[1] =
          chosen === undefined
            ? { type: 'edit', edits: [edit(`e${n}`, range(from, to)), edit(`f${n}`, { type: 'after', entry: to })] }
            : { type: more % 2 === 0 ? 'revert' : 'reapply', edits: [chosen], by: 'user' }
        const takeBack = tried(fold, event)
        if (!takeBack) {
          assert.deepEqual(stateOf(fold), before, 'an event that is refused changes nothing')
          continue
        }
        if (keep) continue
        takeBack()
        taken++
        assert.deepEqual(stateOf(fold), before)
      }
    }),
    { numRuns: 150 },
  )
  // 100 in 150 sessions; a fuzz may have tried few.
  assert.ok(taken > sessions - 50, `${taken} events were taken back in ${sessions} sessions`)
})

function tried(fold: views.Fold, event: Parameters<typeof views.tryEvent>[1]): (() => void) | undefined {
  try {
    return views.tryEvent(fold, event, 99)
  } catch {
    return undefined
  }
}

function stateOf(fold: views.Fold) {
  return {
    messages: structuredClone(views.shown(fold)),
    tokens: views.shownTokens(fold),
    bytes: views.shownBytes(fold),
    records: [...fold.records.values()].map(({ edit: { id }, active, group }) => [id, active, group]),
    where: fold.entries.map((_, entry) => [views.indexOf(fold, entry), views.isVisible(fold, entry)]),
  }
}

test('a range of more messages than a function takes arguments is shown whole', () => {
  const fold = foldOf(four)
  const messages = Array.from({ length: 150_000 }, (_, i) => user(`${i}`))
  apply(fold, edit('e1', range(1, 2), { messages }))
  assert.deepEqual(withoutMarks(views.shown(fold)), [four[0], ...messages, four[3]])
  assert.equal(views.indexOf(fold, 3), 150_001)
})
