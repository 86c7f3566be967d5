/**
 * Summarises a stretch of a session on request: everything but the last entries, or the named entries, narrowed to
 * whole steps. A model writes the summary if one is available; otherwise it is made by rule. It is an edit by the user,
 * and the full conversation goes to the archive as with every summary.
 */

import { requestIn } from '../calls/requests.ts'
import { PalimpsestError } from '../model/errors.ts'
import { amount, withCommas } from '../model/text.ts'
import { messagesTokens } from '../model/tokens.ts'
import type { Edit, Message } from '../model/types.ts'
import { textMessage } from '../policies/policy.ts'
import { archiveOf } from '../policies/summarize.ts'
import type { Session } from '../session/session.ts'
import { keepRecords } from '../summaries/kept-files.ts'
import { withModelSummaries } from '../summaries/model-summary.ts'
import { writeSummary } from '../summaries/summary.ts'
import { type Stretch, stretchBefore } from '../view/cuts.ts'
import { type Fold, tokensOf } from '../view/fold.ts'
import type { Proposal } from '../view/proposal.ts'
import { createUnits, extendUnits } from '../view/units.ts'

export type Range = { from?: number; to?: number }

const KEPT_ENTRIES = 6

/** The whole steps of a range; all but the last entries if none is given. */
export async function stretchIn(session: Session, { from, to }: Range = {}): Promise<Stretch | undefined> {
  await session.view({ plan: false })
  const { fold, options } = session
  const before = to === undefined ? Math.max(0, fold.entries.length - KEPT_ENTRIES) : to + 1
  return stretchBefore(fold, before, { model: options.model, start: from })
}

/** Returns the edit; throws if there is nothing to summarise. */
export async function compactSession(session: Session, range?: Range): Promise<Edit> {
  const stretch = await stretchIn(session, range)
  const { tools, summarize } = session.options
  const { fold } = session
  if (!stretch) throw nothingThere('There is no complete step to summarise.')
  const added = await originals(session, stretch)
  const request = lastRequest(fold)
  const hidden = request && request.entry >= stretch.from && request.entry <= stretch.to ? [request.message] : []
  const units = createUnits(tools)
  extendUnits(units, fold)
  const replaced = tokensOf(fold, stretch.from, stretch.to)
  const text = writeSummary(
    {
      units: units.all.filter(({ entry }) => entry >= stretch.from && entry <= stretch.to),
      requests: added.flatMap(message => requestIn(message) ?? []),
      previous: [],
    },
    replaced - messagesTokens(hidden, fold.count),
    fold.count,
  )
  if (text === undefined) throw nothingThere('A summary would not be shorter than the text that it replaces.')
  const proposal: Proposal = {
    policy: 'summarize',
    target: { type: 'range', ...stretch },
    replacement: { messages: [textMessage('user', text), ...hidden] },
    why: `${amount(stretch.to - stretch.from + 1, 'entry', 'entries')}, ${withCommas(replaced)} tokens, summarised on request`,
    mark: 'summary',
    summary: { goal: requestIn(request?.message) ?? '' },
    also: [archiveOf(session, stretch, added)],
    log: `Summarised entries ${stretch.from}-${stretch.to} of ${session.id} on request: ${withCommas(replaced)} tokens.`,
  }
  const [written = proposal] = await withModelSummaries([proposal], fold, summarize)
  const [edit] = await session.apply([written], 'user')
  await keepRecords([written], session.options, [])
  return edit!
}

function lastRequest({ entries }: Fold): { entry: number; message: Message } | undefined {
  const entry = entries.findLastIndex(({ message }) => requestIn(message) !== undefined)
  const message = entries[entry]?.message
  return message && { entry, message }
}

/** The original entries, including those that an earlier summary hides. */
async function originals(session: Session, { from, to }: { from: number; to: number }): Promise<Message[]> {
  const seqs = session.fold.entries.slice(from, to + 1).map(({ seq }) => seq)
  const events = await session.eventsAt(seqs)
  return events.flatMap(({ event }) => (event.type === 'entry' ? [event.message] : []))
}

function nothingThere(message: string): PalimpsestError {
  return new PalimpsestError('INVALID_INPUT', `${message} Continue the session first, or name other entries.`)
}
