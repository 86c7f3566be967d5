/**
 * Moves a new result that is too long to a file in the home, before it is ever sent: the view gets its beginning and
 * says how to read the rest. An agent that reads no files of this machine gets it by `recall`. Nothing is lost: if the
 * file cannot be written, or the agent has no way to read the rest, the result stays whole.
 */

import { DEFAULT_HOME } from '../model/defaults.ts'
import { headOf, withCommas } from '../model/text.ts'
import type { Proposal } from '../view/proposal.ts'
import { partId } from '../view/shown-texts.ts'
import { type Unit, unitText } from '../view/units.ts'
import type { PlanContext, Policy, PolicyRun } from './policy.ts'
import { bringsBack, canEdit, editedBefore, newUnits, targetOf, toolNames } from './reach.ts'
import { CRITICAL_TOOLS } from './stale-output.ts'

type OffloadOptions = {
  /** A result with more characters is moved to a file; this many of them stay in view. */
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
        if (canEdit(context, unit)) proposals.push(...toProposals(unit, context))
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

  /** One proposal; none if the agent could not read the rest. */
  function toProposals(unit: Unit, context: PlanContext): Proposal[] {
    const { readsFiles = true } = context
    const path = `overflow/overflow_${unit.at}_${safeName(unit.tool ?? 'tool')}`
    const file = readsFiles ? { path: `${freeName(path)}.txt`, text: unitText(unit) } : undefined
    const ways = waysBack(unit, file?.path, context)
    if (ways.length === 0) return []
    const length = withCommas(unitText(unit).length)
    const preview = headOf(unitText(unit), isCritical(unit.tool) ? options.criticalPreview : options.preview)
    const replacement = `${preview}\n... [${length} chars in total, ${ways.join('; or ')}]`
    const why = `${length} characters of ${unit.tool} ${file ? `were moved to ${file.path}` : 'are shortened to their beginning'}`
    return [{ policy: NAME, target: targetOf(unit), replacement, why, mark: 'offloaded', ...(file ? { file } : {}) }]
  }

  /** Numbers the files when one tool has several results at the same moment. */
  function freeName(name: string): string {
    const times = (names.get(name) ?? 0) + 1
    names.set(name, times)
    return times === 1 ? name : `${name}_${times}`
  }
}

/** How the agent can read all of a result: in the file, and by the tool that finds shortened content. */
function waysBack(unit: Unit, path: string | undefined, { home = DEFAULT_HOME, recallWith }: PlanContext): string[] {
  const tool = recallWith ?? (path === undefined && 'recall')
  const id = partId(unit.entry, unit.part, unit.original)
  const inFile = `all of them in ${home}/${path}; read it in parts, with offset and limit or sed -n`
  return [...(path === undefined ? [] : [inFile]), ...(tool === false ? [] : [`${tool}(text="${id}") gives them`])]
}

/** The paths of such files in a text. */
export const OVERFLOW_FILE = /overflow\/overflow_[A-Za-z0-9_-]+\.txt/g

export function safeName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 80)
}
