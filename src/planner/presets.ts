/**
 * The named ways to look after a session. `smart-history`, `clear-tool-uses` and `stale-output` are compositions
 * that are applied every turn; `thrifty` is under a planner that weighs what an edit costs, `agent` is that with what
 * our own agent needs besides; `none` sends everything.
 */

import { anchor } from '../policies/anchor.ts'
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

export const staleOutputs: PlannerFactory = everyTurn('stale-output', [
  offload(),
  staleOutput(),
  anchor(),
  summarize({ threshold: 40_000, keep: 15 }),
  fallback(),
])

export const presets: readonly PlannerFactory[] = [
  none,
  smartHistory,
  clearToolUses,
  staleOutputs,
  thrifty(),
  agentPlanner(),
]

/** A preset by its name; `keep` sets the knob of those that have one. */
export function findPreset(name: string, { keep }: ThriftyKnob = {}): PlannerFactory | undefined {
  if (keep !== undefined && name === 'thrifty') return thrifty({ keep })
  if (keep !== undefined && name === 'agent') return agentPlanner({}, { keep })
  return presets.find(preset => preset.name === name)
}
