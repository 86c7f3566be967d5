/** Changes by a client to its own conversation are accepted, whatever edits there are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message, Part } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'

const said = (role: Message['role'], text: string): Message => ({ role, parts: [{ type: 'text', text }] })
const call: Part = { type: 'tool-call', id: 'c1', name: 'bash', input: {} }
const result: Part = { type: 'tool-result', id: 'c1', name: 'bash', output: 'out' }

test('a new system prompt is accepted, even if an edit of the old one made the view legal', async () => {
  await using pal = await openPalimpsest({ home: ':memory:', clock: () => 1000 })
  const session = await pal.session('s', { policy: 'none', model: 'gemini-2.5-pro' })
  const rest: Message[] = [said('user', 'go'), { role: 'assistant', parts: [call] }, { role: 'tool', parts: [result] }]
  await session.sync([said('system', 'You build.'), ...rest])
  const instead = { messages: [said('user', 'so far')] }
  await session.apply([{ target: { type: 'entry', entry: 0 }, replacement: instead, why: 'shorter' }])
  await session.apply([{ target: { type: 'entry', entry: 1 }, replacement: { messages: [] }, why: 'gone' }])
  const next = said('user', 'and now?')
  const view = await session.sync([said('system', 'You build, today is Tuesday.'), ...rest, next])
  assert.deepEqual(
    view.messages.map(({ role, parts }) => [role, parts[0]?.type === 'text' ? parts[0].text : parts[0]?.type]),
    [
      ['system', 'You build, today is Tuesday.'],
      ['user', '[The conversation begins with a tool call]'],
      ['assistant', 'tool-call'],
      ['tool', 'tool-result'],
      ['user', 'and now?'],
    ],
  )
})
