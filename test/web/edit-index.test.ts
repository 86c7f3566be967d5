/** The edits of a session by the place where they appear, compared with the engine's view. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import type { EditState } from '../../web/src/api-types.ts'
import { indexEdits, partStates } from '../../web/src/pages/session/edit-index.ts'

const edit = (id: string, seq: number, target: EditState['target'], active = true): EditState => {
  return { id, seq, target, active, replacement: { messages: [] }, by: 'user', why: 'test', saved: 0 }
}

test('of nested ranges only the outer one shows, until it is undone', () => {
  const inner = edit('e1', 1, { type: 'range', from: 4, to: 6 })
  const outer = edit('e2', 2, { type: 'range', from: 2, to: 8 })
  const apart = edit('e3', 3, { type: 'entry', entry: 12 })
  assert.deepEqual([...indexEdits([inner, outer, apart]).stretches.keys()], [2, 12])
  assert.deepEqual([...indexEdits([inner, { ...outer, active: false }]).stretches.keys()], [4])
})

test('of two edits of the same range the later one shows', () => {
  const { stretches } = indexEdits([
    edit('e1', 1, { type: 'range', from: 2, to: 3 }),
    edit('e2', 2, { type: 'range', from: 2, to: 3 }),
  ])
  assert.equal(stretches.get(2)?.edit.id, 'e2')
})

test('texts added after an entry are found there, in order', () => {
  const { behind } = indexEdits([
    edit('e1', 1, { type: 'after', entry: 3 }),
    edit('e2', 2, { type: 'after', entry: 3 }),
    edit('e3', 3, { type: 'after', entry: 3 }, false),
  ])
  assert.deepEqual(
    behind.get(3)?.map(({ id }) => id),
    ['e1', 'e2'],
  )
})

test('each part is matched with its shown form, even if parts before it were dropped', async () => {
  const pal = await openPalimpsest({ home: ':memory:' })
  const session = await pal.session('s')
  const message: Message = {
    role: 'assistant',
    parts: [
      { type: 'reasoning', text: 'thinking' },
      { type: 'text', text: 'first' },
      { type: 'text', text: 'second' },
    ],
  }
  await session.append({ role: 'user', parts: [{ type: 'text', text: 'go' }] }, message)
  await session.append(
    { role: 'user', parts: [{ type: 'text', text: 'And now something else, please.' }] },
    { role: 'assistant', parts: [{ type: 'text', text: 'Done.' }] },
    { role: 'user', parts: [{ type: 'text', text: 'Thank you.' }] },
  )
  await session.apply([
    { target: { type: 'part', entry: 1, part: 0 }, replacement: null, why: 'old reasoning' },
    { target: { type: 'part', entry: 1, part: 2 }, replacement: 'short', why: 'shorter' },
  ])
  const edits = session.edits().map(({ edit, active, seq }) => ({ ...edit, active, seq }))
  const shown = (await session.view({ plan: false })).messages[1]!
  const states = partStates(
    { entry: 1, seq: 1, at: 0, message, shown, edits: ['e1', 'e2'], pinned: false },
    indexEdits(edits).byId,
  )
  assert.deepEqual(
    states.map(state => (state.shown && 'text' in state.shown ? state.shown.text : state.shown)),
    [null, 'first', 'short'],
  )
  assert.equal(states[1]!.shown, message.parts[1], 'what no edit touches is the original itself')
  assert.deepEqual(
    states.map(state => state.edits.map(({ id }) => id)),
    [['e1'], [], ['e2']],
  )
  const whole = edit('e3', 3, { type: 'range', from: 0, to: 2 })
  const hidden = partStates(
    { entry: 1, seq: 1, at: 0, message, shown: null, edits: ['e1', 'e2', 'e3'], pinned: false },
    indexEdits([...edits, whole]).byId,
  )
  assert.ok(hidden.every(({ shown, hiddenBy }) => shown === null && hiddenBy === whole))
  await pal.close()
})
