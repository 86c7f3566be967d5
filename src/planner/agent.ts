/**
 * `agent`: the planner of our own agent's sessions. `thrifty` shortens parts that are unlikely to be needed, when that
 * pays. `agent` adds a reminder of the goal every few calls, files for very large results, a warning before old steps
 * are summarised, and a summary when a share of the window is full.
 *
 * Thresholds are shares of the model's window, so a small local model and a large one are treated alike. Parts inside a
 * summary are not shortened as well.
 */
import { type AnchorOptions, anchor } from '../policies/anchor.ts'
import { offload } from '../policies/offload.ts'
import { everyTurn, insertion, type PlanContext, type PlannerFactory, placeOf, tokensNow } from '../policies/policy.ts'
import { newRecords } from '../policies/reach.ts'
import { CRITICAL_TOOLS } from '../policies/stale-output.ts'
import { summarize } from '../policies/summarize.ts'
import { canInsert, warningText } from '../policies/warn.ts'
import { contains, isInEntry } from '../view/edits.ts'
import type { EditRecord } from '../view/fold.ts'
import type { Proposal } from '../view/proposal.ts'
import { type ThriftyKnob, thrifty } from './thrifty.ts'
import { AGENT, type AgentOptions, WHOLE_LIMIT, WHOLE_PREVIEW } from './tuning.ts'

/** Tools that limit their own results, or whose results the agent asked for: kept whole up to a large size. */
const WHOLE = [...CRITICAL_TOOLS, 'read_file', 'read_memory_block', 'context', 'recall', 'delegate']

/** `goal`: how often the agent is reminded of its goal; `false` for never. */
type AgentKnob = ThriftyKnob & { goal?: Partial<AnchorOptions> | false }

export function agentPlanner(
  options: Partial<AgentOptions> = {},
  { goal = {}, ...knob }: AgentKnob = {},
): PlannerFactory {
  const { budget, keep, warnFrom, limit, preview } = { ...AGENT, ...options }
  const around = everyTurn('agent', [
    offload({ limit, preview, critical: WHOLE, criticalLimit: WHOLE_LIMIT, criticalPreview: WHOLE_PREVIEW }),
    summarize({ budget, keep }),
    ...(goal === false ? [] : [anchor(goal)]),
  ])
  return {
    name: 'agent',
    start() {
      const first = around.start()
      const rest = thrifty(knob).start()
      const warn = startWarning(budget, warnFrom)
      return {
        plan(context) {
          const { proposals } = first.plan(context)
          const { proposals: shortened, ...plan } = rest.plan(context)
          const made = [...proposals, ...shortened.filter(proposal => isApart(proposal, proposals))]
          const warning = warn(context, made)
          return { ...plan, proposals: warning ? [...made, warning] : made }
        },
      }
    },
  }
}

/** Whether a proposal touches no entry or part that the other proposals replace. */
function isApart({ target }: Proposal, others: readonly Proposal[]): boolean {
  const ranges = others.flatMap(other => (other.target.type === 'range' ? [other.target] : []))
  if (ranges.length > 0 && !isInEntry(target)) return false
  if (others.some(other => placeOf(other.target) === placeOf(target))) return false
  return !isInEntry(target) || !ranges.some(range => contains(range, target.entry))
}

const WARN = 'warn'

/**
 * Warns once before each summary, after the last message. Adds no warning if another message was inserted there, even
 * when the same view is asked for again.
 */
function startWarning(budget: number, from: number) {
  const records = newRecords()
  let warned = false
  let summarised = false
  /** The ledger position of the last inserted message or replaced range. */
  let inserted = -1
  const follow = ({ edit, seq }: EditRecord) => {
    if (!isInEntry(edit.target)) inserted = seq
    if (edit.by === `policy:${WARN}`) warned = true
    if (edit.by === 'policy:summarize') summarised = true
  }
  return (context: PlanContext, proposals: readonly Proposal[]): Proposal | undefined => {
    const { fold, model } = context
    for (const record of records(fold)) follow(record)
    const limit = Math.round(budget * model.window)
    const tokens = tokensNow(context)
    // A summary that leaves the window as full as before is no reason to warn again.
    if (summarised && tokens < from * limit) summarised = warned = false
    const isAsked = inserted > (fold.entries.at(-1)?.seq ?? -1)
    const isBusy = isAsked || proposals.some(({ target }) => !isInEntry(target))
    if (warned || isBusy || tokens < from * limit || !canInsert(context)) return undefined
    const percentage = Math.round((100 * tokens) / limit)
    const why = `${tokens} of ${limit} tokens: old steps will be summarised soon`
    return insertion(context, warningText(percentage, context.saveWith), { policy: WARN, why, mark: 'warning' })
  }
}
