/**
 * Orders documents for a query: BM25 with the text of neighbours, computed from postings and columns alone.
 *
 * Every document of the scope gets a position, such that the documents of a session follow one another in any segments.
 * A term also counts, at a lower weight, for the documents next to its own.
 * Terms are scored rarest first. After enough postings, more common terms count only for documents that a rarer term
 * has found, so the work for a query is bounded.
 */
import type { DocumentKey, Posting, RecallIndex, Span } from './index.ts'
import { eachPosting, KINDS, type Segment } from './postings.ts'
import type { Query } from './query.ts'
import { isLoneCharacter, MIN_INSIDE_CHARS, writtenIn } from './words.ts'

export type Filters = {
  /** Each list holds alternatives; a document must match every list. */
  terms?: readonly (readonly string[])[]
  /** Milliseconds since 1970, both included. */
  since?: number
  until?: number
}

export type Ranked = DocumentKey & { score: number; at: number }

/** BM25: how fast repetitions stop counting, and how much long documents are penalised. */
const SATURATION = 1.2
const LENGTH_EFFECT = 0.5
/**
 * The weight of a neighbour's words, for the two documents before one and the two after. Tool results say little about
 * each other: among them the weight is lower, and of the documents after one only the next counts.
 */
const REACH = 2
const NEIGHBOUR_IN_TALK = 0.5
const NEIGHBOUR = 0.25
/** The weights of all neighbours together. */
const NEIGHBOURS_IN_TALK = 4 * NEIGHBOUR_IN_TALK
const NEIGHBOURS = 3 * NEIGHBOUR
/**
 * The weight of each kind. A result is the source; a text often retells it, and a result repeats its call. Indexed by
 * kind.
 */
const KIND_WEIGHTS = [0, 0.75, 1, 0.5, 0.6]
const TALK = KINDS.indexOf('text')
/** The score that the newest document of the scope gains over the oldest. */
const GAIN_OF_NEWEST = 0.02
/** After this many scored postings, further terms only refine the found documents. */
const MAX_SCORED_POSTINGS = 20_000
const BYTES_PER_POSTING = 1.5
/** Bytes of postings that refining terms may read. */
const MAX_REFINING_BYTES = 200_000
/**
 * A word that no document contains is searched by this many terms that begin with it or contain it, out of this many
 * candidates.
 */
const MAX_ALIKE = 12
const MAX_TRIED = 100
const MAX_PAIRS = 100
/** Longer lists of postings are assumed to have a document in scope. */
const MAX_BYTES_LOOKED_AT = 1000
const SCORE_CLASSES = 1024
/** Keeps documents of different sessions from being neighbours. */
const GAP_OF_SESSIONS = REACH

/** The documents that the words find, best first; and, on request, the newest documents of the scope. */
export async function rankDocuments(
  index: RecallIndex,
  query: Query,
  { limit, filters = {}, newest = 0 }: { limit: number; filters?: Filters; newest?: number },
): Promise<{ found: Ranked[]; newest: Ranked[] }> {
  const layout = layoutOf(await index.segments(), index.spans)
  if (layout.documents === 0) return { found: [], newest: [] }
  const terms = [...query.terms.keys(), ...(filters.terms ?? []).flat()]
  const postings = await index.postings(terms, layout.segmentIds)
  const allowed = allowedBy(postings, filters, layout)
  const ranked = (lists: readonly TermList[]) => {
    const sums = score(layout, lists)
    const found = best(layout, sums, { limit, allowed })
    clear(sums)
    return found
  }
  const found = ranked(await listsFor(index, query, layout, postings))
  return {
    found: found.length > 0 ? found : ranked(await listsInside(index, query, layout)),
    newest: newestOf(layout, { limit: newest, allowed }),
  }
}

