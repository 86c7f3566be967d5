/**
 * Replaces old tool results with a placeholder, except the last few, once the context has grown past a threshold. The
 * options are those of Anthropic's `clear_tool_uses_20250919` and mean the same; the defaults are stricter, and kept
 * results are cut to `max_result_chars` when others are cleared.
 */

import { headOf, withCommas } from '../model/text.ts'
import type { EditRecord } from '../view/fold.ts'
import type { Proposal } from '../view/proposal.ts'
import { type Unit, unitText, unitTokens } from '../view/units.ts'
import { type PlanContext, type Policy, type PolicyRun, placeOf, tokensNow } from './policy.ts'
import {
  bringsBack,
  canEdit,
  isReachable,
  newRecords,
  newUnits,
  pairCalls,
  placesEdited,
  Queue,
  targetOf,
  toolNames,
} from './reach.ts'

type ClearResultsOptions = {
  /** When to clear: above a number of tokens, or above a number of results that are not cleared yet. */
  trigger: { type: 'input_tokens' | 'tool_uses'; value: number }
  /** How many of the last results stay. */
  keep: { type: 'tool_uses'; value: number }
  /** Tools whose results are never cleared. */
  exclude_tools: readonly string[]
  /** Results are cleared only if that frees at least this much. */
  clear_at_least?: { type: 'input_tokens'; value: number }
  /** Whether to clear the inputs of the calls too: all of them, or those of some tools. */
  clear_tool_inputs: boolean | readonly string[]
  placeholder: string
  /** Results that stay are cut to this length when others are cleared. */
  max_result_chars: number
  /** Clears only after the policy `warn` has warned, so that the agent has had one call to save what it needs. */
  after_warning: boolean
}

export const CLEAR_RESULTS: ClearResultsOptions = {
  trigger: { type: 'input_tokens', value: 80_000 },
  keep: { type: 'tool_uses', value: 5 },
  exclude_tools: ['read_file', 'list_todos', 'get_progress'],
  clear_tool_inputs: false,
  placeholder: '[Result processed - see workspace if needed]',
  max_result_chars: 5_000,
  after_warning: false,
}

export const CLEAR_RESULTS_NAME = 'clear-results'
export const CLEARED = 'cleared'
/** Share of the window from which clearing does not wait for a warning. */
const URGENT_SHARE = 0.9

type Use = { result: Unit; call: Unit | undefined; saves: number }

export function clearResults(options: Partial<ClearResultsOptions> = {}): Policy {
  const chosen = { ...CLEAR_RESULTS, ...options }
  return { name: CLEAR_RESULTS_NAME, start: () => startClearResults(chosen) }
}

function startClearResults(options: ClearResultsOptions): PolicyRun {
  const isExcluded = toolNames(options.exclude_tools)
  const clearsInput = inputRule(options.clear_tool_inputs)
  const fresh = newUnits()
  const callOf = pairCalls()
  const records = newRecords()
  const recent = new Queue<Use>()
  const old = new Queue<Use>()
  let oldTokens = 0
  /** Results that are not cleared, including those of excluded tools. */
  let whole = 0
  let warned = false
  let edited: Set<string> | undefined

  return { plan }

  function plan(context: PlanContext): Proposal[] {
    const { fold } = context
    edited ??= placesEdited(fold, CLEAR_RESULTS_NAME, CLEARED)
    for (const record of records(fold)) follow(record)
    for (const unit of fresh(context.units)) note(unit, context, edited)
    if (!isTriggered(context) || old.length === 0) return []
    const { clear_at_least: least } = options
    if (least && (oldTokens < least.value || dropUnreachable(context) < least.value)) return []
    const kept = recent.items().filter(({ result }) => !isExcluded(result.tool))
    return [...clearOld(context), ...kept.flatMap(({ result }) => shortened(result, context, options.max_result_chars))]
  }

  function follow({ edit }: EditRecord): void {
    if (edit.by === 'policy:warn') warned = true
    if (edit.by === `policy:${CLEAR_RESULTS_NAME}` && edit.mark === CLEARED) warned = false
  }

  function note(unit: Unit, context: PlanContext, before: Set<string>): void {
    const call = callOf(unit)
    if (unit.original.type !== 'tool-result' || before.has(placeOf(targetOf(unit)))) return
    whole++
    recent.push({ result: unit, call, saves: unitTokens(unit, context.fold) - context.fold.count(options.placeholder) })
    if (recent.length > options.keep.value) age(recent.shift()!)
  }

  function age(use: Use): void {
    if (isExcluded(use.result.tool)) return
    old.push(use)
    oldTokens += use.saves
  }

  function isTriggered(context: PlanContext): boolean {
    const { type, value } = options.trigger
    const tokens = tokensNow(context)
    const reached = type === 'input_tokens' ? tokens > value : whole > value
    return reached && (!options.after_warning || warned || tokens > URGENT_SHARE * context.model.window)
  }

  /** Forgets results that can no longer be edited; returns the tokens that clearing the rest would free. */
  function dropUnreachable(context: PlanContext): number {
    oldTokens = 0
    for (let left = old.length; left > 0; left--) {
      const use = old.shift()!
      if (isReachable(context, use.result)) age(use)
      else whole--
    }
    return oldTokens
  }

  function clearOld(context: PlanContext): Proposal[] {
    const proposals: Proposal[] = []
    oldTokens = 0
    while (old.length > 0) {
      const { result, call } = old.shift()!
      whole--
      if (!isReachable(context, result)) continue
      proposals.push(proposal(result, options.placeholder, 'an old result, cleared to save context', CLEARED))
      if (!call || !clearsInput(call.tool) || !isReachable(context, call)) continue
      proposals.push(proposal(call, { input: {} }, 'the input of a call whose result was cleared', CLEARED))
    }
    return proposals
  }
}

function shortened(result: Unit, context: PlanContext, chars: number): Proposal[] {
  if (result.chars <= chars || bringsBack(result) || !canEdit(context, result)) return []
  return [proposal(result, cutTo(unitText(result), chars), 'a long result, shortened', 'cut')]
}

/** The beginning of a text with a note at its end, `length` characters in all. */
function cutTo(text: string, length: number): string {
  const note = `\n... [truncated: ${withCommas(text.length)} chars total] ...`
  return headOf(text, Math.max(0, length - note.length)) + note
}

function inputRule(rule: ClearResultsOptions['clear_tool_inputs']): (tool: string | undefined) => boolean {
  return typeof rule === 'boolean' ? () => rule : toolNames(rule)
}

function proposal(unit: Unit, replacement: Proposal['replacement'], why: string, mark: string): Proposal {
  return { policy: CLEAR_RESULTS_NAME, target: targetOf(unit), replacement, why, mark }
}
