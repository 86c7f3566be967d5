/** Routes: the context map, now and at any call, and one part of it with all its edits. */
import { z } from 'zod'
import { PalimpsestError } from '../../model/errors.ts'
import { textOf } from '../../model/leaves.ts'
import { partTokens } from '../../model/tokens.ts'
import type { Part } from '../../model/types.ts'
import { THRIFTY } from '../../planner/tuning.ts'
import { contains, entriesOf, messagesOf, outermost } from '../../view/edits.ts'
import { editsInside, type Fold, isPinned, rangeAround } from '../../view/fold.ts'
import { coveredPart, HIDDEN, hiddenByUser, hiderIn, withoutHiddenTexts } from '../../view/hidden.ts'
import type { Bar } from '../../view/part-map.ts'
import { partId, shownParts } from '../../view/shown-texts.ts'
import type { Timeline } from '../../view/timeline.ts'
import { defineRoute, EVERYBODY, MAX_INDEX, named, numberIn, type Route, Time } from './route.ts'
import { EditState, Message, Part as PartOut, RoleName } from './schemas.ts'
import { callIn, openTimeline } from './session-timeline.ts'

const BARS = 2000
const MOST_BARS = 20_000
const MOST_IDS = 10

export const BarOut = named('Bar', {
  entry: z.number(),
  part: z.number().nullable().describe('Null for text inserted by an edit, and for a bar of several parts.'),
  to: z.number().describe('The last entry; differs from the first in a bar of several parts.'),
  parts: z.number(),
  role: RoleName,
  type: z.string(),
  kind: z.string().describe('system, user, assistant, reasoning, image, raw, inserted, or what the tool does.'),
  tool: z.string().optional(),
  label: z.string().describe('The file, the command, or the first words.'),
  raw: z.number().describe('Tokens of the original.'),
  shown: z.number().describe('Tokens in the view; 0 if it is hidden.'),
  edits: z.array(z.string()).describe(`The edits that show here, up to ${MOST_IDS}.`),
  pinned: z.boolean(),
})

const map = defineRoute({
  method: 'get',
  path: '/sessions/{session}/map',
  summary: 'All parts in order, with kind, original size and size in view, now or at a call',
  description:
    'With `at` it is the view that the call was sent, with the edits in force then. Neighbours share a bar where there would be ' +
    'more than `max`. `cached` is the prefix that the provider has, system prompt and tools included; `cold` says that ' +
    'it has forgotten it.',
  roles: EVERYBODY,
  query: {
    at: numberIn(1, MAX_INDEX).optional().describe('The number of a model call, from 1; the next call by default.'),
    max: numberIn(10, MOST_BARS).optional().describe(`The maximum number of bars; ${BARS} by default.`),
  },
  answer: named('ContextMap', {
    session: z.string(),
    length: z.number(),
    at: z.number().nullable(),
    time: Time,
    calls: z.number(),
    entries: z.number(),
    window: z.number(),
    marks: z.array(z.number()).describe('Tokens at which the policy begins to make room, and at which it must.'),
    overhead: z.number().describe('Tokens of the system prompt and tools, which precede the first bar.'),
    cached: z.number(),
    cold: z.boolean(),
    tokens: z.object({ raw: z.number(), shown: z.number() }).describe('Without the overhead.'),
    scale: z
      .number()
      .describe(
        'Tokens of the provider per token of ours. All numbers here are tokens of the provider; edits count ours.',
      ),
    bars: z.array(BarOut),
  }),
  async run({ params, query, caller, doors }) {
    const { timeline, session, options } = await openTimeline(doors, caller, params.session)
    const call = callIn(timeline, query.at)
    const all = [...timeline.bars(call)]
    const bars = inTheirs(timeline, caller.role === 'agent' ? all.map(withoutHiddenLabels(timeline.fold)) : all)
    const { window } = options.model
    const { may, must } = THRIFTY
    return {
      session,
      length: timeline.length,
      at: query.at ?? null,
      calls: timeline.calls.length,
      entries: timeline.calls[call]?.entry ?? timeline.fold.entries.length,
      window,
      marks: options.policy.name === 'thrifty' ? [may * window, must * window] : [],
      overhead: timeline.theirs(timeline.overhead),
      ...cacheOf(timeline, call, doors.clock()),
      tokens: { raw: sumOf(bars, 'raw'), shown: sumOf(bars, 'shown') },
      scale: timeline.scale,
      bars: mergedBars(bars, query.max ?? BARS),
    }
  },
})

const PartEdit = EditState.extend({
  at: Time,
  call: z.number().describe('The number of the call before which it was made, from 1.'),
  decision: z.string().nullable(),
  shows: z.boolean().describe('In force, and not inside another edit.'),
}).meta({ id: 'PartEdit' })

const PartDetail = named('PartDetail', {
  session: z.string(),
  entry: z.number(),
  part: z.number(),
  role: RoleName,
  at: Time,
  hash: z.string().describe('The id of the part, for edits and restore.'),
  pinned: z.boolean(),
  inView: z.boolean(),
  original: PartOut,
  shown: PartOut.nullable().describe('Null if it is dropped or hidden.'),
  texts: z.object({ original: z.string(), shown: z.string().nullable() }),
  tokens: z.object({ original: z.number(), shown: z.number() }),
  instead: z
    .object({ edit: z.string(), from: z.number(), to: z.number(), messages: z.array(Message) })
    .nullable()
    .describe('The messages shown instead, if it is hidden together with its neighbours.'),
  edits: z.array(PartEdit).describe('All edits of it, newest first, including undone ones.'),
})