/** The newest documents of the scope, newest first. */
function newestOf(
  { stretches }: Layout,
  { limit, allowed }: { limit: number; allowed: Uint8Array | undefined },
): Ranked[] {
  const endOf = ({ segment, from, count }: Stretch) => segment.times[from + count - 1]!
  const newest: Ranked[] = []
  const sorted = limit > 0 ? stretches.toSorted((a, b) => endOf(b) - endOf(a) || b.base - a.base) : []
  for (const { segment, session, first, from, count, base } of sorted) {
    for (let i = count - 1; i >= 0 && newest.length < limit; i--) {
      if (allowed && allowed[base + i] !== 1) continue
      newest.push({ session, number: first + i, score: 0, at: segment.times[from + i]! * 1000 })
    }
  }
  return newest
}

/** A stretch of a segment that is in scope: document `from + i` of the segment has the position `base + i`. */
type Stretch = { segment: Segment; session: number; first: number; from: number; count: number; base: number }

type Layout = {
  bySegment: Map<number, Stretch[]>
  stretches: Stretch[]
  segmentIds: number[]
  documents: number
  lengths: Uint8Array
  kinds: Uint8Array
  meanLength: number
  /** The length norm of BM25, computed on first use; 0 until then. */
  norms: Float32Array
}

/** The layout of all documents is kept while the store returns the same list: making it takes 5 ms for a million. */
const layouts = new WeakMap<readonly Segment[], Layout>()

function layoutOf(segments: readonly Segment[], spans: readonly Span[] | undefined): Layout {
  if (spans) return layOut(segments, spans)
  const layout = layouts.get(segments) ?? layOut(segments, undefined)
  layouts.set(segments, layout)
  return layout
}

function layOut(segments: readonly Segment[], spans: readonly Span[] | undefined): Layout {
  const upTo = spans && new Map(spans.map(span => [span.session, span.upTo]))
  const stretches: Stretch[] = []
  for (const segment of segments) {
    let from = 0
    for (const { session, first, count } of segment.runs) {
      const last = upTo ? (upTo.get(session) ?? -1) : Number.POSITIVE_INFINITY
      const within = Math.min(count, last - first + 1)
      if (within > 0) stretches.push({ segment, session, first, from, count: within, base: 0 })
      from += count
    }
  }
  stretches.sort((a, b) => a.session - b.session || a.first - b.first)
  let size = GAP_OF_SESSIONS
  let last: Stretch | undefined
  let documents = 0
  for (const stretch of stretches) {
    const follows = last && last.session === stretch.session && last.first + last.count === stretch.first
    stretch.base = follows ? size : size + GAP_OF_SESSIONS
    size = stretch.base + stretch.count
    documents += stretch.count
    last = stretch
  }
  return { ...columns(stretches, size + GAP_OF_SESSIONS), stretches, documents, ...grouped(stretches) }
}

type Columns = Pick<Layout, 'lengths' | 'kinds' | 'meanLength' | 'norms'>

function columns(stretches: readonly Stretch[], size: number): Columns {
  const lengths = new Uint8Array(size)
  const kinds = new Uint8Array(size)
  let sum = 0
  let documents = 0
  for (const { segment, from, count, base } of stretches) {
    const own = segment.lengths.subarray(from, from + count)
    lengths.set(own, base)
    kinds.set(segment.kinds.subarray(from, from + count), base)
    for (let i = 0; i < count; i++) sum += own[i]!
    documents += count
  }
  return { lengths, kinds, meanLength: sum / Math.max(1, documents), norms: new Float32Array(size) }
}

function grouped(stretches: readonly Stretch[]): Pick<Layout, 'bySegment' | 'segmentIds'> {
  const bySegment = Map.groupBy(stretches, ({ segment }) => segment.id)
  for (const list of bySegment.values()) list.sort((a, b) => a.from - b.from)
  return { bySegment, segmentIds: [...bySegment.keys()] }
}

type Postings = ReadonlyMap<string, readonly Posting[]>
type TermList = { weight: number; postings: readonly Posting[]; bytes: number }

