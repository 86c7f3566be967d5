/**
 * Looking into JSON of which nothing is known: a missing or wrong field gives an empty value, never an exception.
 */

import { isRecord, tryJson } from '../../model/json.ts'
import type { Usage } from '../../model/types.ts'

export type Fields = Readonly<Record<string, unknown>>

const NONE: Fields = {}

export function fields(value: unknown): Fields {
  return isRecord(value) ? value : NONE
}

export function items(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The objects of a list. */
export function records(value: unknown): Fields[] {
  return items(value).filter(isRecord)
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Text as it is; anything else as JSON; nothing as nothing. */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

export function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}

/** Milliseconds since 1970, from an ISO date or a number of milliseconds. */
export function time(value: unknown): number | undefined {
  const at = typeof value === 'string' && value !== '' ? Date.parse(value) : value
  return typeof at === 'number' && Number.isFinite(at) ? at : undefined
}

/** Arguments of a call: JSON text is parsed; what is not valid JSON stays the text that it is. */
export function callInput(value: unknown): unknown {
  if (typeof value !== 'string') return value ?? {}
  if (value.trim() === '') return {}
  const parsed = tryJson(value)
  return parsed === undefined ? value : parsed
}

/** Numbers of a provider as usage; nothing where all of them are 0. */
export function usageOfNumbers(numbers: Required<Numbers> & Facts, model: string): Usage | undefined {
  const { input, cacheRead, cacheWrite, output, ...facts } = numbers
  if ([input, cacheRead, cacheWrite, output].every(number => number === 0)) return undefined
  return { input, cacheRead, cacheWrite, output, ...factsOf({ ...facts, model }) }
}

type Numbers = Pick<Usage, 'input' | 'cacheRead' | 'cacheWrite' | 'output'>
type Facts = { reasoning?: number; model?: string }

/** Usage in OpenAI's chat form; nothing where none was reported. LiteLLM has names of its own for cache writes. */
export function chatUsage(usage: Fields, model: string): Usage | undefined {
  if (!('prompt_tokens' in usage)) return undefined
  const details = fields(usage['prompt_tokens_details'])
  const written = [
    details['cache_write_tokens'],
    details['cache_creation_tokens'],
    usage['cache_creation_input_tokens'],
  ]
  return usageWithCached({
    prompt: usage['prompt_tokens'],
    cached: details['cached_tokens'] ?? usage['cache_read_input_tokens'],
    written: written.find(count),
    output: usage['completion_tokens'],
    reasoning: fields(usage['completion_tokens_details'])['reasoning_tokens'],
    model,
  })
}

/** What was reported of a call; anything that is no number counts as 0. */
type WithCached = { prompt: unknown; cached: unknown; written?: unknown; output: unknown; reasoning?: unknown } & Pick<
  Facts,
  'model'
>

/** Usage of a provider whose prompt tokens include those that were read from the cache and written to it. */
export function usageWithCached({ prompt, cached, written, output, reasoning, model = '' }: WithCached): Usage {
  const cacheRead = Math.min(count(cached), count(prompt))
  const cacheWrite = Math.min(count(written), count(prompt) - cacheRead)
  const input = count(prompt) - cacheRead - cacheWrite
  const write = cacheWrite > 0 ? { cacheWrite } : {}
  return { input, cacheRead, ...write, output: count(output), ...factsOf({ reasoning: count(reasoning), model }) }
}

/** Without those that say nothing. */
function factsOf({ reasoning = 0, model = '' }: Facts): Facts {
  return { ...(reasoning > 0 ? { reasoning } : {}), ...(model === '' ? {} : { model }) }
}
