import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import { isPalimpsestError } from '../../src/model/errors.ts'
import type { Edit, Event, Message, Target } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { applyEvent, createFold, foldAll, shown, shownBytes, shownTokens, tryEvent } from '../../src/view/fold.ts'
import { count } from '../laws/law.ts'
import { storeWith } from '../ledger/store-with.ts'
import * as fc from '../property.ts'

const user = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] })

test('trying an event and reversing it changes nothing, not even for later events', () => {
  const target: fc.Arbitrary<Target> = fc.oneof(
    fc.record({ type: fc.constant('part' as const), entry: fc.nat(3), part: fc.constant(0) }),
    fc.record({ type: fc.constant('part' as const), entry: fc.nat(3), part: fc.constant(0), leaf: fc.constant(0) }),
    fc.record({ type: fc.constant('after' as const), entry: fc.nat(3) }),
    fc
      .tuple(fc.nat(3), fc.nat(3))
      .map(([from, to]) => ({ type: 'range' as const, from: Math.min(from, to), to: Math.max(from, to) })),
  )
  const doing = fc.record({
    kind: fc.constantFrom('edit', 'revert', 'reapply'),
    target,
    pick: fc.nat(),
    keep: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(doing, { maxLength: 20 }), doings => {
      const fold = createFold(count)
      const events: Event[] = ['a', 'b', 'c', 'd'].map(text => ({ type: 'entry', message: user(text) }))
      for (const [seq, event] of events.entries()) applyEvent(fold, event, { seq, at: 0 })
      for (const { kind, target: where, pick, keep } of doings) {
        const event = toEvent([...fold.records.values()], { kind, where, pick })
        try {
          const takeBack = tryEvent(fold, event, events.length)
          if (keep) events.push(event)
          else takeBack()
        } catch (error) {
          assert.ok(isPalimpsestError(error), String(error))
        }
        const fresh = foldAll(
          events.map((stored, seq) => ({ seq, at: 0, event: stored })),
          count,
        )
        assert.deepEqual(shown(fold), shown(fresh))
        assert.deepEqual([...fold.records], [...fresh.records])
        assert.equal(shownTokens(fold), shownTokens(fresh))
        assert.equal(shownBytes(fold), shownBytes(fresh))
      }
    }),
    { numRuns: 500 },
  )
})

function toEvent(
  records: { edit: Edit; active: boolean }[],
  { kind, where, pick }: { kind: string; where: Target; pick: number },
): Extract<Event, { type: 'edit' | 'revert' | 'reapply' }> {
  const whole = where.type !== 'part'
  const replacement = whole ? { messages: [user(`m${pick}`)] } : `t${pick}`
  if (kind === 'edit' || records.length === 0) {
    const edit = { id: `e${records.length + 1}`, target: where, replacement, by: 'user' as const, why: '', saved: 0 }
    return { type: 'edit', edits: [edit] }
  }
  const { edit } = records[pick % records.length]!
  return { type: kind === 'revert' ? 'revert' : 'reapply', edits: [edit.id], by: 'user' }
}

test('an edit that the provider would refuse, or an undo that fails on a full disk, changes nothing', async () => {
  const store = new SqliteLedger(':memory:')
  let full = false
  const failing = storeWith(store, {
    append: async (...args) => {
      if (full) throw new Error('no room')
      return store.append(...args)
    },
  })
  const pal = await openPalimpsest({ home: ':memory:', store: failing, clock: () => 1 })
  const session = await pal.session('s')
  const call = { type: 'tool-call' as const, id: 'c', name: 'x', input: {} }
  await session.append(user('go'), { role: 'assistant', parts: [call] }, user('never mind'))
  const [first] = await session.apply([{ target: { type: 'part', entry: 0, part: 0 }, replacement: 'one', why: '' }])
  await session.apply([{ target: { type: 'part', entry: 0, part: 0 }, replacement: 'two', why: '' }])
  const state = async () => JSON.stringify([(await session.view()).messages, session.edits()])
  const before = await state()
  const dropsTheCall = { target: { type: 'entry' as const, entry: 1 }, replacement: { messages: [] }, why: '' }
  await assert.rejects(session.apply([dropsTheCall]), { code: 'VIEW_ILLEGAL' })
  assert.equal(await state(), before)
  full = true
  await assert.rejects(session.undo(first!.id), /no room/)
  await assert.rejects(
    session.apply([{ target: { type: 'part', entry: 2, part: 0 }, replacement: 'x', why: '' }]),
    /no room/,
  )
  await assert.rejects(session.append(user('more')), /no room/)
  full = false
  assert.equal(await state(), before)
  await session.undo(first!.id)
  assert.equal((await session.view()).messages[0]!.parts[0]!.type, 'text')
  assert.match(JSON.stringify((await session.view()).messages[0]), /"two"/)
  await session.verify()
})
