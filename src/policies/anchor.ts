/**
 * Reminds the agent of its goal: after every `every` tool calls since the user's last request, a message after the
 * results repeats that request. The message is inserted where a whole step has ended.
 */

import { requestIn } from '../calls/requests.ts'
import { textOf } from '../model/leaves.ts'
import { boundedTo } from '../model/text.ts'
import { messagesOf } from '../view/edits.ts'
import { activeEdits, type Fold } from '../view/fold.ts'
import type { Proposal } from '../view/proposal.ts'
import type { Unit } from '../view/units.ts'
import { insertion, type PlanContext, type Policy, type PolicyRun, placeOf } from './policy.ts'
import { newUnits, placesEdited } from './reach.ts'
import { canInsert } from './warn.ts'

export type AnchorOptions = {
  every: number
  /** Longest goal, in characters. */
  goalChars: number
}

export const ANCHOR: AnchorOptions = { every: 5, goalChars: 1_000 }

const NAME = 'anchor'

export function anchor(options: Partial<AnchorOptions> = {}): Policy {
  const chosen = { ...ANCHOR, ...options }
  return { name: NAME, start: () => startAnchor(chosen) }
}

function anchorText(goal: string, calls: number): string {
  return `[TASK ANCHOR — Reminder] Your CURRENT GOAL is: "${goal}"
You have made ${calls} tool calls. Stay focused. What is the next step?`
}

function startAnchor({ every, goalChars }: AnchorOptions): PolicyRun {
  const fresh = newUnits()
  let edited: Set<string> | undefined
  let goal: string | undefined
  let calls = 0
  let anchored = 0

  return {
    plan(context: PlanContext): Proposal[] {
      const { fold, units } = context
      const start = edited === undefined
      edited ??= placesEdited(fold, NAME)
      const firstNew = units[context.fresh]?.entry ?? Number.POSITIVE_INFINITY
      for (const unit of fresh(units)) {
        note(unit, fold)
        // Requests that were sent before this policy was first called are not anchored later.
        if (start && unit.original.type === 'tool-result' && unit.entry < firstNew) anchored = calls
      }
      if (start && goal === undefined) recover(context, firstNew)
      const due = Math.floor(calls / every) > Math.floor(anchored / every)
      if (!due || goal === undefined || !canInsert(context) || fold.entries.at(-1)?.role !== 'tool') return []
      anchored = calls
      const why = `${calls} tool calls for this request`
      const text = anchorText(boundedTo(goal, goalChars), calls)
      const proposal = insertion(context, text, { policy: NAME, why, mark: 'anchor' })
      return edited.has(placeOf(proposal.target)) ? [] : [proposal]
    },
  }

  function note({ entry, role, part, original }: Unit, fold: Fold): void {
    if (role === 'user' && part === 0) restart(requestIn(fold.entries[entry]?.message))
    if (original.type === 'tool-result') calls++
  }

  /** A request that was hidden before the session was opened has no unit: it is read from the edits in the ledger. */
  function recover({ fold, units }: PlanContext, firstNew: number): void {
    goal = requestToldIn(fold)
    const last = lastAnchor(fold)
    if (!last) return
    const results = units.filter(({ original, entry }) => original.type === 'tool-result' && entry > last.after)
    calls = last.calls + results.length
    anchored = calls - results.filter(({ entry }) => entry >= firstNew).length
  }

  function restart(request: string | undefined): void {
    if (request === undefined) return
    goal = request
    calls = 0
    anchored = 0
  }
}

/** The last request among the messages that edits show in place of hidden ones. */
function requestToldIn(fold: Fold): string | undefined {
  const messages = [...activeEdits(fold)].flatMap(messagesOf)
  return requestIn(messages.findLast(message => requestIn(message) !== undefined))
}

function lastAnchor(fold: Fold): { after: number; calls: number } | undefined {
  const own = [...fold.records.values()].findLast(({ edit }) => edit.by === `policy:${NAME}`)?.edit
  if (own?.target.type !== 'after') return undefined
  const told = /^You have made (\d+) tool calls/m.exec(
    messagesOf(own)
      .flatMap(({ parts }) => parts.map(textOf))
      .join('\n'),
  )
  return told ? { after: own.target.entry, calls: Number(told[1]) } : undefined
}
