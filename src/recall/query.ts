/**
 * A query as terms with weights. Any term may match; common English words count only if there is nothing else. A query
 * has no syntax.
 */
import { compoundsIn, compoundTerms, isLoneCharacter, termsOf, wordsIn } from './words.ts'

/**
 * Terms of the query, each with the word that it comes from: a word that no document contains is searched by its parts.
 */
export type Query = { terms: ReadonlyMap<string, { word: string; weight: number }>; words: readonly string[] }

const MAX_WORDS = 64

const STOP_WORDS = new Set(
  `a about after again against all also am an and any are as at be because been before being between both but by can
   could d did didn do does doesn don down during each few for from further had has have he her here him his how i if in
   into is isn it its just ll m me more most my no nor not of off on once only or other our out over own re s same she
   should so some such t than that the their them then there these they this those through to too under until up us ve
   very was wasn we were what when where which while who whom why will with would you your`.split(/\s+/),
)

export function parseQuery(text: string): Query {
  const all = wordsIn(text).slice(0, MAX_WORDS)
  const telling = all.filter(word => !isCommon(word))
  const words = telling.length > 0 ? telling : all
  const terms = new Map<string, { word: string; weight: number }>()
  for (const word of words) {
    for (const [i, term] of termsOf(word).entries()) {
      // The pair before it already contains the last character of a run without spaces.
      if (i > 0 && (isCommon(term) || isLoneCharacter(term))) continue
      if (!terms.has(term)) terms.set(term, { word, weight: 1 })
    }
  }
  for (const compound of compoundsIn(text).slice(0, MAX_WORDS)) {
    for (const term of compoundTerms(compound)) terms.set(term, { word: compound, weight: 1 })
  }
  return { terms, words }
}

function isCommon(word: string): boolean {
  return STOP_WORDS.has(word.toLowerCase())
}
