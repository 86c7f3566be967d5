/** What the headers and texts of a client say about a request. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clientKeyOf, clientNameOf, hasTools, sideOf } from '../../../src/doors/proxy/client.ts'
import type { Message } from '../../../src/model/types.ts'
import { says, user } from '../../policies/talk.ts'

const keyOf = (headers: Record<string, string>) => clientKeyOf(new Headers(headers))
const nameOf = (headers: Record<string, string>) => clientNameOf(new Headers(headers))

describe('the name of a conversation', () => {
  test('is taken from the first matching header', () => {
    assert.deepEqual(keyOf({ 'x-palimpsest-session': ' mine ', 'thread-id': 'x' }), {
      key: 'mine',
      by: 'x-palimpsest-session',
    })
    assert.deepEqual(keyOf({ 'thread-id': 'x', session_id: 'y' }), { key: 'codex-x', by: 'thread-id' })
    assert.equal(keyOf({ 'x-session-affinity': 'z' })?.key, 'session-z')
    assert.equal(keyOf({}), undefined)
    assert.equal(keyOf({ 'thread-id': '  ' }), undefined)
    assert.equal(keyOf({ 'thread-id': 'i'.repeat(500) })?.key.length, 'codex-'.length + 120)
  })

  test('has a parent if a header names one', () => {
    assert.equal(keyOf({ 'thread-id': 'x', 'x-codex-parent-thread-id': 'p' })?.parent, 'codex-p')
    assert.deepEqual(keyOf({ 'x-claude-code-session-id': 's' }), { key: 'claude-s', by: 'x-claude-code-session-id' })
    const child = { 'x-claude-code-session-id': 's', 'x-claude-code-agent-id': 'a' }
    assert.deepEqual(keyOf(child), { key: 'claude-s.a', by: 'x-claude-code-agent-id', parent: 'claude-s' })
    const grandchild = { ...child, 'x-claude-code-parent-agent-id': 'b' }
    assert.equal(keyOf(grandchild)?.parent, 'claude-s.b')
    assert.equal(keyOf({ session_id: 'x', 'x-parent-session-id': 'p' })?.parent, undefined)
  })
})

test('a program is recognised by its own headers, or by its user agent', () => {
  assert.equal(nameOf({ 'x-claude-code-session-id': 's', 'user-agent': 'codex' }), 'claude-code')
  assert.equal(nameOf({ originator: 'codex_cli_rs' }), 'codex')
  assert.equal(nameOf({ originator: 'other', 'user-agent': 'opencode/1.2' }), 'opencode')
  assert.equal(nameOf({ 'user-agent': 'pi/0.3' }), 'pi')
  assert.equal(nameOf({ 'user-agent': 'curl/8' }), undefined)
  assert.equal(nameOf({}), undefined)
})

describe('a side request', () => {
  const side = (messages: Message[], body = {}, headers = {}) => sideOf(new Headers(headers), body, messages)
  const system = (text: string): Message => ({ ...user(text), role: 'system' })
  const TITLE = 'Generate a title for this conversation: fix it'
  const SUMMARY = 'Your task is to create a detailed summary of the conversation so far.'
  const tools = { tools: [{ name: 'bash' }] }

  test('is recognised by the last question or by the system prompt', () => {
    assert.equal(side([user(TITLE)]), 'title')
    assert.equal(side([user(TITLE), says('A title'), user('Shorter, please.')]), undefined)
    assert.equal(side([user('Hello'), says('Yes?'), user('Write a good title for my essay.')]), undefined)
    assert.equal(side([user('Write a commit message for this.'), says('Fix'), user('Longer.')]), undefined)
    assert.equal(side([system('You are a title generator.'), user('fix it')]), 'title')
    assert.equal(side([user('fix it'), system('You are a title generator.'), user('x')]), undefined)
    assert.equal(side([user('Write a short commit message for this diff')]), 'commit')
    assert.equal(side([user(SUMMARY)]), 'compaction')
    assert.equal(side([user('fix it')]), undefined)
    assert.equal(side([]), undefined)
  })

  test("is recognised only in a user's message, at its beginning", () => {
    assert.equal(side([user('fix it'), says(TITLE)]), undefined)
    assert.equal(side([user(`${'x '.repeat(2000)}${TITLE}`)]), undefined)
    assert.equal(side([user(`${'x '.repeat(9000)}${SUMMARY}`)]), 'compaction', 'a compaction also at the end')
  })

  test('has no tools, except for a compaction', () => {
    assert.equal(side([user(TITLE)], tools), undefined)
    assert.equal(side([user(SUMMARY)], tools), 'compaction')
    assert.equal(side([user('go on')], { ...tools, input: [{ type: 'compaction_trigger' }] }), 'compaction')
    const metadata = { 'x-codex-turn-metadata': '{"request_kind": "compaction"}' }
    assert.equal(side([user('go on')], tools, metadata), 'compaction')
    assert.equal(side([user('go on')], { ...tools, input: [{ type: 'message' }] }), undefined)
    assert.deepEqual([hasTools({}), hasTools({ tools: [] }), hasTools(tools)], [false, false, true])
    const [added, message] = [{ type: 'additional_tools' }, { type: 'message' }]
    assert.deepEqual([hasTools({ input: [message, 'odd'] }), hasTools({ input: [message, added] })], [false, true])
  })
})

test('the name of an agent inside a conversation is never too long, and no two agents share one', () => {
  const keyOf = (agent: string) =>
    clientKeyOf(new Headers({ 'x-claude-code-session-id': 'c'.repeat(100), 'x-claude-code-agent-id': agent }))!.key
  const fitting = 'a'.repeat(150 - 'claude-'.length - 101)
  assert.equal(keyOf(fitting), `claude-${'c'.repeat(100)}.${fitting}`)
  const long = ['x', 'y'].map(end => keyOf(fitting + end))
  assert.deepEqual(
    long.map(key => key.length),
    [150, 150],
  )
  assert.notEqual(long[0], long[1])
})
