/**
 * Reads the counts in a provider's report of usage. A number that cannot be a count of tokens is no report.
 *
 * Anthropic lists in `usage.iterations` every sampling that one answer took. The counts above the list are the sum of
 * those of type `message`; a compaction, and an advisor with a model of its own, are billed beside them. The answer was
 * sampled from the last `message`, which is the size of the prompt, so that is the usage of the call. Pure.
 */

import { isRecord } from '../model/json.ts'
import type { Usage } from '../model/types.ts'
import { wholeUsage } from './pricing.ts'
import { promptTokens } from './token-fit.ts'

/** No request has as many tokens; a larger number is damage. */
const MOST_TOKENS = 1e9

export function tokensIn(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= MOST_TOKENS ? value : undefined
}

/** Divides the usage of an answer into that of its last sampling, and what is billed `beside` it. */
export function takeIterations(usage: Usage, iterations: unknown): void {
  delete usage.beside
  if (!Array.isArray(iterations)) return
  const list = iterations.filter(isRecord)
  const read = (each: Record<string, unknown>) => usageOf(each, usage.tier)
  const others = list.filter(({ type }) => type !== 'message').map(read)
  const messages = list.filter(({ type }) => type === 'message').map(read)
  const last = messages.pop()
  const isSum = last !== undefined && messages.length > 0 && isSame(wholeUsage({ ...last, beside: messages }), usage)
  if (isSum) Object.assign(usage, last)
  const beside = isSum ? [...messages, ...others] : others
  if (beside.length > 0) usage.beside = beside
}

function usageOf(each: Record<string, unknown>, tier: string | undefined): Usage {
  const countOf = (value: unknown) => tokensIn(value) ?? 0
  const writes = isRecord(each['cache_creation']) ? each['cache_creation'] : {}
  return {
    input: countOf(each['input_tokens']),
    cacheRead: countOf(each['cache_read_input_tokens']),
    cacheWrite: countOf(each['cache_creation_input_tokens']),
    cacheWriteLong: countOf(writes['ephemeral_1h_input_tokens']),
    output: countOf(each['output_tokens']),
    ...(typeof each['model'] === 'string' ? { model: each['model'] } : {}),
    ...(tier === undefined ? {} : { tier }),
  }
}

function isSame(one: Usage, other: Usage): boolean {
  return promptTokens(one) === promptTokens(other) && one.output === other.output
}
