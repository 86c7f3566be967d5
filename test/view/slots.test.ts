/** Replacing a stretch of a list, as `splice` does it, for any number of items; and the running sum of bytes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageBytes } from '../../src/model/tokens.ts'
import type { Event } from '../../src/model/types.ts'
import { applyEvent, createFold, shown, shownBytes } from '../../src/view/fold.ts'
import { replaceIn } from '../../src/view/slots.ts'
import { session } from '../laws/sessions.ts'
import * as fc from '../property.ts'

test('a stretch is replaced as splice replaces it', () => {
  const list = fc.array(fc.nat(9), { maxLength: 6 })
  fc.assert(
    fc.property(list, fc.nat(7), fc.nat(7), list, (items, at, remove, insert) => {
      const expected = items.toSpliced(at, remove, ...insert)
      replaceIn(items, { at: Math.min(at, items.length), remove, insert })
      assert.deepEqual(items, expected)
    }),
  )
})

test('more items than a function takes arguments can be inserted', () => {
  const items = [1, 2, 3]
  const insert = Array.from({ length: 300_000 }, (_, i) => i)
  replaceIn(items, { at: 1, remove: 1, insert })
  assert.equal(items.length, 300_002)
  assert.deepEqual([...items.slice(0, 3), ...items.slice(-2)], [1, 0, 1, 299_999, 3])
})

test('the bytes in view are those of the shown messages, at every request', () => {
  fc.assert(
    fc.property(session, fc.infiniteStream(fc.boolean()), (messages, asks) => {
      const fold = createFold(text => text.length)
      let seq = 0
      const take = (event: Event) => {
        applyEvent(fold, event, { seq: seq++, at: 0 })
        const [asked] = asks.take(1)
        const bytes = shown(fold).reduce((sum, message) => sum + messageBytes(message), 0)
        if (asked) assert.equal(shownBytes(fold), bytes)
      }
      const target = { type: 'entry' as const, entry: 0 }
      const edit = { id: 'e1', target, replacement: { messages: [] }, by: 'user' as const, why: '', saved: 0 }
      for (const message of messages) take({ type: 'entry', message })
      take({ type: 'edit', edits: [edit] })
      take({ type: 'revert', edits: ['e1'], by: 'user' })
      const bytes = messages.reduce((sum, message) => sum + messageBytes(message), 0)
      assert.equal(shownBytes(fold), bytes)
      assert.equal(shownBytes(fold), bytes)
    }),
  )
})
