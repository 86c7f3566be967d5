import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startWholeServer } from '../whole-server.ts'

test('a preference that a user states in two conversations becomes a proposal that cites both', async () => {
  const it = await startWholeServer({ requireToken: false })
  try {
    const ask = async (text: string, session: string) => {
      const body = { model: 'claude-sonnet-5', max_tokens: 10, messages: [{ role: 'user', content: text }] }
      const sent = { body, headers: { 'x-palimpsest-session': session } }
      assert.equal((await it.call('POST', '/v1/messages', sent)).status, 200)
    }
    const opened = new Promise<void>(resolve => it.memory.onChange(() => resolve()))
    await ask('Fix the login. Always use pnpm instead of npm here.', 'one')
    await ask('Write a test, and always use pnpm instead of npm here.', 'two')
    await opened
    const [made, ...more] = await it.memory.proposals('owner')
    assert.deepEqual(more, [])
    assert.equal(made?.label, 'preferences')
    assert.deepEqual(made?.entries, [
      { session: 'two', entry: 0, source: 'user' },
      { session: 'one', entry: 0, source: 'user' },
    ])
  } finally {
    await it.close()
  }
})
