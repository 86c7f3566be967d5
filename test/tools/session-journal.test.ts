import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openPalimpsest, type Palimpsest } from '../../src/session/engine.ts'
import { editFile, undoEdit, writeFile } from '../../src/tools/edit-files.ts'
import { readFile } from '../../src/tools/read-files.ts'
import { sessionJournal } from '../../src/tools/session-journal.ts'
import { makeSandbox, type Sandbox } from './sandbox.ts'

/** A sandbox with a session as its journal; `reopen` acts like a restart. */
async function withSession(): Promise<Sandbox & { pal: Palimpsest; reopen: () => Promise<Palimpsest> }> {
  const box = await makeSandbox()
  const home = join(box.outside, 'home')
  const reopen = async () => {
    const pal = await openPalimpsest({ home })
    box.context.journal = sessionJournal(await pal.session('work'))
    return pal
  }
  return { ...box, pal: await reopen(), reopen }
}

test('a file that was read before a restart counts as read after it', async () => {
  const box = await withSession()
  await box.put('a.txt', 'old')
  await box.run(readFile, { path: 'a.txt' })
  await box.pal.close()
  await using _ = await box.reopen()
  const { text } = await box.run(writeFile, { path: 'a.txt', content: 'new' })
  assert.equal(text, 'Written: a.txt (3 bytes)')
  await box.put('b.txt', 'old')
  assert.match((await box.run(writeFile, { path: 'b.txt', content: 'new' })).text, /^Warning: b\.txt already existed/m)
})

test('writes are undone one by one after a restart, large contents included', async () => {
  const box = await withSession()
  const large = 'line of a large file\n'.repeat(4000)
  await box.put('a.txt', large)
  await box.run(editFile, { path: 'a.txt', old_string: large, new_string: 'small\n' })
  await box.run(editFile, { path: 'a.txt', old_string: 'small', new_string: 'tiny' })
  await box.run(writeFile, { path: 'new.txt', content: 'x' })
  await box.pal.close()
  await using _ = await box.reopen()
  await box.run(undoEdit, { path: 'a.txt' })
  assert.equal(await box.get('a.txt'), 'small\n')
  await box.run(undoEdit, { path: 'a.txt' })
  assert.equal(await box.get('a.txt'), large)
  assert.match((await box.run(undoEdit, { path: 'a.txt' })).text, /^Nothing to undo/)
  assert.match((await box.run(undoEdit, { path: 'new.txt' })).text, /was removed again/)
})

test('a write counts as read or undone in a fork, and in another process with the session', async () => {
  const box = await withSession()
  await using pal = box.pal
  const other = sessionJournal(await pal.session('work'))
  await box.run(writeFile, { path: 'a.txt', content: 'one' })
  assert.deepEqual(await other.lastWrite('a.txt'), await box.context.journal.lastWrite('a.txt'))
  assert.equal((await other.lastWrite('a.txt'))?.before, null)
  const session = await pal.session('work')
  const fork = sessionJournal(await session.fork())
  await box.run(undoEdit, { path: 'a.txt' })
  assert.equal(await other.lastWrite('a.txt'), undefined)
  assert.equal((await fork.lastWrite('a.txt'))?.before, null)
})

test('read files are known even after everything has left the view', async () => {
  const box = await withSession()
  await using pal = box.pal
  const session = await pal.session('work')
  const say = (text: string) => ({ role: 'user' as const, parts: [{ type: 'text' as const, text }] })
  await session.append(say('one'), say('two'))
  await box.put('a.txt', 'old')
  await box.run(readFile, { path: 'a.txt' })
  await session.apply([
    { target: { type: 'range', from: 0, to: 1 }, replacement: { messages: [say('summary')] }, why: 'test' },
  ])
  assert.equal(await box.context.journal.wasRead('a.txt'), true)
})

test('a session with an edit too large for its row opens again', async () => {
  const box = await withSession()
  const text = 'a long text that an edit shows instead '.repeat(1000)
  const session = await box.pal.session('large')
  await session.append({ role: 'user', parts: [{ type: 'text', text: 'short' }] })
  await session.apply([{ target: { type: 'part', entry: 0, part: 0 }, replacement: text, why: 'test' }])
  await box.pal.close()
  await using pal = await box.reopen()
  const { messages } = await (await pal.session('large')).view()
  assert.equal(messages[0]?.parts[0]?.type === 'text' && messages[0].parts[0].text, text)
})
