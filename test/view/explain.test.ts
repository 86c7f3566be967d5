import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message, Target } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'
import { explainView, tokensSaved } from '../../src/view/explain.ts'
import { withoutHiddenTexts } from '../../src/view/hidden.ts'
import { timeOf } from '../processor.ts'

const text = (role: 'user' | 'assistant', words: string): Message => ({ role, parts: [{ type: 'text', text: words }] })

async function sessionWith(count: number): Promise<Session> {
  const pal = await openPalimpsest({ home: ':memory:', clock: () => 1 })
  const session = await pal.session('s', { policy: 'none' })
  const messages = Array.from({ length: count }, (_, i) => text(i % 2 ? 'assistant' : 'user', `entry ${i} `.repeat(30)))
  await session.append(...messages)
  return session
}

async function explain(session: Session) {
  const view = await session.view({ plan: false })
  const slots = explainView(session.fold)
  assert.deepEqual(
    slots.flatMap(slot => slot.messages.map(({ message }) => message)),
    view.messages,
  )
  assert.equal(
    slots.reduce((total, slot) => total + slot.tokens, 0),
    view.tokens,
  )
  return slots
}

test('an unedited session has one slot per entry, with an id for every text', async () => {
  const slots = await explain(await sessionWith(3))
  assert.deepEqual(
    slots.map(({ from, to, edits, pinned }) => [from, to, edits.length, pinned]),
    [
      [0, 0, 0, false],
      [1, 1, 0, false],
      [2, 2, 0, false],
    ],
  )
  assert.equal(new Set(slots.map(slot => slot.messages[0]!.ids[0])).size, 3)
})

test('a range is one slot with its edit and the edits inside it', async () => {
  const session = await sessionWith(6)
  await session.apply([{ target: { type: 'part', entry: 2, part: 0 }, replacement: 'short', why: 'inner' }])
  const replacement = { messages: [text('user', 'so far')] }
  await session.apply([{ target: { type: 'range', from: 1, to: 3 }, replacement, why: 'outer' }])
  const slots = await explain(session)
  assert.deepEqual(
    slots.map(({ from, to }) => [from, to]),
    [
      [0, 0],
      [1, 3],
      [4, 4],
      [5, 5],
    ],
  )
  assert.deepEqual(
    slots[1]!.edits.map(({ why, shows }) => [why, shows]),
    [
      ['inner', false],
      ['outer', true],
    ],
  )
  assert.deepEqual(slots[1]!.messages[0]!.ids, [undefined])
  assert.equal(tokensSaved(slots), slots[1]!.edits[1]!.saved)
})

test('an insertion is in the slot of the entry before it, and has no id', async () => {
  const session = await sessionWith(2)
  await session.apply([
    { target: { type: 'after', entry: 0 }, replacement: { messages: [text('user', 'by the way')] }, why: 'note' },
  ])
  const [first] = await explain(session)
  assert.equal(first!.messages.length, 2)
  assert.deepEqual([first!.messages[0]!.ids.length, first!.messages[1]!.ids], [1, [undefined]])
  assert.deepEqual(
    first!.edits.map(({ why, shows }) => [why, shows]),
    [['note', true]],
  )
})

test('an insertion inside a range is hidden, one after its last entry is shown; nothing in a range is pinned', async () => {
  const session = await sessionWith(4)
  for (const entry of [1, 2]) {
    const note = { messages: [text('user', `note ${entry}`)] }
    await session.apply([{ target: { type: 'after', entry }, replacement: note, why: `note ${entry}` }])
  }
  await session.apply([{ target: { type: 'part', entry: 2, part: 0 }, replacement: 'short', why: 'last' }])
  await session.pin(1)
  const replacement = { messages: [text('user', 'so far')] }
  await session.apply([{ target: { type: 'range', from: 0, to: 2 }, replacement, why: 'outer' }])
  const [first] = await explain(session)
  assert.deepEqual(
    first!.edits.map(({ why, shows }) => [why, shows]),
    [
      ['note 1', false],
      ['note 2', true],
      ['last', false],
      ['outer', true],
    ],
  )
  assert.equal(first!.pinned, false)
})

