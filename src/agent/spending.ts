/** The cost of model calls, and the limits of a turn. */

import { amount } from '../model/text.ts'
import type { Usage } from '../model/types.ts'
import type { Model } from '../providers/models.ts'
import { dollarsOf } from '../providers/pricing.ts'
import type { Palimpsest } from '../session/engine.ts'
import type { Session } from '../session/session.ts'
import { readTimeline } from '../session/timelines.ts'
import { noStatistics, type Statistics, statisticsOf } from '../view/statistics.ts'
import type { DoneReason } from './events.ts'

export type Limits = {
  /** Calls of the model in one turn. */
  steps: number
  /** Tokens in and out, cached ones included, in one turn. */
  tokens: number
  /** Dollars in one turn, subagents included. */
  money: number
  /** Seconds after which a tool call is given up. */
  toolSeconds: number
}

export const LIMITS: Limits = {
  steps: 200,
  tokens: Number.POSITIVE_INFINITY,
  money: 5,
  toolSeconds: 600,
}

function tokensIn({ input = 0, cacheRead = 0, cacheWrite = 0, output = 0 }: Usage): number {
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

  /** The limit that was reached, with a message. */
  over(limits: Limits): { reason: DoneReason; message: string } | undefined {
    if (this.steps >= limits.steps) return stop('steps', amount(limits.steps, 'step'))
    if (this.tokens >= limits.tokens) return stop('tokens', amount(limits.tokens, 'token'))
    return this.money >= limits.money ? stop('money', `$${limits.money}`) : undefined
  }
}

function stop(reason: DoneReason, limit: string): { reason: DoneReason; message: string } {
  return { reason, message: `Stopped at the limit of ${limit} for one turn. Say "go on" to continue.` }
}

export type Cost = Pick<Statistics, 'calls' | 'input' | 'cacheRead' | 'cacheWrite' | 'output'> & { dollars: number }

/** The usage and cost of a session so far, from the account that every door shows. */
export async function costOfSession(pal: Palimpsest, session: Session): Promise<Cost> {
  const info = await pal.find(session.id)
  if (!info) return { ...noStatistics(), dollars: 0 }
  const { calls, input, cacheRead, cacheWrite, output, cost } = statisticsOf(await readTimeline(pal, info))
  return { calls, input, cacheRead, cacheWrite, output, dollars: cost }
}
