/**
 * Fills the index of recall from the events, in bounded steps, for every store.
 *
 * A step indexes some events of one session, or merges a few small segments. Any process may take a step at any time:
 * if another process has done the work, the step does nothing. The index is derived and can be rebuilt.
 */
import type { Message, ToolCallPart } from '../model/types.ts'
import { type Document, documentsOf } from '../recall/documents.ts'
import type { Place } from '../recall/index.ts'
import { type Vocabulary, vocabularyOf } from '../recall/inside.ts'
import {
  columnsOf,
  joinColumns,
  joinPostings,
  joinRuns,
  KINDS,
  type Placed,
  postingsOf,
  type Run,
  type Segment,
  thinColumns,
  thinPostings,
  withoutSessions,
} from '../recall/postings.ts'
import { decodeEvent, referencesIn } from './codec.ts'
import { ask, type Now, type Steps } from './steps.ts'

/** One step takes at most this many events, or events with this many characters. */
const EVENTS_PER_STEP = 512
const CHARS_PER_STEP = 300_000
const USUAL_LARGE_TEXT = 40_000
/** Eight segments of a size class are merged into one; a segment with this many documents is not merged any more. */
const MERGED_AT_ONCE = 8
const LARGEST_SEGMENT = 16_384
/** The call of a result is looked for among this many events before the result. */
const CALL_WITHIN_EVENTS = 400
/** A search for a text inside words reads at most this many blocks. */
export const MAX_BLOCKS_READ = 4000

/** Which session holds which stretch of a session's events, oldest first. */
export type Lineage = readonly { key: number; upTo: number }[]
export type Done = { seq: number; documents: number }
/** The body is loaded only for entries. */
export type FreshEvent = { seq: number; at: number; type: string; body: string }
export type FreshDocument = Placed & { seq: number; document: Document }
/** Only segments of one group are merged. */
export type NewSegment = {
  group: string
  runs: readonly Run[]
  columns: Uint8Array
  postings: ReadonlyMap<string, Uint8Array>
  vocabulary: Vocabulary
}

/** The part of a store that filling uses. */
export interface IndexTables {
  /** How far a session is indexed; undefined if there is no such session. */
  done(key: number): Now<Done | undefined>
  setDone(key: number, done: Done): Now<void>
  groupOf(key: number): Now<string>
  eventsAfter(key: number, seq: number, limit: number): Now<FreshEvent[]>
  contents(hashes: readonly string[]): Now<Map<string, string>>
  lineageOf(key: number): Now<Lineage>
  /** The body of the session's last event in a range whose light form contains a text. */
  lastHolding(key: number, text: string, range: { from: number; to: number }): Now<string | undefined>
  addDocuments(key: number, first: number, documents: readonly FreshDocument[]): Now<void>
  /** Segment numbers are never reused, because readers cache segments. */
  addSegment(segment: NewSegment): Now<void>
  dropSegment(id: number): Now<void>
  segment(id: number): Now<Segment | undefined>
  groupOfSegment(id: number): Now<string>
  /** Segments up to some size, for merging. The groups with the most segments are enough. */
  small(largest: number): Now<{ id: number; documents: number; group: string }[]>
  postingsIn(id: number): Now<[term: string, data: Uint8Array][]>
  linesIn(id: number): Now<string[]>
  segmentsOf(keys: ReadonlySet<number>): Now<Segment[]>
  /** Drops the rows of a session outside segments. */
  forget(key: number): Now<void>
  /** All or nothing. */
  write(steps: () => Steps<void>): Now<void>
}

/** The place that a row of documents has. */
export function toPlace(row: Record<string, unknown>, session: string): Place {
  const [seq, part, from, size, print] = ['seq', 'part', 'start', 'size', 'print'].map(name => Number(row[name]))
  return { session, seq: seq!, part: part!, from: from!, to: from! + size!, print: print! }
}