/** The postings of each term; for a word that no document contains, the postings of terms that begin with it. */
async function listsFor(index: RecallIndex, query: Query, layout: Layout, postings: Postings): Promise<TermList[]> {
  const lists: TermList[] = []
  const found = new Set<string>()
  for (const [term, { word, weight }] of query.terms) {
    const list = listOf(layout, postings.get(term), weight)
    if (list) lists.push(list)
    // A single character of a script without spaces is found as the first of a pair.
    if (list && !isLoneCharacter(word)) found.add(word)
  }
  for (const word of query.words) {
    if (found.has(word) || ([...word].length < MIN_INSIDE_CHARS && !isLoneCharacter(word))) continue
    const limit = isLoneCharacter(word) ? MAX_PAIRS : MAX_ALIKE
    const alike = await index.termsBeginning(word.toLowerCase(), { segments: layout.segmentIds, limit })
    lists.push(...(await listsOf(index, layout, alike)))
  }
  return lists
}

/** The postings of the terms of words that contain a word of the query. */
async function listsInside(index: RecallIndex, { words }: Query, layout: Layout): Promise<TermList[]> {
  const lists: TermList[] = []
  for (const { word } of words.flatMap(writtenIn)) {
    if (word.length < MIN_INSIDE_CHARS) continue
    const options = { segments: layout.segmentIds, limit: MAX_TRIED }
    lists.push(...(await listsOf(index, layout, await index.termsInside(word, options))))
  }
  return lists
}

/** The lists of the terms that replace one word: the first few that are in scope. */
async function listsOf(index: RecallIndex, layout: Layout, terms: readonly string[]): Promise<TermList[]> {
  const lists: TermList[] = []
  for (let i = 0; i < terms.length && lists.length < MAX_ALIKE; i += MAX_ALIKE) {
    const some = terms.slice(i, i + MAX_ALIKE)
    const postings = await index.postings(some, layout.segmentIds)
    lists.push(...some.flatMap(term => listOf(layout, postings.get(term), 1) ?? []))
  }
  lists.length = Math.min(lists.length, MAX_ALIKE)
  return lists.map(list => ({ ...list, weight: 1 / lists.length }))
}

/** The list of a term; undefined if no document in scope has the term. */
function listOf(layout: Layout, postings: readonly Posting[] = [], weight: number): TermList | undefined {
  const bytes = postings.reduce((sum, { data }) => sum + data.length, 0)
  if (bytes === 0) return undefined
  let isThere = bytes > MAX_BYTES_LOOKED_AT
  if (!isThere) {
    eachPosition(layout, postings, () => {
      isThere = true
    })
  }
  return isThere ? { weight, postings, bytes } : undefined
}

/** The positions that pass the filters; undefined if there are no filters. */
function allowedBy(postings: Postings, filters: Filters, layout: Layout): Uint8Array | undefined {
  const { terms = [] } = filters
  const isTimed = filters.since !== undefined || filters.until !== undefined
  if (terms.length === 0 && !isTimed) return undefined
  const passed = new Uint8Array(layout.kinds.length)
  for (const alternatives of terms) {
    const own = new Uint8Array(passed.length)
    for (const term of alternatives) {
      eachPosition(layout, postings.get(term) ?? [], at => {
        own[at] = 1
      })
    }
    for (let i = 0; i < own.length; i++) passed[i]! += own[i]!
  }
  if (isTimed) countTimes(layout, filters, passed)
  const needed = terms.length + (isTimed ? 1 : 0)
  for (let i = 0; i < passed.length; i++) passed[i] = passed[i] === needed ? 1 : 0
  return passed
}

function countTimes(
  { stretches }: Layout,
  { since = 0, until = Number.POSITIVE_INFINITY }: Filters,
  passed: Uint8Array,
) {
  const first = Math.floor(since / 1000) * 1000
  for (const { segment, from, count, base } of stretches) {
    for (let i = 0; i < count; i++) {
      const at = segment.times[from + i]! * 1000
      if (at >= first && at <= until) passed[base + i]! += 1
    }
  }
}

