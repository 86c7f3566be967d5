/** Reads JSON of unknown shape: a missing or wrong field gives an empty value, never an exception. */

import { isRecord, tryJson } from '../../model/json.ts'
import type { Usage } from '../../model/types.ts'
import { tokensIn } from '../../providers/reported.ts'

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

/** A string as it is, `undefined` and `null` as an empty string, anything else as JSON. */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

/** A number of tokens; 0 for what cannot be one. */
export function count(value: unknown): number {
  return tokensIn(value) ?? 0
}

/** Milliseconds since 1970, from an ISO date or a number of milliseconds. */
export function time(value: unknown): number | undefined {
  const at = typeof value === 'string' && value !== '' ? Date.parse(value) : value
  return typeof at === 'number' && Number.isFinite(at) ? at : undefined
}

/** Arguments of a call: a string is parsed as JSON, or kept if it is not valid JSON. */
export function callInput(value: unknown): unknown {
  if (typeof value !== 'string') return value ?? {}
  if (value.trim() === '') return {}
  const parsed = tryJson(value)
  return parsed === undefined ? value : parsed
}

/** A provider's numbers as usage; undefined if all of them are 0. */
export function usageOfNumbers(numbers: Required<Numbers> & Facts, model: string): Usage | undefined {
  const { input, cacheRead, cacheWrite, output, ...facts } = numbers
  if ([input, cacheRead, cacheWrite, output].every(number => number === 0)) return undefined
  return { input, cacheRead, cacheWrite, output, ...factsOf({ ...facts, model }) }
}

type Numbers = Pick<Usage, 'input' | 'cacheRead' | 'cacheWrite' | 'output'>
type Facts = { reasoning?: number; model?: string }

/** Usage in the form of Chat Completions; undefined if none was reported. LiteLLM uses other names for cache writes. */
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

/** The reported usage of a call; a value that is not a number counts as 0. */
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

/** Leaves out what is 0 or empty. */
function factsOf({ reasoning = 0, model = '' }: Facts): Facts {
  return { ...(reasoning > 0 ? { reasoning } : {}), ...(model === '' ? {} : { model }) }
}
