import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Edit, Event, Message, Part, Target } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { applyEvent, type Fold, foldAll } from '../../src/view/fold.ts'
import {
  activeClears,
  asOneRun,
  CLEARED,
  clearedCalls,
  clearsMade,
  clearsToAsk,
  SERVER,
} from '../../src/view/server-clears.ts'
import { count } from '../laws/law.ts'
import * as fc from '../property.ts'

const STEPS = 6

async function cleared() {
  const pal = await openPalimpsest({ home: ':memory:' })
  const session = await pal.session('one', { planner: 'none', model: 'claude-opus-5-5', serverClears: true })
  const steps = Array.from({ length: STEPS }, (_, i): Message[] => [
    { role: 'assistant', parts: [{ type: 'tool-call', id: `c${i}`, name: 'bash', input: {} }] },
    { role: 'tool', parts: [{ type: 'tool-result', id: `c${i}`, name: 'bash', output: `output ${i} `.repeat(50) }] },
  ])
  await session.append({ role: 'user', parts: [{ type: 'text', text: 'go' }] }, ...steps.flat())
  const edits = steps.slice(0, -1).map((_, i) => ({
    target: { type: 'part' as const, entry: 2 + 2 * i, part: 0 },
    replacement: CLEARED,
    why: 'cleared',
    mark: SERVER,
  }))
  await session.apply(edits, 'engine')
  return { pal, session, ids: session.edits().map(({ edit }) => edit.id) }
}

test('after any undo and redo the cleared results are one run from the oldest on', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: STEPS - 2 }), { maxLength: 8 }), async picks => {
      const { pal, session, ids } = await cleared()
      for (const pick of picks) {
        const id = ids[pick]!
        const isActive = session.fold.records.get(id)!.active
        await (isActive ? session.undo(id) : session.redo(id))
        const expected = isActive ? pick : pick + 1
        assert.deepEqual(
          clearedCalls(session.fold),
          Array.from({ length: expected }, (_, i) => `c${i}`),
        )
        assert.equal(activeClears(session.fold).length, expected)
      }
      await pal.close()
    }),
    { numRuns: 20 },
  )
})

test('several clears undone or redone at once keep one run: from the first of them, or to the last', async () => {
  const { pal, session, ids } = await cleared()
  await session.undo([ids[4]!, ids[1]!])
  assert.deepEqual(clearedCalls(session.fold), ['c0'])
  await session.redo([ids[1]!, ids[3]!])
  assert.deepEqual(clearedCalls(session.fold), ['c0', 'c1', 'c2', 'c3'])
  const later = { target: { type: 'part' as const, entry: 2 * STEPS, part: 0 }, replacement: 'short', why: 'test' }
  const [other] = await session.apply([later], 'user')
  await session.undo(ids[0]!)
  assert.equal(session.fold.records.get(other!.id)!.active, true, 'an edit behind them that is none of them stays')
  assert.deepEqual(clearedCalls(session.fold), [])
  await session.undo(other!.id)
  await session.redo(ids[3]!)
  assert.equal(session.fold.records.get(other!.id)!.active, false)
  await pal.close()
})

test('the reported number of cleared results gives an edit of each of the oldest results without one', async () => {
  const { pal, session, ids } = await cleared()
  const places = (count: number) =>
    clearsMade(session.fold, count).map(({ target, mark }) => [target.type === 'part' && target.entry, mark])
  assert.deepEqual(places(STEPS - 1), [], 'they are known')
  assert.deepEqual(places(STEPS), [[2 * STEPS, SERVER]])
  await session.undo(ids[0]!)
  assert.deepEqual(places(STEPS), [[2 * STEPS, SERVER]], 'what somebody undid is known, too')
  const target = { type: 'range' as const, from: 1, to: 2 }
  await session.apply([{ target, replacement: { messages: [] }, why: 'test' }], 'user')
  assert.deepEqual(places(STEPS - 1), [[2 * STEPS, SERVER]], 'what a range hides does not count')
  await pal.close()
})

test('the client names the results to clear until the first undo of a clear; after that we do', async () => {
  const { pal, session, ids } = await cleared()
  const notServer = { target: { type: 'part' as const, entry: 0, part: 0 }, replacement: 'g', why: 'test' }
  const [other] = await session.apply([notServer], 'user')
  assert.equal(clearsToAsk(session.fold), undefined)
  await session.undo(other!.id)
  assert.equal(clearsToAsk(session.fold), undefined, 'another edit is none of the provider’s')
  await session.undo(ids[2]!)
  assert.deepEqual(clearsToAsk(session.fold), ['c0', 'c1'])
  await pal.close()
})

test('without a request to clear, the session shows the originals', async () => {
  const { pal, session } = await cleared()
  assert.equal((await session.view()).messages.filter(isCleared).length, STEPS - 1)
  const plain = await pal.session('one', { planner: 'none', model: 'claude-opus-5-5' })
  assert.equal((await plain.view()).messages.filter(isCleared).length, 0)
  await pal.close()
})

test('a result hidden by a range is not requested again, and does not end the run', async () => {
  const { pal, session } = await cleared()
  const target = { type: 'range' as const, from: 1, to: 2 }
  await session.apply([{ target, replacement: { messages: [] }, why: 'test' }], 'user')
  assert.deepEqual(clearedCalls(session.fold), ['c1', 'c2', 'c3', 'c4'])
  await pal.close()
})

