/** Text hidden by the user: only the user's edits hide it, while they are in force, and only their targets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Edit, Message, Part, Target } from '../../src/model/types.ts'
import { applyEvent, createFold, type Fold } from '../../src/view/fold.ts'
import {
  coveredPart,
  HIDDEN,
  hiddenByUser,
  hiddenUpTo,
  hiderIn,
  withoutHidden,
  withoutHiddenTexts,
} from '../../src/view/hidden.ts'

const message: Message = {
  role: 'assistant',
  parts: [
    { type: 'text', text: 'secret' },
    { type: 'text', text: 'open' },
  ],
}
const part = (entry: number, index: number): Target => ({ type: 'part', entry, part: index })

function foldWith(target: Target, by: Edit['by'] = 'user'): Fold {
  const fold = createFold(words => words.length)
  for (let seq = 0; seq < 4; seq++) applyEvent(fold, { type: 'entry', message }, { seq, at: seq })
  const replacement = target.type === 'part' ? '-' : { messages: [] }
  const edits = [{ id: 'e1', target, replacement, by, why: 'test', saved: 0 }]
  applyEvent(fold, { type: 'edit', edits }, { seq: 4, at: 4 })
  return fold
}

/** The places that are hidden, as entry.part; each is checked alone and with many others. */
function hiddenIn(fold: Fold): string[] {
  const hider = hiderIn(fold)
  return [0, 1, 2, 3].flatMap(entry => {
    assert.equal(hider(entry), hiddenByUser(fold, entry))
    return [0, 1].flatMap(at => {
      const found = hiddenByUser(fold, entry, at)
      assert.equal(hider(entry, at), found)
      return found ? `${entry}.${at}` : []
    })
  })
}

test('a part is hidden alone, an entry and a range with all their parts, an insertion hides nothing', () => {
  assert.deepEqual(hiddenIn(foldWith(part(1, 0))), ['1.0'])
  assert.deepEqual(hiddenIn(foldWith({ type: 'entry', entry: 1 })), ['1.0', '1.1'])
  assert.deepEqual(hiddenIn(foldWith({ type: 'range', from: 1, to: 2 })), ['1.0', '1.1', '2.0', '2.1'])
  assert.deepEqual(hiddenIn(foldWith({ type: 'after', entry: 1 })), [])
})

test('only what the user edited is hidden, and only until it is undone', () => {
  assert.deepEqual(hiddenIn(foldWith(part(1, 0), 'policy:thrifty')), [])
  const fold = foldWith(part(1, 0))
  applyEvent(fold, { type: 'revert', edits: ['e1'], by: 'user' }, { seq: 5, at: 5 })
  assert.deepEqual(hiddenIn(fold), [])
})

test('an entry without a part, and the entries up to one, are checked as a whole', () => {
  const fold = foldWith(part(1, 1))
  assert.deepEqual(
    [0, 1, 2].map(entry => hiddenByUser(fold, entry)?.id),
    [undefined, 'e1', undefined],
  )
  assert.deepEqual(
    [0, 1, 2].map(entry => hiddenUpTo(fold, entry)?.id),
    [undefined, 'e1', 'e1'],
  )
  assert.equal(hiddenUpTo(foldWith({ type: 'after', entry: 0 }), 3), undefined)
})

test('a message has a mark in place of hidden parts, and is the same object if nothing is hidden', () => {
  const fold = foldWith(part(1, 0))
  assert.equal(withoutHidden(fold, 0, message), message)
  assert.deepEqual(withoutHidden(fold, 1, message).parts, [{ type: 'text', text: HIDDEN }, message.parts[1]])
})

test('of a hidden part only the ids that join calls and results remain', () => {
  const call: Part = { type: 'tool-call', id: 'c', name: 'bash', input: { command: 'secret' } }
  const result: Part = { type: 'tool-result', id: 'c', name: 'bash', output: 'secret', isError: true }
  assert.deepEqual(coveredPart(call), { type: 'tool-call', id: 'c', name: 'bash', input: { hidden: HIDDEN } })
  assert.deepEqual(coveredPart(result), { type: 'tool-result', id: 'c', name: 'bash', output: HIDDEN })
  const others: Part[] = [
    { type: 'reasoning', text: 'secret' },
    { type: 'image', mediaType: 'image/png', data: 'AA' },
  ]
  for (const other of others) assert.deepEqual(coveredPart(other), { type: 'text', text: HIDDEN })
})

