/** What is read from answers, piece by piece: calls, usage, and the errors of providers. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { anthropic } from '../../../src/doors/proxy/anthropic.ts'
import {
  addArguments,
  type CallMade,
  emptyAnswer,
  isOverflow,
  isOverflowText,
  numberAt,
  refusesReasoning,
  takeCount,
} from '../../../src/doors/proxy/dialect.ts'
import { openaiChat, openaiError } from '../../../src/doors/proxy/openai-chat.ts'
import type { Usage } from '../../../src/model/types.ts'
import { takeTier } from '../../../src/providers/pricing.ts'

test('the arguments of a call are joined from their pieces', () => {
  const call: CallMade = { id: 'c', name: 'bash', input: {} }
  for (const piece of ['{"a"', ':1}', undefined, 7]) addArguments(call, piece)
  assert.equal(call.input, '{"a":1}')
  addArguments(undefined, 'x')
})

test('absent and zero counts are left out, and so is the default tier', () => {
  const usage: Usage = {}
  takeCount(usage, 'cacheWrite', 0)
  takeCount(usage, 'reasoning')
  for (const tier of ['standard', 'default', undefined, 1]) takeTier(usage, tier)
  assert.deepEqual(usage, {})
  takeCount(usage, 'cacheWrite', 5)
  takeTier(usage, 'priority')
  assert.deepEqual(usage, { cacheWrite: 5, tier: 'priority' })
  for (const region of ['us', 'us', 'global']) takeTier(usage, 'standard', region)
  assert.equal(usage.tier, 'priority us')
  assert.deepEqual([numberAt({ a: 0 }, 'a'), numberAt({ a: '0' }, 'a'), numberAt({}, 'a')], [0, undefined, undefined])
})

test('an overflow is recognised by its status and its words', () => {
  const words = 'prompt is too long: 210000 tokens > 200000 maximum'
  assert.deepEqual(
    [400, 413, 422, 429, 500].map(status => isOverflow(status, words)),
    [true, true, true, false, false],
  )
  assert.equal(isOverflow(400, 'invalid x-api-key'), false)
  assert.deepEqual([isOverflowText(words), isOverflowText('fine')], [true, false])
})

test('refused reasoning is recognised by its status and its words', () => {
  const words = 'messages.1.content.0: Invalid `signature` in `thinking` block'
  assert.deepEqual(
    [refusesReasoning(400, words), refusesReasoning(500, words), refusesReasoning(400, 'no')],
    [true, false, false],
  )
})

describe('a whole answer', () => {
  test('of Anthropic gives texts and calls; a body without content gives neither', () => {
    const answer = emptyAnswer()
    anthropic.whole(answer, {
      model: 'claude',
      usage: { input_tokens: 3, output_tokens: 4 },
      content: [{ type: 'text', text: 'hi' }, 'odd', { type: 'tool_use', id: 't', name: 'bash', input: { a: 1 } }],
    })
    assert.deepEqual([answer.text, answer.calls], ['hi', [{ id: 't', name: 'bash', input: { a: 1 } }]])
    assert.deepEqual([answer.usage.model, answer.usage.input, answer.usage.output], ['claude', 3, 4])
    const empty = emptyAnswer()
    anthropic.whole(empty, { content: 'text' })
    assert.deepEqual(empty, emptyAnswer())
  })
})

describe('a stream', () => {
  test('of Anthropic has the summary of a compaction after its block', () => {
    const answer = emptyAnswer()
    anthropic.event(answer, {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'compaction', content: null },
    })
    const delta = { type: 'compaction_delta', content: 'All parts were built.' }
    anthropic.event(answer, { type: 'content_block_delta', index: 0, delta })
    assert.deepEqual(answer.serverEdits, [{ type: 'compaction', summary: 'All parts were built.' }])
  })

  test('of Chat Completions gives calls by their index', () => {
    const answer = emptyAnswer()
    const delta = (tool_calls: object[]) => openaiChat.event(answer, { choices: [{ delta: { tool_calls } }] })
    delta([{ index: 0, id: 'a', function: { name: 'one', arguments: '' } }])
    delta([{ index: 1, id: 'b', function: { name: 'two', arguments: '{' } }])
    delta([{ index: 0, function: { arguments: '{"x":1}' } }])
    delta([{ index: 1, id: '', function: { arguments: '}' } }])
    assert.deepEqual(answer.calls, [
      { id: 'a', name: 'one', input: '{"x":1}' },
      { id: 'b', name: 'two', input: '{}' },
    ])
  })
})

test("our own errors have OpenAI's form, and say who caused them", () => {
  const kinds = [400, 401, 499, 500, 502].map(status => {
    const { type, code } = openaiError(status, 'x')['error'] as { type: string; code: string | null }
    return [type, code]
  })
  assert.deepEqual(kinds, [
    ['invalid_request_error', null],
    ['authentication_error', null],
    ['invalid_request_error', null],
    ['server_error', 'upstream_unreachable'],
    ['server_error', 'upstream_unreachable'],
  ])
})
