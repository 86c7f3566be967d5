/**
 * Figures about sessions as the server answers them and the pages show them. Types alone, and of nothing that reaches
 * Node, so that the web UI takes them from here.
 */

import type { CacheMiss } from '../model/types.ts'

/** What agents cost lately, over all sessions. */
export type Overview = {
  /** The last 30 days, the oldest first; the last is today. */
  days: { day: string; billed: number; saved: number; calls: number }[]
  week: { billed: number; saved: number; calls: number; sessions: number; input: number; cacheRead: number }
  agents: Named[]
  projects: Named[]
  models: Named[]
  tags: Named[]
  sessions: number
  /** Sessions whose numbers are in the sums; the others are being read. */
  counted: number
  live: number
}
export type Named = { name: string; sessions: number }

/** What the edits of a session came to. */
export type Verdict = {
  /** Dollars, answers included: billed, and what it would have been without edits. */
  billed: number
  without: number
  saved: number
  /** Calls, and those of them that the provider reported nothing of. */
  calls: number
  estimated: number
  /** Places in tool results that the agent quoted later, and those that were out of view by then. */
  quotes: number
  lost: number
  /** How often the cache was lost, and to what. */
  cacheLost: Partial<Record<CacheMiss['cause'], number>>
  /** What the bill is made of. */
  parts: BillPart[]
  edits: EditWorth[]
}

/**
 * A part of a bill: `read` from the cache, `new` text, answers (`output`), or what writing again cost where the cache
 * was lost, by the cause of the loss.
 */
export type BillPart = { part: 'read' | 'new' | 'output' | CacheMiss['cause']; dollars: number }

/** Dollars that an edit saved so far: of what it no longer carries, less its part of what was written anew for it. */
export type EditWorth = { id: string; dollars: number }

/** What a session would have cost with the knob at some place, and how much of what was quoted later would be visible. */
export type KnobPoint = { keep: string; billedUsd: number; savedUsd: number; kept: number; quotes: number }

export type PricedPart = {
  id: string
  entry: number
  part: number
  kind: string
  tool: string | null
  tokens: number
  /** What it costs with every call that reads it from the cache. */
  perCallUsd: number
  /** How often such parts, this old, were quoted later in recorded sessions; null where nothing was measured. */
  quotes: number | null
  preview: string
}

export type Moment = {
  tokens: number
  window: number
  /** The provider has forgotten the prefix: the next call writes all of it again. */
  isCold: boolean
  /** When it forgets it, if nothing is asked before. */
  coldAt: number | null
  /** What the next call costs for its input. */
  nextUsd: number
  parts: PricedPart[]
  /** On a cold cache, the ids of what could go for nothing and is seldom quoted later. */
  free: string[]
}

export type EditPrice = {
  ids: string[]
  tokens: number
  perCallUsd: number
  /** Tokens behind the first of them, which are written again; none on a cold cache. */
  rewritten: number
  onceUsd: number
  /** Calls until it has paid; null where it never does, 0 where it is free. */
  paysAfter: number | null
  quotes: number
}

/** What the client's own compaction took out of a conversation. */
type DroppedPart = { id: string; kind: string; tokens: number; preview: string }

export type Dropped = { session: string; before: string; parts: DroppedPart[] }