/** Indexes some events of a session; `false` if none were left. */
export function* indexSome(tables: IndexTables, key: number): Steps<boolean> {
  const done = yield* ask(tables.done(key))
  if (!done) return false
  const rows = limited(yield* ask(tables.eventsAfter(key, done.seq, EVENTS_PER_STEP)))
  const last = rows.at(-1)
  if (!last) return false
  const fresh = yield* documentsIn(tables, key, rows)
  // Made before the transaction, so that it is short: other writers wait for it.
  const segment = fresh.length > 0 ? yield* segmentOf(tables, key, { first: done.documents, fresh }) : undefined
  yield* ask(
    tables.write(function* () {
      if ((yield* ask(tables.done(key)))?.seq !== done.seq) return
      if (segment) {
        yield* ask(tables.addDocuments(key, done.documents, fresh))
        yield* ask(tables.addSegment(segment))
      }
      yield* ask(tables.setDone(key, { seq: last.seq, documents: done.documents + fresh.length }))
    }),
  )
  return true
}

/** Merges segments of one size class if there are enough of them; otherwise `false`. */
export function* mergeSome(tables: IndexTables): Steps<boolean> {
  const small = yield* ask(tables.small(LARGEST_SEGMENT / 2))
  const classes = Map.groupBy(small, ({ documents, group }) => {
    return `${Math.floor(Math.log2(documents) / Math.log2(MERGED_AT_ONCE))} ${group}`
  })
  const many = [...classes.values()].find(segments => segments.length >= MERGED_AT_ONCE)
  if (!many) return false
  let sum = 0
  const some = many
    .slice(0, MERGED_AT_ONCE)
    .filter(({ documents }, i) => (sum += documents) <= LARGEST_SEGMENT || i < 2)
  yield* mergeAll(
    tables,
    some.map(({ id }) => id),
  )
  return true
}

/** Removes sessions from the index. Events that another session has taken over from them are indexed again. */
export function* forgetSessions(tables: IndexTables, keys: readonly number[]): Steps<void> {
  const gone = new Set(keys)
  for (const segment of yield* ask(tables.segmentsOf(gone))) yield* thin(tables, segment, gone)
  for (const key of gone) yield* ask(tables.forget(key))
}

function* thin(tables: IndexTables, segment: Segment, gone: ReadonlySet<number>): Steps<void> {
  const left = withoutSessions(segment.runs, session => gone.has(session))
  if (left.runs.length === 0) return yield* ask(tables.dropSegment(segment.id))
  const postings = new Map<string, Uint8Array>()
  for (const [term, data] of yield* ask(tables.postingsIn(segment.id))) {
    const thinned = thinPostings(data, left)
    if (thinned.length > 0) postings.set(term, thinned)
  }
  // Another form of a remaining word may come from removed text, so only words that are still terms are kept.
  const lines = (yield* ask(tables.linesIn(segment.id))).filter(line => postings.has(line))
  const group = yield* ask(tables.groupOfSegment(segment.id))
  const columns = thinColumns(segment, left)
  yield* ask(tables.dropSegment(segment.id))
  yield* ask(tables.addSegment({ group, runs: left.runs, columns, postings, vocabulary: vocabularyOf(lines) }))
}

function limited(rows: readonly FreshEvent[]): FreshEvent[] {
  let chars = 0
  return rows.filter((row, i) => i === 0 || (chars += charsIn(row.body)) <= CHARS_PER_STEP)
}

function* documentsIn(tables: IndexTables, key: number, rows: readonly FreshEvent[]): Steps<FreshDocument[]> {
  const calls = new Map<string, ToolCallPart>()
  const fresh: FreshDocument[] = []
  for (const { seq, at, type, body } of rows) {
    const message = type === 'entry' ? yield* messageIn(tables, body) : undefined
    if (!message) continue
    yield* addCalls(tables, calls, { key, seq, message })
    for (const document of documentsOf(message, id => calls.get(id))) {
      const kind = KINDS.indexOf(message.parts[document.part]!.type as (typeof KINDS)[number])
      fresh.push({ seq, document, at, kind: Math.max(kind, 1) })
    }
  }
  return fresh
}

