/**
 * What an agent tells of a turn while it runs: the one stream that the terminal, the server and the tests read.
 *
 * Events are plain objects in the order in which things happen. Text and reasoning come in pieces; a tool call is told
 * when its arguments are whole, and its result when it is in the ledger. A turn always ends with exactly one `done`.
 */
import type { Usage } from '../model/types.ts'

export type AgentEvent =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'call'; id: string; name: string; input: unknown }
  | { type: 'result'; id: string; name: string; text: string; isError: boolean }
  /** Somebody has to say yes before this runs; what they said comes back as `approved`. */
  | { type: 'approval'; id: string; name: string; question: string }
  | { type: 'approved'; id: string; yes: boolean }
  /** The engine changed what the model is shown; `decision` is the planner's sentence. */
  | { type: 'edits'; ids: string[]; saved: number; decision: string }
  /** One call of the model is over: what it used, what it cost in dollars, how full the window is. */
  | { type: 'usage'; usage: Usage; cost: number; context: ContextUse }
  /** The model could not be reached; it is asked again after `wait` milliseconds. */
  | { type: 'retry'; attempt: number; wait: number; reason: string }
  /** Something of an earlier run was mended before this one: calls that never got their result. */
  | { type: 'interrupted'; calls: { id: string; name: string }[] }
  /** A turn of a subagent, as it runs; `session` is its own ledger. */
  | { type: 'delegated'; session: string; event: AgentEvent }
  /** Changes of the user's memory that wait for a decision; told before `done`, when there are new ones. */
  | { type: 'proposals'; user: string; ids: string[] }
  | { type: 'done'; reason: DoneReason; message: string; steps: number; cost: number }

export type ContextUse = { tokens: number; window: number; cached: number }

/** `failed` says in `message` what to do; all others leave a session that can go on. */
export type DoneReason = 'answered' | 'aborted' | 'steps' | 'tokens' | 'money' | 'failed'
