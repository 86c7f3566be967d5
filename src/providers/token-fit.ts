/**
 * The provider's tokens for one of ours, and the size of system prompt and tools, fitted to what a session's calls
 * reported: a session that grows by so many of our tokens grows by so many of theirs. By the table before that.
 */
import type { Usage } from '../model/types.ts'

/** Growth of a session by our count before its own scale is believed, and what a scale can be. */
const MIN_FITTED_TOKENS = 5_000
const LEAST_SCALE = 0.5
const MOST_SCALE = 3
/** A scale that differs by so much is told. */
const NOTED_DIFFERENCE = 0.05

export class TokenFit {
  #growth = { ours: 0, theirs: 0 }
  #last: { ours: number; theirs: number; model: string | undefined } | undefined

  /** Takes in what a provider counted for messages that are so many tokens by our count. */
  note(usage: Usage, ours: number): void {
    const theirs = (usage.input ?? 0) + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0)
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

  /** The fitted scale; nothing while too little is known. */
  get scale(): number | undefined {
    const { ours, theirs } = this.#growth
    return ours < MIN_FITTED_TOKENS ? undefined : theirs / ours
  }

  /** What the provider counted beyond our messages, in its tokens: system prompt and tools. Nothing before a report. */
  overhead(tabled: number): number | undefined {
    if (!this.#last) return undefined
    const beyond = Math.round(this.#last.theirs - this.#last.ours * (this.scale ?? tabled))
    return beyond > 0 ? beyond : undefined
  }
}

/** Whether so many tokens of the provider for one of ours can be: a gateway may report anything. */
export function isScale(ratio: number): boolean {
  return ratio >= LEAST_SCALE && ratio <= MOST_SCALE
}

/** What was believed of the provider's tokens and what came, where the two differ. */
export function scaleLearned(believed: number, now = believed): string | undefined {
  if (Math.abs(now / believed - 1) < NOTED_DIFFERENCE) return undefined
  const [old, fitted] = [believed.toFixed(2), now.toFixed(2)]
  return `Believed: ${old} tokens of the provider for one of ours. It reports ${fitted}: that is what counts from now on.`
}
