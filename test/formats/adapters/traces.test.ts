/** Real conversations: the same bytes come back, and the neutral form is hardly larger than the provider's. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type AnthropicMessage, fromAnthropic, toAnthropic } from '../../../src/formats/adapters/anthropic.ts'
import { fromOpenAIChat, type OpenAIChatMessage, toOpenAIChat } from '../../../src/formats/adapters/openai-chat.ts'
import { fromOpenAIResponses, toOpenAIResponses } from '../../../src/formats/adapters/openai-responses.ts'

const TRACES = join(import.meta.dirname, '../../../../shared/traces')
const options = { skip: existsSync(TRACES) ? false : 'skipped: no ../shared/traces' }

type Line = { type: string; message?: AnthropicMessage; payload?: unknown }

function linesOf(pattern: string): Line[] {
  return globSync(pattern, { cwd: TRACES }).flatMap(file =>
    readFileSync(join(TRACES, file), 'utf8')
      .split('\n')
      .flatMap(line => (line.trim() === '' ? [] : [JSON.parse(line)])),
  )
}

function check(wire: unknown[], neutral: unknown, back: unknown): void {
  assert.ok(wire.length > 100)
  assert.equal(JSON.stringify(back), JSON.stringify(wire))
  const ratio = JSON.stringify(neutral).length / JSON.stringify(wire).length
  assert.ok(ratio < 1.25, `${ratio.toFixed(2)} times as large`)
}

test('messages of Claude Code come back unchanged', options, () => {
  const messages = linesOf('claude-code/*.jsonl').flatMap(({ type, message }) => {
    if (!message || (type !== 'user' && type !== 'assistant')) return []
    return [{ role: message.role, content: message.content }]
  })
  const neutral = fromAnthropic(messages)
  check(messages, neutral, toAnthropic(neutral).messages)
})

test('items of Codex come back unchanged', options, () => {
  const items = linesOf('codex/*.jsonl').flatMap(({ type, payload }) => (type === 'response_item' ? [payload] : []))
  const neutral = fromOpenAIResponses(items)
  check(items, neutral, toOpenAIResponses(neutral).input)
})

test('messages of tau-bench come back unchanged', options, () => {
  const runs: { traj: OpenAIChatMessage[] }[] = JSON.parse(
    readFileSync(join(TRACES, 'tau-bench/tau-bench__gpt-4o-airline.json'), 'utf8'),
  )
  const messages = runs.flatMap(({ traj }) => traj)
  const neutral = fromOpenAIChat(messages)
  check(messages, neutral, toOpenAIChat(neutral))
})
