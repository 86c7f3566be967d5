/**
 * Routes: pending edits of the planner with their reasons, and "compact from here to here": a range of entries becomes
 * a summary that the user has read and may have changed.
 *
 * Asking changes nothing. The planner is a fresh one, as after a restart; the preview tries the edit on the timeline's
 * own fold and undoes it.
 */
import { z } from 'zod'
import { requestIn } from '../../calls/requests.ts'
import { isPalimpsestError, PalimpsestError } from '../../model/errors.ts'
import { amount, withCommas } from '../../model/text.ts'
import { messagesTokens } from '../../model/tokens.ts'
import type { Edit, Message } from '../../model/types.ts'
import { type Pending as EnginePending, savingOf, textMessage } from '../../policies/policy.ts'
import type { Model } from '../../providers/models.ts'
import type { SessionOptions } from '../../session/session-options.ts'
import { writeSummary } from '../../summaries/summary.ts'
import { firstEntry, firstStartFrom, lastCutBefore } from '../../view/cuts.ts'
import { entriesOf } from '../../view/edits.ts'
import { type Fold, peek, tokensOf, tryEvent } from '../../view/fold.ts'
import { checkView } from '../../view/legality.ts'
import type { Proposal } from '../../view/proposal.ts'
import { assertAllowed, illegal } from '../../view/scope.ts'
import type { Timeline } from '../../view/timeline.ts'
import { defineRoute, EVERYBODY, Index, named, PEOPLE, type Route } from './route.ts'
import { Edit as EditOut } from './schemas.ts'
import { checkEntries } from './session-edits.ts'
import { openTimeline } from './session-timeline.ts'

const MAX_TEXT = 200_000
const MOST_HELD = 200

const Held = named('HeldEdit', {
  policy: z.string(),
  from: z.number(),
  to: z.number(),
  part: z.number().nullable(),
  saves: z.number().describe('Tokens, estimated.'),
  why: z.string(),
  reason: z.string().nullable().describe('The reason why it waits.'),
})

const pending = defineRoute({
  method: 'get',
  path: '/sessions/{session}/pending',
  summary: 'The edits that the policy would make at the next call, the edits that wait, and the reasons',
  description: 'Only asks: nothing is planned or recorded.',
  roles: EVERYBODY,
  answer: named('Pending', {
    session: z.string(),
    policy: z.string(),
    decision: z.string().nullable(),
    now: z.array(Held).describe('Edits that would be made at the next call.'),
    later: z.array(Held).describe('Edits that wait.'),
    saves: z.object({ now: z.number(), later: z.number() }),
  }),
  async run({ params, caller, doors }) {
    const { timeline, session, options } = await openTimeline(doors, caller, params.session)
    const { fold } = timeline
    const { proposals, pending: waiting, decision } = askPlanner(timeline, session, options, doors.clock())
    const now = proposals.map(proposal => toHeld({ proposal, saves: savingOf(fold, proposal) }))
    const later = waiting.map(toHeld)
    return {
      session,
      policy: options.policy.name,
      decision: decision ?? null,
      now: now.slice(0, MOST_HELD),
      later: later.slice(0, MOST_HELD),
      saves: { now: total(now), later: total(later) },
    }
  },
})

const Range = { from: Index, to: Index }

const preview = defineRoute({
  method: 'post',
  path: '/sessions/{session}/compact/preview',
  summary: 'The summary that would replace consecutive entries, to review and change before it is used',
  description:
    'The stretch is narrowed to complete steps: compact `from` to `to` of the answer. No model is called. A ' +
    '`text` of your own is checked in place of the summary.',
  roles: PEOPLE,
  body: z.strictObject({ ...Range, text: z.string().max(MAX_TEXT).optional() }),
  answer: named('CompactPreview', {
    session: z.string(),
    from: z.number(),
    to: z.number(),
    narrowed: z.boolean(),
    text: z.string(),
    request: z.string().nullable().describe('The last request of the user, which follows the summary unchanged.'),
    tokens: z.object({ replaced: z.number(), summary: z.number(), saved: z.number() }),
    rewritten: z.number().describe('Tokens after it that the provider must write again at the next call.'),
    problem: z.string().nullable().describe('Why it would be refused.'),
  }),
  refusals: [409],
  unkeyed: true,
  async run({ params, body, caller, doors }) {
    const { timeline, session, options } = await openTimeline(doors, caller, params.session)
    return { session, ...previewOf(timeline, body, options.model) }
  },
})

const compact = defineRoute({
  method: 'post',
  path: '/sessions/{session}/compact',
  summary: 'Replace consecutive entries with a summary; it can be undone like any edit',
  roles: PEOPLE,
  body: z.strictObject({ ...Range, text: z.string().min(1).max(MAX_TEXT) }),
  answer: z.object({ edit: EditOut }),
  status: 201,
  refusals: [409],
  async run({ params, body, caller, doors }) {
    const { timeline } = await openTimeline(doors, caller, params.session)
    const { from, to, text } = body
    const stretch = { from, to }
    checkEntries(timeline.fold, stretch)
    const messages = messagesFor(timeline.fold, stretch, text)
    const size = messagesTokens(messages, timeline.fold.count)
    const replaced = tokensOf(timeline.fold, from, to)
    if (size >= replaced) throw tooLong(size, replaced)
    const session = await doors.desk.open(caller, params.session)
    const why = `${amount(to - from + 1, 'entry', 'entries')}, ${withCommas(replaced)} tokens, compacted by hand`
    const [edit] = await session.apply(
      [{ target: { type: 'range', ...stretch }, replacement: { messages }, why }],
      'user',
    )
    return { edit: edit! }
  },
})

