/** Finds the stretch of a text that contains most terms of a query. */
import { cut } from '../model/text.ts'
import { parseQuery } from './query.ts'
import { termsOf, WORDS } from './words.ts'

const SNIPPET_CHARS = 240
const BEFORE_CHARS = 40

export function snippetOf(text: string, query: string): string {
  if (text.length <= SNIPPET_CHARS) return text
  const { terms, words } = parseQuery(query)
  const asked = words.map(word => word.toLowerCase())
  const places: { at: number; term: string }[] = []
  for (const { 0: word, index } of text.matchAll(WORDS)) {
    const term = termsOf(word).find(own => terms.has(own)) ?? asked.find(own => word.toLowerCase().includes(own))
    if (term !== undefined) places.push({ at: index, term })
  }
  const from = Math.max(0, Math.min(bestPlace(places) - BEFORE_CHARS, text.length - SNIPPET_CHARS))
  return cut(text, from, from + SNIPPET_CHARS)
}

/** The first place of the window that contains the most different terms. */
function bestPlace(places: readonly { at: number; term: string }[]): number {
  const inside = new Map<string, number>()
  let best = { at: 0, terms: 0 }
  for (let end = 0, begin = 0; end < places.length; end++) {
    const { at, term } = places[end]!
    inside.set(term, (inside.get(term) ?? 0) + 1)
    for (; at - places[begin]!.at > SNIPPET_CHARS - 2 * BEFORE_CHARS; begin++) {
      const gone = places[begin]!.term
      const left = inside.get(gone)! - 1
      if (left === 0) inside.delete(gone)
      else inside.set(gone, left)
    }
    if (inside.size > best.terms) best = { at: places[begin]!.at, terms: inside.size }
  }
  return best.at
}