const part = defineRoute({
  method: 'get',
  path: '/sessions/{session}/parts/{entry}/{part}',
  summary: 'One part: its original, what is shown, and all its edits with reason, author, time and saving',
  roles: EVERYBODY,
  params: { entry: numberIn(0, MAX_INDEX), part: numberIn(0, MAX_INDEX) },
  answer: PartDetail,
  async run({ params, caller, doors }) {
    const { timeline, session } = await openTimeline(doors, caller, params.session)
    const detail = detailOf(timeline, params.entry, params.part)
    if (caller.role !== 'agent' || !hiddenByUser(timeline.fold, params.entry, params.part))
      return { session, ...detail }
    const { original, texts, edits } = detail
    return {
      session,
      ...detail,
      original: coveredPart(original),
      texts: { ...texts, original: HIDDEN },
      edits: withoutHiddenTexts(timeline.fold, edits),
    }
  },
})

export const mapRoutes: readonly Route[] = [map, part]

function cacheOf(timeline: Timeline, call: number, now: number) {
  const made = timeline.calls[call]
  if (!made) {
    const { tokens, cold } = timeline.cacheAt(now)
    return { time: now, cached: cold ? 0 : timeline.theirs(tokens), cold }
  }
  const { sent, at, miss } = made
  return { time: at, cached: timeline.theirs(sent.cached), cold: call === 0 || miss?.kind === 'cold' }
}

/** Bars as an agent may see them: also those of texts that an edit inserted before the user hid what they are about. */
export function withoutHiddenLabels(fold: Fold): (bar: Bar) => Bar {
  const hider = hiderIn(fold)
  return bar => {
    if (!hider(bar.entry, bar.part)) return bar
    const { path: _, ...rest } = bar
    return { ...rest, label: HIDDEN }
  }
}

/** The bars in the provider's tokens, rounded so that they add up. */
export function inTheirs(timeline: Timeline, bars: readonly Bar[]): Bar[] {
  let before = 0
  return bars.map(bar => {
    const start = timeline.theirs(before)
    before += bar.raw
    const raw = timeline.theirs(before) - start
    return { ...bar, raw, shown: bar.shown === bar.raw ? raw : timeline.theirs(bar.shown) }
  })
}

function sumOf(bars: readonly Bar[], key: 'raw' | 'shown'): number {
  return bars.reduce((total, bar) => total + bar[key], 0)
}

/** Merges neighbouring bars if there are too many to draw. */
export function mergedBars(all: readonly Bar[], most: number): z.input<typeof BarOut>[] {
  const each = Math.ceil(all.length / most)
  // The path is in the label, which is masked if an agent must not see it.
  const bars = all.map(({ path: _, ...bar }) => bar)
  if (each <= 1) return bars.map(bar => ({ ...bar, part: bar.part ?? null, to: bar.entry, parts: 1 }))
  const found: z.input<typeof BarOut>[] = []
  for (let i = 0; i < bars.length; i += each) {
    const group = bars.slice(i, i + each)
    const largest = group.reduce((a, b) => (b.raw + b.shown > a.raw + a.shown ? b : a))
    found.push({
      ...largest,
      entry: group[0]!.entry,
      part: null,
      to: group.at(-1)!.entry,
      parts: group.length,
      raw: sumOf(group, 'raw'),
      shown: sumOf(group, 'shown'),
      edits: [...new Set(group.flatMap(({ edits }) => edits))].slice(0, MOST_IDS),
      pinned: group.some(({ pinned }) => pinned),
    })
  }
  return found
}

function detailOf(timeline: Timeline, entry: number, index: number) {
  const { fold } = timeline
  const found = fold.entries[entry]
  const original = found?.message?.parts[index]
  if (!found || !original) {
    throw new PalimpsestError('ENTRY_NOT_FOUND', `There is no part ${index} in entry ${entry}.`, { entry })
  }
  const range = rangeAround(fold, entry)
  const shown = [...shownParts(fold, entry)].find(other => other.part === index)?.shown
  return {
    entry,
    part: index,
    role: found.role,
    at: found.at,
    hash: partId(entry, index, original),
    pinned: isPinned(fold, entry, index),
    inView: shown !== undefined,
    original,
    shown: shown ?? null,
    texts: { original: textOf(original), shown: shown ? textOf(shown) : null },
    tokens: { original: sizeOf(original, timeline), shown: shown ? sizeOf(shown, timeline) : 0 },
    instead: range ? { edit: range.id, ...entriesOf(range.target), messages: messagesOf(range) } : null,
    edits: editsOf(timeline, entry, index),
  }
}

function sizeOf(part: Part, timeline: Timeline): number {
  return timeline.theirs(partTokens(part, timeline.fold.count))
}

function editsOf({ fold, moments }: Timeline, entry: number, part: number) {
  const range = rangeAround(fold, entry)
  const inside = editsInside(fold, entry).filter(({ target }) => target.part === part)
  const showing = new Set(range ? [range.id] : outermost(inside).map(({ id }) => id))
  const own = [...fold.records.values()].filter(({ edit: { target } }) => {
    const isOther = target.type === 'part' && target.part !== part
    return target.type !== 'after' && !isOther && contains(target, entry)
  })
  return own.reverse().map(({ edit, active, seq }) => {
    const { at = 0, call = 0, decision = null } = moments.get(edit.id) ?? {}
    return { ...edit, active, seq, at, call: call + 1, decision, shows: active && showing.has(edit.id) }
  })
}
