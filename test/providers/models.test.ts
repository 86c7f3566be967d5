import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isKnownModel, modelInfo, PRICES_AS_OF } from '../../src/providers/models.ts'

test('a model is found by the longest name that its own begins with', () => {
  assert.equal(modelInfo('claude-opus-4-5').input, 5)
  assert.equal(modelInfo('claude-haiku-4-5-20251001').input, 1)
  assert.equal(modelInfo('gpt-4.1-mini').window, 1_000_000)
  assert.equal(modelInfo('gpt-5').dialect, 'openai-responses')
  assert.equal(modelInfo('gpt-4o-mini').dialect, 'openai-chat')
  assert.equal(modelInfo('claude-opus-5-preview').bindsReasoning, true)
})

test('a provider in front of the name, and upper case, make no difference', () => {
  const names = [
    'anthropic/claude-opus-5',
    'us.anthropic.claude-opus-5-v1:0',
    'openrouter/anthropic/claude-opus-5',
    'anthropic:claude-opus-5',
    'Claude-Opus-5',
  ]
  for (const name of names) assert.equal(modelInfo(name).bindsReasoning, true, name)
  assert.equal(modelInfo('ft:gpt-4o:org::id').window, 128_000)
  assert.equal(modelInfo('models/gemini-2.5-pro').window, 1_000_000)
})

test('an unknown model is priced as the dearest to break a cache on, and said to be unknown', () => {
  const { source: _, ...unknown } = modelInfo('my-own-model')
  const { source: __, ...claude } = modelInfo('claude-sonnet-4-5')
  assert.deepEqual(unknown, claude)
  assert.equal(isKnownModel('my-own-model'), false)
  assert.equal(isKnownModel('llama-o3'), false)
  assert.equal(isKnownModel('openai/o3-mini'), true)
  assert.deepEqual(modelInfo(), modelInfo('claude'))
})

test('a table of one’s own adds models and changes known ones, field by field', () => {
  const table = { 'my-model': { window: 5, write: 1 }, 'claude-opus': { input: 9 } }
  assert.equal(modelInfo('my-model-large', table).window, 5)
  assert.equal(modelInfo('local/my-model', table).write, 1)
  const opus = modelInfo('claude-opus-4-5', table)
  assert.equal(opus.input, 9)
  assert.equal(opus.output, 25)
})

test('every price is a plausible number, and the table says of which day it is', () => {
  assert.match(PRICES_AS_OF, /^\d{4}-\d\d-\d\d$/)
  for (const name of [
    'claude',
    'claude-haiku',
    'gpt-5',
    'gpt-4o',
    'o3',
    'o4-mini',
    'codex',
    'gemini-3',
    'deepseek-chat',
  ]) {
    const { input, output, read, write, window, ttl, scale, source } = modelInfo(name)
    assert.ok(input > 0 && output >= input && read > 0 && read < 1 && write >= 1, name)
    assert.ok(window >= 100_000 && ttl >= 60_000 && scale >= 1 && source.length > 5, name)
  }
})
