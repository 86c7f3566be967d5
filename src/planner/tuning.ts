/**
 * The numbers by which `thrifty` decides, each marked as fitted (on recorded sessions, docs/benchmarks.md), as a limit of
 * providers, or as taste. The numbers by which parts are expected to be quoted are in classes.ts.
 */
import type { Model } from '../providers/models.ts'
import { QUOTES, type Quotes } from './classes.ts'
import type { Keep } from './excerpt.ts'
import type { SameLines } from './same-lines.ts'

export type { Quotes }

export type ThriftyOptions = {
  /** What losing a passage that will be quoted later costs: a call on so many cached tokens. Higher keeps more. */
  quote: number
  quotes: Quotes
  /** How many economic order quantities a batch must free while the cache is warm; half in a long session, fewer for a low `quote`. */
  batch: number
  /** The same at a new message of the user, where reasoning is bound to the text before it. */
  turnBatch: number
  /** What a token of reasoning costs that is lost in the running turn, in tokens of output. */
  thought: number
  /** The share of an unedited session's cost that edits in a warm cache may come to lose. */
  regret: number
  /** Calls to come: as many as there have been, within these. */
  horizonMin: number
  horizonMax: number
  /** Characters of a run's output that are sent at first (more with a high `quote`), and what is kept of a longer one. */
  runLimit: number
  runKeep: Keep
  /** What is kept of a run's output once it was seen. */
  lookKeep: Keep
  sameLines: SameLines
  /** Tokens that pointing to lines above must save: a quote may cross the border of what is pointed at. */
  minPointed: number
  /** Tokens that an edit must save, and that an input must have to be shortened. */
  minSave: number
  minInput: number
  /** Shares of the window: past `may` a batch does not wait, past `must` we go down to `goal`; more with a high `quote`. */
  may: number
  must: number
  goal: number
  /** Past this share only the last entries are kept. */
  full: number
  /** Share of the window that users' words may take in folds; less with a low `quote`. */
  said: number
}

export const THRIFTY: ThriftyOptions = {
  // Fitted on recorded sessions: about 97.5 % of what is quoted later stays in view.
  quote: 130_000,
  quotes: QUOTES,
  batch: 2,
  turnBatch: 1,
  horizonMin: 10,
  horizonMax: 150,
  // Taste: a token of reasoning is worth what it cost to write, and a session may lose 2 % to an edit that came too late.
  thought: 1,
  regret: 0.02,
  // Fitted.
  runLimit: 30_000,
  runKeep: { head: 6000, tail: 6000, telling: 6000 },
  lookKeep: { head: 500, tail: 700, telling: 600 },
  sameLines: { minLines: 16, minChars: 800, context: 4 },
  minPointed: 300,
  minSave: 40,
  minInput: 100,
  // Taste: room for the answer and for errors of our count.
  may: 0.8,
  must: 0.83,
  goal: 0.55,
  full: 0.9,
  said: 0.15,
}

/** Taste: tokens that come in with a call, at least. */
export const MIN_GROWTH = 200
/** Fitted: calls after which a session is known to be a long one. */
export const SETTLED_CALLS = 300
/** Taste: how many waiting edits are told. */
export const MOST_PENDING = 50
/** Fitted: of what a folded call would lose, so much counts, because its line in the log keeps the path or the command. */
export const INPUT_SHARE = 0.2

/** Taste: with a high `quote` the window fills further before editing, up to these marks at `RICH` times the default. */
const FULLER = { may: 0.9, must: 0.93, goal: 0.75 }
const RICH = 3
/** Taste: of a batch, and of the room for users' words, at the low end. */
const LEAST = 0.375

/**
 * What else follows from the knob. A low `quote` needs no large batches and keeps less of what users pasted; a high one
 * fills the window more; a very high one lets more pass before it is first sent.
 */
export function settingsFor(quote: number): Partial<ThriftyOptions> {
  const share = quote / THRIFTY.quote
  const full = Math.min(1, Math.max(0, (share - 1) / (RICH - 1)))
  const between = (mark: 'may' | 'must' | 'goal') => THRIFTY[mark] + full * (FULLER[mark] - THRIFTY[mark])
  const richer = Math.max(1, share / RICH)
  const poorer = Math.min(1, Math.max(LEAST, Math.sqrt(share)))
  return {
    batch: THRIFTY.batch * poorer,
    said: THRIFTY.said * poorer,
    may: between('may'),
    must: between('must'),
    goal: between('goal'),
    runLimit: THRIFTY.runLimit * richer,
    minPointed: THRIFTY.minPointed * richer,
  }
}

/** Fitted: tokens that are written again to fetch a lost source. */
const REFETCHED_TOKENS = 1000
/** Fitted: up to so many reads for breaking the cache a quote counts in full; and how it falls beyond. */
const BREAK_READS = 24
const BREAK_POWER = 0.65

/**
 * What losing a quote costs, in cached tokens: a call on `quote` of them, and writing its source again. Where breaking
 * the cache costs many reads, edits are rare and lose little, so a quote counts for less: the same `quote` then keeps
 * about the same share of what is quoted later, whatever the provider charges.
 */
export function quotePrice(quote: number, { read, write }: Pick<Model, 'read' | 'write'>): number {
  const reads = (write - read) / read
  const share = reads <= BREAK_READS ? 1 : (BREAK_READS / reads) ** BREAK_POWER
  return share * (quote + (REFETCHED_TOKENS * write) / read)
}
