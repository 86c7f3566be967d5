/**
 * The named ways to look after a session. `smart-history`, `clear-tool-uses` and `stale-output` are compositions
 * that are applied every turn; `thrifty` is under a planner that weighs what an edit costs, `agent` is that with what
 * our own agent needs besides; `none` sends everything.
 */

import { type AnchorOptions, anchor } from '../policies/anchor.ts'
import { clearResults } from '../policies/clear-results.ts'
import { fallback } from '../policies/fallback.ts'
import { keepEdits } from '../policies/keep-edits.ts'
import { offload } from '../policies/offload.ts'
import { everyTurn, none, type PlannerFactory } from '../policies/policy.ts'
import { recentOnly } from '../policies/recent-only.ts'
import { repeatReads } from '../policies/repeat-reads.ts'
import { staleOutput } from '../policies/stale-output.ts'
import { summarize } from '../policies/summarize.ts'
import { truncateShell } from '../policies/truncate-shell.ts'
import { warn } from '../policies/warn.ts'
import { type AgentOptions, agentPlanner } from './agent.ts'
import { type ThriftyKnob, thrifty } from './thrifty.ts'

/** The share of the window that a history may fill before it is summarised. */
const BUDGET = 0.7

export const smartHistory: PlannerFactory = everyTurn('smart-history', [
  keepEdits(),
  truncateShell({ pressure: BUDGET }),
  recentOnly(),
  summarize({ budget: BUDGET }),
  // Last, so that no pointer names a copy that the others take away.
  repeatReads(),
])

export const clearToolUses: PlannerFactory = everyTurn('clear-tool-uses', [
  clearResults({ after_warning: true }),
  warn(),
  summarize({ threshold: 100_000, keep: 20 }),
])

function withAnchor(name: string, goal: PresetTuning['anchor'] = {}): PlannerFactory {
  return everyTurn(name, [
    offload(),
    staleOutput(),
    ...(goal === false ? [] : [anchor(goal)]),
    summarize({ threshold: 40_000, keep: 15 }),
    fallback(),
  ])
}

export const staleOutputs: PlannerFactory = withAnchor('stale-output')

/**
 * The numbers of the five documents that the project began with, by the number of the document: docs/seeds.md. Two of
 * them are about memory (002) and about what an agent itself replaces (004): they leave the context as it is.
 */
export const seedPresets: readonly PlannerFactory[] = [
  everyTurn('seed-000', [clearResults(), warn(), summarize({ threshold: 100_000, keep: 20 })]),
  everyTurn('seed-001', [
    keepEdits(),
    truncateShell({ limit: 10_000, head: 2_000, tail: 2_000 }),
    recentOnly({ keep: 30 }),
    summarize({ budget: BUDGET }),
    repeatReads({ samples: 3 }),
  ]),
  everyTurn('seed-002', []),
  withAnchor('seed-003'),
  everyTurn('seed-004', []),
]

export const presets: readonly PlannerFactory[] = [
  none,
  smartHistory,
  clearToolUses,
  staleOutputs,
  thrifty(),
  agentPlanner(),
]

/** What the presets can be told without code. */
export type PresetTuning = ThriftyKnob & {
  /** How often `agent` and `stale-output` remind of the goal; `false` for never. */
  anchor?: Partial<AnchorOptions> | false
  /** The thresholds of `agent`. */
  marks?: Partial<AgentOptions>
}

/** A preset by its name, tuned as far as it has something to tune. */
export function findPreset(
  name: string,
  { anchor: goal, marks = {}, ...knob }: PresetTuning = {},
): PlannerFactory | undefined {
  if (name === 'thrifty') return thrifty(knob)
  if (name === 'agent') return agentPlanner(marks, goal === undefined ? knob : { ...knob, goal })
  if (name === 'stale-output') return withAnchor(name, goal)
  return [...presets, ...seedPresets].find(preset => preset.name === name)
}