function eachPosition(
  { bySegment }: Layout,
  postings: readonly Posting[],
  visit: (position: number, count: number) => void,
): void {
  for (const { segment, data } of postings) {
    const stretches = bySegment.get(segment)!
    let next = 0
    let { from, count: size, base } = stretches[0]!
    eachPosting(data, (number, count) => {
      while (number >= from + size) {
        const stretch = stretches[++next]
        if (!stretch) {
          from = Number.POSITIVE_INFINITY
          break
        }
        ;({ from, count: size, base } = stretch)
      }
      if (number >= from) visit(base + number - from, count)
    })
  }
}

/**
 * The sums of a search, one for each position; everything is zero between two searches. `counts` is zero between two
 * terms. Scores are in double precision: the order of the terms depends on the segments, and must not affect a score.
 */
type Sums = { scores: Float64Array; counts: Float32Array; marks: Uint8Array; touched: number[] }

/** A document with a score, and one that holds a term of the query itself. */
const TOUCHED = 1
const HOLDS = 2

/** Reused by the next search: allocating arrays for a million documents takes 4 ms. */
let kept: Omit<Sums, 'touched'> | undefined

function sumsFor(size: number): Sums {
  if (!kept || kept.scores.length < size) {
    kept = { scores: new Float64Array(size), counts: new Float32Array(size), marks: new Uint8Array(size) }
  }
  return { ...kept, touched: [] }
}

function clear({ scores, marks, touched }: Sums): void {
  for (const at of touched) {
    scores[at] = 0
    marks[at] = 0
  }
}

function score(layout: Layout, lists: readonly TermList[]): Sums {
  const { kinds, documents } = layout
  const sorted = [...lists].sort((a, b) => a.bytes - b.bytes)
  // A posting has at least one byte.
  const room = sorted.at(-1)?.bytes ?? 0
  const term: Term = {
    positions: new Int32Array(room),
    counts: new Uint8Array(room),
    size: 0,
    rarity: 0,
    refines: false,
  }
  const sums = sumsFor(kinds.length)
  let scored = 0
  let refined = 0
  for (const { weight, postings, bytes } of sorted) {
    term.refines = scored > 0 && scored + bytes / BYTES_PER_POSTING > MAX_SCORED_POSTINGS
    if (term.refines && (refined += bytes) > MAX_REFINING_BYTES) break
    term.size = 0
    eachPosition(layout, postings, (at, count) => {
      term.positions[term.size] = at
      term.counts[term.size++] = count
    })
    if (term.size === 0) continue
    if (!term.refines) scored += term.size
    term.rarity = weight * Math.log(1 + (documents - term.size + 0.5) / (term.size + 0.5))
    addTerm(layout, term, sums)
  }
  return sums
}

/** The postings of a term as positions in the layout. A refining term counts only for documents already found. */
type Term = { positions: Int32Array; counts: Uint8Array; size: number; rarity: number; refines: boolean }

function addTerm(layout: Layout, term: Term, sums: Sums): void {
  const { kinds, norms } = layout
  const { scores, counts, marks, touched } = sums
  for (const at of countTerm(kinds, term, sums)) {
    if (marks[at] === 0) touched.push(at)
    marks[at]! |= TOUCHED
    const count = counts[at]!
    counts[at] = 0
    if (norms[at] === 0) norms[at] = normAt(layout, at)
    scores[at]! += (term.rarity * count * (SATURATION + 1)) / (count + norms[at]!)
  }
  for (let i = 0; i < term.size; i++) if (marks[term.positions[i]!] === TOUCHED) marks[term.positions[i]!]! |= HOLDS
}

