/**
 * Moves a new result that is too long to a file in the home, before it is ever sent: the view gets its beginning and
 * the path. Nothing is lost: if the file cannot be written, the result stays whole.
 */

import { DEFAULT_HOME } from '../model/defaults.ts'
import { headOf, withCommas } from '../model/text.ts'
import type { Proposal } from '../view/proposal.ts'
import { type Unit, unitText } from '../view/units.ts'
import type { PlanContext, Policy, PolicyRun } from './policy.ts'
import { bringsBack, canEdit, editedBefore, newUnits, targetOf, toolNames } from './reach.ts'
import { CRITICAL_TOOLS } from './stale-output.ts'

type OffloadOptions = {
  /** Characters from which a result goes to a file, and how many of them stay in view. */
  limit: number
  preview: number
  /** The same for critical tools. */
  criticalLimit: number
  criticalPreview: number
  critical: readonly string[]
}

const OFFLOAD: OffloadOptions = {
  limit: 2_000,
  preview: 400,
  criticalLimit: 8_000,
  criticalPreview: 4_000,
  critical: CRITICAL_TOOLS,
}

const NAME = 'offload'

export function offload(options: Partial<OffloadOptions> = {}): Policy {
  const chosen = { ...OFFLOAD, ...options }
  return { name: NAME, start: () => startOffload(chosen) }
}

function offloadText(output: string, preview: number, path: string): string {
  const all = `${withCommas(output.length)} chars in total, all of them in ${path}`
  return `${headOf(output, preview)}\n... [${all}; read it in parts, with offset and limit or sed -n]`
}

function startOffload(options: OffloadOptions): PolicyRun {
  const isCritical = toolNames(options.critical)
  const fresh = newUnits()
  const names = new Map<string, number>()
  const isEdited = editedBefore(NAME)

  return {
    plan(context: PlanContext): Proposal[] {
      const firstNew = context.units[context.fresh]?.entry ?? Number.POSITIVE_INFINITY
      const proposals: Proposal[] = []
      for (const unit of fresh(context.units)) {
        if (unit.entry < firstNew || !isLong(unit) || isEdited(context, unit)) continue
        if (canEdit(context, unit)) proposals.push(toProposal(unit, context))
      }
      return proposals
    },
  }

  function isLong(unit: Unit): boolean {
    const { original, tool, chars } = unit
    if (bringsBack(unit)) return false
    if (original.type !== 'tool-result' || chars <= (isCritical(tool) ? options.criticalLimit : options.limit))
      return false
    return typeof original.output === 'string' || original.output.every(part => part.type === 'text')
  }

  function toProposal(unit: Unit, { home = DEFAULT_HOME }: PlanContext): Proposal {
    const path = `overflow/${freeName(`overflow_${unit.at}_${safeName(unit.tool ?? 'tool')}`)}.txt`
    const text = unitText(unit)
    const preview = isCritical(unit.tool) ? options.criticalPreview : options.preview
    return {
      policy: NAME,
      target: targetOf(unit),
      replacement: offloadText(text, preview, `${home}/${path}`),
      why: `${withCommas(text.length)} characters of ${unit.tool} went to ${path}`,
      mark: 'offloaded',
      file: { path, text },
    }
  }

  /** Numbers the files when one tool has several results at the same moment. */
  function freeName(name: string): string {
    const times = (names.get(name) ?? 0) + 1
    names.set(name, times)
    return times === 1 ? name : `${name}_${times}`
  }
}

/** The paths of such files in a text. */
export const OVERFLOW_FILE = /overflow\/overflow_[A-Za-z0-9_-]+\.txt/g

export function safeName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 80)
}
