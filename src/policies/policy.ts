/**
 * What a policy is: a pure function from the current view to the edits that it proposes.
 *
 * A policy keeps no clock and calls no model. `start` creates its memory for one session, and `plan` is called before
 * every call with the new parts, so that it never needs to look at the whole session again. A planner decides which
 * proposals are applied, and says why; the engine records them.
 */

import { leavesOf } from '../model/leaves.ts'
import { messagesTokens, partTokens } from '../model/tokens.ts'
import type { Edit, Message, PartTarget, RangeTarget, Target } from '../model/types.ts'
import type { Model } from '../providers/models.ts'
import { onlyAdds } from '../view/edits.ts'
import { editsInside, type Fold, shownTokens, tokensOf } from '../view/fold.ts'
import type { Proposal } from '../view/proposal.ts'
import type { Unit } from '../view/units.ts'

/** The facts that are known when a view is requested. */
export type PlanContext = {
  /** The fold; read-only. */
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
  /** Tokens of the system prompt and tools. */
  overhead: number
  /** The provider's tokens for one of ours, fitted to its reports; by default the model's own scale. */
  scale?: number
  /** The name of the session, and the folder of its user's files. */
  session?: string
  home?: string
  /** Whether the agent can read files in that folder; yes if not known. */
  readsFiles?: boolean
  /** The tool by which the agent saves content that it must not lose, if known. */
  saveWith?: string
  /** The provider can be told to clear the oldest results itself: the request still contains them. */
  serverClears?: boolean
  /** The tool by which the agent finds shortened content; `false` if it has none, `recall` if that is not known. */
  recallWith?: string | false
  /**
   * The proposals of earlier policies for this call: their places (`placeOf`), their ranges, and the tokens they free.
   */
  taken?: ReadonlySet<string>
  ranges?: readonly RangeTarget[]
  /** The proposals for those ranges. */
  replacing?: readonly Proposal[]
  freed?: number
}

export type PolicyRun = {
  plan(context: PlanContext): Proposal[]
  /** The edits that it has marked for later. */
  pending?(): readonly Pending[]
  /** Whether the other policies must not edit a place. */
  protects?(target: Target): boolean
}

export type Policy = { name: string; start(): PolicyRun }

/** An edit that waits, and what it waits for. */
export type Pending = { proposal: Proposal; saves: number; reason: string }

export type Plan = {
  proposals: Proposal[]
  /** One sentence with the decision and its calculation. */
  decision?: string
  pending: Pending[]
}

export type Planner = {
  plan(context: PlanContext): Plan
  /** Prepares the next plan as far as possible before it is requested. */
  prepare?(fold: Fold): void
}

export type PlannerFactory = { name: string; start(): Planner }

/**
 * Applies the proposals of the policies at every turn, as soon as they are made. The policies are called in order, and
 * each knows how much the earlier ones will free. A place that one policy protects is not edited by the others.
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
 * Makes a planner from a policy or a planner factory; the proposals of a single policy are applied at once. The two
 * differ in the result of `plan`: a policy returns a list.
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

/** The tokens of this call if every proposal so far is applied, system prompt and tools included. */
export function tokensNow({ fold, overhead, freed = 0 }: PlanContext): number {
  return shownTokens(fold) + overhead - freed
}

/** The same as the provider counts them: windows and price bands are in its tokens. */
export function providerTokens({ fold, overhead, model, scale = model.scale, freed = 0 }: PlanContext): number {
  return (shownTokens(fold) - freed) * scale + overhead
}

/** Estimates the tokens that an edit would free. */
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

/** A user message after the last one: a system message in the middle is not legal everywhere. */
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
