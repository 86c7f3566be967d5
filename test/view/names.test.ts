/** Names of agents and models for people. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentName, modelName } from '../../src/view/names.ts'

test('known agents have their own spelling, ours is named after its persona, and others stay as they are', () => {
  assert.equal(agentName('claude-code'), 'Claude Code')
  assert.equal(agentName('gemini-cli'), 'Gemini CLI')
  assert.equal(agentName('palimpsest:default'), 'Palimpsest')
  assert.equal(agentName('palimpsest:reviewer'), 'Palimpsest, reviewer')
  for (const name of ['my-agent', 'palimpsest', 'constructor', '']) assert.equal(agentName(name), name)
})

test('models lose the name of their maker and the day of their release', () => {
  assert.equal(modelName('claude-opus-4-5-20251101'), 'opus-4-5')
  assert.equal(modelName('claude-sonnet-5'), 'sonnet-5')
  assert.equal(modelName('openai/gpt-4.1-mini'), 'gpt-4.1-mini')
  for (const name of ['gpt-5.5', 'deepseek-v4-flash', 'claude-', 'openai/', '-20251101', ''])
    assert.equal(modelName(name), name)
})
