/**
 * The last resort, when nothing else has brought the context under a threshold: only the last 10 to 20 entries stay,
 * from a legal cut on. The user's first request (or the summary that contains it) comes before them, and the last
 * request after them.
 */

import { amount, withCommas } from '../model/text.ts'
import { messagesTokens } from '../model/tokens.ts'
import type { Message } from '../model/types.ts'
import { firstEntry, lastCutBefore, type Stretch, stretchBefore } from '../view/cuts.ts'
import { entriesOf, messagesOf } from '../view/edits.ts'
import { type EditRecord, type Fold, rangeAround, tokensOf } from '../view/fold.ts'
import type { Proposal } from '../view/proposal.ts'
import { type PlanContext, type Policy, type PolicyRun, textMessage, tokensNow } from './policy.ts'
import { newRecords } from './reach.ts'
import { followRequests, type Request } from './summarize.ts'

type FallbackOptions = {
  /** The tokens from which it acts. */
  threshold: number
  /** How many entries stay: as many as fit, from `most` down to `least`. */
  most: number
  least: number
}

const FALLBACK: FallbackOptions = { threshold: 120_000, most: 20, least: 10 }

const NAME = 'fallback'

export function fallback(options: Partial<FallbackOptions> = {}): Policy {
  const chosen = { ...FALLBACK, ...options }
  return { name: NAME, start: () => startFallback(chosen) }
}

export function leftOutText(entries: number): string {
  return `[${withCommas(entries)} earlier messages are left out here to stay within the context window]`
}

function startFallback(options: FallbackOptions): PolicyRun {
  const requests = followRequests()
  const own: EditRecord[] = []
  const records = newRecords()

  return {
    plan(context: PlanContext): Proposal[] {
      const { fold } = context
      requests.follow(context)
      for (const record of records(fold)) if (record.edit.by === `policy:${NAME}`) own.push(record)
      const over = tokensNow(context) - options.threshold
      // A user who undoes this edit wants everything at any cost.
      if (over <= 0 || own.some(({ active }) => !active)) return []
      const stretch = chooseStretch(context, options)
      // Our range must enclose the ranges that other policies propose for this call. A range that reaches beyond ours
      // cannot.
      if (stretch && context.ranges?.some(({ from, to }) => from < stretch.from || to > stretch.to)) return []
      const proposal = stretch && toProposal(context, stretch, requests)
      return proposal ? [proposal] : []
    },
  }
}

/** The stretch that leaves as many entries as may stay and fit; the largest stretch if none fits. */
function chooseStretch({ fold, model, overhead }: PlanContext, options: FallbackOptions): Stretch | undefined {
  const { length } = fold.entries
  for (let keep = options.most; keep > options.least; keep--) {
    const cut = lastCutBefore(fold, length - keep, model)
    if (cut === undefined || length - 1 - cut > options.most) continue
    if (tokensOf(fold, cut + 1, length - 1) + overhead > options.threshold) continue
    return stretchBefore(fold, cut + 1, { model })
  }
  return stretchBefore(fold, length - options.least, { model })
}

function toProposal(
  { fold, model, scale = model.scale, replacing = [] }: PlanContext,
  stretch: Stretch,
  requests: { first: Request | undefined; last: Request | undefined },
): Proposal | undefined {
  const entries = stretch.to - stretch.from + 1
  const around = rangeAround(fold, stretch.to)
  if (around && entriesOf(around.target).from === stretch.from) return undefined
  const made = replacing.flatMap(messagesOf)
  const earlier = made.length > 0 ? made : earlierMessages(fold, stretch)
  const messages = [
    ...(earlier ? earlier.slice(0, 1) : asked(stretch, requests.first)),
    textMessage('user', leftOutText(entries)),
    ...lastAsked(stretch, requests, earlier),
  ]
  const replaced = tokensOf(fold, stretch.from, stretch.to)
  if (messagesTokens(messages, fold.count) >= replaced) return undefined
  const theirs = Math.round(replaced * scale)
  const why = `${amount(entries, 'entry', 'entries')}, ${withCommas(theirs)} tokens: no other edit brought the context below the threshold`
  return { policy: NAME, target: { type: 'range', ...stretch }, replacement: { messages }, why, mark: 'left-out' }
}

/** The messages of the range edit at the beginning, if there is one: a summary or an earlier fallback. */
function earlierMessages(fold: Fold, stretch: Stretch): readonly Message[] | undefined {
  const earlier = rangeAround(fold, firstEntry(fold))
  return earlier && entriesOf(earlier.target).from >= stretch.from ? messagesOf(earlier) : undefined
}

/** The last request, if the stretch would hide it; if it is unknown, the request that an earlier edit kept. */
function lastAsked(
  stretch: Stretch,
  { first, last }: { first: Request | undefined; last: Request | undefined },
  earlier: readonly Message[] | undefined,
): readonly Message[] {
  if (!last)
    return (earlier ?? [])
      .slice(1)
      .filter(message => !isLeftOut(message))
      .slice(-1)
  return last === first && !earlier ? [] : asked(stretch, last)
}

function asked(stretch: Stretch, request: Request | undefined): Message[] {
  return request && stretch.from <= request.entry && request.entry <= stretch.to ? [request.message] : []
}

function isLeftOut({ parts }: Message): boolean {
  const [part] = parts
  return part?.type === 'text' && /^\[[\d,]+ earlier messages are left out here/.test(part.text)
}
