/**
 * Why a session cost what it cost: for each call the predicted and the billed amount, with the cause of any lost cache;
 * the most expensive moments; and the edits that would have been free.
 *
 * All numbers are those of the timeline (view/timeline.ts). Edits are free when no cached text is lost: on a cold
 * cache, and in parts that were never sent. Their savings are the difference of two replays, as in Compare.
 */

import { withCommas } from '../model/text.ts'
import type { CacheMiss } from '../model/types.ts'
import { thrifty } from '../planner/thrifty.ts'
import type { PlannerFactory } from '../policies/policy.ts'
import type { Model } from '../providers/models.ts'
import type { BillPart } from '../view/figures.ts'
import type { Timeline, TimelineCall } from '../view/timeline.ts'
import { prepareReplay, savedByCall, sum } from './account.ts'

/** `start`: the first call writes everything. `none`: the cache did what it should. */
export type WhyCause = CacheMiss['cause'] | 'start' | 'none'

export type WhyCall = {
  /** From 1. */
  call: number
  at: number
  model: string
  predictedUsd: number
  billedUsd: number
  /** The provider reported nothing: the billed amount is the predicted one. */
  estimated: boolean
  differenceUsd: number
  cause: WhyCause
  /** Tokens that were cached and had to be written again, and the extra cost compared with reading them. */
  lost: number
  extraUsd: number
  text: string
}

export type CauseSum = { cause: WhyCause; times: number; lost: number; extraUsd: number; differenceUsd: number }

export type Why = {
  billedUsd: number
  predictedUsd: number
  calls: WhyCall[]
  /** By the cause of the loss, the most expensive first. */
  causes: CauseSum[]
  /** The most expensive calls, most expensive first. */
  moments: WhyCall[]
}

/** The savings of edits that break no cache. */
export type Free = {
  /** Calls that found a cold cache: everything was written anyway. */
  coldCalls: number
  edits: number
  savedUsd: number
  /** The share of later quotes that would still be visible. */
  evidence: number
}

const MAX_MOMENTS = 5

export function whyOf(timeline: Timeline): Why {
  const all = timeline.calls.map((call, i) => explained(timeline, call, i))
  const calls = all.filter((_, i) => !timeline.calls[i]!.inherited)
  return {
    billedUsd: sum(calls.map(call => call.billedUsd)),
    predictedUsd: sum(calls.map(call => call.predictedUsd)),
    calls,
    causes: causesOf(calls),
    moments: calls.toSorted((a, b) => b.billedUsd - a.billedUsd).slice(0, MAX_MOMENTS),
  }
}

function explained(timeline: Timeline, call: TimelineCall, i: number): WhyCall {
  const { at, model, paid, modelled } = call
  const loss = timeline.lossOf(call)
  const cause = loss?.cause ?? (i === 0 ? 'start' : 'none')
  // Text that the same edit left out is not written again.
  const lost = Math.min(loss?.tokens ?? 0, writtenIn(timeline, call))
  const { read, write } = timeline.modelOf(call)
  return {
    call: i + 1,
    at,
    model,
    predictedUsd: modelled,
    billedUsd: paid.dollars,
    estimated: paid.estimated,
    differenceUsd: paid.dollars - modelled,
    cause,
    lost,
    extraUsd: Math.min((lost * (write - read) * timeline.inputPriceOf(call)) / 1e6, paid.dollars - paid.output),
    text: reasonFor(cause, call, timeline.calls[i - 1]),
  }
}

/** Tokens of a call that did not come from the cache. */
function writtenIn(timeline: Timeline, { sent, paid, reported }: TimelineCall): number {
  return paid.estimated ? timeline.theirs(sent.written) : (reported?.input ?? 0) + (reported?.cacheWrite ?? 0)
}

