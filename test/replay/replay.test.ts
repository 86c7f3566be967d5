import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Message } from '../../src/model/types.ts'
import { replay } from '../../src/replay/replay.ts'

describe('a replay', () => {
  const said: Message[] = [
    { role: 'user', at: 1, parts: [{ type: 'text', text: 'hello' }] },
    { role: 'assistant', at: 2, parts: [{ type: 'text', text: 'hi' }] },
    { role: 'user', at: 3, parts: [{ type: 'text', text: 'and now?' }] },
    { role: 'assistant', at: 4, parts: [{ type: 'text', text: 'done' }] },
  ]

  test('requests a view before each assistant message, at the time of the message before it', async () => {
    const steps = []
    for await (const { turn, at, messages } of replay(said)) steps.push({ turn, at, sent: messages.length })
    assert.deepEqual(steps, [
      { turn: 0, at: 1, sent: 1 },
      { turn: 1, at: 3, sent: 3 },
    ])
  })

  test('names an unknown policy', async () => {
    await assert.rejects(replay(said, { policy: 'thrfty' }).next(), { code: 'CONFIG_INVALID' })
  })
})
