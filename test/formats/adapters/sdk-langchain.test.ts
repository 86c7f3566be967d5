import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChatAnthropic } from '@langchain/anthropic'
import { HumanMessage } from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent, tool } from 'langchain'
import { palimpsest } from '../../../src/doors/library/langchain.ts'
import { memorySession, PNG, QUESTION, readFile, requestsOf, SCHEMA, SYSTEM, sdkTests } from './sdk.ts'

process.env['LANGCHAIN_TRACING_V2'] = 'false'

type Model = ChatAnthropic | ChatOpenAI
const openai = (url: string, useResponsesApi: boolean) =>
  new ChatOpenAI({
    model: 'gpt-4o',
    apiKey: 'none',
    maxRetries: 0,
    useResponsesApi,
    configuration: { baseURL: `${url}/v1` },
  })
const providers: Record<string, (url: string) => Model> = {
  Anthropic: url => new ChatAnthropic({ model: 'claude-x', apiKey: 'none', anthropicApiUrl: url, maxRetries: 0 }),
  'Anthropic, streaming,': url =>
    new ChatAnthropic({
      model: 'claude-x',
      apiKey: 'none',
      anthropicApiUrl: url,
      maxRetries: 0,
      streaming: true,
    }),
  'OpenAI Chat': url => openai(url, false),
  'OpenAI Responses': url => openai(url, true),
}

async function loop(model: Model, middleware: ReturnType<typeof palimpsest>[]): Promise<void> {
  const read = tool(input => readFile(input as { path: string }), {
    name: 'read_file',
    schema: { ...SCHEMA, required: [...SCHEMA.required] },
  })
  const agent = createAgent({ model, tools: [read], systemPrompt: SYSTEM, middleware })
  const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }
  const question = new HumanMessage({ content: [{ type: 'text', text: QUESTION }, picture], id: 'question' })
  await agent.invoke({ messages: [question] })
}

for (const [name, provider] of Object.entries(providers)) {
  sdkTests(`LangChain with ${name}`, (url, edit) => loop(provider(url), edit ? [palimpsest(memorySession(edit))] : []))

  test(`LangChain with ${name} reports the usage of each call`, async () => {
    const session = memorySession(messages => messages)
    await requestsOf(url => loop(provider(url), [palimpsest(session)]))
    assert.deepEqual(
      session.usages.map(({ input, cacheRead, output }) => [input, cacheRead, output]),
      [
        [100, 40, 20],
        [50, 140, 10],
        [30, 190, 5],
      ],
    )
  })
}