export function reasonFor(cause: WhyCause, { miss, sent }: TimelineCall, before: TimelineCall | undefined): string {
  switch (cause) {
    case 'edit':
      return miss?.cause ?? 'one of our edits changed cached text'
    case 'pause':
      return miss?.kind === 'cold' ? miss.cause : 'the pause was longer than the cache lifetime'
    case 'client':
      return 'the client changed messages that it had sent before'
    case 'model':
      return `every model has its own cache; the model before was ${before?.model ?? 'another one'}`
    case 'server':
      return 'the provider itself edited the history'
    case 'provider':
      return 'the ledger shows no change: the provider did not find its cache'
    case 'start':
      return 'the first call writes the whole prompt'
    case 'none':
      return `${withCommas(Math.round(sent.written))} new tokens`
  }
}

/** The bill as parts that add up to it. */
export function billPartsOf(timeline: Timeline): BillPart[] {
  const sums = new Map<BillPart['part'], number>(PARTS.map(part => [part, 0]))
  const add = (part: BillPart['part'], dollars: number) => sums.set(part, sums.get(part)! + dollars)
  for (const [i, call] of timeline.calls.entries()) {
    if (call.inherited) continue
    const { paid, sent, reported } = call
    const { cause, extraUsd } = explained(timeline, call, i)
    const { read } = timeline.modelOf(call)
    const input = timeline.inputPriceOf(call)
    const cached = paid.estimated ? timeline.theirs(sent.cached) : (reported?.cacheRead ?? 0)
    const reading = Math.min((cached * read * input) / 1e6, paid.dollars - paid.output - extraUsd)
    if (cause !== 'start' && cause !== 'none') add(cause, extraUsd)
    add('read', reading)
    add('output', paid.output)
    add('new', paid.dollars - paid.output - extraUsd - reading)
  }
  return [...sums].flatMap(([part, dollars]) => (dollars > 0 ? [{ part, dollars }] : []))
}

const PARTS = ['read', 'new', 'pause', 'edit', 'client', 'model', 'server', 'provider', 'output'] as const

function causesOf(calls: readonly WhyCall[]): CauseSum[] {
  const sums = new Map<WhyCause, CauseSum>()
  for (const { cause, lost, extraUsd, differenceUsd } of calls) {
    const row = sums.get(cause) ?? { cause, times: 0, lost: 0, extraUsd: 0, differenceUsd: 0 }
    row.times++
    row.lost += lost
    row.extraUsd += extraUsd
    row.differenceUsd += differenceUsd
    sums.set(cause, row)
  }
  return [...sums.values()].sort((a, b) => b.extraUsd - a.extraUsd)
}

/** Replays the session twice, so it takes a while. */
export async function freeEditsOf(timeline: Timeline): Promise<Free> {
  const messages = timeline.fold.entries.flatMap(({ message }) => (message ? [message] : []))
  const { base, under } = await prepareReplay(timeline, messages)
  const outcome = await under(onlyFree)
  const { kept, quotes } = outcome.measures.evidence['quotes']!
  return {
    coldCalls: timeline.calls.filter(({ miss, inherited }) => miss?.kind === 'cold' && !inherited).length,
    edits: sum(outcome.decisions.map(({ edits }) => edits)),
    savedUsd: sum(savedByCall(timeline, base, outcome)),
    evidence: quotes === 0 ? 1 : kept / quotes,
  }
}

/** `thrifty` with such prices that breaking a warm cache never pays, and a window that is never full. */
const onlyFree: PlannerFactory = {
  name: 'free',
  start() {
    const planner = thrifty().start()
    return {
      prepare: fold => planner.prepare?.(fold),
      plan(context) {
        const { now, lastCallAt, model } = context
        const isCold = lastCallAt === undefined || now - lastCallAt > model.ttl
        return planner.plan(isCold ? context : { ...context, model: unbreakable(model) })
      },
    }
  },
}

function unbreakable(model: Model): Model {
  return { ...model, write: 1e9, window: 1e12 }
}
