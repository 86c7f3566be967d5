/**
 * Caches the token counts of pieces of text: each distinct piece is tokenized once. Nearly all pieces are at most eight
 * ASCII characters: these are two numbers, so that they are found without a string and compared without a loop. The
 * others are found by their text. Both tables have a fixed size and are cleared when they are full.
 */
const SHORT_CHARS = 8
const SLOTS = 65_536
const MOST_SHORT = 49_152
const MOST_LONG = 8192
/** The number of slots that are probed for a piece: a text crafted to collide is tokenized instead. */
const MOST_TRIES = 16
/** Four numbers for a slot: the characters, the length (0 if empty) and the count. */
const WIDTH = 4
/** The bits of the first and of the last four characters of a piece, by its length. */
const FIRST_BITS = Int32Array.from({ length: SHORT_CHARS + 1 }, (_, length) => bitsOf(length))
const LAST_BITS = Int32Array.from({ length: SHORT_CHARS + 1 }, (_, length) => bitsOf(length - 4))
const NOT_ASCII = 0x80808080 | 0
const ENCODER = new TextEncoder()
const DECODER = new TextDecoder('utf-8', { ignoreBOM: true })

export class PieceCounts {
  readonly #codes: DataView
  readonly #tokenize: (piece: string) => number
  readonly #slots = new Int32Array(WIDTH * SLOTS)
  #length = 0
  readonly #long = new Map<string, number>()

  /** `codes`: the characters of the text, as `Pieces` reads them. */
  constructor(codes: Uint8Array<ArrayBuffer>, tokenize: (piece: string) => number) {
    this.#codes = new DataView(codes.buffer)
    this.#tokenize = tokenize
  }

  /** The tokens of the piece of `text` from `from` to `end`. */
  countOf(text: string, from: number, end: number): number {
    const length = end - from
    if (length > SHORT_CHARS) return this.#countLong(text.slice(from, end))
    const first = this.#codes.getInt32(from, true) & FIRST_BITS[length]!
    const last = this.#codes.getInt32(from + 4, true) & LAST_BITS[length]!
    if (((first | last) & NOT_ASCII) !== 0) return this.#countLong(text.slice(from, end))
    const slots = this.#slots
    let slot = hashOf(first, last, length)
    for (let tries = 0; slots[slot + 2] !== 0 && tries < MOST_TRIES; tries++) {
      if (slots[slot] === first && slots[slot + 1] === last && slots[slot + 2] === length) return slots[slot + 3]!
      slot = (slot + WIDTH) & (WIDTH * SLOTS - 1)
    }
    const count = this.#tokenize(text.slice(from, end))
    if (this.#length++ < MOST_SHORT) slots.set([first, last, length, count], slot)
    else {
      slots.fill(0)
      this.#length = 0
    }
    return count
  }

  #countLong(piece: string): number {
    const before = this.#long.get(piece)
    if (before !== undefined) return before
    const count = this.#tokenize(piece)
    if (this.#long.size === MOST_LONG) this.#long.clear()
    if (piece.isWellFormed()) this.#long.set(copyOf(piece), count)
    return count
  }
}

/** A copy: a slice would keep the whole text in memory. */
function copyOf(piece: string): string {
  return DECODER.decode(ENCODER.encode(piece))
}

function hashOf(first: number, last: number, length: number): number {
  const mixed = Math.imul(first ^ Math.imul(last, 0x85ebca6b) ^ length, 0x9e3779b1)
  return ((mixed ^ (mixed >>> 15)) & (SLOTS - 1)) * WIDTH
}

function bitsOf(chars: number): number {
  return 2 ** (8 * Math.min(4, Math.max(0, chars))) - 1
}
