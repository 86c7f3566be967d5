/**
 * Finds where a stretch of characters has occurred before: every run of `length` characters of the texts added so far,
 * by a rolling hash in flat arrays. A hash only says where to look: every match is compared letter by letter.
 *
 * Time is linear in the text; memory is about 24 bytes a character, whatever the texts are. Of one text only the first
 * place of a run is kept, and of a run at most twelve texts: the first ones, or with `newest` the first eleven and the
 * last.
 */

export type Place = { text: number; at: number }

const BASE = 0x01000193
const MOST_TEXTS = 12
const NONE = -1

export class GramIndex {
  readonly length: number
  readonly #newest: boolean
  readonly #texts: string[] = []
  /** BASE to the power of `length`, to take the oldest character out of a hash. */
  readonly #outgoing: number
  /** Open addressing: the newest entry of a run, or NONE. */
  #slots = new Int32Array(1 << 12).fill(NONE)
  /** Entries: which text, where in it, the entry before it of the same run, and how many there are. */
  #text = new Int32Array(1 << 11)
  #at = new Int32Array(1 << 11)
  #before = new Int32Array(1 << 11)
  #hash = new Int32Array(1 << 11)
  #entries = 0
  #runs = 0

  constructor(length: number, { newest = false } = {}) {
    this.length = length
    this.#newest = newest
    let power = 1
    for (let i = 0; i < length; i++) power = Math.imul(power, BASE)
    this.#outgoing = power
  }

  add(text: string): number {
    const number = this.#texts.push(text) - 1
    this.scan(text, (at, hash) => {
      this.#remember(number, at, hash)
      return at + 1
    })
    return number
  }

  text(number: number): string {
    return this.#texts[number]!
  }

  has(text: string, at: number, hash: number): boolean {
    return this.#slots[this.#slotOf(text, at, hash)]! !== NONE
  }

  /** The texts that contain the run at `at`, oldest first, each with its first place. */
  find(text: string, at: number, hash: number): Place[] {
    const found: Place[] = []
    for (let entry = this.#slots[this.#slotOf(text, at, hash)]!; entry !== NONE; entry = this.#before[entry]!) {
      found.push({ text: this.#text[entry]!, at: this.#at[entry]! })
    }
    return found.reverse()
  }

  /** Visits the runs of a text with their hashes, from the first on; `visit` returns where to continue. */
  scan(text: string, visit: (at: number, hash: number) => number): void {
    const { length } = this
    const last = text.length - length
    let hash = this.#hashAt(text, 0)
    for (let at = 0; at <= last; ) {
      const next = visit(at, hash)
      if (next === at + 1) {
        const incoming = (Math.imul(hash, BASE) + text.charCodeAt(at + length)) | 0
        hash = (incoming - Math.imul(text.charCodeAt(at), this.#outgoing)) | 0
      } else hash = this.#hashAt(text, next)
      at = next
    }
  }

  #hashAt(text: string, at: number): number {
    if (at + this.length > text.length) return 0
    let hash = 0
    for (let i = at; i < at + this.length; i++) hash = (Math.imul(hash, BASE) + text.charCodeAt(i)) | 0
    return hash
  }

  #remember(number: number, at: number, hash: number): void {
    const slot = this.#slotOf(this.#texts[number]!, at, hash)
    const before = this.#slots[slot]!
    if (before !== NONE && this.#text[before] === number) return
    if (before !== NONE && this.#chain(before) >= MOST_TEXTS) {
      if (!this.#newest) return
      this.#text[before] = number
      this.#at[before] = at
      return
    }
    if (this.#entries === this.#text.length) this.#growEntries()
    const entry = this.#entries++
    this.#text[entry] = number
    this.#at[entry] = at
    this.#before[entry] = before
    this.#hash[entry] = hash
    this.#slots[slot] = entry
    if (before === NONE && ++this.#runs * 2 > this.#slots.length) this.#growSlots()
  }

  #chain(entry: number): number {
    let count = 0
    for (let each = entry; each !== NONE; each = this.#before[each]!) count++
    return count
  }

  /** The slot that holds this run, or the free one where it belongs. */
  #slotOf(text: string, at: number, hash: number): number {
    const mask = this.#slots.length - 1
    let slot = mix(hash) & mask
    for (let entry = this.#slots[slot]!; entry !== NONE; entry = this.#slots[slot]!) {
      if (this.#hash[entry] === hash && this.#same(entry, text, at)) return slot
      slot = (slot + 1) & mask
    }
    return slot
  }

  #same(entry: number, text: string, at: number): boolean {
    const other = this.#texts[this.#text[entry]!]!
    const start = this.#at[entry]!
    for (let i = 0; i < this.length; i++) {
      if (other.charCodeAt(start + i) !== text.charCodeAt(at + i)) return false
    }
    return true
  }

  #growEntries(): void {
    const grow = (array: Int32Array<ArrayBuffer>) => {
      const larger = new Int32Array(array.length * 2)
      larger.set(array)
      return larger
    }
    this.#text = grow(this.#text)
    this.#at = grow(this.#at)
    this.#before = grow(this.#before)
    this.#hash = grow(this.#hash)
  }

  #growSlots(): void {
    const old = this.#slots
    this.#slots = new Int32Array(old.length * 2).fill(NONE)
    const mask = this.#slots.length - 1
    for (const entry of old) {
      if (entry === NONE) continue
      let slot = mix(this.#hash[entry]!) & mask
      while (this.#slots[slot] !== NONE) slot = (slot + 1) & mask
      this.#slots[slot] = entry
    }
  }
}

/** Spreads a hash over the low bits. */
function mix(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return mixed ^ (mixed >>> 13)
}
