/** The options of a session, and the records of file tools in it. */

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
  /** Tokens of the system prompt and tools, which are sent before the messages. */
  overhead: number
  clock: () => number
  /** The user's own tools, for telling reads from runs. */
  tools?: ToolTable
  /** The tool with which the agent saves important information. */
  saveWith?: string
  /** Whether the provider can be asked to clear the oldest results itself. */
  serverClears?: boolean
  /** The tool with which the agent finds shortened texts; `false` if it has none. */
  recallWith?: string | false
  /** Keeps a file that an edit points to; throws if it cannot. */
  keepFile: KeepFile
  /** Keeps the full conversation when a summary replaces it. */
  archive?: KeepFile
  /** The absolute path of the folder with the files of the session's user, for paths in views. */
  home?: string
  /** Whether the agent can read files in that folder. */
  readsFiles?: boolean
  /** Adds a line to the daily log of the workspace. */
  log?: (line: string) => Promise<void>
  /** Lets a model write a summary. If the result is missing or bad, our own summary is used. */
  summarize?: WriteSummary
}

type Told = Pick<PlanContext, 'home' | 'readsFiles' | 'saveWith' | 'serverClears' | 'recallWith'>

export function toldToPlanner(options: { [K in keyof Told]: Told[K] | undefined }): Told {
  const { home, readsFiles, saveWith, serverClears, recallWith } = options
  return {
    ...(home === undefined ? {} : { home }),
    ...(readsFiles === undefined ? {} : { readsFiles }),
    ...(saveWith === undefined ? {} : { saveWith }),
    ...(serverClears ? { serverClears } : {}),
    ...(recallWith === undefined ? {} : { recallWith }),
  }
}

/** An action of a file tool, and the number of its event in the ledger. */
export type FileMark = LightFile & { seq: number }

/**
 * Which agent works in a session and in which folder, its title, and the session that it continues or was started by;
 * `reason` says which. `carried`: how many messages at the beginning come from the parent. `forkedAt`: when the agent's
 * file began, if it began with a copy of another session.
 */
export type About = {
  client?: string
  project?: string
  title?: string
  parent?: string
  reason?: SessionReason
  carried?: number
  forkedAt?: number
  /** Tags that people gave the session, sorted, without duplicates. */
  tags?: string[]
  /** Set if the session was imported from an agent's file. */
  recorded?: true
  /** The import that created the session. With it the import can be undone. */
  importedBy?: string
}
