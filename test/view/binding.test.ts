/** Which reasoning no longer fits the text before it, and where the running turn begins. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Edit, Event, Message, Part, PartTarget, Target } from '../../src/model/types.ts'
import {
  explainStale,
  lastRunningReasoning,
  leaveOutAll,
  STALE,
  StaleReasoning,
  stripsReasoning,
  turnStart,
} from '../../src/view/binding.ts'
import { addEntry, applyEvent, createFold, type Fold } from '../../src/view/fold.ts'
import { SERVER } from '../../src/view/server-clears.ts'
import { bash, says, user } from '../policies/talk.ts'

const text = (words: string): Part => ({ type: 'text', text: words })
const thinks = (...parts: Part[]): Message => ({
  role: 'assistant',
  parts: [{ type: 'reasoning', text: 'hm' }, ...parts],
})
const [call, result] = bash('ls', 'a') as [Message, Message]

const entry = (message: Message): Event => ({ type: 'entry', message })
const part = (at: number, index = 0): PartTarget => ({ type: 'part', entry: at, part: index })
const range = (from: number, to: number): Target => ({ type: 'range', from, to })
const USED: Event = { type: 'usage', usage: { input: 1 } }

let made = 0
function edit(target: Target, more: Partial<Edit> = {}): Event {
  const replacement = target.type === 'part' ? '-' : { messages: [user('so far')] }
  return {
    type: 'edit',
    edits: [{ id: `e${made++}`, target, replacement, by: 'user', why: 'test', saved: 0, ...more }],
  }
}

function played(...events: Event[]): { fold: Fold; stale: StaleReasoning } {
  const fold = createFold(words => words.length)
  const stale = new StaleReasoning()
  for (const [seq, event] of events.entries()) {
    applyEvent(fold, event, { seq, at: seq })
    stale.note(fold, event)
  }
  return { fold, stale }
}

const foldOf = (...messages: Message[]) => played(...messages.map(entry)).fold
const places = (edits: readonly { target: Target }[]) =>
  edits.map(({ target }) => (target.type === 'part' ? `${target.entry}.${target.part}` : target.type))
/** The places of the reasoning that must be left out after the events. */
function leftOut(...events: Event[]): string[] {
  const { fold, stale } = played(...events)
  return places(stale.edits(fold))
}

const talk = [user('a'), thinks(text('b')), user('c'), thinks(text('d'))].map(entry)

