/**
 * The OpenAI Responses API for the proxy. With `previous_response_id` or `conversation` the server has the earlier
 * messages: such a request is passed on unchanged. A stream may still turn out to be an overflow error after it has
 * begun, so each of its first events is held until the next one arrives.
 */

import { fromOpenAIResponses, toOpenAIResponses } from '../../formats/adapters/openai-responses.ts'
import type { Wire } from '../../formats/adapters/original.ts'
import { isRecord } from '../../model/json.ts'
import type { Message } from '../../model/types.ts'
import { takeTier } from '../../providers/pricing.ts'
import { toOpenAIResponsesTools } from '../../tools/tool.ts'
import {
  type Answer,
  hasText,
  numberAt,
  type ProxyDialect,
  type Step,
  takeOpenAIUsage,
  withLast,
  withLine,
} from './dialect.ts'
import { asksForData, openaiError } from './openai-chat.ts'

export const openaiResponses: ProxyDialect = {
  name: 'openai-responses',
  upstream: 'openai',
  // Azure's path has no version.
  path: /^(?:\/v1)?\/responses(?:\/compact)?$/,
  counts: /^(?:\/v1)?\/responses\/input_tokens$/,
  compacts: /\/responses\/compact$/,
  list: 'input',
  read,
  write,
  addSystem,
  defineTool: tool => ({ ...toOpenAIResponsesTools([tool])[0] }),
  untouchable: body => (body['previous_response_id'] || body['conversation'] ? 'pass' : undefined),
  event,
  whole,
  isOpening: ({ type }) => OPENING.has(String(type)),
  below: {
    isData: ({ text }) => isRecord(text) && asksForData(text['format']),
    stream: belowStream,
    whole: belowWhole,
  },
  error: openaiError,
}

const OPENING = new Set(['response.created', 'response.in_progress', 'response.queued'])

function read({ input, instructions }: Wire): Message[] | undefined {
  if (typeof input !== 'string' && !Array.isArray(input)) return undefined
  return fromOpenAIResponses(input, typeof instructions === 'string' ? instructions : undefined)
}

function write(body: Wire, messages: readonly Message[]): Wire {
  const { instructions, input } = toOpenAIResponses(messages)
  const out: Wire = { ...body, input }
  if (instructions !== undefined) out['instructions'] = instructions
  else if (typeof body['instructions'] === 'string') delete out['instructions']
  return out
}

function addSystem(body: Wire, text: string): Wire {
  const { instructions } = body
  const before = typeof instructions === 'string' && instructions !== '' ? `${instructions}\n\n` : ''
  return { ...body, instructions: before + text }
}

function event(answer: Answer, data: Wire): void {
  const { type, item, response, delta } = data
  if (type === 'response.output_item.done' && isRecord(item)) takeItem(answer, item)
  if (type === 'response.output_text.delta' && typeof delta === 'string') answer.text += delta
  if (isRecord(response)) takeUsage(answer, response)
  if (type === 'response.failed' && isRecord(response)) answer.error = JSON.stringify(response['error'])
  if (type === 'error') answer.error = JSON.stringify(data)
}

function whole(answer: Answer, body: Wire): void {
  takeUsage(answer, body)
  if (!Array.isArray(body['output'])) return
  for (const item of body['output']) {
    if (!isRecord(item)) continue
    takeItem(answer, item)
    answer.text += textOf(item)
  }
}

function takeItem(answer: Answer, item: Wire): void {
  const { call_id: id, name, arguments: input } = item
  if (item['type'] === 'compaction') answer.serverEdits.push({ type: 'compaction' })
  if (typeof id === 'string') answer.calls.push({ id, name: String(name), input })
}

function textOf({ content }: Wire): string {
  if (!Array.isArray(content)) return ''
  return content.map(block => (isRecord(block) && typeof block['text'] === 'string' ? block['text'] : '')).join('')
}

function takeUsage(answer: Answer, data: Wire): void {
  const { usage, model, service_tier: tier, prompt_cache_diagnostics: diagnosed } = data
  if (isRecord(diagnosed) && typeof diagnosed['reason'] === 'string') answer.diagnosis = diagnosed['reason']
  if (typeof model === 'string') answer.usage.model = model
  takeTier(answer.usage, tier)
  if (!isRecord(usage)) return
  const { input_tokens_details: input, output_tokens_details: output } = usage
  takeOpenAIUsage(answer.usage, input, output, numberAt(usage, 'input_tokens'))
  answer.usage.output = numberAt(usage, 'output_tokens') ?? answer.usage.output
}

/** The events that end a message carry its whole text, so they are held until it is known whether the turn ends. */
function belowStream(line: string): (data: Wire) => Step {
  let held: Wire[] = []
  let calls = false
  return data => {
    const { type, item } = data
    calls ||= isRecord(item) && typeof item['call_id'] === 'string'
    const [first] = held
    if (type === 'response.completed' && held.length === ENDS.length && !calls) return endedWith(line, held, data)
    const isNext = type === ENDS[held.length] && (!first || first['output_index'] === data['output_index'])
    held = isNext ? [...held, data] : []
    return isNext ? 'hold' : 'pass'
  }
}

/** The events that end a message with one text. */
const ENDS = ['response.output_text.done', 'response.content_part.done', 'response.output_item.done']

function endedWith(line: string, held: readonly Wire[], completed: Wire): Wire[] | 'pass' {
  const [text, part, item] = held
  const { response } = completed
  if (!hasText(text) || !isRecord(part?.['part']) || !isRecord(item?.['item']) || !isRecord(response)) return 'pass'
  const { item_id, output_index, content_index, sequence_number: number } = text
  const place = { item_id, output_index, content_index, ...(number === undefined ? {} : { sequence_number: number }) }
  const later = (event: Wire): Wire => {
    const { sequence_number: before } = event
    return typeof before === 'number' ? { ...event, sequence_number: before + 1 } : event
  }
  return [
    { type: 'response.output_text.delta', ...place, delta: line, logprobs: [] },
    later(withLine(text, line)),
    later({ ...part, part: withLine(part['part'], line) }),
    later({ ...item, item: itemWith(item['item'], line) }),
    later({ ...completed, response: responseWith(response, line) ?? response }),
  ]
}

function itemWith(item: Wire, line: string): Wire {
  const content: unknown[] = Array.isArray(item['content']) ? item['content'] : []
  return { ...item, content: withLast(content, part => withLine(part, line)) }
}

function responseWith(response: Wire, line: string): Wire | undefined {
  const output: unknown[] = Array.isArray(response['output']) ? response['output'] : []
  const last = output.at(-1)
  if (!isRecord(last) || !Array.isArray(last['content']) || !hasText(last['content'].at(-1))) return undefined
  return { ...response, output: withLast(output, item => itemWith(item, line)) }
}

function belowWhole(answer: Wire, line: string): Wire | undefined {
  const output: unknown[] = Array.isArray(answer['output']) ? answer['output'] : []
  const calls = output.some(item => isRecord(item) && typeof item['call_id'] === 'string')
  return answer['status'] === 'completed' && !calls ? responseWith(answer, line) : undefined
}
