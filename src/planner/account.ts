/**
 * Compares the cost of a session so far with its cost if nothing had ever been edited. Both are in uncached tokens, by
 * the cache prices. In a warm cache the planner spends on edits only the savings so far and a small share of the cost.
 * So a session that ends right after an edit has not cost much more than without it.
 */
import type { Model } from '../providers/models.ts'

type Prices = Pick<Model, 'read' | 'write'>

export class Account {
  #counted = -1
  /** Tokens of the last request: unedited, and as it was sent. */
  #whole = 0
  #sent = 0
  /** The cost of the unedited requests, and the savings of ours; negative savings mean that ours cost more. */
  #base = 0
  #saved = 0

  /** Counts a call, before its edits are made. `whole` and `sent` are its tokens without and with the edits so far. */
  count(calls: number, { whole, sent, cold }: { whole: number; sent: number; cold: boolean }, prices: Prices): void {
    if (calls === this.#counted) return
    if (this.#counted < 0 && calls > 0) this.#base = calls * (whole / 2) * prices.read + whole * prices.write
    this.#counted = calls
    const base = costOf(whole, this.#whole, cold, prices)
    this.#base += base
    this.#saved += base - costOf(sent, this.#sent, cold, prices)
    this.#whole = whole
    this.#sent = sent
  }

  /** Records the immediate cost of an edit. */
  pay(cost: number): void {
    this.#saved -= cost
  }

  /** The most that an edit may cost now. The session may lose at most `share` of its unedited cost. */
  budget(share: number): number {
    return this.#saved + share * this.#base
  }
}

function costOf(tokens: number, before: number, cold: boolean, { read, write }: Prices): number {
  if (cold) return tokens * write
  return Math.min(tokens, before) * read + Math.max(0, tokens - before) * write
}
