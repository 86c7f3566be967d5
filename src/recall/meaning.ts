/**
 * Search by meaning, beside search by words: the pieces of texts whose vectors are nearest to the vector of the query.
 * Both orders are fused by reciprocal rank (search.ts), so pieces that share no word with the query can be found too.
 *
 * Vectors are computed on first use. The latest are kept, only in memory, so nothing remains of removed or redacted
 * texts. A search waits for some of the missing vectors; the others are computed after it, for the next
 * search. All vectors of a scope are compared, so the size of a scope is limited.
 */
import type { Place } from './index.ts'

/** Vectors of length 1 for some texts. Some models need to know whether a text is a query or a passage. */
export type Embed = (texts: readonly string[], kind: 'query' | 'passage') => Promise<readonly Float32Array[]>

/** The most word hits that are compared by meaning, and the most near pieces that are returned. */
export const MEANING_CANDIDATES = 100
/** The number of new vectors that a search waits for, besides those of the word hits. */
const MAX_NEW_VECTORS = 64
/** About 30 MB with a small model. */
const MAX_VECTORS_KEPT = 20_000
const TEXTS_PER_BATCH = 16
/** The constant of reciprocal rank fusion: how much the first ranks count over later ones. */
const RANK_OFFSET = 60

type TextOf = (place: Place) => Promise<string>

export class Meaning {
  readonly #embed: Embed
  readonly #vectors = new Map<string, Float32Array>()
  readonly #wanted = new Map<string, () => Promise<string>>()
  #filling: Promise<void> | undefined

  constructor(embed: Embed) {
    this.#embed = embed
  }

  /**
   * The indices of the nearest pieces, nearest first. The first pieces of the list are the ones that must be compared.
   */
  async nearest(query: string, pieces: readonly Place[], textOf: TextOf): Promise<number[]> {
    const [asked] = await this.#embed([query], 'query')
    const missing = pieces.filter(piece => !this.#vectors.has(keyOf(piece)))
    const first = missing.slice(0, MEANING_CANDIDATES + MAX_NEW_VECTORS)
    await this.#compute(first.map(piece => [keyOf(piece), () => textOf(piece)]))
    for (const piece of missing.slice(first.length)) this.#wanted.set(keyOf(piece), () => textOf(piece))
    this.#filling ??= this.#fill().finally(() => {
      this.#filling = undefined
    })
    if (!asked) return []
    const near = pieces.flatMap((piece, i) => {
      const vector = this.#vectors.get(keyOf(piece))
      return vector ? [{ i, nearness: dot(asked, vector) }] : []
    })
    near.sort((a, b) => b.nearness - a.nearness || a.i - b.i)
    return near.slice(0, MEANING_CANDIDATES).map(({ i }) => i)
  }

  /** Resolves when all requested vectors are computed. */
  async filled(): Promise<void> {
    await this.#filling
  }

  async #fill(): Promise<void> {
    while (this.#wanted.size > 0) {
      const some = [...this.#wanted].slice(0, TEXTS_PER_BATCH)
      for (const [key] of some) this.#wanted.delete(key)
      try {
        await this.#compute(some)
      } catch {
        // The next search requests them again, and reports the error.
        this.#wanted.clear()
      }
    }
  }

  async #compute(pieces: readonly (readonly [key: string, text: () => Promise<string>])[]): Promise<void> {
    for (let i = 0; i < pieces.length; i += TEXTS_PER_BATCH) {
      const some = pieces.slice(i, i + TEXTS_PER_BATCH)
      const texts: string[] = []
      for (const [, text] of some) texts.push(await text())
      const vectors = await this.#embed(texts, 'passage')
      for (const [n, [key]] of some.entries()) if (vectors[n]) this.#keep(key, vectors[n])
    }
  }

  #keep(key: string, vector: Float32Array): void {
    this.#vectors.set(key, vector)
    const [oldest] = this.#vectors.keys()
    if (this.#vectors.size > MAX_VECTORS_KEPT) this.#vectors.delete(oldest!)
  }
}

const made = new WeakMap<Embed, Meaning>()

/** One instance for each embedding function, so that all sessions of a home share the kept vectors. */
export function meaningOf(embed: Embed): Meaning {
  const meaning = made.get(embed) ?? new Meaning(embed)
  made.set(embed, meaning)
  return meaning
}

/** Fuses two orders by reciprocal rank: an item far ahead in either order is ahead in the result. */
export function fuse<T>(one: readonly T[], two: readonly T[], keyOfOne: (item: T) => string): T[] {
  const scores = new Map<string, { item: T; score: number }>()
  for (const order of [one, two]) {
    for (const [rank, item] of order.entries()) {
      const key = keyOfOne(item)
      const before = scores.get(key)
      const score = (before?.score ?? 0) + 1 / (RANK_OFFSET + rank)
      scores.set(key, { item: before?.item ?? item, score })
    }
  }
  return [...scores.values()].sort((a, b) => b.score - a.score).map(({ item }) => item)
}

/** A vector of length 1 in the same direction. */
export function normalized(vector: Float32Array): Float32Array {
  const length = Math.sqrt(dot(vector, vector)) || 1
  return vector.map(value => value / length)
}

/** A key that is the same for the same text at the same place. */
function keyOf({ session, seq, part, from, print }: Place): string {
  return `${print} ${seq} ${part} ${from} ${session}`
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}
