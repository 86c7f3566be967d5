/**
 * What a policy is: a pure function from what the model would be shown to edits that it proposes.
 *
 * A policy keeps no clock and calls no model. `start` makes its memory for one session, and `plan` is called
 * before every call with what is new, so that it never needs to look at the whole session again. A planner
 * decides what of it is applied, and says why; the engine records it.
 */
import type { Model } from '../prices.ts'
import type { Edit, Message } from '../types.ts'
import type { Unit } from '../units.ts'
import type { Fold } from '../view.ts'

/** An edit that a policy would like; the engine gives it an id and counts what it saves. */
export type Proposal = Pick<Edit, 'target' | 'replacement' | 'why' | 'mark'> & {
  policy: string
  /** A file that must be kept before the edit may point to it. */
  file?: { path: string; text: string }
  /** The replacement is a summary: the engine may have a model write a better one. */
  summary?: boolean
}

/** What is known when a view is asked for. */
export type PlanContext = {
  /** The fold, to be read only. */
  fold: Fold
  /** Every part so far, oldest first; those from `fresh` on have never been sent. */
  units: readonly Unit[]
  fresh: number
  model: Model
  /** The time of this call, and of the one before it. */
  now: number
  lastCallAt: number | undefined
  /** Calls made before this one. */
  calls: number
  /** How many messages at the front of the view are as they were in the last call. */
  unchanged: number
  /** Tokens in front of the messages: system prompt and tools. */
  overhead: number
}

export type Policy = { name: string; start(): { plan(context: PlanContext): Proposal[] } }

/** An edit that waits, and what it waits for. */
export type Pending = { proposal: Proposal; saves: number; reason: string }

export type Plan = {
  proposals: Proposal[]
  /** One sentence with the sum behind it. */
  decision?: string
  pending: Pending[]
}

export type Planner = { plan(context: PlanContext): Plan }

export type PlannerFactory = { name: string; start(): Planner }

/** Applies what the policies propose, each turn, as soon as they propose it: the seeds' way. */
export function everyTurn(name: string, policies: readonly Policy[]): PlannerFactory {
  return {
    name,
    start() {
      const runs = policies.map(policy => policy.start())
      return { plan: context => ({ proposals: runs.flatMap(run => run.plan(context)), pending: [] }) }
    },
  }
}

/** A message of plain text, as policies insert them. */
export function textMessage(role: Message['role'], text: string): Message {
  return { role, parts: [{ type: 'text', text }] }
}

/** `none`: everything is sent as it happened. */
export const none: PlannerFactory = everyTurn('none', [])
