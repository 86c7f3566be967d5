/**
 * Agents for tests: a model that runs a command in every round, and clients that do it, each with the SDK that real
 * programs use. `rounds` commands with large outputs, then an answer.
 */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import Anthropic from '@anthropic-ai/sdk'
import { generateText, jsonSchema, type LanguageModel, stepCountIs, streamText, tool } from 'ai'
import OpenAI from 'openai'
import type { Received, Turn } from '../../upstream.ts'
import { largeOutput } from './setup.ts'

export const TASK = 'Build everything and tell me when it works.'
const SYSTEM = 'You build software.'
const COMMAND = {
  type: 'object' as const,
  properties: { command: { type: 'string' as const } },
  required: ['command'],
}

/** A model that looks at its messages: one command for each result, then the answer. */
export function builder(rounds: number) {
  return ({ json }: Received, index: number): Turn => {
    if (index >= rounds) return { text: 'Everything is built, and all of it works as it should.' }
    const usage = { input: JSON.stringify(json).length / 4, output: 20 }
    return { text: `Step ${index}.`, calls: [{ name: 'bash', input: { command: `npm test -- part-${index}` } }], usage }
  }
}

export type Loop = { name: string; path: string; run: (url: string) => Promise<string> }

const RETRIES = { maxRetries: 0, apiKey: 'sk-secret' }

export const LOOPS: Loop[] = [
  { name: 'the Anthropic SDK', path: '/v1/messages', run: anthropicLoop },
  { name: 'the OpenAI SDK (chat)', path: '/v1/chat/completions', run: chatLoop },
  { name: 'the OpenAI SDK (responses)', path: '/v1/responses', run: responsesLoop },
  {
    name: 'the AI SDK (anthropic)',
    path: '/v1/messages',
    run: url => aiLoop(createAnthropic({ baseURL: `${url}/v1`, apiKey: 'sk-secret' })('claude-sonnet-4-5')),
  },
  {
    name: 'the AI SDK (compatible)',
    path: '/v1/chat/completions',
    run: url =>
      aiStream(createOpenAICompatible({ name: 'x', baseURL: `${url}/v1`, includeUsage: true })('qwen3-coder')),
  },
  {
    name: 'the AI SDK (openai)',
    path: '/v1/responses',
    run: url => aiStream(createOpenAI({ baseURL: `${url}/v1`, apiKey: 'sk-secret' })('gpt-5')),
  },
]

async function anthropicLoop(url: string): Promise<string> {
  const client = new Anthropic({ baseURL: url, ...RETRIES })
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: TASK }]
  const tools = [{ name: 'bash', input_schema: COMMAND }]
  for (let round = 0; ; round++) {
    const answer = await client.messages
      .stream({ model: 'claude-sonnet-5', max_tokens: 1000, system: SYSTEM, tools, messages })
      .finalMessage()
    messages.push({ role: 'assistant', content: answer.content })
    const results = answer.content.flatMap(block =>
      block.type === 'tool_use'
        ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: largeOutput(round) }]
        : [],
    )
    if (results.length === 0) return answer.content.map(block => (block.type === 'text' ? block.text : '')).join('')
    messages.push({ role: 'user', content: results })
  }
}

async function chatLoop(url: string): Promise<string> {
  const client = new OpenAI({ baseURL: `${url}/v1`, ...RETRIES })
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: TASK },
  ]
  const tools = [{ type: 'function' as const, function: { name: 'bash', parameters: COMMAND } }]
  for (let round = 0; ; round++) {
    const { choices } = await client.chat.completions.create({ model: 'gpt-4.1', messages, tools })
    const { message } = choices[0]!
    messages.push(message)
    if (!message.tool_calls?.length) return message.content ?? ''
    for (const { id } of message.tool_calls) {
      messages.push({ role: 'tool', tool_call_id: id, content: largeOutput(round) })
    }
  }
}

async function responsesLoop(url: string): Promise<string> {
  const client = new OpenAI({ baseURL: `${url}/v1`, ...RETRIES })
  const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: TASK }]
  const tools = [{ type: 'function' as const, name: 'bash', parameters: COMMAND, strict: false }]
  for (let round = 0; ; round++) {
    const stream = client.responses.stream({ model: 'gpt-5', instructions: SYSTEM, input, tools, store: false })
    const response = await stream.finalResponse()
    input.push(...(response.output as OpenAI.Responses.ResponseInput))
    const calls = response.output.filter(item => item.type === 'function_call')
    if (calls.length === 0) return response.output_text
    for (const { call_id } of calls) input.push({ type: 'function_call_output', call_id, output: largeOutput(round) })
  }
}

function aiTools() {
  let round = 0
  const execute = async () => largeOutput(round++)
  return { bash: tool({ inputSchema: jsonSchema<{ command: string }>(COMMAND), execute }) }
}

const aiTask = (model: LanguageModel) => ({
  model,
  system: SYSTEM,
  prompt: TASK,
  tools: aiTools(),
  maxRetries: 0,
  stopWhen: stepCountIs(100),
})

async function aiLoop(model: LanguageModel): Promise<string> {
  return (await generateText(aiTask(model))).text
}

async function aiStream(model: LanguageModel): Promise<string> {
  return streamText(aiTask(model)).text
}
