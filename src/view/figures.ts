/** Figures about sessions that several layers compute or show. Only types. */

import type { CacheMiss } from '../model/types.ts'

/** The recent cost of agents over all sessions. */
export type Overview = {
  /** The last 30 days, oldest first; the last one is today. */
  days: { day: string; billed: number; saved: number; could: number; calls: number }[]
  week: {
    billed: number
    saved: number
    /** Dollars that edits could have saved in recordings. */
    could: number
    calls: number
    sessions: number
    input: number
    cacheRead: number
  }
  agents: Named[]
  projects: Named[]
  models: Named[]
  tags: Named[]
  sessions: number
  /** The number of sessions included in the sums; the other sessions are still being read. */
  counted: number
  /** Recordings that are still to be replayed for `could`. */
  untried: number
  live: number
}
export type Named = { name: string; sessions: number }

export type Verdict = {
  /** Dollars, answers included: the billed amount, and the amount without edits. */
  billed: number
  without: number
  saved: number
  /** The number of calls, and how many of them the provider did not report. */
  calls: number
  estimated: number
  /** What is assumed of models without a known price. */
  assumed: string[]
  /** Calls at the beginning that were paid in the session it came from. */
  copied: number
  /** Passages of tool results that the agent quoted later, and how many of them were out of view by then. */
  quotes: number
  lost: number
  /** How often the cache was lost, by cause. */
  cacheLost: Partial<Record<CacheMiss['cause'], number>>
  parts: BillPart[]
  edits: EditWorth[]
}

/**
 * A part of a bill: `read` from the cache, `new` text, answers (`output`), or the cost of writing lost cache again, by
 * the cause of the loss.
 */
export type BillPart = { part: 'read' | 'new' | 'output' | CacheMiss['cause']; dollars: number }

/** Dollars that an edit has saved so far, less its share of the cache writes that it caused. */
export type EditWorth = { id: string; dollars: number }

/**
 * One setting of the knob on a session: its cost with nothing edited, the saving, and the later quotes that would be
 * visible.
 */
export type KnobPoint = { keep: string; withoutUsd: number; savedUsd: number; kept: number; quotes: number }

export type PricedPart = {
  id: string
  entry: number
  part: number
  kind: string
  tool: string | null
  tokens: number
  /** The cost on every call that reads it from the cache. */
  perCallUsd: number
  /** How often parts of this kind and age were quoted later in recorded sessions; null if it was not measured. */
  quotes: number | null
  preview: string
}

export type Moment = {
  tokens: number
  window: number
  /** Whether the prefix has expired at the provider, so that the next call writes all of it again. */
  isCold: boolean
  /** The time at which the prefix expires at the provider, if there is no call before. */
  coldAt: number | null
  /** The input cost of the next call. */
  nextUsd: number
  parts: PricedPart[]
  /** On a cold cache, the ids of parts that can be removed for free and are seldom quoted later. */
  free: string[]
}

export type EditPrice = {
  ids: string[]
  tokens: number
  perCallUsd: number
  /** Tokens after the first of the edits, which are written again; none on a cold cache. */
  rewritten: number
  onceUsd: number
  /** The number of calls until the edits have paid; null if they never pay, 0 if they are free. */
  paysAfter: number | null
  quotes: number
}

/** A part that the client's own compaction removed from a conversation. */
type DroppedPart = { id: string; kind: string; tokens: number; preview: string }

export type Dropped = { session: string; before: string; parts: DroppedPart[] }