describe('reasoning after a change', () => {
  test('is left out by the engine, with all later reasoning', () => {
    const { fold, stale } = played(...talk, edit(part(0)))
    const edits = stale.edits(fold)
    assert.deepEqual(places(edits), ['1.0', '3.0'])
    for (const { by, mark, replacement } of edits) assert.deepEqual([by, mark, replacement], ['engine', STALE, null])
    assert.deepEqual(leftOut(...talk), [], 'nothing was changed')
  })

  test('stays if it is before the change', () => {
    assert.deepEqual(leftOut(...talk, edit(part(2))), ['3.0'])
    assert.deepEqual(leftOut(...talk, edit(part(3, 1))), [], 'a later part of the same message')
    const late = [user('a'), { role: 'assistant', parts: [text('b'), ...thinks().parts] } as Message].map(entry)
    assert.deepEqual(leftOut(...late, edit(part(1, 0))), ['1.1'], 'an earlier part of the same message')
    assert.deepEqual(leftOut(...late, edit(part(1, 1))), [])
  })

  test('is left out from the first of several changes on, in whichever order they were made', () => {
    assert.deepEqual(leftOut(...talk, edit(part(2)), edit(part(0))), ['1.0', '3.0'])
    assert.deepEqual(leftOut(...talk, edit(part(0)), edit(part(3, 1))), ['1.0', '3.0'])
  })

  test('begins where the change begins: before the parts of a whole entry, after an entry for an insertion', () => {
    assert.deepEqual(leftOut(...talk, edit({ type: 'after', entry: 1 })), ['3.0'])
    assert.deepEqual(leftOut(...talk, edit({ type: 'after', entry: 0 })), ['1.0', '3.0'])
    assert.deepEqual(leftOut(...talk, edit(range(0, 0))), ['1.0', '3.0'])
    assert.deepEqual(leftOut(...talk, edit(range(2, 2))), ['3.0'])
    // The edited entry itself is out of view or rewritten whole; its own reasoning would be after the change.
    assert.deepEqual(leftOut(...talk, edit({ type: 'entry', entry: 1 })), ['3.0'])
  })

  test('is not left out twice', () => {
    assert.deepEqual(leftOut(...talk, edit(part(1), { replacement: null, by: 'engine' }), edit(part(0))), ['3.0'])
    assert.deepEqual(leftOut(...talk, edit(range(0, 1))), ['3.0'])
  })

  test('fits again if the edit that dropped it is undone', () => {
    const undo: Event = { type: 'revert', edits: ['drop'], by: 'user' }
    assert.deepEqual(leftOut(...talk, edit(part(1), { replacement: null, id: 'drop' }), undo), ['3.0'])
  })

  test('is not affected by edits of the engine or clears by the provider', () => {
    assert.deepEqual(leftOut(...talk, edit(part(0), { by: 'engine' })), [])
    assert.deepEqual(leftOut(...talk, edit(part(0), { by: 'policy:thrifty', mark: SERVER })), [])
  })

  test('is affected by an undo and a redo as by an edit', () => {
    const done = edit(part(2), { id: 'again' })
    const settled = (...events: Event[]) => {
      const { fold, stale } = played(...talk, done)
      stale.settle()
      assert.deepEqual(places(stale.edits(fold)), [], 'only changes to come count')
      for (const event of events) {
        applyEvent(fold, event, { seq: 9, at: 9 })
        stale.note(fold, event)
      }
      return places(stale.edits(fold))
    }
    const revert: Event = { type: 'revert', edits: ['again'], by: 'user' }
    assert.deepEqual(settled(revert), ['3.0'])
    assert.deepEqual(settled(revert, { type: 'reapply', edits: ['again'], by: 'user' }), ['3.0'])
    assert.deepEqual(settled({ type: 'pin', entry: 0, on: true, by: 'user' }), [])
  })
})

describe('the answer to a call', () => {
  const asked = [user('a'), thinks(text('b')), user('c')].map(entry)
  const answer = entry(thinks(text('d')))

  test('is stale if the call was made before an edit of the user, although it arrives later', () => {
    assert.deepEqual(leftOut(...asked, edit(part(0)), answer), ['1.0', '3.0'])
  })

  test('fits the edits that policies had made before the call', () => {
    const planned = edit(part(0), { by: 'policy:thrifty' })
    assert.deepEqual(leftOut(entry(user('a')), planned, entry(thinks(text('b')))), [])
    assert.deepEqual(leftOut(...asked, planned, answer), ['1.0', '3.0'], 'a gap is worse: it goes with the stale one')
  })

  test('fits a change by the user if another message or a report follows the change', () => {
    const change = edit(part(0))
    assert.deepEqual(leftOut(entry(user('a')), change, entry(thinks(text('b')))), ['1.0'])
    assert.deepEqual(leftOut(entry(user('a')), change, entry(user('b')), entry(thinks(text('c')))), [])
    assert.deepEqual(leftOut(entry(user('a')), change, USED, entry(thinks(text('b')))), [])
  })

  test('does not fit a change during the answer, although the report comes after the change', () => {
    const late: Event = { type: 'usage', usage: { input: 1 }, edited: true }
    assert.deepEqual(leftOut(entry(user('a')), edit(part(0)), late, entry(thinks(text('b')))), ['1.0'])
    const next = [entry(user('c')), entry(thinks(text('d')))]
    assert.deepEqual(leftOut(entry(user('a')), edit(part(0)), late, entry(says('b')), ...next), [])
  })

  test('does not fit if the user has undone an edit of a policy in the meantime', () => {
    const planned = edit(part(0), { by: 'policy:thrifty', id: 'planned' })
    const undone: Event = { type: 'revert', edits: ['planned'], by: 'user' }
    assert.deepEqual(leftOut(entry(user('a')), planned, undone, entry(thinks(text('b')))), ['1.0'])
  })

  test('makes later reasoning fit too', () => {
    const first = entry(says('b'))
    const rest = [entry(user('c')), entry(thinks(text('d'))), entry(user('e')), entry(thinks(text('f')))]
    assert.deepEqual(leftOut(entry(user('a')), first, edit(part(0)), ...rest), [])
  })
})

