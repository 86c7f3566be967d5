/**
 * The OpenAI Chat Completions API for the proxy, and the many servers that speak it. A stream reports its usage only if
 * the client asked for that; the proxy does not ask on its behalf.
 */

import { fromOpenAIChat, toOpenAIChat } from '../../formats/adapters/openai-chat.ts'
import type { Wire } from '../../formats/adapters/original.ts'
import { isRecord } from '../../model/json.ts'
import { takeTier } from '../../providers/pricing.ts'
import { toOpenAITools } from '../../tools/tool.ts'
import { type Answer, addArguments, numberAt, type ProxyDialect, type Step, takeOpenAIUsage } from './dialect.ts'

export const openaiChat: ProxyDialect = {
  name: 'openai-chat',
  upstream: 'openai',
  // Azure names the model, as a deployment, in the path.
  path: /^(?:\/v1|\/deployments\/[^/]+)\/chat\/completions$/,
  modelIn: path => /\/deployments\/([^/]+)\/chat\/completions$/.exec(path)?.[1],
  list: 'messages',
  read: ({ messages }) => (Array.isArray(messages) ? fromOpenAIChat(messages) : undefined),
  write: (body, messages) => ({ ...body, messages: toOpenAIChat(messages) }),
  addSystem,
  defineTool: tool => ({ ...toOpenAITools([tool])[0] }),
  untouchable: body => (usesFunctions(body) ? 'pass' : undefined),
  event,
  whole: event,
  isOpening: () => false,
  below: {
    isData: ({ response_format: format, n }) => asksForData(format) || (typeof n === 'number' && n > 1),
    stream: belowStream,
    whole: belowWhole,
  },
  error: openaiError,
}

/** The old form of tool calls has no ids, so results cannot be assigned to calls. */
function usesFunctions({ functions, function_call, messages }: Wire): boolean {
  if (functions !== undefined || function_call !== undefined) return true
  const list: unknown[] = Array.isArray(messages) ? messages : []
  return list.some(
    message => isRecord(message) && (message['role'] === 'function' || isRecord(message['function_call'])),
  )
}

/** Adds to the first system message: some servers accept no second one. */
function addSystem(body: Wire, text: string): Wire {
  const messages: unknown[] = Array.isArray(body['messages']) ? body['messages'] : []
  const [first, ...rest] = messages
  if (!isRecord(first) || (first['role'] !== 'system' && first['role'] !== 'developer')) {
    return { ...body, messages: [{ role: 'system', content: text }, ...messages] }
  }
  const { content } = first
  const more = Array.isArray(content)
    ? [...content, { type: 'text', text }]
    : `${content ? `${content}\n\n` : ''}${text}`
  return { ...body, messages: [{ ...first, content: more }, ...rest] }
}

/** Chunks and whole completions differ in one name: `delta` or `message`. */
function event(answer: Answer, data: Wire): void {
  if (typeof data['model'] === 'string') answer.usage.model = data['model']
  takeTier(answer.usage, data['service_tier'])
  if (isRecord(data['usage'])) takeUsage(answer, data['usage'])
  if (isRecord(data['error'])) answer.error = JSON.stringify(data['error'])
  const choice: unknown = Array.isArray(data['choices']) ? data['choices'][0] : undefined
  if (!isRecord(choice)) return
  const said = choice['delta'] ?? choice['message']
  if (!isRecord(said)) return
  if (typeof said['content'] === 'string') answer.text += said['content']
  if (!Array.isArray(said['tool_calls'])) return
  for (const call of said['tool_calls']) if (isRecord(call)) takeCall(answer, call)
}

/** Only the first piece of a call has its id; the others have its index in the batch. */
function takeCall(answer: Answer, { id, index, function: body }: Wire): void {
  const { name, arguments: text } = isRecord(body) ? body : {}
  if (typeof id === 'string' && id !== '') answer.calls.push({ id, name: String(name), input: '' })
  addArguments(typeof index === 'number' ? answer.calls[index] : answer.calls.at(-1), text)
}

function takeUsage(answer: Answer, usage: Wire): void {
  const { prompt_tokens_details: input, completion_tokens_details: output } = usage
  takeOpenAIUsage(answer.usage, input, output, numberAt(usage, 'prompt_tokens'))
  answer.usage.output = numberAt(usage, 'completion_tokens') ?? answer.usage.output
}

export function openaiError(status: number, message: string): Wire {
  const type = status === 401 ? 'authentication_error' : status < 500 ? 'invalid_request_error' : 'server_error'
  return { error: { message, type, param: null, code: status >= 500 ? 'upstream_unreachable' : null } }
}

export function asksForData(format: unknown): boolean {
  return isRecord(format) && format['type'] !== 'text'
}

function belowStream(line: string): (data: Wire) => Step {
  let isText = false
  let calls = false
  return data => {
    const choice: unknown = Array.isArray(data['choices']) ? data['choices'][0] : undefined
    if (!isRecord(choice)) return 'pass'
    const delta = isRecord(choice['delta']) ? choice['delta'] : {}
    const { content, tool_calls: called } = delta
    calls ||= Array.isArray(called) && called.length > 0
    isText ||= typeof content === 'string' && content.trim() !== ''
    if (choice['finish_reason'] !== 'stop' || calls || !isText) return 'pass'
    const said = typeof content === 'string' ? content : ''
    if (said !== '') return [{ ...data, choices: [{ ...choice, delta: { ...delta, content: said + line } }] }]
    const { usage: _, ...chunk } = data
    return [{ ...chunk, choices: [{ index: choice['index'], delta: { content: line }, finish_reason: null }] }, data]
  }
}

function belowWhole(answer: Wire, line: string): Wire | undefined {
  const choices: unknown[] = Array.isArray(answer['choices']) ? answer['choices'] : []
  const [choice] = choices
  if (choices.length !== 1 || !isRecord(choice) || choice['finish_reason'] !== 'stop') return undefined
  const { message } = choice
  if (!isRecord(message) || (Array.isArray(message['tool_calls']) && message['tool_calls'].length > 0)) return undefined
  const { content } = message
  if (typeof content !== 'string' || content.trim() === '') return undefined
  return { ...answer, choices: [{ ...choice, message: { ...message, content: content + line } }] }
}
