/** /v1/compress and /v1/retrieve: as many messages as came in, the same ones in every call, and a way back. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { startServer } from './harness.ts'

const { server, pal, call, token } = await startServer()
after(() => server.close())

type Wire = { role: string; content: unknown; tool_call_id?: string }
const agent = (await token('bob', 'agent')).token
const LINES = 4000
const log = (seed: number) =>
  Array.from({ length: LINES }, (_, i) => `${seed} line ${i * seed}: value ${(i * 7919) % 1009}`).join('\n')
const result = (n: number, content = log(n)) => ({ role: 'tool', tool_call_id: `call_${n}`, content })
const compress = async (messages: readonly Wire[], model = 'claude-sonnet-4-5') =>
  (await call('POST', '/v1/compress', { token: agent, body: { messages, model } })).json

describe('a conversation from a gateway', () => {
  const results = Array.from({ length: 12 }, (_, i) => result(i + 1))

  test('is returned with the same messages, roles and ids, and shortened when that pays', async () => {
    let sent: Wire[] = []
    let last: Awaited<ReturnType<typeof compress>>
    for (const one of results) {
      sent = [...sent, one]
      last = await compress(sent)
      assert.deepEqual(
        last.messages.map(({ content: _, ...rest }: Wire) => rest),
        sent.map(({ content: _, ...rest }: Wire) => rest),
      )
    }
    assert.ok(last.ccr_hashes.length > 0)
    assert.equal(last.tokens_saved, last.tokens_before - last.tokens_after)
    assert.ok(last.compression_ratio < 0.9, String(last.compression_ratio))
    assert.deepEqual(last.transforms_applied, ['thrifty'])
  })

  test('is shortened in the same way again, even with an earlier request of the user added', async () => {
    const once = await compress(results)
    const again = await compress([{ role: 'user', content: 'Look at the logs.' }, ...results])
    assert.deepEqual(again.messages.slice(1), once.messages)
    assert.equal(again.session, once.session)
  })

  test('can be restored by the hashes in its placeholders', async () => {
    const { messages, ccr_hashes: hashes } = await compress(results)
    let found = 0
    for (const [i, { content }] of messages.entries()) {
      const [, hash] = /hash=([0-9a-f]{24})/.exec(content) ?? []
      if (!hash) continue
      found++
      assert.ok(hashes.includes(hash))
      const { json } = await call('GET', `/v1/retrieve/${hash}?query=line`, { token: agent })
      assert.equal(json.original_content, results[i]!.content)
    }
    assert.equal(found, hashes.length)
  })

  test('is a session with its edits, and an undone edit restores the text in the next answer', async () => {
    const before = await compress(results)
    const session = await pal.of('bob').session(before.session)
    assert.deepEqual((await session.verify()).violations, [])
    const [undone] = session.edits().filter(({ active, edit }) => active && edit.target.type === 'part')
    await session.undo(undone!.edit.id)
    const after = await compress(results)
    const changed = results.flatMap((_, i) => (before.messages[i].content === after.messages[i].content ? [] : [i]))
    assert.equal(changed.length, 1)
    assert.equal(after.messages[changed[0]!].content, results[changed[0]!]!.content)
  })
})

test('concurrent requests append each result only once', async () => {
  const messages = [result(101), result(102)]
  const answers = await Promise.all(Array.from({ length: 5 }, () => compress(messages)))
  const session = await pal.of('bob').session(answers[0].session)
  assert.equal(session.fold.entries.length, 1 + 2 * messages.length)
})

test('messages that are not text results of tools are returned unchanged', async () => {
  const messages = [
    { role: 'system', content: log(1) },
    { role: 'user', content: [{ type: 'text', text: log(2) }] },
    { role: 'tool', tool_call_id: 'a', content: [{ type: 'image_url', image_url: { url: 'data:,' } }] },
    { role: 'tool', tool_call_id: 'b', content: '' },
  ]
  const answer = await compress(messages)
  assert.deepEqual(answer.messages, messages)
  assert.deepEqual([answer.tokens_saved, answer.compression_ratio, answer.session], [0, 1, null])
})

test('an unknown hash is not found', async () => {
  const { status, json } = await call('GET', '/v1/retrieve/0123456789abcdef01234567', { token: agent })
  assert.deepEqual([status, json.error.code], [404, 'NOT_FOUND'])
})
