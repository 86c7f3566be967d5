/**
 * The storage of the index: segments, each with the documents of some stretches of sessions and one list of postings
 * for each term. A segment never changes; small segments are merged into larger ones.
 *
 * A posting is a document's number in its segment and the number of occurrences, as variable-length integers. A
 * segment's columns hold the length, kind and time of each document, so that ranking reads no documents. The bytes are
 * the same in every store.
 */
import type { Document } from './documents.ts'

/** A session's documents are numbered from 0; a run is a stretch of them that is contiguous in a segment. */
export type Run = { session: number; first: number; count: number }

export type Segment = {
  id: number
  runs: readonly Run[]
  /** Halves of word counts, up to 255. */
  lengths: Uint8Array
  kinds: Uint8Array
  /** Seconds since 1970. */
  times: Uint32Array
}

/** A document with its columns, for a segment that is being built. */
export type Placed = { document: Document; kind: number; at: number }

/** Kinds of documents; 0 is none. */
export const KINDS = ['', 'text', 'tool-result', 'tool-call', 'reasoning'] as const

const BYTES_PER_DOCUMENT = 6
const MAX_LENGTH = 510

export function columnsOf(documents: readonly Placed[]): Uint8Array {
  const n = documents.length
  const bytes = new Uint8Array(n * BYTES_PER_DOCUMENT)
  const view = new DataView(bytes.buffer)
  for (const [i, { document, kind, at }] of documents.entries()) {
    bytes[i] = Math.ceil(Math.min(document.length, MAX_LENGTH) / 2)
    bytes[n + i] = kind
    view.setUint32(2 * n + 4 * i, Math.max(0, Math.floor(at / 1000)), true)
  }
  return bytes
}

export function toSegment(id: number, runs: readonly Run[], columns: Uint8Array): Segment {
  const n = columns.length / BYTES_PER_DOCUMENT
  // Copied, so that the times are aligned for a typed array.
  return {
    id,
    runs,
    lengths: columns.slice(0, n),
    kinds: columns.slice(n, 2 * n),
    times: new Uint32Array(columns.slice(2 * n).buffer),
  }
}

/** Joins the columns of segments that are merged, in order. */
export function joinColumns(segments: readonly Segment[]): Uint8Array {
  const bytesOf = ({ buffer, byteOffset, byteLength }: Uint32Array) => new Uint8Array(buffer, byteOffset, byteLength)
  const pieces = [
    ...segments.map(segment => segment.lengths),
    ...segments.map(segment => segment.kinds),
    ...segments.map(segment => bytesOf(segment.times)),
  ]
  const joined = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    joined.set(piece, at)
    at += piece.length
  }
  return joined
}

/** Joins runs in order; runs that continue one another become one. */
export function joinRuns(runs: readonly Run[]): Run[] {
  const joined: Run[] = []
  for (const run of runs) {
    const last = joined.at(-1)
    if (last && last.session === run.session && last.first + last.count === run.first) last.count += run.count
    else joined.push({ ...run })
  }
  return joined
}

/** The postings of every term, from the counted terms of each document; documents are numbered from 0. */
export function postingsOf(documents: readonly ReadonlyMap<string, number>[]): Map<string, Uint8Array> {
  const lists = new Map<string, number[]>()
  for (const [number, terms] of documents.entries()) {
    for (const [term, count] of terms) {
      const list = lists.get(term)
      if (list) list.push(number, count)
      else lists.set(term, [number, count])
    }
  }
  return new Map([...lists].map(([term, list]) => [term, encode(list)]))
}

/** Joins the lists of one term. `offset` is the number of a segment's first document in the merged segment. */
export function joinPostings(lists: readonly { data: Uint8Array; offset: number }[]): Uint8Array {
  const joined: number[] = []
  for (const { data, offset } of lists) {
    eachPosting(data, (number, count) => {
      joined.push(number + offset, count)
    })
  }
  return encode(joined)
}

/**
 * The rest of a segment after removing the documents of some sessions: its runs, and the new number of each document.
 */
type Thinned = { runs: Run[]; numbers: Int32Array }

/** Removed documents have the number -1. */
export function withoutSessions(runs: readonly Run[], goes: (session: number) => boolean): Thinned {
  const numbers = new Int32Array(runs.reduce((sum, { count }) => sum + count, 0))
  let at = 0
  let kept = 0
  for (const { session, count } of runs) {
    const stays = !goes(session)
    for (let i = 0; i < count; i++) numbers[at++] = stays ? kept++ : -1
  }
  return { runs: joinRuns(runs.filter(({ session }) => !goes(session))), numbers }
}

/** The columns of the remaining documents. */
export function thinColumns({ lengths, kinds, times, ...segment }: Segment, { numbers }: Thinned): Uint8Array {
  const stays = (_: unknown, i: number) => numbers[i]! >= 0
  return joinColumns([
    { ...segment, lengths: lengths.filter(stays), kinds: kinds.filter(stays), times: times.filter(stays) },
  ])
}

/** The postings of a term in the remaining documents; empty if there are none. */
export function thinPostings(data: Uint8Array, { numbers }: Thinned): Uint8Array {
  const pairs: number[] = []
  eachPosting(data, (number, count) => {
    if (numbers[number]! >= 0) pairs.push(numbers[number]!, count)
  })
  return encode(pairs)
}

/** Calls back for every posting, in the order of documents. */
export function eachPosting(data: Uint8Array, visit: (number: number, count: number) => void): void {
  let number = -1
  for (let at = 0; at < data.length; ) {
    let value = 0
    let scale = 1
    let byte = data[at++]!
    while (byte > 127) {
      value += (byte & 127) * scale
      scale *= 128
      byte = data[at++]!
    }
    value += byte * scale
    number += (value >> 1) + 1
    visit(number, value & 1 ? data[at++]! : 1)
  }
}

/** Pairs of document and count: gaps between documents, with a bit that says whether a count follows. */
function encode(pairs: readonly number[]): Uint8Array {
  const bytes: number[] = []
  let last = -1
  for (let i = 0; i < pairs.length; i += 2) {
    const number = pairs[i]!
    const count = Math.min(255, pairs[i + 1]!)
    let value = (number - last - 1) * 2 + (count > 1 ? 1 : 0)
    last = number
    for (; value > 127; value = Math.floor(value / 128)) bytes.push((value & 127) | 128)
    bytes.push(value)
    if (count > 1) bytes.push(count)
  }
  return Uint8Array.from(bytes)
}
