/** The running sum of bytes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageBytes } from '../../src/model/tokens.ts'
import type { Event } from '../../src/model/types.ts'
import { applyEvent, createFold, shown, shownBytes } from '../../src/view/fold.ts'
import { session } from '../laws/sessions.ts'
import * as fc from '../property.ts'

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
