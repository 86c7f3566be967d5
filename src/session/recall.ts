/**
 * Recall's results for a reader: when and where a text was said, whether the model sees it now, the cost of restoring
 * it, and the parts around it. Three steps: hits, then `around` a hit, then its whole text.
 *
 * Hits are described from their own entries and the events of edits. No session is opened: a search of all sessions has
 * hits in many.
 */

import { Ledger } from '../ledger/ledger.ts'
import type { LedgerStore } from '../ledger/store.ts'
import { PalimpsestError } from '../model/errors.ts'
import { firstIndex } from '../model/first-index.ts'
import { textOf } from '../model/leaves.ts'
import { isAbsolutePath, normalizePath } from '../model/paths.ts'
import { headOf, onOneLine } from '../model/text.ts'
import { type Counter, loadCounter, partTokens } from '../model/tokens.ts'
import type { Message, Part } from '../model/types.ts'
import type { Place } from '../recall/index.ts'
import type { Found, SearchOptions } from '../recall/search.ts'
import { snippetOf } from '../recall/snippet.ts'
import { type ActiveEdit, contains, isRange, type PartEdit } from '../view/edits.ts'
import { editsInside, type Fold, isVisible } from '../view/fold.ts'
import { hiderAmong } from '../view/hidden.ts'
import { editsInForce } from '../view/in-force.ts'
import { partId, shownPart } from '../view/shown-texts.ts'

export type RecallOptions = Partial<SearchOptions>

export type RecallHit = {
  entry: number
  part: number
  role: Message['role']
  kind: Part['type']
  /** The tool, for calls and results. */
  tool?: string
  snippet: string
  /** The piece of the part's text that matches best, as character offsets. */
  from: number
  to: number
  /** Whether the model sees this text now. */
  inView: boolean
  /** Set if the user has hidden this text from agents. */
  hidden?: true
  hash: string
  /** When it happened, in milliseconds since 1970. */
  at: number
  /** Tokens of the whole part; estimated from the length if the part is long. */
  tokens: number
  /** How many other parts have the same text, if only the newest was asked for. */
  copies?: number
}

export type SessionHit = RecallHit & { session: string }

/** A part near a hit, in one line. */
export type Nearby = Pick<RecallHit, 'entry' | 'part' | 'role' | 'kind' | 'tool' | 'hash' | 'tokens' | 'inView'> & {
  preview: string
}

export type Reader = {
  fold: Fold
  original: (entry: number) => Promise<Message>
  count: Counter
}

/** Parses a day or a time in ISO 8601 to milliseconds. With `end`, a day means its end. */
export function parseTime(text: string, { end = false } = {}): number {
  const at = Date.parse(text)
  if (Number.isNaN(at)) {
    throw new PalimpsestError(
      'INVALID_INPUT',
      `${JSON.stringify(text)} is not a time. Use 2026-05-18 or 2026-05-18T09:00Z.`,
    )
  }
  return end && /^\d{4}-\d\d-\d\d$/.test(text) ? at + DAY_MS - 1 : at
}

/** Search filters as doors take them: lists separated by commas, times in ISO 8601. */
export type Narrowing = Partial<Record<'type' | 'tool' | 'path' | 'since' | 'until', string>>

export function narrowedBy({ type, tool, path, since, until }: Narrowing): Omit<RecallOptions, 'limit'> {
  return {
    distinct: true,
    types: type?.split(','),
    tools: tool?.split(','),
    paths: path?.split(','),
    since: since === undefined ? undefined : parseTime(since),
    until: until === undefined ? undefined : parseTime(until, { end: true }),
  }
}

/** Whether a session's folder belongs to a project. A project is a folder, or the end of a folder's path. */
export function isInProject(folder: string | undefined, project: string): boolean {
  if (folder === undefined) return false
  const path = `/${normalizePath(folder)}/`
  const named = normalizePath(project)
  return isAbsolutePath(named) ? path.startsWith(`/${named}/`) : path.includes(`/${named}/`)
}

/**
 * The last name in a project's path, which the path of every folder in the project contains; `undefined` if there is
 * none.
 */
export function folderName(project: string): string | undefined {
  const last = normalizePath(project).split('/').at(-1)!
  return ['', '.', '..'].includes(last) || last.endsWith(':') ? undefined : last
}

