/**
 * What a policy is: a pure function from what the model would be shown to edits that it proposes.
 *
 * A policy keeps no clock and calls no model. `start` makes its memory for one session, and `plan` is called
 * before every call with what is new, so that it never needs to look at the whole session again. A planner
 * decides what of it is applied, and says why; the engine records it.
 */

import { leavesOf } from '../model/leaves.ts'
import { messagesTokens, partTokens } from '../model/tokens.ts'
import type { Edit, Message, PartTarget, RangeTarget, Target } from '../model/types.ts'
import type { Model } from '../providers/models.ts'
import { onlyAdds } from '../view/edits.ts'
import { editsInside, type Fold, shownTokens, tokensOf } from '../view/fold.ts'
import type { Proposal } from '../view/proposal.ts'
import type { Unit } from '../view/units.ts'

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
  /** The provider's tokens for one of ours, as fitted to what it reported; the model's own unless given. */
  scale?: number
  /** The name of the session, and of the home as the user sees it. */
  session?: string
  home?: string
  /** The tool by which the agent saves what it must not lose, where it is known. */
  saveWith?: string
  /** The provider can be told to clear the oldest results itself: that changes nothing of what is sent. */
  serverClears?: boolean
  /** The tool by which the agent finds what was shortened; `false` where it has none, `recall` where that is not known. */
  recallWith?: string | false
  /** What earlier policies have proposed for this call: the places (`placeOf`), ranges, and the tokens that it frees. */
  taken?: ReadonlySet<string>
  ranges?: readonly RangeTarget[]
  /** The proposals for those ranges. */
  replacing?: readonly Proposal[]
  freed?: number
}

export type PolicyRun = {
  plan(context: PlanContext): Proposal[]
  /** What it marked for later. */
  pending?(): readonly Pending[]
  /** Whether the other policies must leave a place alone. */
  protects?(target: Target): boolean
}

export type Policy = { name: string; start(): PolicyRun }

/** An edit that waits, and what it waits for. */
export type Pending = { proposal: Proposal; saves: number; reason: string }

export type Plan = {
  proposals: Proposal[]
  /** One sentence with the sum behind it. */
  decision?: string
  pending: Pending[]
}

export type Planner = {
  plan(context: PlanContext): Plan
  /** Does what it can of the next plan while nobody waits for it. */
  prepare?(fold: Fold): void
}

export type PlannerFactory = { name: string; start(): Planner }

/**
 * Applies what the policies propose, each turn, as soon as they propose it. They are asked in
 * order, and each knows what those before it will free; what one protects the others do not touch.
 */
export function everyTurn(name: string, policies: readonly Policy[]): PlannerFactory {
  return {
    name,
    start() {
      const started = policies.map(policy => policy.start())
      const guards = started.filter(run => run.protects)
      const runs = [...guards, ...started.filter(run => !run.protects)]
      return { plan: context => ({ proposals: planAll(runs, guards, context), pending: pendingOf(runs) }) }
    },
  }
}

/**
 * A planner from whatever a session was given: a policy alone makes its proposals at once. The two are told apart by
 * what they plan: a policy gives a list.
 */
export function toPlanner(given: Policy | PlannerFactory): PlannerFactory {
  return {
    name: given.name,
    start() {
      const run: PolicyRun | Planner = given.start()
      return {
        plan(context) {
          const made = run.plan(context)
          if (!Array.isArray(made)) return made
          return { proposals: made, pending: 'pending' in run ? [...(run.pending?.() ?? [])] : [] }
        },
        prepare: fold => ('prepare' in run ? run.prepare?.(fold) : undefined),
      }
    },
  }
}

function planAll(runs: readonly PolicyRun[], guards: readonly PolicyRun[], context: PlanContext): Proposal[] {
  const proposals: Proposal[] = []
  const taken = new Set<string>()
  const ranges: RangeTarget[] = []
  const replacing: Proposal[] = []
  let freed = 0
  for (const run of runs) {
    for (const proposal of run.plan({ ...context, taken, ranges, replacing, freed })) {
      if (guards.some(guard => guard !== run && guard.protects?.(proposal.target))) continue
      proposals.push(proposal)
      taken.add(placeOf(proposal.target))
      if (proposal.target.type === 'range') {
        ranges.push(proposal.target)
        replacing.push(proposal)
      }
      freed += savingOf(context.fold, proposal)
    }
  }
  return proposals
}

function pendingOf(runs: readonly PolicyRun[]): Pending[] {
  return runs.flatMap(run => run.pending?.() ?? [])
}

/** A name for the place of an edit: two edits of one part share it. */
export function placeOf(target: Target): string {
  switch (target.type) {
    case 'after':
      return `after ${target.entry}`
    case 'range':
      return `${target.from}-${target.to}`
    case 'entry':
      return `${target.entry}`
    case 'part':
      return `${target.entry}.${target.part}`
  }
}

/** The tokens of this call if everything proposed so far is applied, the system prompt and tools included. */
export function tokensNow({ fold, overhead, freed = 0 }: PlanContext): number {
  return shownTokens(fold) + overhead - freed
}

/** The same as the provider counts them: windows and price bands are in its tokens. */
export function providerTokens({ fold, overhead, model, scale = model.scale, freed = 0 }: PlanContext): number {
  return (shownTokens(fold) - freed) * scale + overhead
}

/** Roughly what an edit would free. */
export function savingOf(fold: Fold, { target, replacement }: Pick<Edit, 'target' | 'replacement'>): number {
  return tokensAt(fold, target) - tokensIn(fold, replacement)
}

function tokensAt(fold: Fold, target: Target): number {
  switch (target.type) {
    case 'after':
      return 0
    case 'range':
      return tokensOf(fold, target.from, target.to)
    case 'entry':
      return tokensOf(fold, target.entry, target.entry)
    case 'part':
      return tokensOfPart(fold, target)
  }
}

function tokensOfPart(fold: Fold, target: PartTarget): number {
  const { part } = target
  const earlier = editsInside(fold, target.entry).findLast(
    ({ target: other }) => other.type === 'part' && other.part === part && !onlyAdds(other),
  )
  if (earlier) return tokensIn(fold, earlier.replacement)
  const original = fold.entries[target.entry]?.message?.parts[part]
  if (!original) return 0
  return target.leaf === undefined
    ? partTokens(original, fold.count)
    : fold.count(leavesOf(original)[target.leaf] ?? '')
}

function tokensIn(fold: Fold, replacement: Edit['replacement']): number {
  if (replacement === null) return 0
  if (typeof replacement === 'string') return fold.count(replacement)
  if ('input' in replacement) return fold.count(JSON.stringify(replacement.input) ?? '')
  return messagesTokens(replacement.messages, fold.count)
}

/** A message of plain text, as policies insert them. */
export function textMessage(role: Message['role'], text: string): Message {
  return { role, parts: [{ type: 'text', text }] }
}

/** A message of the user behind the last one: a system message in the middle is not legal everywhere. */
export function insertion(
  { fold }: PlanContext,
  text: string,
  about: Pick<Proposal, 'policy' | 'why' | 'mark'>,
): Proposal {
  const target = { type: 'after' as const, entry: fold.entries.length - 1 }
  return { ...about, target, replacement: { messages: [textMessage('user', text)] } }
}

/** `none`: everything is sent as it happened. */
export const none: PlannerFactory = everyTurn('none', [])
