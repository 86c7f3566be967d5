/**
 * Edits of files are the work itself: no other policy changes the calls that made them, nor their results.
 *
 * In a very long session even they become too many. Then older edits of one file are combined: the result of the last
 * one lists the intents, and the long texts in the inputs become a note. The ledger keeps all of them.
 */

import { boundedTo, onOneLine, withCommas } from '../model/text.ts'
import type { Target } from '../model/types.ts'
import type { Proposal } from '../view/proposal.ts'
import type { Unit } from '../view/units.ts'
import { shortenInput } from './failed-calls.ts'
import { type PlanContext, type Policy, type PolicyRun, placeOf } from './policy.ts'
import { editedBefore, isReachable, newUnits, pairCalls, Queue, targetOf } from './reach.ts'

type KeepEditsOptions = {
  /** Turns (calls of the model) from which a session is very long. */
  veryLong: number
  /** Turns during which an edit always stays unchanged. */
  recent: number
  /** How many edits of one file are combined. */
  together: number
  /** Texts of inputs up to this length stay. */
  keepChars: number
}

const KEEP_EDITS: KeepEditsOptions = { veryLong: 500, recent: 100, together: 12, keepChars: 200 }

const NAME = 'keep-edits'

type Made = { call: Unit; result: Unit; path: string }

export function keepEdits(options: Partial<KeepEditsOptions> = {}): Policy {
  const chosen = { ...KEEP_EDITS, ...options }
  return { name: NAME, start: () => startKeepEdits(chosen) }
}

export function editsText(path: string, edits: readonly { turn: number; intent: string }[]): string {
  const lines = new Map<string, number>()
  for (const { intent } of edits) lines.set(intent, (lines.get(intent) ?? 0) + 1)
  const turns = `${edits[0]?.turn}-${edits.at(-1)?.turn}`
  return [
    `[Edits to ${path}: ${edits.length} changes between turns ${turns}]`,
    ...[...lines].map(([intent, times]) => `- ${intent}${times > 1 ? ` ${times}x` : ''}`),
    '[Full diff available in ground truth]',
  ].join('\n')
}

function startKeepEdits(options: KeepEditsOptions): PolicyRun {
  const fresh = newUnits()
  const callOf = pairCalls()
  const kept = new Set<string>()
  const waiting = new Queue<Made>()
  const aged = new Map<string, Made[]>()
  const isEdited = editedBefore(NAME)

  return { plan, protects: (target: Target) => kept.has(placeOf(target)) }

  function plan(context: PlanContext): Proposal[] {
    for (const unit of fresh(context.units)) note(unit, context)
    const proposals: Proposal[] = []
    while (isOld(waiting.first, context)) proposals.push(...age(waiting.shift()!, context))
    return proposals
  }

  function note(unit: Unit, context: PlanContext): void {
    const { original, call } = unit
    if (call?.kind !== 'edit' && call?.kind !== 'write') return
    kept.add(placeOf(targetOf(unit)))
    const made = callOf(unit)
    const failed = original.type === 'tool-result' && original.isError === true
    if (!made || !call.path || failed || isEdited(context, made)) return
    waiting.push({ call: made, result: unit, path: call.path })
  }

  function isOld(made: Made | undefined, { calls: turns }: PlanContext): boolean {
    return made !== undefined && turns >= options.veryLong && made.call.turn < turns - options.recent
  }

  /** Takes an edit that has become old; combines the old edits of its file once there are enough. */
  function age(made: Made, context: PlanContext): Proposal[] {
    const group = [...(aged.get(made.path) ?? []), made]
    aged.set(made.path, group)
    if (group.length < options.together) return []
    aged.delete(made.path)
    if (!group.every(({ call, result }) => isReachable(context, call) && isReachable(context, result))) return []
    return tell(group)
  }

  function tell(group: readonly Made[]): Proposal[] {
    const { path, result } = group.at(-1)!
    const why = `${group.length} older edits of ${path} in a very long session`
    const edits = group.map(({ call }) => ({ turn: call.turn + 1, intent: intentOf(call) }))
    const list = { policy: NAME, target: targetOf(result), replacement: editsText(path, edits), why, mark: 'edits' }
    const inputs = group.flatMap(({ call }): Proposal[] => {
      const note = (chars: number) => `[${withCommas(chars)} chars: see the list of edits to ${path} below]`
      const input = shortenInput(call, options.keepChars, note)
      return input === undefined ? [] : [{ ...list, target: targetOf(call), replacement: { input } }]
    })
    return [...inputs, list]
  }
}

function intentOf({ call, tool }: Unit): string {
  const done = call?.kind === 'write' ? 'Written' : 'Edited'
  return boundedTo(onOneLine(call?.intent || `${done} by ${tool}`), 120)
}
