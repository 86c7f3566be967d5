/** Which write of a file an undo reverts: the last one that is still active. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashContent, lastStandingWrite, memoryJournal, NO_FILE } from '../../src/files/journal.ts'
import type { FileEvent } from '../../src/model/types.ts'
import * as fc from '../property.ts'

const write = (before: string | null, after: string | null, path = 'a'): FileEvent => ({
  action: 'write',
  path,
  before,
  hash: hashContent(after),
})

test('undoing as many times as a file was written restores its first text', () =>
  fc.assert(
    fc.property(fc.array(fc.option(fc.constantFrom('', 'one', 'two', 'three')), { maxLength: 12 }), contents => {
      const events: FileEvent[] = []
      let now: string | null = 'original'
      for (const next of contents) {
        if (next === now) continue
        events.push(write(now, next))
        now = next
      }
      for (let undone = 0; ; undone++) {
        assert.ok(undone <= contents.length)
        const last = lastStandingWrite(events)
        if (!last) break
        assert.equal(last.hash, hashContent(now), 'what stands is what the last write left')
        events.push(write(now, last.before))
        now = last.before
      }
      assert.equal(now, 'original')
    }),
  ))

test('a write that restores an earlier text cancels the write before it, and a read changes nothing', () => {
  const made = write(null, 'one')
  const changed = write('one', 'two')
  assert.equal(lastStandingWrite([]), undefined)
  assert.deepEqual(lastStandingWrite([made, changed]), { hash: hashContent('two'), before: 'one' })
  assert.deepEqual(lastStandingWrite([made, changed, write('two', 'one')]), { hash: hashContent('one'), before: null })
  assert.equal(lastStandingWrite([made, write('one', null)]), undefined)
  const read: FileEvent = { action: 'read', path: 'a', hash: hashContent('one') }
  assert.deepEqual(lastStandingWrite([made, read]), { hash: hashContent('one'), before: null })
  const others = write('other', 'one')
  assert.deepEqual(lastStandingWrite([made, others]), { hash: hashContent('one'), before: 'other' }, 'from elsewhere')
  assert.equal(hashContent(null), NO_FILE)
})

test('a journal in memory keeps files separate', async () => {
  const journal = memoryJournal()
  await journal.record({ action: 'read', path: 'a', hash: hashContent('x') })
  await journal.record(write(null, 'one', 'b'))
  await journal.record(write('one', 'two', 'b'))
  assert.deepEqual(
    [await journal.wasRead('a'), await journal.wasRead('b'), await journal.wasRead('c')],
    [true, false, false],
  )
  assert.equal(await journal.lastWrite('a'), undefined)
  assert.deepEqual(await journal.lastWrite('b'), { hash: hashContent('two'), before: 'one' })
})