describe('two steps with two calls each', () => {
  const called = (...ids: string[]): Message[] => [
    { role: 'assistant', parts: ids.map((id): Part => ({ type: 'tool-call', id, name: 'bash', input: {} })) },
    { role: 'tool', parts: ids.map((id): Part => ({ type: 'tool-result', id, name: 'bash', output: `of ${id}` })) },
  ]
  const messages: Message[] = [
    { role: 'user', parts: [{ type: 'text', text: 'go' }] },
    ...called('c0', 'c1'),
    ...called('c2', 'c3'),
  ]
  const place = (entry: number, part: number): Target => ({ type: 'part', entry, part })
  const places = [place(2, 0), place(2, 1), place(4, 0), place(4, 1)]
  const edit = (id: string, target: Target, more: Partial<Edit> = {}): Edit => {
    return { id, target, replacement: 'short', by: 'user', why: 'test', saved: 0, ...more }
  }
  const clear = (n: number, by: Edit['by'] = 'engine', id = `s${n}`) =>
    edit(id, places[n]!, { by, mark: SERVER, replacement: CLEARED })
  const foldOf = (...edits: Edit[]): Fold => {
    const events: Event[] = messages.map(message => ({ type: 'entry', message }))
    if (edits.length > 0) events.push({ type: 'edit', edits })
    return foldAll(
      events.map((event, seq) => ({ seq, at: 0, event })),
      count,
    )
  }
  const follow = (fold: Fold, event: Event) => applyEvent(fold, event, { seq: 99, at: 0 })
  const all = () => foldOf(clear(0), clear(1), clear(2), clear(3))

  test('are one run of four results: undoing one also undoes those after it, even in its own message', () => {
    const undo = (id: string) => asOneRun(all(), { type: 'revert', edits: [id], by: 'user' }).edits
    assert.deepEqual(['s0', 's1', 's2', 's3'].map(undo), [
      ['s0', 's1', 's2', 's3'],
      ['s1', 's2', 's3'],
      ['s2', 's3'],
      ['s3'],
    ])
    const fold = all()
    follow(fold, { type: 'revert', edits: ['s0', 's1', 's2', 's3'], by: 'user' })
    const redo = (id: string) => asOneRun(fold, { type: 'reapply', edits: [id], by: 'user' }).edits
    assert.deepEqual(['s0', 's1', 's2', 's3'].map(redo), [
      ['s0'],
      ['s1', 's0'],
      ['s2', 's0', 's1'],
      ['s3', 's0', 's1', 's2'],
    ])
  })

  test('have one place in the run for two clears of the same result', () => {
    const fold = foldOf(clear(0), clear(0, 'engine', 'again'))
    assert.deepEqual(asOneRun(fold, { type: 'revert', edits: ['s0'], by: 'user' }).edits, ['s0'])
    follow(fold, { type: 'revert', edits: ['s0', 'again'], by: 'user' })
    assert.deepEqual(asOneRun(fold, { type: 'reapply', edits: ['s0'], by: 'user' }).edits, ['s0'])
  })

  test('end the run at the first result that is not cleared, even within a message', () => {
    assert.deepEqual(clearedCalls(foldOf(clear(0), clear(2))), ['c0'])
    assert.deepEqual(clearedCalls(foldOf(clear(1))), [])
    const shortened = foldOf(edit('e1', { type: 'part', entry: 2, part: 0, leaf: 0, span: [0, 1] }), clear(0))
    assert.deepEqual(clearedCalls(shortened), ['c0'], 'the last edit of a result counts')
  })

  test('request the clears of a policy while they are in force', () => {
    const fold = foldOf(clear(0, 'policy:thrifty'))
    assert.deepEqual(clearsToAsk(fold), ['c0'])
    follow(fold, { type: 'revert', edits: ['s0'], by: 'user' })
    assert.equal(clearsToAsk(fold), undefined)
  })

  test('can have a result cleared that was shortened and restored', () => {
    const fold = foldOf(edit('e1', places[0]!))
    assert.deepEqual(
      clearsMade(fold, 2).map(({ target }) => target),
      [places[1]],
    )
    follow(fold, { type: 'revert', edits: ['e1'], by: 'user' })
    assert.deepEqual(
      clearsMade(fold, 2).map(({ target }) => target),
      places.slice(0, 2),
    )
  })

  test('are not cleared by a mark on anything but a part', () => {
    const marked = foldOf(edit('e1', { type: 'entry', entry: 2 }, { mark: SERVER, replacement: { messages: [] } }))
    assert.deepEqual([activeClears(marked), clearsToAsk(marked)], [[], undefined])
  })

  test('skip results inside a range, even at its beginning', () => {
    const hidden = [1, 2].map(at =>
      edit(`e${at}`, { type: 'range', from: at, to: at }, { replacement: { messages: [] } }),
    )
    const fold = foldOf(...hidden, clear(2), clear(3))
    assert.deepEqual(clearedCalls(fold), ['c2', 'c3'])
    assert.deepEqual(
      clearsMade(foldOf(...hidden), 1).map(({ target }) => target),
      [places[2]],
    )
  })

  test('request nothing if an edit shows calls of its own, because the provider would count them', () => {
    const own = edit('e9', { type: 'after', entry: 0 }, { replacement: { messages: called('x') } })
    assert.deepEqual(clearedCalls(foldOf(clear(0), own)), [])
  })
})

function isCleared({ parts }: Message): boolean {
  return parts.some(part => part.type === 'tool-result' && part.output === CLEARED)
}
