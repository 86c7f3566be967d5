/**
 * Writes a changed request into the bytes that it was read from: unchanged parts keep their bytes.
 *
 * `spliceBody(reading, to)` is JSON of `to`, as `splice` would write it, but works on the bytes of the list that holds
 * the conversation. Equal elements are copied in long runs, and only the others are examined. The result for each
 * element is remembered. Contract: an object that is given again as a part of another body has the same bytes there,
 * like all objects of reading.ts. Repeating the same edits needs no comparison: see `Spliced`.
 */

import { sameJson, type Wire } from '../../formats/adapters/original.ts'
import { isRecord } from '../../model/json.ts'
import { addAll } from '../../model/lists.ts'
import { behindElement, type ListSpan, scanList } from './list-bytes.ts'
import type { Reading } from './reading.ts'
import { counterparts, splice } from './splice.ts'

type Read = Pick<Reading, 'bytes' | 'body' | 'list'> & { dialect: { list: string } }

/** A spliced body: `head`, followed by the last `same` bytes of the client's body. */
export type Spliced = { bytes: Buffer; head: Buffer; same: number }

export function piecesOf({ bytes, head, same }: Spliced): [Buffer, Buffer] {
  return [head, bytes.subarray(bytes.length - same)]
}

export function spliceBody({ dialect, bytes, body, list }: Read, to: Wire): Spliced {
  const from = body[dialect.list]
  const now = to[dialect.list]
  if (!Array.isArray(from) || !Array.isArray(now) || list?.ends.length !== from.length) {
    return { bytes, head: Buffer.from(splice(bytes.toString(), body, to)), same: 0 }
  }
  const [head, tail] = aroundList({ dialect, bytes, body, list }, to)
  const { pieces, sameFrom } = elements(bytes, list, from, now)
  // A longer body continues with a comma if its list had elements. That fits only if the written list has some, too.
  const commaFits = (from.length === 0) === (now.length === 0)
  if (commaFits && tail.equals(bytes.subarray(list.close))) {
    return { bytes, head: Buffer.concat([head, ...pieces]), same: bytes.length - sameFrom }
  }
  return { bytes, head: Buffer.concat([head, ...pieces, bytes.subarray(sameFrom, list.close), tail]), same: 0 }
}

/** Applies the same edits to a body that continues after them; undefined if it differs before that. */
export function spliceOn(before: Spliced, bytes: Buffer): Spliced | undefined {
  const changed = before.bytes.length - before.same
  const goesOn = bytes.length > changed && bytes.compare(before.bytes, 0, changed, 0, changed) === 0
  return goesOn ? { bytes, head: before.head, same: bytes.length - changed } : undefined
}

/** The bytes before the list's elements and after them. */
function aroundList({ dialect, bytes, body, list }: Read & { list: ListSpan }, to: Wire): [Buffer, Buffer] {
  const head = bytes.subarray(0, list.open)
  const tail = bytes.subarray(list.close)
  const empty = { [dialect.list]: [] }
  const before = { ...body, ...empty }
  const after = { ...to, ...empty }
  if (sameJson(before, after)) return [head, tail]
  const written = Buffer.from(splice(Buffer.concat([head, tail]).toString(), before, after))
  const { open } = scanList(written, dialect.list)!
  return [written.subarray(0, open), written.subarray(open)]
}

const COMMA = Buffer.from(',')

/** The list's bytes up to `sameFrom`; from there on nothing changes. */
type Elements = { pieces: Buffer[]; sameFrom: number }

function elements(bytes: Buffer, span: ListSpan, from: readonly unknown[], to: readonly unknown[]): Elements {
  const { same, at } = counterparts(from, to, says)
  const copy = new Copy(bytes, span.open)
  let last: number | undefined = -1
  for (const [i, value] of to.entries()) {
    const known = at(i)
    const comma = i > 0 ? [COMMA] : []
    const follows = last !== undefined && known === last + 1
    last = known
    if (known === undefined) {
      copy.breakAt(undefined, [...comma, Buffer.from(JSON.stringify(value))])
      continue
    }
    const start = startOf(bytes, span, known)
    if (!follows) copy.breakAt(start, comma)
    copy.upTo(start)
    const written = i < same ? undefined : rewritten(bytes, span, known, from[known], value)
    if (written) copy.breakAt(span.ends[known], [written])
    copy.upTo(span.ends[known]!)
  }
  if (last === from.length - 1) return { pieces: copy.pieces, sameFrom: copy.start }
  copy.breakAt(undefined, [])
  return { pieces: copy.pieces, sameFrom: span.close }
}

/** Collects ranges of the original bytes, with other bytes between them. A range is added when its end is known. */
class Copy {
  readonly pieces: Buffer[] = []
  readonly #bytes: Buffer
  start: number
  #end: number

  constructor(bytes: Buffer, start: number) {
    this.#bytes = bytes
    this.start = this.#end = start
  }

  upTo(end: number): void {
    this.#end = end
  }

  /** Ends the current range, adds `others`, and continues at `next` if that is given. */
  breakAt(next: number | undefined, others: Buffer[]): void {
    if (this.#end > this.start) this.pieces.push(this.#bytes.subarray(this.start, this.#end))
    addAll(this.pieces, others)
    this.start = this.#end = next ?? this.#end
  }
}

function startOf(bytes: Buffer, { open, ends }: ListSpan, index: number): number {
  return behindElement(bytes, index === 0 ? open : ends[index - 1]!)
}

/** The replacement of each element; no bytes if the element is unchanged. */
const remembered = new WeakMap<object, { to: unknown; bytes?: Buffer }>()

/** Whether an element of a body equals its replacement. */
function says(from: unknown, to: unknown): boolean {
  if (!isRecord(from)) return sameJson(from, to)
  const known = remembered.get(from)
  if (known && known.to === to) return known.bytes === undefined
  if (!sameJson(from, to)) return false
  remembered.set(from, { to })
  return true
}

/** The bytes of a changed element; undefined if it is unchanged. */
function rewritten(bytes: Buffer, span: ListSpan, at: number, from: unknown, to: unknown): Buffer | undefined {
  if (says(from, to)) return undefined
  const known = isRecord(from) ? remembered.get(from) : undefined
  if (known?.bytes && sameJson(known.to, to)) return known.bytes
  const written = Buffer.from(splice(bytes.subarray(startOf(bytes, span, at), span.ends[at]).toString(), from, to))
  if (isRecord(from)) remembered.set(from, { to, bytes: written })
  return written
}
