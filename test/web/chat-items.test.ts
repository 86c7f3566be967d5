/** The items of a chat, from the ledger and from events: both give the same. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentEvent } from '../../src/agent/events.ts'
import type { Message } from '../../src/model/types.ts'
import type { Entry } from '../../web/src/api-types.ts'
import { type ChatItem, itemsOf, openQuestion, withEvent } from '../../web/src/pages/chat/chat-items.ts'

const follow = (events: readonly AgentEvent[], start: readonly ChatItem[] = []) =>
  events.reduce<readonly ChatItem[]>(withEvent, start)
const entriesOf = (messages: readonly Message[]): Entry[] =>
  messages.map((message, entry) => ({ entry, seq: entry, at: 0, message, edits: [], pinned: false }))

test('streamed items look the same when they are loaded later', () => {
  const input = { path: 'a.ts' }
  const streamed = follow(
    [
      { type: 'reasoning', text: 'hm' },
      { type: 'reasoning', text: 'm' },
      { type: 'text', text: 'I ' },
      { type: 'text', text: 'read.' },
      { type: 'call', id: 'c1', name: 'read_file', input },
      { type: 'call', id: 'c2', name: 'read_file', input },
      { type: 'result', id: 'c2', name: 'read_file', text: 'two', isError: true },
      { type: 'result', id: 'c1', name: 'read_file', text: 'one', isError: false },
      { type: 'usage', usage: {}, cost: 1, context: { tokens: 1, window: 2, cached: 0 } },
      { type: 'text', text: 'Done.' },
      { type: 'done', reason: 'answered', message: '', steps: 2, cost: 1 },
    ],
    [{ kind: 'user', text: 'Look.' }],
  )
  const call = (id: string) => ({ type: 'tool-call' as const, id, name: 'read_file', input })
  const result = (id: string, output: string, isError?: true) => ({
    type: 'tool-result' as const,
    id,
    name: 'read_file',
    output,
    ...(isError ? { isError } : {}),
  })
  const read = itemsOf(
    entriesOf([
      { role: 'system', parts: [{ type: 'text', text: 'You are.' }] },
      { role: 'user', parts: [{ type: 'text', text: 'Look.' }] },
      {
        role: 'assistant',
        parts: [{ type: 'reasoning', text: 'hmm' }, { type: 'text', text: 'I read.' }, call('c1'), call('c2')],
      },
      { role: 'tool', parts: [result('c1', 'one'), result('c2', 'two', true)] },
      { role: 'assistant', parts: [{ type: 'text', text: 'Done.' }] },
    ]),
  )
  assert.deepEqual(streamed, read)
})

test('a question is open until it is answered, including that of a subagent', () => {
  const asked: AgentEvent[] = [
    { type: 'call', id: 'c1', name: 'run_command', input: { command: 'ls' } },
    { type: 'approval', id: 'c1', name: 'run_command', question: 'Run ls?' },
  ]
  assert.equal(openQuestion(follow(asked))?.approval?.question, 'Run ls?')
  assert.equal(openQuestion(follow([...asked, { type: 'approved', id: 'c1', yes: false }])), undefined)
  const below = asked.map((event): AgentEvent => ({ type: 'delegated', session: 'child', event }))
  assert.equal(openQuestion(follow(below))?.id, 'c1')
  assert.equal(follow(below).length, 1, 'the events of one subagent stand together')
})

test('a repeated id refers to the later call', () => {
  const items = follow([
    { type: 'call', id: 'c1', name: 'a', input: 1 },
    { type: 'result', id: 'c1', name: 'a', text: 'first', isError: false },
  ])
  const next = itemsOf(
    entriesOf([
      { role: 'assistant', parts: [{ type: 'tool-call', id: 'c1', name: 'a', input: 1 }] },
      { role: 'tool', parts: [{ type: 'tool-result', id: 'c1', name: 'a', output: 'first' }] },
      { role: 'assistant', parts: [{ type: 'tool-call', id: 'c1', name: 'a', input: 2 }] },
      { role: 'tool', parts: [{ type: 'tool-result', id: 'c1', name: 'a', output: 'second' }] },
    ]),
  )
  const results = next.map(item => (item.kind === 'tool' ? item.result?.text : undefined))
  assert.deepEqual(results, ['first', 'second'])
  assert.equal(items.length, 1)
})

test('the end of a turn is shown if it was not an answer', () => {
  const [note] = follow([{ type: 'done', reason: 'money', message: 'Spent $1.', steps: 3, cost: 1 }])
  assert.deepEqual(note, { kind: 'done', reason: 'money', message: 'Spent $1.' })
})
