/**
 * Warns the agent before results are cleared, so that it can save what it needs. It warns once before each clearing
 * that brings the context under the threshold, after the last message. The percentage is of the tokens at which
 * clearing begins.
 */
import { endsWhole } from '../view/cuts.ts'
import type { Proposal } from '../view/proposal.ts'
import { CLEAR_RESULTS, CLEAR_RESULTS_NAME, CLEARED } from './clear-results.ts'
import { insertion, type PlanContext, type Policy, type PolicyRun, tokensNow } from './policy.ts'
import { newRecords } from './reach.ts'

type WarnOptions = {
  /** The tokens at which results are cleared. */
  limit: number
  /** The share of the limit from which the agent is warned. */
  from: number
}

const WARN: WarnOptions = { limit: CLEAR_RESULTS.trigger.value, from: 0.8 }

const NAME = 'warn'

export function warn(options: Partial<WarnOptions> = {}): Policy {
  const { limit, from } = { ...WARN, ...options }
  return { name: NAME, start: () => startWarn(limit, from) }
}

/** `saveWith`: the tool to save with. Without one, the agent saves in its answer, which is never cleared. */
export function warningText(percentage: number, saveWith?: string): string {
  const where = saveWith === undefined ? 'in your answer' : `with ${saveWith}`
  return `⚠️ CONTEXT APPROACHING LIMIT

You are at ${percentage}% of context capacity. Important tool results
will be cleared soon. Save any critical information ${where} now.`
}

function startWarn(limit: number, from: number): PolicyRun {
  const records = newRecords()
  let warned = false
  /** How many entries there were when results were last seen to be cleared. */
  let clearedAt = -1
  let cleared = false

  return {
    plan(context: PlanContext): Proposal[] {
      const { fold } = context
      for (const { edit } of records(fold)) {
        if (edit.by === `policy:${NAME}`) warned = true
        if (edit.by !== `policy:${CLEAR_RESULTS_NAME}` || edit.mark !== CLEARED) continue
        cleared = true
        clearedAt = fold.entries.length
      }
      const tokens = tokensNow(context)
      // If clearing does not help (protected tools fill the window), one warning is enough.
      if (cleared && tokens < from * limit) cleared = warned = false
      if (warned || clearedAt === fold.entries.length || tokens < from * limit || !canInsert(context)) return []
      warned = true
      const percentage = Math.round((100 * tokens) / limit)
      const why = `${tokens} of ${limit} tokens: results will be cleared soon`
      return [insertion(context, warningText(percentage, context.saveWith), { policy: NAME, why, mark: 'warning' })]
    },
  }
}

/** Whether a message may be inserted after the last one: the model is called next, and no call waits for a result. */
export function canInsert({ fold }: PlanContext): boolean {
  const role = fold.entries.at(-1)?.role
  return (role === 'user' || role === 'tool') && endsWhole(fold)
}
