/** What calls of a model cost, and what a turn may spend. */

import type { Usage } from '../model/types.ts'
import { type Model, modelInfo } from '../providers/models.ts'
import { dollarsOf } from '../providers/pricing.ts'
import type { Session } from '../session/session.ts'
import type { DoneReason } from './events.ts'

export type Limits = {
  /** Calls of the model in one turn. */
  steps: number
  /** Tokens in and out, cached ones included, in one turn. */
  tokens: number
  /** Dollars in one turn, subagents included. */
  money: number
  /** Seconds after which a call of a tool is given up. */
  toolSeconds: number
}

export const LIMITS: Limits = {
  steps: 200,
  tokens: Number.POSITIVE_INFINITY,
  money: 5,
  toolSeconds: 600,
}

export function tokensIn({ input = 0, cacheRead = 0, cacheWrite = 0, output = 0 }: Usage): number {
  return input + cacheRead + cacheWrite + output
}

/** What one turn has used so far. */
export class Spending {
  steps = 0
  tokens = 0
  money = 0

  add(usage: Usage, model: Model): number {
    const cost = dollarsOf(usage, model)
    this.tokens += tokensIn(usage)
    this.money += cost
    return cost
  }

  /** The limit that is reached, with the words for it. */
  over(limits: Limits): { reason: DoneReason; message: string } | undefined {
    if (this.steps >= limits.steps) return stop('steps', `${limits.steps} steps`)
    if (this.tokens >= limits.tokens) return stop('tokens', `${limits.tokens} tokens`)
    return this.money >= limits.money ? stop('money', `$${limits.money}`) : undefined
  }
}

function stop(reason: DoneReason, limit: string): { reason: DoneReason; message: string } {
  return { reason, message: `Stopped at the limit of ${limit} for one turn. Say "go on" to continue.` }
}

export type Cost = {
  calls: number
  input: number
  cacheRead: number
  cacheWrite: number
  output: number
  dollars: number
}

/** What a session's calls used and cost so far, as the provider reported it. */
export async function costOfSession(session: Session, name: string): Promise<Cost> {
  const total: Cost = { calls: 0, input: 0, cacheRead: 0, cacheWrite: 0, output: 0, dollars: 0 }
  for (const { event } of await session.events()) {
    if (event.type !== 'usage') continue
    const { usage } = event
    total.calls++
    total.input += usage.input ?? 0
    total.cacheRead += usage.cacheRead ?? 0
    total.cacheWrite += usage.cacheWrite ?? 0
    total.output += usage.output ?? 0
    const own = usage.model === undefined || usage.model === name
    total.dollars += dollarsOf(usage, own ? session.options.model : modelInfo(usage.model))
  }
  return total
}
