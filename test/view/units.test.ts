/** Units: one for each part of an entry, with its call and its turn. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../../src/model/types.ts'
import { foldAll } from '../../src/view/fold.ts'
import { createUnits, extendUnits } from '../../src/view/units.ts'
import { count } from '../laws/law.ts'
import { session as anySession } from '../laws/sessions.ts'
import { bash, says, user } from '../policies/talk.ts'
import * as fc from '../property.ts'

const foldOf = (messages: readonly Message[]) =>
  foldAll(
    messages.map((message, seq) => ({ seq, at: seq, event: { type: 'entry', message } })),
    count,
  )

test('the turn of a unit is the number of earlier answers; a result is in the turn of its call', () => {
  const units = createUnits()
  extendUnits(units, foldOf([user('go'), ...bash('ls', 'a'), says('done'), user('on'), ...bash('pwd', 'b')]))
  assert.deepEqual(
    units.all.map(({ entry, turn, tool }) => [entry, turn, tool]),
    [
      [0, 0, undefined],
      [1, 0, 'bash'],
      [2, 1, 'bash'],
      [3, 1, undefined],
      [4, 2, undefined],
      [5, 2, 'bash'],
      [6, 3, 'bash'],
    ],
  )
  assert.equal(units.all[2]?.call, units.all[1]?.call)
})

test('a unit has the number of characters of its texts; a call and its result have the id of the call', () => {
  const units = createUnits()
  extendUnits(
    units,
    foldOf([
      { role: 'assistant', parts: [{ type: 'tool-call', id: 'c1', name: 'edit', input: { a: 'four', b: 'and 5' } }] },
      { role: 'tool', parts: [{ type: 'tool-result', id: 'c1', name: 'edit', output: 'done' }] },
      user('hello'),
    ]),
  )
  assert.deepEqual(
    units.all.map(({ chars, callId }) => [chars, callId]),
    [
      [9, 'c1'],
      [4, 'c1'],
      [5, undefined],
    ],
  )
})

test('units made while a session grows equal those of the whole session', () => {
  fc.assert(
    fc.property(anySession, fc.nat(), (messages, pick) => {
      const [grown, whole] = [createUnits(), createUnits()]
      const half = pick % (messages.length + 1)
      const first = extendUnits(grown, foldOf(messages.slice(0, half)))
      assert.equal(first, 0)
      const parts = messages.slice(0, half).reduce((sum, message) => sum + message.parts.length, 0)
      assert.equal(extendUnits(grown, foldOf(messages)), parts)
      extendUnits(whole, foldOf(messages))
      assert.deepEqual(grown.all, whole.all)
      assert.equal(grown.turn, messages.filter(({ role }) => role === 'assistant').length)
    }),
  )
})