const DAY_MS = 86_400_000
const EXACT_CHARS = 4000
const CHARS_PER_TOKEN = 4
const PREVIEW_CHARS = 160

export async function describeHits(store: LedgerStore, found: readonly Found[], query: string): Promise<SessionHit[]> {
  const count = await loadCounter()
  const described = new Map<Found, SessionHit>()
  for (const [session, own] of Map.groupBy(found, one => one.session)) {
    const ledger = new Ledger(store, session)
    const messages = await ledger.messages([...new Set(own.map(({ seq }) => seq))])
    const { events, besides } = await ledger.edits()
    const edits = editsInForce(events.map(({ event }) => event))
    for (const one of own) {
      const message = messages.get(one.seq)
      if (!message?.parts[one.part]) continue
      const entry = one.seq - firstIndex(besides.length, i => besides[i]! > one.seq)
      described.set(one, { session, ...describeHit(one, { entry, message, edits, query, count }) })
    }
  }
  return found.flatMap(one => described.get(one) ?? [])
}

type AboutHit = { entry: number; message: Message; edits: readonly ActiveEdit[]; query: string; count: Counter }

function describeHit(
  { part: index, from, to, at, copies }: Found,
  { entry, message, edits, query, count }: AboutHit,
): RecallHit {
  const snippet = snippetOf(textOf(message.parts[index]!).slice(from, to), query)
  const around = edits.filter(({ target }) => target.type !== 'after' && contains(target, entry))
  const inParts = around.filter((edit): edit is PartEdit => edit.target.type === 'part')
  const inside = around.some(({ target }) => isRange(target)) ? undefined : inParts
  const near = describe({ entry, index, message, text: snippet }, inside, count)
  const isHidden = !near.inView && hiderAmong(around, entry, index) !== undefined
  return {
    ...near,
    snippet,
    from,
    to,
    at: message.at ?? at,
    ...(isHidden ? { hidden: true } : {}),
    ...(copies === undefined ? {} : { copies }),
  }
}

/** At most this many of a session's newest pieces are compared by meaning. */
export const MOST_BY_MEANING = 5000
/** A search of several sessions compares fewer pieces: each session is opened to read its pieces. */
export const MOST_OF_ALL_BY_MEANING = 1000

export async function pieceOf(store: LedgerStore, { session, seq, part, from, to }: Place): Promise<string> {
  const found = (await new Ledger(store, session).messages([seq])).get(seq)?.parts[part]
  return found ? textOf(found).slice(from, to) : ''
}

/** The parts of the entries around one, in order. */
export async function describeAround(reader: Reader, entry: number, { before = 3, after = 3 } = {}): Promise<Nearby[]> {
  const { fold, original, count } = reader
  const near: Nearby[] = []
  const last = Math.min(fold.entries.length - 1, entry + after)
  for (let other = Math.max(0, entry - before); other <= last; other++) {
    const message = await original(other)
    const inside = isVisible(fold, other) ? editsInside(fold, other) : undefined
    for (const [index, part] of message.parts.entries()) {
      const text = textOf(part)
      const preview = onOneLine(headOf(text, PREVIEW_CHARS))
      near.push({ ...describe({ entry: other, index, message, text }, inside, count), preview })
    }
  }
  return near
}

type Described = Pick<RecallHit, 'entry' | 'part' | 'role' | 'kind' | 'tool' | 'hash' | 'tokens' | 'inView'>

/** `inside`: the edits inside the entry; undefined if a range edit replaces the entry. */
function describe(
  { entry, index, message, text }: { entry: number; index: number; message: Message; text: string },
  inside: readonly PartEdit[] | undefined,
  count: Counter,
): Described {
  const part = message.parts[index]!
  const shown = inside && shownPart(message, index, inside)
  return {
    entry,
    part: index,
    role: message.role,
    kind: part.type,
    ...('name' in part ? { tool: part.name } : {}),
    hash: partId(entry, index, part),
    tokens: costOf(part, count),
    inView: shown !== undefined && textOf(shown).includes(text),
  }
}

function costOf(part: Part, count: Counter): number {
  const { length } = textOf(part)
  return length > EXACT_CHARS ? Math.ceil(length / CHARS_PER_TOKEN) : partTokens(part, count)
}
