import OpenAI from 'openai'
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions'
import type { FunctionTool, Response, ResponseInputItem } from 'openai/resources/responses/responses'
import { fromOpenAIChat, toOpenAIChat } from '../../../src/formats/adapters/openai-chat.ts'
import { fromOpenAIResponses, toOpenAIResponses } from '../../../src/formats/adapters/openai-responses.ts'
import type { Message } from '../../../src/model/types.ts'
import { PNG, QUESTION, readFile, SCHEMA, SYSTEM, sdkTests } from './sdk.ts'

type Edit = (messages: Message[]) => Message[]
const image = `data:image/png;base64,${PNG}`

async function chatLoop(url: string, stream: boolean, edit?: Edit): Promise<void> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 })
  const tools: ChatCompletionTool[] = [{ type: 'function', function: { name: 'read_file', parameters: { ...SCHEMA } } }]
  const messages: ChatCompletionMessageParam[] = [
    { role: 'developer', content: SYSTEM },
    {
      role: 'user',
      content: [
        { type: 'text', text: QUESTION },
        { type: 'image_url', image_url: { url: image, detail: 'low' } },
      ],
    },
  ]
  for (;;) {
    const sent = edit ? toOpenAIChat<ChatCompletionMessageParam>(edit(fromOpenAIChat(messages))) : messages
    const params = { model: 'gpt-5', messages: sent, tools }
    const completion = stream
      ? await client.chat.completions.stream(params).finalChatCompletion()
      : await client.chat.completions.create(params)
    const { message } = completion.choices[0]!
    messages.push(message)
    if (!message.tool_calls) return
    for (const call of message.tool_calls) {
      if (call.type !== 'function') continue
      messages.push({ role: 'tool', tool_call_id: call.id, content: readFile(JSON.parse(call.function.arguments)) })
    }
  }
}

async function responsesLoop(url: string, stream: boolean, edit?: Edit): Promise<void> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 })
  const tools: FunctionTool[] = [{ type: 'function', name: 'read_file', parameters: { ...SCHEMA }, strict: false }]
  const content = [
    { type: 'input_text', text: QUESTION },
    { type: 'input_image', image_url: image, detail: 'auto' },
  ] as const
  const input: ResponseInputItem[] = [{ role: 'user', content: [...content] }]
  for (;;) {
    const prompt = edit
      ? toOpenAIResponses<ResponseInputItem>(edit(fromOpenAIResponses(input, SYSTEM)))
      : { instructions: SYSTEM, input }
    const params = { model: 'gpt-5', ...prompt, tools, store: false }
    const response: Response = stream
      ? await client.responses.stream(params).finalResponse()
      : await client.responses.create(params)
    input.push(...(response.output as ResponseInputItem[]))
    const calls = response.output.filter(item => item.type === 'function_call')
    if (calls.length === 0) return
    for (const { call_id, arguments: text } of calls) {
      input.push({ type: 'function_call_output', call_id, output: readFile(JSON.parse(text)) })
    }
  }
}

sdkTests('OpenAI Chat', (url, edit) => chatLoop(url, false, edit))
sdkTests('OpenAI Chat, streaming,', (url, edit) => chatLoop(url, true, edit))
sdkTests('OpenAI Responses', (url, edit) => responsesLoop(url, false, edit))
sdkTests('OpenAI Responses, streaming,', (url, edit) => responsesLoop(url, true, edit))
