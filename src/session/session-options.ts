/** What a session is opened with, and what file tools did in it. */

import type { ToolTable } from '../calls/tool-kinds.ts'
import type { SessionReason } from '../formats/transcripts/transcript.ts'
import type { LightFile } from '../ledger/codec.ts'
import type { PlanContext, PlannerFactory } from '../policies/policy.ts'
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
  /** The provider can be told to clear the oldest results itself. */
  serverClears?: boolean
  /** The tool by which the agent finds what was shortened, or that it has none. */
  recallWith?: string | false
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

type Told = Pick<PlanContext, 'home' | 'saveWith' | 'serverClears' | 'recallWith'>

/** What the planner is told of these. */
export function toldToPlanner(options: { [K in keyof Told]: Told[K] | undefined }): Told {
  const { home, saveWith, serverClears, recallWith } = options
  return {
    ...(home === undefined ? {} : { home }),
    ...(saveWith === undefined ? {} : { saveWith }),
    ...(serverClears ? { serverClears } : {}),
    ...(recallWith === undefined ? {} : { recallWith }),
  }
}

/** What a file tool did, and the number of its event in the ledger. */
export type FileMark = LightFile & { seq: number }

/**
 * Who works in a session and in which folder, what it is called, and which session it goes on from or was started by:
 * `reason` says which. `carried`: how many messages at the beginning are those of the parent.
 */
export type About = {
  client?: string
  project?: string
  title?: string
  parent?: string
  reason?: SessionReason
  carried?: number
  /** Words of people, by which sessions are found; in order, each once. */
  tags?: string[]
  /** It was brought in from the file of an agent. */
  recorded?: true
  /** The import that made it, by which that import can be taken back. */
  importedBy?: string
}
