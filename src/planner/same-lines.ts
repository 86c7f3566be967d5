/**
 * Points to repeated lines: blocks of a new read that an older part in view shows line for line become pointers to that
 * part. This happens before the read is first sent, so it breaks no cache. A few lines stay on both sides of a block,
 * so that edits across its border still find their text.
 *
 * The index holds only lines of parts that are in view and shown in full; a shortened part leaves it. So a pointer
 * always names a copy that the model can see.
 */

import { addAll } from '../model/lists.ts'
import { MOST_PLACES_PER_LINE, type SameLines, SHORTEST_LINE_CHARS } from './tuning.ts'

/** Something that shows lines: a read, or the input of a write. */
export type Source<T> = { item: T; lines: (string | null)[] }

type Occurrence<T> = { source: Source<T>; at: number }

type Pointed<T> = { text: string; lines: (string | null)[]; targets: Set<T> }

export class LineIndex<T> {
  readonly #lines = new Map<string, Occurrence<T>[]>()
  readonly #sources = new Map<T, Source<T>>()

  add(item: T, lines: (string | null)[]): void {
    const source = { item, lines }
    this.#sources.set(item, source)
    for (let at = 0; at < lines.length; at++) {
      const line = lines[at]!
      if (line === null || isShort(line)) continue
      const places = this.#lines.get(line)
      if (!places) this.#lines.set(line, [{ source, at }])
      else {
        if (places.length >= MOST_PLACES_PER_LINE) places.shift()
        places.push({ source, at })
      }
    }
  }

  delete(item: T): void {
    const source = this.#sources.get(item)
    if (!source) return
    this.#sources.delete(item)
    for (const line of source.lines) {
      const places = line === null ? undefined : this.#lines.get(line)
      const at = places?.findIndex(place => place.source === source) ?? -1
      if (at < 0) continue
      if (places!.length === 1) this.#lines.delete(line!)
      else places!.splice(at, 1)
    }
  }

  /** The text with pointers in place of known blocks; `undefined` when there are none. */
  point(
    raw: readonly string[],
    lines: readonly string[],
    options: SameLines,
    name: (item: T) => string,
  ): Pointed<T> | undefined {
    const shown: (string | null)[] = [...lines]
    const out: string[] = []
    const targets = new Set<T>()
    let done = 0
    for (let i = 0; i < lines.length; ) {
      const { length, item } = this.#longest(lines, i)
      const before = i === 0 ? 0 : options.context
      const behind = i + length >= lines.length ? 0 : options.context
      const [from, to] = [i + before, i + length - behind]
      const isLong = item !== undefined && to - from >= options.minLines
      if (!isLong || charsOf(raw.slice(from, to)) < options.minChars) {
        i++
        continue
      }
      addAll(out, raw.slice(done, from))
      out.push(`[${to - from} lines unchanged: shown above in ${name(item)}]`)
      shown.fill(null, from, to)
      targets.add(item)
      done = to
      i += length
    }
    addAll(out, raw.slice(done))
    return targets.size > 0 ? { text: out.join('\n'), lines: shown, targets } : undefined
  }

  #longest(lines: readonly string[], from: number): { length: number; item: T | undefined } {
    let length = 0
    let item: T | undefined
    // Short lines are not in the index.
    for (const { source, at } of this.#lines.get(lines[from]!) ?? NOWHERE) {
      let n = 0
      while (from + n < lines.length && at + n < source.lines.length && lines[from + n] === source.lines[at + n]) n++
      if (n > length) ({ length, item } = { length: n, item: source.item })
    }
    return { length, item }
  }
}

const NOWHERE: readonly never[] = []

/** The characters of lines, with the line breaks between them. */
function charsOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + line.length, lines.length - 1)
}

/** Whether a line is too short to identify its source. */
function isShort(line: string): boolean {
  return line.length < SHORTEST_LINE_CHARS || line.trim().length < SHORTEST_LINE_CHARS
}

/** A line without the number that a read tool put before it. */
export function withoutNumber(line: string): string {
  return line.replace(/^ *\d+(→|\t|\| ?|: )/, '')
}