test('an agent is told the text of an edit only where it is in view, or where nothing is hidden', () => {
  const told = (target: Target, later: Target, by: Edit['by'] = 'user') => {
    const fold = foldWith(target, 'agent')
    const replacement = later.type === 'part' ? '-' : { messages: [] }
    const edits: Edit[] = [{ id: 'e2', target: later, replacement, by, why: 'private', saved: 0 }]
    applyEvent(fold, { type: 'edit', edits }, { seq: 5, at: 5 })
    const all = [...fold.records.values()].map(({ edit }) => edit)
    return withoutHiddenTexts(fold, all).map(({ why }) => why)
  }
  const range: Target = { type: 'range', from: 0, to: 2 }
  for (const later of [part(1, 0), { type: 'entry', entry: 1 }, range] as const)
    assert.deepEqual(told(part(1, 0), later), [HIDDEN, 'private'])
  assert.deepEqual(told({ type: 'entry', entry: 1 }, range), [HIDDEN, 'private'])
  assert.deepEqual(told({ type: 'after', entry: 1 }, range), [HIDDEN, 'private'])
  assert.deepEqual(told(range, part(1, 0)), ['test', HIDDEN], 'the one that is shown')
  assert.deepEqual(told(part(1, 0), part(1, 1)), ['test', 'private'], 'another part')
  assert.deepEqual(told({ type: 'after', entry: 1 }, part(1, 0)), ['test', 'private'], 'an insertion is in view')
  assert.deepEqual(told(part(3, 0), range), ['test', 'private'], 'another entry')
  assert.deepEqual(told(part(1, 0), range, 'policy:thrifty'), ['test', 'private'], 'nothing is hidden by the user')
  const fold = foldWith(part(1, 0))
  applyEvent(fold, { type: 'revert', edits: ['e1'], by: 'user' }, { seq: 5, at: 5 })
  assert.equal(withoutHiddenTexts(fold, [fold.records.get('e1')!.edit])[0]!.why, 'test', 'hidden no more')
})

test('an agent is told the text of an undone edit unless the user has hidden its place since', () => {
  const told = (target: Target, ...hidden: Target[]) => {
    const fold = foldWith(target, 'agent')
    applyEvent(fold, { type: 'revert', edits: ['e1'], by: 'user' }, { seq: 5, at: 5 })
    const edits = hidden.map((place, i): Edit => {
      const replacement = place.type === 'part' ? '-' : { messages: [] }
      return { id: `by user ${i}`, target: place, replacement, by: 'user', why: 'private', saved: 0 }
    })
    applyEvent(fold, { type: 'edit', edits }, { seq: 6, at: 6 })
    return withoutHiddenTexts(fold, [fold.records.get('e1')!.edit])[0]!.why
  }
  const range: Target = { type: 'range', from: 1, to: 2 }
  const entry: Target = { type: 'entry', entry: 1 }
  const covered: [Target, ...Target[]][] = [
    [part(1, 0), part(1, 0)],
    [part(1, 0), part(3, 0), part(1, 0)],
    [part(1, 0), range],
    [part(2, 0), range],
    [part(1, 1), entry],
    [entry, part(1, 1)],
    [range, part(2, 0)],
  ]
  for (const [target, ...hidden] of covered) assert.equal(told(target, ...hidden), HIDDEN, JSON.stringify(hidden))
  const open: [Target, Target][] = [
    [part(1, 0), part(1, 1)],
    [part(0, 0), range],
    [part(3, 0), range],
    [part(2, 0), part(1, 0)],
    [entry, part(0, 0)],
  ]
  for (const [target, hidden] of open) assert.equal(told(target, hidden), 'test', JSON.stringify([target, hidden]))
})
