/**
 * Shortens the input of failed calls, which is of little use once the agent has moved on: after `after` turns its long
 * texts become a note. The error itself stays.
 */

import { withLeaves } from '../model/leaves.ts'
import { amount, withCommas } from '../model/text.ts'
import type { Proposal } from '../view/proposal.ts'
import type { Unit } from '../view/units.ts'
import type { PlanContext, Policy, PolicyRun } from './policy.ts'
import { canEdit, editedBefore, newUnits, pairCalls, Queue, targetOf } from './reach.ts'

type FailedCallsOptions = {
  /** Turns (calls of the model) for which the input stays. */
  after: number
  /** Texts of the input up to this length stay. */
  keepChars: number
}

const FAILED_CALLS: FailedCallsOptions = { after: 4, keepChars: 200 }

const NAME = 'failed-calls'

export function failedCalls(options: Partial<FailedCallsOptions> = {}): Policy {
  const chosen = { ...FAILED_CALLS, ...options }
  return { name: NAME, start: () => startFailedCalls(chosen) }
}

/** The input of a call with its long texts replaced by a note; `undefined` if it has none. */
export function shortenInput(unit: Unit, keepChars: number, note: (chars: number) => string): unknown {
  let changed = false
  const shortened = withLeaves(unit.original, text => {
    const instead = note(text.length)
    if (text.length <= keepChars || instead.length >= text.length) return text
    changed = true
    return instead
  })
  return changed && shortened.type === 'tool-call' ? shortened.input : undefined
}

function startFailedCalls({ after, keepChars }: FailedCallsOptions): PolicyRun {
  const fresh = newUnits()
  const callOf = pairCalls()
  const waiting = new Queue<{ unit: Unit; from: number }>()
  const isEdited = editedBefore(NAME)

  return {
    plan(context: PlanContext): Proposal[] {
      for (const unit of fresh(context.units)) note(unit, context)
      const proposals: Proposal[] = []
      while (waiting.first && waiting.first.from <= context.calls) {
        const { unit } = waiting.shift()!
        if (canEdit(context, unit)) proposals.push(...toProposal(unit))
      }
      return proposals
    },
  }

  function note(unit: Unit, context: PlanContext): void {
    const { original, turn } = unit
    const call = callOf(unit)
    const failed = original.type === 'tool-result' && original.isError === true
    if (call && failed && !isEdited(context, call)) waiting.push({ unit: call, from: turn + after })
  }

  function toProposal(unit: Unit): Proposal[] {
    const input = shortenInput(unit, keepChars, chars => `[${withCommas(chars)} chars of a call that failed]`)
    if (input === undefined) return []
    const why = `the call failed more than ${amount(after, 'turn')} ago`
    return [{ policy: NAME, target: targetOf(unit), replacement: { input }, why, mark: 'failed' }]
  }
}