/** Counts a term for the documents that contain it and for their neighbours; returns their positions. */
function countTerm(kinds: Uint8Array, term: Term, { counts, marks }: Sums): number[] {
  const { positions, size, refines } = term
  const reached: number[] = []
  // A term that occurs everywhere says nothing about the neighbouring documents.
  const reach = size > MAX_SCORED_POSTINGS ? 0 : REACH
  for (let i = 0; i < size; i++) {
    const at = positions[i]!
    for (let other = at - reach; other <= at + reach; other++) {
      const weight = refines && marks[other] === 0 ? 0 : weightFor(kinds, at, other)
      if (weight === 0) continue
      if (counts[other] === 0) reached.push(other)
      counts[other]! += term.counts[i]! * weight
    }
  }
  return reached
}

/** How much the words of a document count for another one, or for itself. */
function weightFor(kinds: Uint8Array, words: number, other: number): number {
  if (other === words) return 1
  if (kinds[other] === TALK && kinds[words] === TALK) return NEIGHBOUR_IN_TALK
  return kinds[other] === 0 || words - other > 1 ? 0 : NEIGHBOUR
}

/** By the length of a document, with the neighbours whose words count for it, relative to the mean. */
function normAt({ lengths, kinds, meanLength }: Layout, at: number): number {
  let length = 0
  for (let other = at - REACH; other <= at + REACH; other++) length += lengths[other]! * weightFor(kinds, other, at)
  const usual = meanLength * (1 + (kinds[at] === TALK ? NEIGHBOURS_IN_TALK : NEIGHBOURS))
  return SATURATION * (1 - LENGTH_EFFECT + (LENGTH_EFFECT * length) / usual)
}

function best(
  { kinds, stretches }: Layout,
  { scores, marks, touched }: Sums,
  { limit, allowed }: { limit: number; allowed: Uint8Array | undefined },
): Ranked[] {
  const [oldest, newest] = timeRange(stretches)
  const span = Math.max(1, newest - oldest)
  const candidates = touched.filter(at => marks[at]! >= HOLDS && (!allowed || allowed[at] === 1))
  const threshold = thresholdOf(candidates, scores, kinds, limit)
  const sorted = candidates.filter(at => scores[at]! * KIND_WEIGHTS[kinds[at]!]! >= threshold).sort((a, b) => a - b)
  let next = 0
  const ranked = sorted.map(at => {
    while (at >= stretches[next]!.base + stretches[next]!.count) next++
    const { session, first, from, base, segment } = stretches[next]!
    const time = segment.times[from + at - base]!
    const newer = 1 + (GAIN_OF_NEWEST * (time - oldest)) / span
    const value = Math.fround(scores[at]!) * KIND_WEIGHTS[kinds[at]!]! * newer
    return { session, number: first + at - base, score: value, at: time * 1000, place: at }
  })
  ranked.sort((a, b) => b.score - a.score || b.at - a.at || b.place - a.place)
  return ranked.slice(0, limit).map(({ place: _, ...found }) => found)
}

/** A score that at least `limit` candidates reach, found by counting candidates in score classes. */
function thresholdOf(candidates: readonly number[], scores: Float64Array, kinds: Uint8Array, limit: number): number {
  if (candidates.length <= 4 * limit) return 0
  const weighted = (at: number) => scores[at]! * KIND_WEIGHTS[kinds[at]!]!
  let highest = 0
  for (const at of candidates) highest = Math.max(highest, weighted(at))
  const classes = new Uint32Array(SCORE_CLASSES + 1)
  for (const at of candidates) classes[Math.floor((weighted(at) / highest) * SCORE_CLASSES)]! += 1
  let lowest = SCORE_CLASSES
  for (let above = classes[lowest]!; above < limit && lowest > 0; ) above += classes[--lowest]!
  return ((lowest / SCORE_CLASSES) * highest) / (1 + GAIN_OF_NEWEST)
}

function timeRange(stretches: readonly Stretch[]): [oldest: number, newest: number] {
  let oldest = Number.POSITIVE_INFINITY
  let newest = 0
  for (const { segment, from, count } of stretches) {
    for (const at of [segment.times[from]!, segment.times[from + count - 1]!]) {
      oldest = Math.min(oldest, at)
      newest = Math.max(newest, at)
    }
  }
  return [oldest, newest]
}
