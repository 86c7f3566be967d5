/**
 * Light tools (focus, unfocus, ls, list_files and the like) report the present state: their results stay while they are
 * among the last `keep` tool results, and become one line after that.
 */

import { amount } from '../model/text.ts'
import type { Proposal } from '../view/proposal.ts'
import type { Unit } from '../view/units.ts'
import type { PlanContext, Policy, PolicyRun } from './policy.ts'
import { canEdit, editedBefore, newUnits, Queue, targetOf, toolNames } from './reach.ts'

type RecentOnlyOptions = {
  keep: number
  /** More tools to treat as light, besides those that list files. */
  tools: readonly string[]
}

const RECENT_ONLY: RecentOnlyOptions = { keep: 30, tools: [] }

const NAME = 'recent-only'

export function recentOnly(options: Partial<RecentOnlyOptions> = {}): Policy {
  const { keep, tools } = { ...RECENT_ONLY, ...options }
  return { name: NAME, start: () => startRecentOnly(keep, toolNames(tools)) }
}

function oldResultText(tool: string): string {
  return `[Old result of ${tool} removed - use ${tool} if needed]`
}

function startRecentOnly(keep: number, isLight: (tool: string | undefined) => boolean): PolicyRun {
  const fresh = newUnits()
  const waiting = new Queue<{ unit: Unit; number: number }>()
  let results = 0
  const isEdited = editedBefore(NAME)

  return {
    plan(context: PlanContext): Proposal[] {
      for (const unit of fresh(context.units)) note(unit, context)
      const proposals: Proposal[] = []
      while (waiting.first && waiting.first.number <= results - keep) {
        const { unit } = waiting.shift()!
        const replacement = oldResultText(unit.tool ?? 'tool')
        if (replacement.length >= unit.chars || !canEdit(context, unit)) continue
        const why = `a light tool, followed by ${amount(keep, 'newer result')}`
        proposals.push({ policy: NAME, target: targetOf(unit), replacement, why, mark: 'old' })
      }
      return proposals
    },
  }

  function note(unit: Unit, context: PlanContext): void {
    if (unit.original.type !== 'tool-result') return
    results++
    const light = unit.call?.kind === 'list' || isLight(unit.tool)
    if (light && !isEdited(context, unit)) waiting.push({ unit, number: results })
  }
}
