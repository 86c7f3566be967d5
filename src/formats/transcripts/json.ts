/**
 * Looking into JSON of which nothing is known: a missing or wrong field gives an empty value, never an exception.
 */

import { parseJson } from '../../model/json.ts'
import type { Usage } from '../../model/types.ts'

export type Fields = Readonly<Record<string, unknown>>

const NONE: Fields = {}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function fields(value: unknown): Fields {
  return isFields(value) ? value : NONE
}

export function items(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Text as it stands; anything else as JSON; nothing as nothing. */
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
  try {
    return parseJson(value)
  } catch {
    return value
  }
}

/** Usage of a provider whose prompt tokens include the cached ones. */
export function usageWithCached(prompt: unknown, cached: unknown, output: unknown, model?: string): Usage {
  const cacheRead = Math.min(count(cached), count(prompt))
  return { input: count(prompt) - cacheRead, cacheRead, output: count(output), ...(model ? { model } : {}) }
}
