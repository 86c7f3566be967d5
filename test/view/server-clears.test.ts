import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { activeClears, CLEARED, clearedCalls, clearsMade, clearsToAsk, SERVER } from '../../src/view/server-clears.ts'
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

test('whatever is undone and redone, what the provider clears is one run from the oldest on', async () => {
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

test('several that are undone or redone at once are one run too: from the first of them, or to the last', async () => {
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

test('what the provider says that it cleared is an edit of each of the oldest results that has none yet', async () => {
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

test('while nobody has undone a clearing the client tells the provider itself; from then on we do', async () => {
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

test('a session that nobody tells the provider to clear in shows the originals', async () => {
  const { pal, session } = await cleared()
  assert.equal((await session.view()).messages.filter(isCleared).length, STEPS - 1)
  const plain = await pal.session('one', { planner: 'none', model: 'claude-opus-5-5' })
  assert.equal((await plain.view()).messages.filter(isCleared).length, 0)
  await pal.close()
})

test('what a range hides is not asked for again, and ends nothing', async () => {
  const { pal, session } = await cleared()
  const target = { type: 'range' as const, from: 1, to: 2 }
  await session.apply([{ target, replacement: { messages: [] }, why: 'test' }], 'user')
  assert.deepEqual(clearedCalls(session.fold), ['c1', 'c2', 'c3', 'c4'])
  await pal.close()
})

function isCleared({ parts }: Message): boolean {
  return parts.some(part => part.type === 'tool-result' && part.output === CLEARED)
}
