/**
 * The tokens that a provider has to write again after an edit. A cached prefix is found only where the provider looks
 * for it, so more than the text after the edit may be lost. How much depends on the provider's way of matching.
 */
import type { Usage } from '../model/types.ts'
import type { Model } from './models.ts'

/** The number of latest breakpoints that OpenAI looks at; a call writes one. */
const BREAKPOINTS = 80
/** The interval at which prefixes are cached; half of it is lost on average. */
const INTERVAL_TOKENS = 2048

type Break = {
  /** Tokens after the first change. */
  behind: number
  /** Tokens of all messages as sent after the change. */
  whole: number
  /** Calls since the changed place was first sent. */
  calls: number
}

/** Tokens that are written again after a change. */
export function rewrittenFrom({ shape }: Pick<Model, 'shape'>, { behind, whole, calls }: Break): number {
  switch (shape) {
    case 'breakpoints':
      return calls > BREAKPOINTS ? whole : behind
    case 'intervals':
      return Math.min(whole, behind + INTERVAL_TOKENS / 2)
    // The proxy marks a position before the change.
    case 'marked':
    case 'prefix':
      return behind
  }
}

/** Smaller differences come from the provider's rounding and its own additions. */
const SMALL_TOKENS = 2048
const MOST_LOST = 0.2

/**
 * The tokens that a provider keeps after a call: those it wrote and read, or the whole prompt if it caches
 * automatically.
 */
export function cachedBy({ input = 0, cacheRead = 0, cacheWrite = 0 }: Usage, { shape }: Pick<Model, 'shape'>): number {
  const cached = cacheRead + cacheWrite
  return shape === 'marked' || cacheWrite > 0 ? cached : cached + input
}

/** Tokens that a provider had cached after one call and did not read for the next; 0 if it read nearly all of them. */
export function lostTokens(before: Usage | undefined, now: Usage, model: Pick<Model, 'shape' | 'minimum'>): number {
  const cached = before === undefined ? 0 : cachedBy(before, model)
  if (cached < Math.max(model.minimum, SMALL_TOKENS)) return 0
  const lost = cached - (now.cacheRead ?? 0)
  return lost > Math.max(SMALL_TOKENS, cached * MOST_LOST) ? lost : 0
}