test('an insertion after an entry that shows nothing has no id', async () => {
  const session = await sessionWith(2)
  const image = { type: 'image', mediaType: 'image/png', data: 'AA' } as const
  await session.append({ role: 'user', parts: [image] })
  await session.apply([{ target: { type: 'part', entry: 2, part: 0 }, replacement: null, why: 'dropped' }])
  const note = { messages: [text('user', 'note')] }
  await session.apply([{ target: { type: 'after', entry: 2 }, replacement: note, why: 'note' }])
  const last = (await explain(session)).at(-1)!
  assert.deepEqual(
    last.messages.map(({ ids }) => ids),
    [[undefined]],
  )
})

test('a hidden stretch is a slot without messages', async () => {
  const session = await sessionWith(4)
  await session.apply([{ target: { type: 'range', from: 0, to: 1 }, replacement: { messages: [] }, why: 'gone' }])
  const [first] = await explain(session)
  assert.deepEqual([first!.from, first!.to, first!.messages, first!.tokens], [0, 1, [], 0])
})

test('texts and results have ids by which they can be edited; calls, reasoning and images have none', async () => {
  const session = await sessionWith(1)
  const image = { type: 'image', mediaType: 'image/png', data: 'AA' } as const
  await session.append(
    {
      role: 'assistant',
      parts: [
        { type: 'reasoning', text: 'hm' },
        { type: 'text', text: 'so' },
        { type: 'tool-call', id: 'c', name: 'bash', input: { command: 'ls' } },
      ],
    },
    { role: 'tool', parts: [{ type: 'tool-result', id: 'c', name: 'bash', output: 'a' }] },
    { role: 'user', parts: [image, { type: 'text', text: 'see' }] },
  )
  const ids = (await explain(session)).map(slot => slot.messages.map(one => one.ids.map(id => id !== undefined)))
  assert.deepEqual(ids, [[[true]], [[false, true, false]], [[true]], [[false, true]]])
})

test('pins are shown', async () => {
  const session = await sessionWith(2)
  await session.pin(1, { part: 0 })
  assert.deepEqual(
    (await explain(session)).map(slot => slot.pinned),
    [false, true],
  )
})

test('the edits of an entry that show are those that no later or larger edit hides', async () => {
  const session = await sessionWith(2)
  await session.apply([
    { target: { type: 'part', entry: 0, part: 0, leaf: 0, span: [0, 5] }, replacement: 'E', why: 'span' },
  ])
  await session.apply([
    { target: { type: 'part', entry: 0, part: 0, leaf: 0, span: [10, 15] }, replacement: 'F', why: 'other' },
  ])
  const shows = async () => (await explain(session))[0]!.edits.map(({ why, shows }) => [why, shows])
  assert.deepEqual(await shows(), [
    ['span', true],
    ['other', true],
  ])
  await session.apply([{ target: { type: 'part', entry: 0, part: 0 }, replacement: 'all of it', why: 'whole' }])
  assert.deepEqual(await shows(), [
    ['span', false],
    ['other', false],
    ['whole', true],
  ])
})

test('an entry is pinned when one of its parts is', async () => {
  const session = await sessionWith(1)
  await session.append({
    role: 'assistant',
    parts: [
      { type: 'text', text: 'one' },
      { type: 'text', text: 'two' },
    ],
  })
  await session.pin(1, { part: 1 })
  assert.deepEqual(
    (await explain(session)).map(slot => slot.pinned),
    [false, true],
  )
})

test('hundreds of edits of one text are explained, and covered for an agent, without comparing each three times', async () => {
  const session = await sessionWith(1)
  await session.append(text('user', 'a'.repeat(10_000)))
  const target = (i: number): Target => ({ type: 'part', entry: 1, part: 0, leaf: 0, span: [i * 10, i * 10 + 5] })
  const edits = Array.from({ length: 500 }, (_, i) => ({ target: target(i), replacement: 'x', why: 'shorter' }))
  const made = await session.apply(edits, 'user')
  let slots: Awaited<ReturnType<typeof explain>> = []
  const ms = timeOf(() => {
    slots = explainView(session.fold)
    assert.deepEqual(withoutHiddenTexts(session.fold, made), made)
  })
  assert.ok(slots[1]!.edits.every(({ shows }) => shows))
  assert.ok(ms < 2000, `${ms} ms of processor`)
})
