/**
 * Caches the token counts of pieces of text: each distinct piece is tokenized once. A piece is looked up by its
 * characters in an array that holds the texts of all pieces, so no substring is made. The table has a fixed size and
 * is cleared when it is full.
 */
const MOST_PIECES = 65_536
const MOST_CHARS = 1_048_576
/** The number of slots that are probed for a piece: a text crafted to collide is tokenized instead. */
const MOST_TRIES = 16

export class PieceCounts {
  readonly #codes: Uint16Array
  readonly #tokenize: (piece: string) => number
  /** For each hash the number of a piece plus one; 0 if empty. */
  readonly #slots = new Int32Array(2 * MOST_PIECES)
  /** The characters of all pieces, and the start of each. */
  readonly #chars = new Uint16Array(MOST_CHARS)
  readonly #starts = new Int32Array(MOST_PIECES + 1)
  readonly #counts = new Int32Array(MOST_PIECES)
  #length = 0

  constructor(codes: Uint16Array, tokenize: (piece: string) => number) {
    this.#codes = codes
    this.#tokenize = tokenize
  }

  /** The tokens of the piece at some places of a text, whose characters are in the array. */
  countOf(text: string, from: number, end: number): number {
    const slots = this.#slots
    let slot = this.#hashOf(from, end) & (slots.length - 1)
    for (let tries = 0; slots[slot] !== 0 && tries < MOST_TRIES; tries++) {
      const piece = slots[slot]! - 1
      if (this.#isAt(piece, from, end)) return this.#counts[piece]!
      slot = (slot + 1) & (slots.length - 1)
    }
    const count = this.#tokenize(text.slice(from, end))
    this.#add(slot, from, end, count)
    return count
  }

  #add(slot: number, from: number, end: number, count: number): void {
    const start = this.#starts[this.#length]!
    if (this.#length === MOST_PIECES || start + end - from > MOST_CHARS) {
      this.#slots.fill(0)
      this.#length = 0
      return
    }
    this.#chars.set(this.#codes.subarray(from, end), start)
    this.#counts[this.#length++] = count
    this.#starts[this.#length] = start + end - from
    this.#slots[slot] = this.#length
  }

  #hashOf(from: number, end: number): number {
    const codes = this.#codes
    let hash = end - from
    for (let i = from; i < end; i++) hash = Math.imul(hash ^ codes[i]!, 0x01000193)
    return hash ^ (hash >>> 15)
  }

  #isAt(piece: number, from: number, end: number): boolean {
    const start = this.#starts[piece]!
    if (this.#starts[piece + 1]! - start !== end - from) return false
    const codes = this.#codes
    const chars = this.#chars
    for (let i = from, at = start; i < end; i++, at++) if (chars[at] !== codes[i]) return false
    return true
  }
}