test('a provider that refuses some reasoning gets none', () => {
  const { fold } = played(...talk, edit(part(1), { replacement: null, by: 'engine' }))
  const all = leaveOutAll(fold, 'refused')
  assert.deepEqual(places(all), ['3.0'])
  assert.deepEqual(all[0]?.why, 'refused')
  const two = thinks({ type: 'reasoning', text: 'well' }, text('b'))
  const dropped = played(entry(user('a')), entry(two), edit(part(1), { replacement: null }), edit(part(1, 2)))
  assert.deepEqual(places(leaveOutAll(dropped.fold, 'refused')), ['1.1'])
})

test('a sentence says how much reasoning is left out, and how much of it is of the running turn', () => {
  const { fold } = played(...talk)
  const at = (...entries: number[]) => entries.map(one => ({ target: part(one) }))
  assert.match(explainStale(fold, at(1)), /1 block of reasoning, 0 of the running turn/)
  assert.match(explainStale(fold, at(1, 3)), /2 blocks of reasoning, 1 of the running turn/)
  assert.match(explainStale(fold, at(2)), /, 0 of/, 'the request itself is not behind it')
})

test('reasoning leaves the view if its provider refuses it, unless it is bound to its calls', () => {
  assert.equal(stripsReasoning({ binding: 'refuse', dialect: 'anthropic' }), true)
  assert.equal(stripsReasoning({ binding: 'refuse', dialect: 'openai-responses' }), false)
  assert.equal(stripsReasoning({ binding: 'none', dialect: 'anthropic' }), false)
})

describe('the running turn', () => {
  test('begins with the last request of the user', () => {
    assert.equal(turnStart(foldOf()), -1)
    assert.equal(turnStart(foldOf(says('a'))), -1)
    assert.equal(turnStart(foldOf(user('a'))), 0)
    assert.equal(turnStart(foldOf(user('a'), says('b'), user('c'), call, result)), 2)
  })

  test('does not begin with a message after tool results, nor with a blank one', () => {
    assert.equal(turnStart(foldOf(user('a'), says('b'), user('c'), call, result, user('hurry'))), 2)
    assert.equal(turnStart(foldOf(user('a'), says('b'), user(' \n'))), 0)
    assert.equal(turnStart(foldOf(user(' \n'))), 0, 'there is nothing in front of it')
    const image: Part = { type: 'image', mediaType: 'image/png', data: 'AA' }
    const shows: Message = { role: 'user', parts: [text(' '), image] }
    assert.equal(turnStart(foldOf(user('a'), says('b'), shows)), 2, 'a picture says something')
  })

  test('begins at the same entry while the texts of entries are not loaded', () => {
    const fold = createFold(words => words.length)
    for (const [seq, role] of (['user', 'assistant', 'tool', 'user', 'user', 'assistant'] as const).entries())
      addEntry(fold, { seq, at: seq, message: undefined, role })
    assert.equal(turnStart(fold), 4)
    const steered = createFold(words => words.length)
    for (const [seq, role] of (['user', 'assistant', 'tool', 'user'] as const).entries())
      addEntry(steered, { seq, at: seq, message: undefined, role })
    assert.equal(turnStart(steered), 0)
  })

  test('has reasoning if an entry after its start shows some', () => {
    assert.equal(lastRunningReasoning(foldOf(user('a'), thinks(text('b')), user('c'), call, result)), -1)
    assert.equal(lastRunningReasoning(foldOf(user('a'), thinks(...call.parts), result, says('b'))), 1)
    const [more, its] = bash('cat a', 'b') as [Message, Message]
    const two = foldOf(user('a'), thinks(...call.parts), result, thinks(...more.parts), its)
    assert.equal(lastRunningReasoning(two), 3)
    const drop = edit(part(3), { replacement: null })
    applyEvent(two, drop, { seq: 9, at: 9 })
    assert.equal(lastRunningReasoning(two), 1, 'the other one was dropped')
    const own = thinks(text('a')).parts
    assert.equal(lastRunningReasoning(foldOf({ role: 'user', parts: own })), -1, 'the request is not part of it')
  })
})
