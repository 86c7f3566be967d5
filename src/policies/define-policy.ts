/**
 * Custom policies, written against a small and stable context: the parts of the session, its size and the window. This
 * file handles everything else (pins, existing edits, undone edits, what a provider forbids), so a policy may propose
 * the same edit at every call.
 */
import type { CallInfo } from '../calls/tool-kinds.ts'
import { textOf } from '../model/leaves.ts'
import type { Part, Role } from '../model/types.ts'
import type { Fold } from '../view/fold.ts'
import { type Unit, unitTokens } from '../view/units.ts'
import { type PlanContext, type Policy, placeOf, tokensNow } from './policy.ts'
import { canEdit, placesEdited, targetOf } from './reach.ts'

/** One part of the session as it happened. */
export type PolicyPart = {
  /** The number of its message, and its position in the message. */
  readonly entry: number
  readonly part: number
  readonly role: Role
  readonly type: Part['type']
  /** How many model calls came before it. */
  readonly turn: number
  /** For tool calls and results: the tool, its kind, and the file that it concerns. */
  readonly tool?: string
  readonly kind?: CallInfo['kind']
  readonly path?: string
  readonly isError: boolean
  readonly text: string
  readonly tokens: number
}

export type PolicyContext = {
  /** Every part so far, oldest first. Edits change nothing here. */
  parts: readonly PolicyPart[]
  /** The parts that have never been sent: editing them breaks no cache. */
  fresh: readonly PolicyPart[]
  /** How many calls of the model have been made. */
  turn: number
  /** Tokens of the next request with system prompt and tools, less what earlier proposals free. */
  tokens: number
  /** The model's context window in tokens. */
  window: number
}

/** Show this text in place of a part; `null` leaves out reasoning or an image. */
export type PolicyEdit = { part: PolicyPart; replacement: string | null; why: string }

/**
 * A policy from a name and a function.
 *
 * @example
 * const noLogs = definePolicy('no-logs', ({ fresh }) =>
 *   fresh
 *     .filter(part => part.type === 'tool-result' && part.tool === 'tail_log')
 *     .map(part => ({ part, replacement: '[log left out]', why: 'logs are never needed twice' })),
 * )
 * const session = await pal.session('fix-login', { planner: noLogs })
 */
export function definePolicy(name: string, plan: (context: PolicyContext) => readonly PolicyEdit[]): Policy {
  return {
    name,
    start() {
      const parts: PolicyPart[] = []
      let edited: Set<string> | undefined
      return {
        plan(context) {
          const { units, fold, model } = context
          edited ??= placesEdited(fold, name)
          for (let i = parts.length; i < units.length; i++) parts.push(toPart(units[i]!, fold))
          const [fresh, turn] = [parts.slice(context.fresh), parts.at(-1)?.turn ?? 0]
          const given = { parts, fresh, turn, tokens: tokensNow(context), window: model.window }
          return plan(given).flatMap(({ part, replacement, why }) => {
            const target = targetOf(part)
            if (edited!.has(placeOf(target)) || !mayEdit(context, part)) return []
            edited!.add(placeOf(target))
            return { policy: name, target, replacement, why }
          })
        },
      }
    },
  }
}

const unitOf = new WeakMap<PolicyPart, Unit>()

function toPart(unit: Unit, fold: Fold): PolicyPart {
  const { entry, part, role, original, turn, tool, call } = unit
  const made: PolicyPart = {
    entry,
    part,
    role,
    type: original.type,
    turn,
    ...(tool === undefined ? {} : { tool }),
    ...(call ? { kind: call.kind } : {}),
    ...(call?.path === undefined ? {} : { path: call.path }),
    isError: original.type === 'tool-result' && original.isError === true,
    get text() {
      return textOf(original)
    },
    get tokens() {
      return unitTokens(unit, fold)
    },
  }
  unitOf.set(made, unit)
  return made
}

/** Whether a part may be edited: not the user's own words, and no part that is pinned, hidden or edited already. */
function mayEdit(context: PlanContext, part: PolicyPart): boolean {
  const unit = unitOf.get(part)
  return unit !== undefined && part.role !== 'user' && part.role !== 'system' && canEdit(context, unit)
}
