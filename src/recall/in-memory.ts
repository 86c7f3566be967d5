/** An index of a few texts, built for one search, for content that is small and changes often. */
import { type Document, documentsOf } from './documents.ts'
import type { Place, RecallIndex } from './index.ts'
import { columnsOf, KINDS, postingsOf, toSegment } from './postings.ts'

const SEGMENT = 1
const SESSION = 1

/** Hits name a text by its number in `seq`. */
export function indexInMemory(texts: readonly { text: string; at: number }[]): RecallIndex {
  const placed: { document: Document; kind: number; at: number; place: Place }[] = []
  for (const [seq, { text, at }] of texts.entries()) {
    const documents = documentsOf({ role: 'user', parts: [{ type: 'text', text }] }, () => undefined)
    for (const document of documents) {
      const { part, from, to, print } = document
      // Indexed as tool results, whose neighbours count little: the texts are not a conversation.
      const kind = KINDS.indexOf('tool-result')
      placed.push({ document, kind, at, place: { session: '', seq, part, from, to, print } })
    }
  }
  const runs = [{ session: SESSION, first: 0, count: placed.length }]
  const segment = toSegment(SEGMENT, runs, columnsOf(placed))
  const postings = postingsOf(placed.map(({ document }) => document.terms))
  const termsThat = (test: (term: string) => boolean, limit: number) =>
    [...postings.keys()].filter(test).slice(0, limit)
  return {
    spans: undefined,
    behind: false,
    segments: async () => [segment],
    postings: async terms =>
      new Map(
        terms.flatMap(term => {
          const data = postings.get(term)
          return data ? [[term, [{ segment: SEGMENT, data }]]] : []
        }),
      ),
    termsBeginning: async (text, { limit }) => termsThat(term => term.startsWith(text), limit),
    termsInside: async (text, { limit }) => termsThat(term => term.includes(text), limit),
    places: async documents => documents.map(({ number }) => placed[number]!.place),
  }
}
