/** Reasoning that a model produces while the text it was shown is being edited. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message, Part } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'

const MODEL = 'claude-opus-5-5'
const said = (role: Message['role'], text: string): Message => ({ role, parts: [{ type: 'text', text }] })

function answer(n: number): Message[] {
  const thought: Part = { type: 'reasoning', text: `thought ${n}` }
  const call: Part = { type: 'tool-call', id: `c${n}`, name: 'bash', input: { command: 'ls' } }
  const result: Part = { type: 'tool-result', id: `c${n}`, name: 'bash', output: `result ${n}` }
  return [
    { role: 'assistant', parts: [thought, call] },
    { role: 'tool', parts: [result] },
  ]
}

for (const [name, isOther] of [
  ['by the process that asks', false],
  ['by another one', true],
] as const) {
  test(`is bound to the sent text, not to an edit that is made meanwhile ${name}`, async () => {
    await using pal = await openPalimpsest({ home: ':memory:', clock: () => 1000 })
    const session = await pal.session('s', { policy: 'none', model: MODEL })
    const editor = isOther ? await pal.session('s', { policy: 'none', model: MODEL }) : session
    const thoughts = async () =>
      (await session.view()).messages.flatMap(({ parts }) =>
        parts.flatMap(one => (one.type === 'reasoning' ? one.text : [])),
      )
    await session.append(said('user', 'Build it.'))
    await session.view()
    await session.reportUsage({ input: 9 })
    await session.append(...answer(1))
    assert.deepEqual(await thoughts(), ['thought 1'])
    // The request was sent and has no answer yet.
    await editor.apply([{ target: { type: 'part', entry: 0, part: 0 }, replacement: 'Build.', why: 'shorter' }])
    await session.reportUsage({ input: 9 })
    await session.append(...answer(2))
    assert.deepEqual(await thoughts(), [], 'both were made before the edit was sent')
    await session.reportUsage({ input: 9 })
    await session.append(...answer(3))
    assert.deepEqual(await thoughts(), ['thought 3'])
    // The same for an undo.
    await editor.undo('e1')
    await session.reportUsage({ input: 9 })
    await session.append(...answer(4))
    assert.deepEqual(await thoughts(), [])
    const reopened = await pal.session('s', { policy: 'none', model: MODEL })
    assert.deepEqual((await reopened.view()).messages, (await session.view()).messages)
  })
}
