import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { generateText, isStepCount, jsonSchema, type ModelMessage, streamText, tool, wrapLanguageModel } from 'ai'
import { palimpsest } from '../../../src/doors/library/ai-sdk.ts'
import { memorySession, PNG, QUESTION, readFile, requestsOf, SCHEMA, SYSTEM, sdkTests } from './sdk.ts'

Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })

type Provider = (url: string) => LanguageModelV4
const providers: Record<string, Provider> = {
  Anthropic: url => createAnthropic({ baseURL: `${url}/v1`, apiKey: 'none' })('claude-x'),
  'OpenAI Chat': url => createOpenAI({ baseURL: `${url}/v1`, apiKey: 'none' }).chat('gpt-5'),
  'OpenAI Responses': url => createOpenAI({ baseURL: `${url}/v1`, apiKey: 'none' }).responses('gpt-5'),
  'OpenAI-compatible': url => createOpenAICompatible({ name: 'local', baseURL: `${url}/v1`, includeUsage: true })('m'),
}

async function loop(model: LanguageModelV4, stream: boolean): Promise<void> {
  const picture = { type: 'file', mediaType: 'image/png', data: Buffer.from(PNG, 'base64') } as const
  const messages: ModelMessage[] = [{ role: 'user', content: [{ type: 'text', text: QUESTION }, picture] }]
  const read = tool({
    inputSchema: jsonSchema<{ path: string }>({ ...SCHEMA, required: [...SCHEMA.required] }),
    execute: async input => readFile(input),
  })
  const options = {
    model,
    instructions: SYSTEM,
    messages,
    tools: { read_file: read },
    stopWhen: isStepCount(5),
    maxRetries: 0,
  }
  if (!stream) return void (await generateText(options))
  await streamText(options).consumeStream({ onError: error => assert.fail(String(error)) })
}

for (const [name, provider] of Object.entries(providers)) {
  for (const stream of [false, true]) {
    sdkTests(`the AI SDK with ${name}${stream ? ', streaming,' : ''}`, (url, edit) => {
      const model = provider(url)
      if (!edit) return loop(model, stream)
      return loop(wrapLanguageModel({ model, middleware: palimpsest(memorySession(edit)) }), stream)
    })
  }

  test(`the AI SDK with ${name} reports the usage of each call`, async () => {
    for (const stream of [false, true]) {
      const session = memorySession(messages => messages)
      const middleware = palimpsest(session)
      await requestsOf(url => loop(wrapLanguageModel({ model: provider(url), middleware }), stream))
      const counts = session.usages.map(({ input, cacheRead, output }) => [input, cacheRead, output])
      assert.deepEqual(counts, [
        [100, 40, 20],
        [50, 140, 10],
        [30, 190, 5],
      ])
    }
  })
}

test('a call that does not apply to the session is passed on', async () => {
  const session = memorySession(() => assert.fail('synced'))
  const middleware = palimpsest(session, { applies: () => false })
  await requestsOf(url => loop(wrapLanguageModel({ model: providers['Anthropic']!(url), middleware }), false))
  assert.deepEqual(session.usages, [])
})

test('a call without reported usage records none', async () => {
  const session = memorySession(messages => messages)
  const middleware = palimpsest(session)
  await requestsOf(url => {
    const silent = createOpenAICompatible({ name: 'local', baseURL: `${url}/v1` })
    return loop(wrapLanguageModel({ model: silent('m'), middleware }), true)
  })
  assert.deepEqual(session.usages, [])
})
