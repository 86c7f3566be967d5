/**
 * The account of a recorded session: its cost call by call, as the session page would show it after an import, and its
 * cost under a policy.
 *
 * Every command and page uses this account. The amounts paid come from the timeline: the provider's own numbers if the
 * recording has them. The savings of a policy are the difference of two replays by the cost model, with the session's
 * own model, cache lifetime and size of system prompt and tools, so that the sum without a policy is the amount paid.
 */

import { heal } from '../formats/doctor.ts'
import type { TranscriptSession } from '../formats/transcripts/sessions.ts'
import { DEFAULT_MODEL } from '../model/defaults.ts'
import { loadCounter } from '../model/tokens.ts'
import type { Event, Message, Usage } from '../model/types.ts'
import type { PlannerFactory } from '../policies/policy.ts'
import { assumedRow, type ModelTable, modelInfo, ownRow } from '../providers/models.ts'
import { assumedOverhead, usageByMessage } from '../session/import-transcript.ts'
import { Timeline } from '../view/timeline.ts'
import { type CompareOptions, type Outcome, prepareSession, type Recorded, tryPolicy } from './measure/policies.ts'

/** The timeline of a recording, as an import into the ledger would give it; `model` prices it as another one. */
export async function recordedTimeline(
  session: TranscriptSession,
  { model: wanted, models = {} }: { model?: string; models?: ModelTable } = {},
): Promise<Timeline> {
  const name = wanted ?? session.model ?? DEFAULT_MODEL
  const { messages } = heal(session.messages)
  const usage = usageByMessage(session, messages)
  const count = await loadCounter()
  const timeline = new Timeline({
    count,
    model: modelInfo(name, models),
    name,
    models,
    inherited: { entries: session.carried },
    overhead: assumedOverhead(session, count),
  })
  let seq = 0
  let at = 0
  const take = (event: Event) => timeline.take({ seq: seq++, at, event })
  for (const [i, message] of messages.entries()) {
    at = message.at || at
    take({ type: 'entry', message })
    const reported = usage.get(i)
    if (reported) take({ type: 'usage', usage: wanted === undefined ? reported : asModel(reported, wanted) })
  }
  return timeline
}

function asModel({ beside, ...usage }: Usage, model: string): Usage {
  return { ...usage, model, ...(beside ? { beside: beside.map(one => ({ ...one, model })) } : {}) }
}

/**
 * The options with which a replay has the costs of the session, and its planner the tokens that the provider counts:
 * the scale of the session's model is the one that its reports show.
 */
export function replayOptionsOf(timeline: Timeline): CompareOptions & { model: string; models: ModelTable } {
  const own = timeline.calls.filter(({ inherited }) => !inherited)
  const overheads = own.filter(({ paid }) => !paid.estimated).map(({ overhead }) => overhead)
  const { lifetime, models, scale } = timeline
  const model = mostFrequent(own.map(call => call.model)) ?? DEFAULT_MODEL
  return {
    model,
    models: { ...models, [model]: { ...ownRow(model, models), scale } },
    overhead: overheads.length > 0 ? Math.round(sum(overheads) / overheads.length) : timeline.overhead,
    ...(lifetime === undefined ? {} : { cacheTtl: lifetime }),
  }
}

/** Dollars for the unit of replays: one uncached input token, by our count. */
export function dollarsPerUnit(timeline: Timeline): number {
  const { model, models } = replayOptionsOf(timeline)
  return (modelInfo(model, models).input * timeline.scale) / 1_000_000
}

/**
 * Dollars that a policy would have saved on each call, by two replays of the session. A replay has a call for every
 * assistant message: none for a call without an answer, and one more where the client wrote the answer itself.
 */
export function savedByCall(timeline: Timeline, base: Outcome, outcome: Outcome): number[] {
  const perUnit = dollarsPerUnit(timeline)
  const answers = timeline.fold.entries.flatMap(({ role }, entry) => (role === 'assistant' ? [entry] : []))
  const played = new Map(answers.map((entry, i) => [entry, i]))
  return timeline.calls.map(({ inherited, unanswered, entry }) => {
    const call = inherited || unanswered ? undefined : played.get(entry)
    const cost = base.measures.perCall[call ?? -1]?.cost ?? 0
    return call === undefined ? 0 : (cost - (outcome.measures.perCall[call]?.cost ?? cost)) * perUnit
  })
}

/** A sentence for each model with an unknown price, whose costs are therefore assumed. */
export function assumedPrices(timelines: Iterable<Pick<Timeline, 'calls' | 'models'>>): string[] {
  const found = new Map<string, string>()
  for (const { calls, models } of timelines) {
    for (const { model } of calls) {
      const row = found.has(model) ? undefined : assumedRow(model, models)
      if (row !== undefined) found.set(model, row)
    }
  }
  return [...found].map(([name, row]) => {
    return `The price of ${name} is not known; it is priced as ${row}. Set it in palimpsest.json: "models"`
  })
}

/** A session that can be replayed under any planner, and its replay without edits to compare with. */
export type Replayable = {
  recorded: Recorded
  options: ReturnType<typeof replayOptionsOf>
  base: Outcome
  under(planner: string | PlannerFactory): Promise<Outcome>
}

/** `model` prices the session as another model. */
export async function prepareReplay(
  timeline: Timeline,
  messages: readonly Message[],
  model?: string,
): Promise<Replayable> {
  const recorded = prepareSession('', messages)
  const options = { ...replayOptionsOf(timeline), ...(model === undefined ? {} : { model }) }
  const base = await tryPolicy(recorded, 'none', options)
  return { recorded, options, base, under: planner => tryPolicy(recorded, planner, options) }
}

/** Dollars that thrifty would have saved on each call of a recording. */
export async function couldSave(timeline: Timeline, messages: readonly Message[]): Promise<number[]> {
  const { base, under } = await prepareReplay(timeline, messages)
  return savedByCall(timeline, base, await under('thrifty'))
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function mostFrequent(names: readonly string[]): string | undefined {
  const counts = new Map<string, number>()
  for (const name of names) if (name !== '') counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0]
}
