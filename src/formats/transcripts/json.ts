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
export function usageOfNumbers(numbers: Required<Numbers>, model: string): Usage | undefined {
  if (Object.values(numbers).every(number => number === 0)) return undefined
  return model === '' ? numbers : { ...numbers, model }
}

type Numbers = Pick<Usage, 'input' | 'cacheRead' | 'cacheWrite' | 'output'>

/** Usage in OpenAI's chat form; nothing where none was reported. */
export function chatUsage(usage: Fields, model: string): Usage | undefined {
  if (!('prompt_tokens' in usage)) return undefined
  const cached = fields(usage['prompt_tokens_details'])['cached_tokens']
  return usageWithCached(usage['prompt_tokens'], cached, usage['completion_tokens'], model)
}

/** Usage of a provider whose prompt tokens include the cached ones. */
export function usageWithCached(prompt: unknown, cached: unknown, output: unknown, model?: string): Usage {
  const cacheRead = Math.min(count(cached), count(prompt))
  return { input: count(prompt) - cacheRead, cacheRead, output: count(output), ...(model ? { model } : {}) }
}
