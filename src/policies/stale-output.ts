/**
 * Results that are not among the last `after` messages become a preview of one line that names the tool. Tools whose
 * output cannot be fetched again as it was (pages, queries, screenshots) are critical and are never shortened.
 */

import { amount, headOf, onOneLine } from '../model/text.ts'
import type { Proposal } from '../view/proposal.ts'
import { type Unit, unitText } from '../view/units.ts'
import type { PlanContext, Policy, PolicyRun } from './policy.ts'
import { editedBefore, isReachable, newUnits, Queue, targetOf, toolNames } from './reach.ts'

type StaleOutputOptions = {
  /** How many messages at the end keep their results whole. */
  after: number
  /** Characters of the preview. */
  preview: number
  critical: readonly string[]
}

/** Tools whose results must stay unchanged. */
export const CRITICAL_TOOLS: readonly string[] = [
  'browser_visit',
  'browser_eval',
  'browser_fetch',
  'browser_screenshot',
  'db_query',
  'db_schema',
  'analyze_image',
  'desktop_screenshot',
]

const STALE_OUTPUT: StaleOutputOptions = { after: 15, preview: 150, critical: CRITICAL_TOOLS }

const NAME = 'stale-output'

export function staleOutput(options: Partial<StaleOutputOptions> = {}): Policy {
  const chosen = { ...STALE_OUTPUT, ...options }
  return { name: NAME, start: () => startStaleOutput(chosen) }
}

export function staleText(tool: string, output: string, preview: number): string {
  const shown = onOneLine(headOf(output, preview))
  return `[Stale output from ${tool} — compressed] ${shown}... (${output.length} chars, use ${tool} if needed)`
}

function startStaleOutput({ after, preview, critical }: StaleOutputOptions): PolicyRun {
  const isCritical = toolNames(critical)
  const fresh = newUnits()
  const waiting = new Queue<Unit>()
  const isEdited = editedBefore(NAME)

  return {
    plan(context: PlanContext): Proposal[] {
      for (const unit of fresh(context.units)) {
        const isResult = unit.original.type === 'tool-result'
        if (isResult && !isCritical(unit.tool) && !isEdited(context, unit)) waiting.push(unit)
      }
      const proposals: Proposal[] = []
      while (waiting.first && waiting.first.entry < context.fold.entries.length - after) {
        const unit = waiting.shift()!
        const replacement = staleText(unit.tool ?? 'tool', unitText(unit), preview)
        if (replacement.length >= unit.chars || !isReachable(context, unit)) continue
        const why = `more than ${amount(after, 'message')} old`
        proposals.push({ policy: NAME, target: targetOf(unit), replacement, why, mark: 'stale' })
      }
      return proposals
    },
  }
}
