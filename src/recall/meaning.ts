/**
 * Order by meaning, on top of the order by words: what words have found is ranked again by how near its vectors are to
 * that of the query, and the two ranks are fused by reciprocal rank. It needs no index of its own, and what no word finds
 * it does not find either.
 */
import type { Found } from './search.ts'

/** Vectors of length 1 for some texts. Models may want a query told apart from what it looks for. */
export type Embed = (texts: readonly string[], kind: 'query' | 'passage') => Promise<readonly Float32Array[]>

/** So many of what words found are looked at. */
export const MEANING_CANDIDATES = 100
/** Of reciprocal rank fusion: how much the first places count over later ones. */
const RANK_OFFSET = 60

export async function orderByMeaning(
  found: readonly Found[],
  query: string,
  { embed, textOf }: { embed: Embed; textOf: (one: Found) => Promise<string> },
): Promise<Found[]> {
  const looked = found.slice(0, MEANING_CANDIDATES)
  const texts: string[] = []
  for (const one of looked) texts.push(await textOf(one))
  const [asked] = await embed([query], 'query')
  const vectors = await embed(texts, 'passage')
  if (!asked || vectors.length < looked.length) return [...found]
  const nearness = vectors.map(vector => dot(asked, vector))
  const byNearness = looked.map((_, i) => i).sort((a, b) => nearness[b]! - nearness[a]!)
  const fused = looked.map((_, i) => 1 / (RANK_OFFSET + i))
  for (const [rank, i] of byNearness.entries()) fused[i]! += 1 / (RANK_OFFSET + rank)
  const order = looked.map((_, i) => i).sort((a, b) => fused[b]! - fused[a]! || a - b)
  return [...order.map(i => looked[i]!), ...found.slice(MEANING_CANDIDATES)]
}

/** The same vectors without computing those of the last texts again. */
export function remembered(embed: Embed, most = 10_000): Embed {
  const known = new Map<string, Float32Array>()
  return async (texts, kind) => {
    if (kind === 'query') return embed(texts, kind)
    const missing = [...new Set(texts.filter(text => !known.has(text)))]
    if (known.size + missing.length > most) known.clear()
    const fresh = missing.length === 0 ? [] : await embed(missing, kind)
    for (const [i, text] of missing.entries()) if (fresh[i]) known.set(text, fresh[i])
    return texts.flatMap(text => known.get(text) ?? [])
  }
}

/** A vector of length 1 in the same direction. */
export function normalized(vector: Float32Array): Float32Array {
  const length = Math.sqrt(dot(vector, vector)) || 1
  return vector.map(value => value / length)
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}
