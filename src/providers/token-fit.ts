/**
 * The provider's tokens for one of ours, and the size of the system prompt and tools, fitted to the reports of a
 * session's calls: growth in our tokens is compared with growth in theirs. The table is used until there is enough
 * data.
 */
import type { Usage } from '../model/types.ts'

/** The growth of a session, in our tokens, before its own scale is trusted, and the limits of a plausible scale. */
const MIN_FITTED_TOKENS = 5_000
const LEAST_SCALE = 0.5
const MOST_SCALE = 3
/** A scale that differs by this share is reported. */
const NOTED_DIFFERENCE = 0.05

/** The tokens of the whole prompt as the provider reported them. */
export function promptTokens({ input = 0, cacheRead = 0, cacheWrite = 0 }: Usage): number {
  return input + cacheRead + cacheWrite
}

export class TokenFit {
  #growth = { ours: 0, theirs: 0 }
  #last: { ours: number; theirs: number; model: string | undefined } | undefined

  /** Adds a report: the provider's usage for messages of `ours` tokens by our count. */
  note(usage: Usage, ours: number): void {
    const theirs = promptTokens(usage)
    if (theirs === 0) return
    const before = this.#last
    this.#last = { ours, theirs, model: usage.model }
    if (!before) return
    if (before.model !== usage.model) this.#growth = { ours: 0, theirs: 0 }
    if (before.model !== usage.model || ours <= before.ours) return
    const ratio = (theirs - before.theirs) / (ours - before.ours)
    if (!isScale(ratio)) return
    this.#growth.ours += ours - before.ours
    this.#growth.theirs += theirs - before.theirs
  }

  /** The fitted scale; undefined while too little is known. */
  get scale(): number | undefined {
    const { ours, theirs } = this.#growth
    return ours < MIN_FITTED_TOKENS ? undefined : theirs / ours
  }

  /**
   * The size of the system prompt and tools, in the provider's tokens: its count beyond our messages. Undefined before
   * a report.
   */
  overhead(tabled: number): number | undefined {
    if (!this.#last) return undefined
    const beyond = Math.round(this.#last.theirs - this.#last.ours * (this.scale ?? tabled))
    return beyond > 0 ? beyond : undefined
  }
}

/** Whether a scale is plausible: a gateway may report anything. */
export function isScale(ratio: number): boolean {
  return ratio >= LEAST_SCALE && ratio <= MOST_SCALE
}

/** A sentence about the assumed and the reported scale, if the two differ. */
export function scaleLearned(believed: number, now = believed): string | undefined {
  if (Math.abs(now / believed - 1) < NOTED_DIFFERENCE) return undefined
  const [old, fitted] = [believed.toFixed(2), now.toFixed(2)]
  return `The estimate was ${old} tokens of the provider per token of ours. The provider reports ${fitted}, which is used from now on.`
}