/** Collects the calls of a message, and the calls that its results answer. */
function* addCalls(
  tables: IndexTables,
  calls: Map<string, ToolCallPart>,
  { key, seq, message }: { key: number; seq: number; message: Message },
): Steps<void> {
  for (const part of message.parts) if (part.type === 'tool-call') calls.set(part.id, part)
  for (const part of message.parts) {
    if (part.type !== 'tool-result' || calls.has(part.id)) continue
    const call = yield* findCall(tables, key, { seq, id: part.id })
    if (call) calls.set(part.id, call)
  }
}

function* messageIn(tables: IndexTables, body: string): Steps<Message | undefined> {
  const hashes = referencesIn(body)
  const contents = hashes.length > 0 ? yield* ask(tables.contents(hashes)) : new Map<string, string>()
  for (const hash of hashes) if (!contents.has(hash)) contents.set(hash, '')
  try {
    const event = decodeEvent(body, contents)
    return event.type === 'entry' ? event.message : undefined
  } catch {
    // `verify` reports a damaged event; the rest can still be found.
    return undefined
  }
}

/** Finds a call that an earlier step has indexed, in the session or in the one that it was forked from. */
function* findCall(
  tables: IndexTables,
  key: number,
  { seq, id }: { seq: number; id: string },
): Steps<ToolCallPart | undefined> {
  const lineage = yield* ask(tables.lineageOf(key))
  for (const own of lineage.toReversed()) {
    const range = { from: Math.max(0, seq - CALL_WITHIN_EVENTS), to: own.upTo }
    const body = yield* ask(tables.lastHolding(own.key, `{"id":${JSON.stringify(id)}`, range))
    const parts = body === undefined ? [] : ((yield* messageIn(tables, body))?.parts ?? [])
    const call = parts.find((part): part is ToolCallPart => part.type === 'tool-call' && part.id === id)
    if (call) return call
  }
  return undefined
}

function* segmentOf(
  tables: IndexTables,
  key: number,
  { first, fresh }: { first: number; fresh: readonly FreshDocument[] },
): Steps<NewSegment> {
  return {
    group: yield* ask(tables.groupOf(key)),
    runs: [{ session: key, first, count: fresh.length }],
    columns: columnsOf(fresh),
    postings: postingsOf(fresh.map(({ document }) => document.terms)),
    vocabulary: vocabularyOf(fresh.flatMap(({ document }) => [...document.words])),
  }
}

/** Reads and joins the segments first, so that the transaction is short. They must still exist when it begins. */
function* mergeAll(tables: IndexTables, ids: readonly number[]): Steps<void> {
  const parts: Segment[] = []
  const lists = new Map<string, { data: Uint8Array; offset: number }[]>()
  const lines: string[] = []
  let offset = 0
  for (const id of ids) {
    const segment = yield* ask(tables.segment(id))
    if (!segment) return
    parts.push(segment)
    for (const [term, data] of yield* ask(tables.postingsIn(id))) {
      const others = lists.get(term)
      if (others) others.push({ data, offset })
      else lists.set(term, [{ data, offset }])
    }
    for (const line of yield* ask(tables.linesIn(id))) lines.push(line)
    offset += segment.lengths.length
  }
  const merged = {
    group: yield* ask(tables.groupOfSegment(ids[0]!)),
    runs: joinRuns(parts.flatMap(({ runs }) => runs)),
    columns: joinColumns(parts),
    postings: new Map([...lists].map(([term, own]) => [term, joinPostings(own)])),
    vocabulary: vocabularyOf(lines),
  }
  yield* ask(
    tables.write(function* () {
      for (const id of ids) if (!(yield* ask(tables.segment(id)))) return
      for (const id of ids) yield* ask(tables.dropSegment(id))
      yield* ask(tables.addSegment(merged))
    }),
  )
}

/** Uses a guess for large texts that are stored elsewhere: they are read only when they are indexed. */
function charsIn(body: string): number {
  return body.length + referencesIn(body).length * USUAL_LARGE_TEXT
}
