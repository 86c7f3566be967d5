/**
 * When the context has grown past a threshold, everything but the last entries becomes one structured summary. It is a
 * range edit, so it can be undone and searched. It is written from the ledger (summary.ts); the engine may have a model
 * write a better one. The user's last request follows verbatim. The newly replaced entries go to an archive in full,
 * and the daily log gets a line. A later summary includes the earlier one.
 */

import { requestIn } from '../calls/requests.ts'
import { firstIndex } from '../model/first-index.ts'
import { textOf } from '../model/leaves.ts'
import { amount, boundedTo, onOneLine, withCommas } from '../model/text.ts'
import { messagesTokens } from '../model/tokens.ts'
import type { Message } from '../model/types.ts'
import { writeSummary } from '../summaries/summary.ts'
import { type Stretch, stretchBefore } from '../view/cuts.ts'
import { entriesOf, messagesOf } from '../view/edits.ts'
import { type EditRecord, type Fold, rangeAround, tokensOf } from '../view/fold.ts'
import type { Proposal } from '../view/proposal.ts'
import type { Unit } from '../view/units.ts'
import { safeName } from './offload.ts'
import { type PlanContext, type Policy, type PolicyRun, textMessage, tokensNow } from './policy.ts'
import { newRecords, newUnits } from './reach.ts'

type SummarizeOptions = {
  /** The number of tokens from which old entries are summarised. */
  threshold: number
  /** The same as a share of the model's window; it takes precedence over `threshold`. */
  budget?: number
  /** How many entries at the end stay as they are. */
  keep: number
  /** Entries are summarised only if that frees this share of the threshold. */
  atLeast: number
}

const SUMMARIZE: SummarizeOptions = { threshold: 100_000, keep: 20, atLeast: 0.05 }

const NAME = 'summarize'
/** The folder beside the ledger for the entries that a summary replaced. */
export const ARCHIVE = 'archive'

export function summarize(options: Partial<SummarizeOptions> = {}): Policy {
  const chosen = { ...SUMMARIZE, ...options }
  return { name: NAME, start: () => startSummarize(chosen) }
}

function startSummarize(options: SummarizeOptions): PolicyRun {
  const requests = followRequests()
  const own: EditRecord[] = []
  const records = newRecords()

  return {
    plan(context: PlanContext): Proposal[] {
      const { fold, model } = context
      requests.follow(context)
      for (const record of records(fold)) if (record.edit.by === `policy:${NAME}`) own.push(record)
      const threshold = options.budget === undefined ? options.threshold : options.budget * model.window
      if (tokensNow(context) <= threshold) return []
      const start = behindUndone(fold, own)
      const before = fold.entries.length - options.keep
      const stretch = stretchBefore(fold, before, { model, ...(start === undefined ? {} : { start }) })
      const proposal = stretch && toProposal(context, stretch, requests.last)
      return proposal && proposal.saves >= options.atLeast * threshold ? [proposal.proposal] : []
    },
  }
}

/** Where a summary may begin: not before the end of one that the user has undone. */
function behindUndone(fold: Fold, own: readonly EditRecord[]): number | undefined {
  const ends = own.filter(({ active }) => !active).map(({ edit }) => entriesOf(edit.target).to)
  const end = Math.max(-1, ...ends.filter(entry => !rangeAround(fold, entry)))
  return end < 0 ? undefined : end + 1
}

function toProposal(
  context: PlanContext,
  stretch: Stretch,
  last: Request | undefined,
): { proposal: Proposal; saves: number } | undefined {
  const { fold, model, scale = model.scale, session = 'agent' } = context
  const earlier = rangeAround(fold, stretch.from)
  const told = earlier && messagesOf(earlier)
  const from = earlier && told ? entriesOf(earlier.target).to + 1 : stretch.from
  if (from > stretch.to) return undefined
  const added = fold.entries.slice(from, stretch.to + 1).flatMap(({ message }) => message ?? [])
  const tail = requestBehind(stretch, last, told)
  const replaced = tokensOf(fold, stretch.from, stretch.to)
  const tailTokens = messagesTokens(tail, fold.count)
  const text = writeSummary(
    {
      units: unitsBetween(context.units, from, stretch.to),
      requests: added.flatMap(message => requestIn(message) ?? []),
      previous: (told ?? []).map(message => message.parts.map(textOf).join('\n')),
    },
    replaced - tailTokens,
    fold.count,
  )
  if (text === undefined) return undefined
  const goal = last?.text ?? ''
  const saves = replaced - tailTokens - fold.count(text)
  const theirs = (tokens: number) => withCommas(Math.round(tokens * scale))
  const proposal: Proposal = {
    policy: NAME,
    target: { type: 'range', ...stretch },
    replacement: { messages: [textMessage('user', text), ...tail] },
    why: `${amount(stretch.to - stretch.from + 1, 'old entry', 'old entries')}, ${theirs(replaced)} tokens, as one summary`,
    mark: 'summary',
    summary: { goal },
    also: [archiveOf({ id: session, fold }, { from, to: stretch.to }, added)],
    log: `Summarised entries ${stretch.from}-${stretch.to} of ${session}: ${theirs(replaced)} tokens became ${theirs(replaced - saves)}. Goal: ${boundedTo(onOneLine(goal), 120)}`,
  }
  return { proposal, saves }
}

/** The entries that a summary replaces, as a file. */
export function archiveOf(
  { id, fold }: { id: string; fold: Fold },
  { from, to }: Stretch,
  messages: readonly Message[],
) {
  const at = fold.entries[to]?.at ?? 0
  const text = `${JSON.stringify({ session: id, at, entries: [from, to], messages }, null, 2)}\n`
  return { path: `${ARCHIVE}/${safeName(id)}_${at}.json`, text }
}

/** The user's last request, if the summary would hide it. */
function requestBehind(stretch: Stretch, last: Request | undefined, told: readonly Message[] | undefined): Message[] {
  if (last && last.entry > stretch.to) return []
  if (last && last.entry >= stretch.from) return [last.message]
  return told?.slice(1).slice(-1) ?? []
}

export type Request = { entry: number; text: string; message: Message }

/** Tracks the user's requests: the first one, and the last one that could be read. */
export function followRequests(): {
  follow(context: PlanContext): void
  readonly first: Request | undefined
  readonly last: Request | undefined
} {
  const fresh = newUnits()
  let first: Request | undefined
  let last: Request | undefined
  return {
    follow({ fold, units }) {
      for (const { entry, role, part } of fresh(units)) {
        const message = role === 'user' && part === 0 ? fold.entries[entry]?.message : undefined
        const text = requestIn(message)
        if (!message || text === undefined) continue
        last = { entry, text, message }
        first ??= last
      }
    },
    get first() {
      return first
    },
    get last() {
      return last
    },
  }
}

function unitsBetween(units: readonly Unit[], from: number, to: number): Unit[] {
  const firstOf = (entry: number) => firstIndex(units.length, i => units[i]!.entry >= entry)
  return units.slice(firstOf(from), firstOf(to + 1))
}
