/**
 * The named planners for a session. `smart-history`, `clear-tool-uses` and `stale-output` are compositions of policies
 * that are applied every turn. `thrifty` weighs the cost of each edit, and `agent` adds to `thrifty` what our own agent
 * needs. `none` sends everything.
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
import { agentPlanner } from './agent.ts'
import { type ThriftyKnob, thrifty } from './thrifty.ts'
import { type AgentOptions, HISTORY_BUDGET } from './tuning.ts'

export const smartHistory: PlannerFactory = everyTurn('smart-history', [
  keepEdits(),
  truncateShell({ pressure: HISTORY_BUDGET }),
  recentOnly(),
  summarize({ budget: HISTORY_BUDGET }),
  // Last, so that no pointer names a copy that another policy removes.
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
 * The numbers of the five documents that the project began with, in the order of the documents (docs/seeds.md). Two of
 * them leave the context unchanged: 002 is about memory, and 004 is about replacements that the agent makes itself.
 */
export const seedPresets: readonly PlannerFactory[] = [
  everyTurn('seed-000', [clearResults(), warn(), summarize({ threshold: 100_000, keep: 20 })]),
  everyTurn('seed-001', [
    keepEdits(),
    truncateShell({ limit: 10_000, head: 2_000, tail: 2_000 }),
    recentOnly({ keep: 30 }),
    summarize({ budget: HISTORY_BUDGET }),
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

/** The options of the presets that a configuration can set. */
export type PresetTuning = ThriftyKnob & {
  /** How often `agent` and `stale-output` remind of the goal; `false` for never. */
  anchor?: Partial<AnchorOptions> | false
  /** The thresholds of `agent`. */
  marks?: Partial<AgentOptions>
}

/** Finds a preset by its name and applies the tuning options that it has. */
export function findPreset(
  name: string,
  { anchor: goal, marks = {}, ...knob }: PresetTuning = {},
): PlannerFactory | undefined {
  if (name === 'thrifty') return thrifty(knob)
  if (name === 'agent') return agentPlanner(marks, goal === undefined ? knob : { ...knob, goal })
  if (name === 'stale-output') return withAnchor(name, goal)
  return [...presets, ...seedPresets].find(preset => preset.name === name)
}
