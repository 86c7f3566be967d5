/**
 * When a whole file is written, earlier reads and writes of it are out of date: their texts become a note that points
 * to the later write. Edits of parts of a file make nothing obsolete.
 */

import type { Proposal } from '../view/proposal.ts'
import type { Unit } from '../view/units.ts'
import { shortenInput } from './failed-calls.ts'
import type { PlanContext, Policy, PolicyRun } from './policy.ts'
import { canEdit, editedBefore, newUnits, pairCalls, targetOf } from './reach.ts'

type SupersededOptions = {
  /** Texts up to this length stay. */
  keepChars: number
}

const SUPERSEDED: SupersededOptions = { keepChars: 200 }

const NAME = 'superseded'

export function superseded(options: Partial<SupersededOptions> = {}): Policy {
  const { keepChars } = { ...SUPERSEDED, ...options }
  return { name: NAME, start: () => startSuperseded(keepChars) }
}

function supersededText(path: string): string {
  return `[Content of ${path} at that time - a later write below replaced it]`
}

function startSuperseded(keepChars: number): PolicyRun {
  const fresh = newUnits()
  const callOf = pairCalls()
  /** By path: the reads and writes since the last write of the whole file, which is included. */
  const known = new Map<string, Unit[]>()
  const isEdited = editedBefore(NAME)

  return {
    plan(context: PlanContext): Proposal[] {
      const proposals: Proposal[] = []
      for (const unit of fresh(context.units)) {
        for (const old of note(unit)) {
          if (!isEdited(context, old) && canEdit(context, old)) proposals.push(...toProposal(old))
        }
      }
      return proposals
    },
  }

  /** Records a unit; returns the units that it makes obsolete. */
  function note(unit: Unit): Unit[] {
    const { original, call } = unit
    const made = callOf(unit)
    if (original.type !== 'tool-result' || original.isError || !call?.path || (call.paths?.length ?? 1) > 1) return []
    const before = known.get(call.path) ?? []
    if (call.kind === 'read') {
      before.push(unit)
      known.set(call.path, before)
    }
    if (call.kind !== 'write' || call.how !== undefined || !made) return []
    known.set(call.path, [made])
    return before
  }

  function toProposal(unit: Unit): Proposal[] {
    const path = unit.call?.path ?? ''
    const note = supersededText(path)
    const common = { policy: NAME, target: targetOf(unit), why: `a later write of ${path}`, mark: 'superseded' }
    if (unit.original.type === 'tool-result') {
      return unit.chars > Math.max(keepChars, note.length) ? [{ ...common, replacement: note }] : []
    }
    const input = shortenInput(unit, keepChars, () => note)
    return input === undefined ? [] : [{ ...common, replacement: { input } }]
  }
}
