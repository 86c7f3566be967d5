/** What a session is opened with, and what file tools did in it. */
import type { ToolTable } from '../calls/tool-kinds.ts'
import type { LightFile } from '../ledger/codec.ts'
import type { PlannerFactory } from '../policies/policy.ts'
import type { Model } from '../providers/models.ts'
import type { KeepFile } from '../summaries/kept-files.ts'
import type { WriteSummary } from '../summaries/model-summary.ts'

export type SessionOptions = {
  policy: PlannerFactory
  model: Model
  /** Tokens of system prompt and tools that are sent in front of the messages. */
  overhead: number
  clock: () => number
  /** The user's own tools, for telling reads from runs. */
  tools?: ToolTable
  /** The tool by which the agent saves what it must not lose. */
  saveWith?: string
  /** Keeps a file that an edit points to; throws where that is impossible. */
  keepFile: KeepFile
  /** Keeps a conversation in full when a summary replaces it. */
  archive?: KeepFile
  /** The home as the user sees it, for the paths that views show. */
  home?: string
  /** Adds a line to the daily log of the workspace. */
  log?: (line: string) => Promise<void>
  /** Has a model write a summary; ours is used where it gives none that is good. */
  summarize?: WriteSummary
}

/** What a file tool did, and where in the ledger that stands. */
export type FileMark = LightFile & { seq: number }
