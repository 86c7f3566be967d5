/**
 * Long outputs of commands: the beginning and the end stay, with a line between them that says what is missing.
 *
 * An output of fewer than `small` characters is kept. Above `limit` it is cut to `head` + `tail`. Between the two it is
 * kept and marked: marked outputs are cut only when the view fills more than `pressure` of the window, oldest first.
 * The command line and the exit code always stay.
 */

import { exitCode } from '../calls/tool-output.ts'
import { headOf, linesIn, onOneLine, tailOf, withCommas } from '../model/text.ts'
import { isVisible } from '../view/fold.ts'
import type { Proposal } from '../view/proposal.ts'
import { type Unit, unitText, unitTokens } from '../view/units.ts'
import { type Pending, type PlanContext, type Policy, type PolicyRun, savingOf, tokensNow } from './policy.ts'
import { bringsBack, canEdit, editedBefore, newUnits, Queue, targetOf } from './reach.ts'

type TruncateShellOptions = {
  small: number
  limit: number
  head: number
  tail: number
  /** Share of the window above which marked outputs are cut too. */
  pressure: number
  /** The characters kept at each end of a marked output. */
  markedHead: number
  markedTail: number
}

const TRUNCATE_SHELL: TruncateShellOptions = {
  small: 1_000,
  limit: 10_000,
  head: 2_000,
  tail: 2_000,
  pressure: 0.7,
  markedHead: 400,
  markedTail: 400,
}

const NAME = 'truncate-shell'
const LONGEST_COMMAND = 500

export function truncateShell(options: Partial<TruncateShellOptions> = {}): Policy {
  const chosen = { ...TRUNCATE_SHELL, ...options }
  return { name: NAME, start: () => startTruncateShell(chosen) }
}

/** An output with its middle left out. */
export function truncateOutput(output: string, ends: { head: number; tail: number; command?: string }): string {
  const line = `... [truncated: ${withCommas(output.length)} chars total, ${linesIn(output)} lines] ...`
  const command = ends.command ? `$ ${headOf(onOneLine(ends.command), LONGEST_COMMAND)}` : ''
  const prompt = command === '' || output.startsWith(command) ? [] : [command]
  const kept = [...prompt, headOf(output, ends.head), line, tailOf(output, ends.tail)].join('\n\n')
  const code = exitCode(output)
  return code === undefined || exitCode(kept) === code ? kept : `${kept}\nExit code: ${code}`
}

function startTruncateShell(options: TruncateShellOptions): PolicyRun {
  const fresh = newUnits()
  const marked = new Queue<Pending & { unit: Unit }>()
  const isEdited = editedBefore(NAME)

  return { plan, pending: () => marked.items() }

  function plan(context: PlanContext): Proposal[] {
    const proposals: Proposal[] = []
    for (const unit of fresh(context.units)) {
      if (isOutput(unit) && !isEdited(context, unit)) proposals.push(...take(context, unit))
    }
    while (marked.first && !isVisible(context.fold, marked.first.unit.entry)) marked.shift()
    return [...proposals, ...relieve(context, proposals)]
  }

  function take(context: PlanContext, unit: Unit): Proposal[] {
    if (unit.chars > options.limit && !bringsBack(unit)) return cut(context, unit, options)
    if (unit.chars >= options.small) mark(context, unit)
    return []
  }

  function cut(context: PlanContext, unit: Unit, ends: { head: number; tail: number }): Proposal[] {
    if (!canEdit(context, unit)) return []
    const proposal = toProposal(unit, ends)
    return proposal.replacement.length < unit.chars ? [proposal] : []
  }

  function mark(context: PlanContext, unit: Unit): void {
    const proposal = toProposal(unit, { head: options.markedHead, tail: options.markedTail })
    const saves = unitTokens(unit, context.fold) - context.fold.count(proposal.replacement)
    if (saves <= 0) return
    const reason = `kept: it may be truncated when the view exceeds ${Math.round(options.pressure * 100)}% of the window`
    marked.push({ unit, proposal, saves, reason })
  }

  /** Cuts marked outputs until the view is below the threshold again. */
  function relieve(context: PlanContext, made: readonly Proposal[]): Proposal[] {
    let over = tokensNow(context) - options.pressure * context.model.window
    if (over <= 0) return []
    for (const proposal of made) over -= savingOf(context.fold, proposal)
    const proposals: Proposal[] = []
    while (over > 0 && marked.length > 0) {
      const { unit, proposal, saves } = marked.shift()!
      if (!canEdit(context, unit)) continue
      proposals.push(proposal)
      over -= saves
    }
    return proposals
  }
}

function isOutput({ original, call }: Unit): boolean {
  if (original.type !== 'tool-result' || !call?.kind.startsWith('shell')) return false
  return typeof original.output === 'string' || original.output.every(part => part.type === 'text')
}

function toProposal(unit: Unit, { head, tail }: { head: number; tail: number }): Proposal & { replacement: string } {
  const { call } = unit
  const command = call?.command === undefined ? {} : { command: call.command }
  return {
    policy: NAME,
    target: targetOf(unit),
    replacement: truncateOutput(unitText(unit), { head, tail, ...command }),
    why: `${withCommas(unit.chars)} characters of shell output`,
    mark: 'truncated',
  }
}
