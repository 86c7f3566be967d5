/** Which results the provider is asked to clear: a run from the oldest on, that leaves no text without what it points to. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message, Part } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { clearedCalls } from '../../src/view/server-clears.ts'
import { step, user } from '../policies/talk.ts'

/** Reads files in one long turn until results are cleared; the last of `period` files is the first of them again. */
async function untilCleared(period: number) {
  let now = 1e12
  const pal = await openPalimpsest({ home: ':memory:', clock: () => (now += 5000) })
  const options = { planner: 'thrifty', model: 'claude-opus-5-5', serverClears: true, overhead: 5000 } as const
  const session = await pal.session('one', options)
  await session.append(user('Look at all of it.'))
  const pointing: string[] = []
  for (let i = 0; clearedCalls(session.fold).length === 0; i++) {
    assert.ok(i < 300, 'results are cleared at some time')
    const isAgain = i % period === period - 1
    const file = isAgain ? i + 1 - period : i
    const output = Array.from({ length: 300 }, (_, n) => `${file}: line ${n} says ${(n * 7919 + file) % 997}`).join(
      '\n',
    )
    const [calls, ...results] = step({ name: 'read_file', input: { path: `/${file}.ts` }, output })
    const thought: Part = { type: 'reasoning', text: 'I have to see more of it.' }
    await session.append({ ...calls!, parts: [thought, ...calls!.parts] } as Message, ...results)
    await session.view()
    const [part] = results[0]!.parts
    if (isAgain && part?.type === 'tool-result') pointing.push(part.id)
  }
  const cleared = clearedCalls(session.fold)
  await pal.close()
  return { cleared, pointing }
}

test('a text that points to lines of a cleared result is cleared with it', async () => {
  for (const period of [2, 3, 5, 8, 13, 21]) {
    const { cleared, pointing } = await untilCleared(period)
    assert.equal(cleared.length % period, 0, `the last of each ${period} calls points to the first of them`)
    assert.equal(pointing.filter(id => cleared.includes(id)).length, cleared.length / period)
  }
})
