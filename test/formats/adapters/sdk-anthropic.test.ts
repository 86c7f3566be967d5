import Anthropic from '@anthropic-ai/sdk'
import type { MessageParam, TextBlockParam, ToolResultBlockParam } from '@anthropic-ai/sdk/resources/messages'
import { fromAnthropic, toAnthropic } from '../../../src/formats/adapters/anthropic.ts'
import type { Message } from '../../../src/model/types.ts'
import { PNG, QUESTION, readFile, SCHEMA, SYSTEM, sdkTests } from './sdk.ts'

type Edit = (messages: Message[]) => Message[]

async function loop(url: string, stream: boolean, edit?: Edit): Promise<void> {
  const client = new Anthropic({ baseURL: url, apiKey: 'none', maxRetries: 0 })
  const system: TextBlockParam[] = [{ type: 'text', text: SYSTEM, cache_control: { type: 'ephemeral' } }]
  const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } } as const
  const messages: MessageParam[] = [{ role: 'user', content: [picture, { type: 'text', text: QUESTION }] }]
  for (;;) {
    const prompt = edit
      ? toAnthropic<MessageParam, TextBlockParam[]>(edit(fromAnthropic(messages, system)))
      : { system, messages }
    const params = {
      model: 'claude-x',
      max_tokens: 1000,
      ...prompt,
      tools: [{ name: 'read_file', input_schema: { ...SCHEMA, required: [...SCHEMA.required] } }],
    }
    const answer = stream ? await client.messages.stream(params).finalMessage() : await client.messages.create(params)
    messages.push({ role: 'assistant', content: answer.content })
    const calls = answer.content.filter(block => block.type === 'tool_use')
    if (calls.length === 0) return
    const results = calls.map(({ id, input }): ToolResultBlockParam => {
      return { type: 'tool_result', tool_use_id: id, content: readFile(input as { path: string }) }
    })
    messages.push({ role: 'user', content: results })
  }
}

sdkTests('Anthropic Messages', (url, edit) => loop(url, false, edit))
sdkTests('Anthropic Messages, streaming,', (url, edit) => loop(url, true, edit))
