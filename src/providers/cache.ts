/**
 * What a provider has to write again after an edit. A cached prefix is found only where the provider looks for it, so
 * more than what is behind the edit may be lost; how much depends on the provider's way of matching.
 */
import type { Usage } from '../model/types.ts'
import type { Model } from './models.ts'

/** OpenAI looks at so many of the latest breakpoints; a call writes one. */
const BREAKPOINTS = 80
/** Half of an interval is lost on average, where prefixes are cached at multiples of a size. */
const INTERVAL_TOKENS = 2048

type Break = {
  /** Tokens behind the first change. */
  behind: number
  /** Tokens of all messages as they are then sent. */
  whole: number
  /** Calls since the place of the change was first sent. */
  calls: number
}

/** Tokens that are written again after a change. */
export function rewrittenFrom({ shape }: Pick<Model, 'shape'>, { behind, whole, calls }: Break): number {
  switch (shape) {
    case 'breakpoints':
      return calls > BREAKPOINTS ? whole : behind
    case 'intervals':
      return Math.min(whole, behind + INTERVAL_TOKENS / 2)
    // Where positions are marked, the proxy marks one before the change.
    case 'marked':
    case 'prefix':
      return behind
  }
}

/** Less than this is the rounding of providers, and their own additions. */
const SMALL_TOKENS = 2048
const MOST_LOST = 0.2

/** What a provider keeps after a call: what it wrote and read; all of the prompt where it caches by itself. */
export function cachedBy({ input = 0, cacheRead = 0, cacheWrite = 0 }: Usage, { shape }: Pick<Model, 'shape'>): number {
  const cached = cacheRead + cacheWrite
  return shape === 'marked' || cacheWrite > 0 ? cached : cached + input
}

/** Tokens that a provider had cached after one call and did not read for the next; 0 where it read about all. */
export function lostTokens(before: Usage | undefined, now: Usage, model: Pick<Model, 'shape' | 'minimum'>): number {
  const cached = before === undefined ? 0 : cachedBy(before, model)
  if (cached < Math.max(model.minimum, SMALL_TOKENS)) return 0
  const lost = cached - (now.cacheRead ?? 0)
  return lost > Math.max(SMALL_TOKENS, cached * MOST_LOST) ? lost : 0
}
