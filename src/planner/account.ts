/**
 * What a session has cost so far, beside what it would have cost if nothing had ever been edited: both by the prices of
 * the cache, in uncached tokens. The planner pays for an edit in a warm cache only out of what it has saved, and a
 * small share more, so that a session that ends right after an edit has not cost much more than without one.
 */
import type { Model } from '../providers/models.ts'

type Prices = Pick<Model, 'read' | 'write'>

export class Account {
  #counted = -1
  /** Tokens of the last request: unedited, and as it was sent. */
  #whole = 0
  #sent = 0
  /** What the unedited requests cost, and what ours have saved of it; less than 0 where they cost more. */
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

  /** Notes what an edit cost at once. */
  pay(cost: number): void {
    this.#saved -= cost
  }

  /** What an edit may cost now, with a share of everything as the most that the session may come to lose. */
  budget(share: number): number {
    return this.#saved + share * this.#base
  }
}

function costOf(tokens: number, before: number, cold: boolean, { read, write }: Prices): number {
  if (cold) return tokens * write
  return Math.min(tokens, before) * read + Math.max(0, tokens - before) * write
}
