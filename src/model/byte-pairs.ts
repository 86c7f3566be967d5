/**
 * Counts the tokens of a piece of text: byte-pair encoding over a table of tokens, in the order of their ranks.
 *
 * Neighbouring bytes are merged, lowest rank first, until no two together are a token. The table is kept as it is
 * stored, the lengths of all tokens and then their bytes, with a hash table over it. So loading takes some 20 ms, and
 * none of the 200,000 tokens is a string in memory.
 */
const SLOTS = 2 ** 19
/** Higher than any rank: the two together are not a token. */
const NONE = 2 ** 30

export class BytePairs {
  readonly #packed: Uint8Array
  /** The start of each token's bytes in the table, plus the end of the last. */
  readonly #starts: Int32Array
  /** For each hash a rank plus one; 0 if empty. */
  readonly #slots = new Int32Array(SLOTS)
  readonly #encoder = new TextEncoder()
  #bytes = new Uint8Array(1024)
  /** The start of each part of the piece, and the rank of each pair of neighbours. */
  #parts = new Int32Array(1025)
  #ranks = new Int32Array(1024)

  /** A table as packed by scripts/build-tokens.ts: the number of tokens, their lengths, and their bytes; in base64. */
  constructor(base64: string) {
    const packed = bytesOf(base64)
    const size = new DataView(packed.buffer).getUint32(0)
    const starts = new Int32Array(size + 1)
    let at = 4 + size
    for (let rank = 0; rank < size; rank++) {
      starts[rank] = at
      const end = at + packed[4 + rank]!
      let slot = hashOf(packed, at, end)
      while (this.#slots[slot] !== 0) slot = (slot + 1) & (SLOTS - 1)
      this.#slots[slot] = rank + 1
      at = end
    }
    starts[size] = at
    this.#starts = starts
    this.#packed = packed
  }

  /** The number of tokens of one piece, which is not empty. The time is quadratic in its length. */
  count(piece: string): number {
    const length = this.#read(piece)
    if (this.#rankOf(0, length) !== NONE) return 1
    const parts = this.#parts
    const ranks = this.#ranks
    let left = length
    for (let i = 0; i <= left; i++) parts[i] = i
    for (let i = 0; i < left; i++) ranks[i] = this.#rankOfPair(i, left)
    for (;;) {
      const lowest = lowestOf(ranks, left)
      if (ranks[lowest] === NONE) return left
      parts.copyWithin(lowest + 1, lowest + 2, left + 1)
      ranks.copyWithin(lowest + 1, lowest + 2, left)
      left--
      ranks[lowest] = this.#rankOfPair(lowest, left)
      if (lowest > 0) ranks[lowest - 1] = this.#rankOfPair(lowest - 1, left)
    }
  }

  /** The rank of a part together with the next one, if there is a next one. */
  #rankOfPair(part: number, left: number): number {
    return part + 1 < left ? this.#rankOf(this.#parts[part]!, this.#parts[part + 2]!) : NONE
  }

  #rankOf(from: number, end: number): number {
    const bytes = this.#bytes
    let slot = hashOf(bytes, from, end)
    for (; this.#slots[slot] !== 0; slot = (slot + 1) & (SLOTS - 1)) {
      const rank = this.#slots[slot]! - 1
      const start = this.#starts[rank]!
      if (this.#starts[rank + 1]! - start !== end - from) continue
      let same = 0
      while (from + same < end && bytes[from + same] === this.#packed[start + same]) same++
      if (from + same === end) return rank
    }
    return NONE
  }

  /** Puts the bytes of a piece into the array, and gives their number. */
  #read(piece: string): number {
    const most = piece.length * 3
    if (most > this.#bytes.length) {
      this.#bytes = new Uint8Array(most)
      this.#parts = new Int32Array(most + 1)
      this.#ranks = new Int32Array(most)
    }
    return this.#encoder.encodeInto(piece, this.#bytes).written
  }
}

function bytesOf(base64: string): Uint8Array {
  const text = atob(base64)
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i)
  return bytes
}

function lowestOf(ranks: Int32Array, length: number): number {
  let lowest = 0
  for (let i = 1; i < length; i++) if (ranks[i]! < ranks[lowest]!) lowest = i
  return lowest
}

function hashOf(bytes: Uint8Array, from: number, end: number): number {
  let hash = end - from
  for (let i = from; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193)
  return (hash ^ (hash >>> 15)) & (SLOTS - 1)
}
