/**
 * The events of a running turn: the one stream that the terminal, the server and the tests read.
 *
 * Events are plain objects in the order in which things happen. Text and reasoning come in pieces; a tool call is
 * reported when its arguments are complete, and its result when it is in the ledger. A turn always ends with exactly
 * one `done`.
 */
import type { Usage } from '../model/types.ts'

export type AgentEvent =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'call'; id: string; name: string; input: unknown }
  | { type: 'result'; id: string; name: string; text: string; isError: boolean }
  /** Somebody has to approve this call before it runs; the answer comes back as `approved`. */
  | { type: 'approval'; id: string; name: string; question: string }
  | { type: 'approved'; id: string; yes: boolean }
  /** The engine changed the view; `decision` is the planner's sentence. */
  | { type: 'edits'; ids: string[]; saved: number; decision: string }
  /** A model call has ended: its usage, its cost in dollars, and how full the window is. */
  | { type: 'usage'; usage: Usage; cost: number; context: ContextUse }
  /** The model could not be reached; it is asked again after `wait` milliseconds. */
  | { type: 'retry'; attempt: number; wait: number; reason: string }
  /** Calls of an earlier run that never got a result were answered before this run. */
  | { type: 'interrupted'; calls: { id: string; name: string }[] }
  /** A turn of a subagent, as it runs; `session` is its own ledger. */
  | { type: 'delegated'; session: string; event: AgentEvent }
  /** Changes to the user's memory that wait for a decision; reported before `done`, if there are new ones. */
  | { type: 'proposals'; user: string; ids: string[] }
  | { type: 'done'; reason: DoneReason; message: string; steps: number; cost: number }

export type ContextUse = { tokens: number; window: number; cached: number }

/** For `failed`, `message` says what to do; after all others the session can continue. */
export type DoneReason = 'answered' | 'aborted' | 'steps' | 'tokens' | 'money' | 'failed'