export const compactRoutes: readonly Route[] = [pending, preview, compact]

/** Asks a planner that knows only the ledger, as a freshly started server would. */
function askPlanner(timeline: Timeline, session: string, { policy, model, home }: SessionOptions, now: number) {
  const { fold, units, calls, overhead } = timeline
  const unsent = calls.at(-1)?.entry ?? 0
  return policy.start().plan({
    fold,
    units,
    fresh: units.findLastIndex(unit => unit.entry < unsent) + 1,
    model,
    now,
    lastCallAt: timeline.cacheAt(now).lastCallAt,
    calls: calls.length,
    overhead,
    session,
    home,
  })
}

function toHeld({ proposal, saves, reason }: Pick<EnginePending, 'proposal' | 'saves'> & { reason?: string }) {
  const { policy, target, why }: Proposal = proposal
  const part = target.type === 'part' ? target.part : null
  return { policy, ...entriesOf(target), part, saves: Math.round(saves), why, reason: reason ?? null }
}

function total(held: readonly { saves: number }[]): number {
  return held.reduce((sum, { saves }) => sum + saves, 0)
}

type Stretch = { from: number; to: number }

function previewOf({ fold, units }: Timeline, asked: Stretch & { text?: string }, model: Model) {
  checkEntries(fold, asked)
  const stretch = narrowed(fold, asked, model)
  const { from, to } = stretch
  const request = lastRequestIn(fold, stretch)
  const replaced = tokensOf(fold, from, to)
  const kept = request ? messagesTokens([request], fold.count) : 0
  const requests = fold.entries.slice(from, to + 1).flatMap(({ message }) => requestIn(message) ?? [])
  const own = units.filter(({ entry }) => entry >= from && entry <= to)
  const text = asked.text ?? writeSummary({ units: own, requests, previous: [] }, replaced - kept, fold.count) ?? ''
  const size = fold.count(text) + kept
  return {
    ...stretch,
    narrowed: from !== asked.from || to !== asked.to,
    text,
    request: requestIn(request) ?? null,
    tokens: { replaced, summary: size, saved: replaced - size },
    rewritten: tokensOf(fold, to + 1, fold.entries.length),
    problem: problemOf(fold, stretch, { text, size, replaced, model }) ?? null,
  }
}

/** Whole steps only: a call and its results are not separated. */
function narrowed(fold: Fold, { from, to }: Stretch, model: Model): Stretch {
  const first = firstEntry(fold)
  const start = from <= first ? first : firstStartFrom(fold, from)
  const end = lastCutBefore(fold, to + 1, model)
  if (start !== undefined && end !== undefined && start <= end) return { from: start, to: end }
  throw new PalimpsestError(
    'VIEW_ILLEGAL',
    'There is no complete step between these entries. Choose a longer stretch.',
    {
      from,
      to,
    },
  )
}

function messagesFor(fold: Fold, stretch: Stretch, text: string): Message[] {
  const request = lastRequestIn(fold, stretch)
  return [textMessage('user', text), ...(request ? [request] : [])]
}

/** The last request of the session, if the stretch would hide it. */
function lastRequestIn({ entries }: Fold, { from, to }: Stretch): Message | undefined {
  const last = entries.findLastIndex(({ message }) => requestIn(message) !== undefined)
  return last >= from && last <= to ? entries[last]!.message : undefined
}

type Tried = { text: string; size: number; replaced: number; model: Model }

/** The reason why the edit would be refused. The fold is unchanged afterwards. */
function problemOf(fold: Fold, stretch: Stretch, { text, size, replaced, model }: Tried): string | undefined {
  if (text === '') return 'There is too little to summarise: a summary would not be shorter.'
  if (size >= replaced) return tooLong(size, replaced).message
  const replacement = { messages: messagesFor(fold, stretch, text) }
  const target = { type: 'range' as const, ...stretch }
  const edit: Edit = { id: 'preview', target, replacement, by: 'user', why: 'preview', saved: 0 }
  try {
    assertAllowed(fold, [edit], model)
    const takeBack = tryEvent(fold, { type: 'edit', edits: [edit] }, 0)
    const broken = checkView(peek(fold), { dialect: model.dialect })
    takeBack()
    return broken.length > 0 ? illegal(broken).message : undefined
  } catch (error) {
    if (isPalimpsestError(error)) return error.message
    throw error
  } finally {
    fold.changedFrom = Number.POSITIVE_INFINITY
  }
}

function tooLong(size: number, replaced: number): PalimpsestError {
  const message = `The summary has ${withCommas(size)} tokens, no fewer than the ${withCommas(replaced)} that it replaces.`
  return new PalimpsestError('SUMMARY_TOO_LONG', message, { size, replaced })
}
