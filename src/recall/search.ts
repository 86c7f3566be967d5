/**
 * Search from a query to the parts that match its words or its meaning, best first; one hit for each part, by its best
 * piece.
 */
import { filterTerm, plainPath } from './documents.ts'
import type { DocumentKey, Place, RecallIndex } from './index.ts'
import { fuse, MEANING_CANDIDATES, type Meaning } from './meaning.ts'
import { parseQuery } from './query.ts'
import { type Filters, type Ranked, rankDocuments } from './rank.ts'

export type SearchOptions = {
  limit: number
  /** Kinds of parts: text, reasoning, tool-call, tool-result; or roles: user, assistant, tool, system. */
  types?: readonly string[]
  tools?: readonly string[]
  /** Files that a tool call names, by the ends of their paths. */
  paths?: readonly string[]
  since?: number
  until?: number
  /** One hit for each distinct text: the newest part that contains it. */
  distinct?: boolean
}

/** A found part, with the piece of its text that matches best. */
export type Found = Omit<Place, 'print'> & {
  score: number
  at: number
  /** How many other parts contain the same text; only set with `distinct`. */
  copies?: number
}

/** More pieces are ranked than hits are wanted, because several may lie in one part. */
const PIECES_PER_HIT = 3
const MORE_PIECES = 50
const ROLES = ['user', 'assistant', 'tool', 'system']

/** The search by meaning. `most`: the number of newest pieces in scope that are compared. */
type ByMeaning = { meaning: Meaning; most: number; textOf: (place: Place) => Promise<string> }

export async function search(
  index: RecallIndex,
  text: string,
  options: SearchOptions,
  by?: ByMeaning | undefined,
): Promise<Found[]> {
  const query = parseQuery(text)
  if (query.terms.size === 0) return []
  const { limit } = options
  const { found: words, newest } = await rankDocuments(index, query, {
    limit: Math.max(limit, by ? MEANING_CANDIDATES : 0) * PIECES_PER_HIT + MORE_PIECES,
    filters: filtersOf(options),
    newest: by?.most ?? 0,
  })
  const ranked = by ? fuse(words, await nearest(index, text, { words, newest, by }), keyOf) : words
  const places = await index.places(ranked)
  const found = new Map<string, Found & { print: number }>()
  for (const [i, place] of places.entries()) {
    if (!place) continue
    const key = `${place.seq} ${place.part} ${place.session}`
    if (!found.has(key)) found.set(key, { ...place, score: ranked[i]!.score, at: ranked[i]!.at })
  }
  const hits = options.distinct ? withoutCopies([...found.values()]) : [...found.values()]
  return hits.slice(0, limit).map(({ print: _, ...hit }) => hit)
}

type Nearby = { words: readonly Ranked[]; newest: readonly Ranked[]; by: ByMeaning }

/**
 * The pieces nearest in meaning, nearest first, among the word hits. If the words find little, the newest pieces are
 * compared too; otherwise these would push down better hits.
 */
async function nearest(index: RecallIndex, text: string, { words, newest, by }: Nearby): Promise<Ranked[]> {
  const found = words.slice(0, MEANING_CANDIDATES)
  const others = found.length < MEANING_CANDIDATES ? newest : []
  const looked = new Map([...found, ...others].map(one => [keyOf(one), one]))
  const placed = await index.places([...looked.values()])
  const known = [...looked.values()].flatMap((one, i) => (placed[i] ? [{ one, place: placed[i] }] : []))
  const near = await by.meaning.nearest(
    text,
    known.map(({ place }) => place),
    by.textOf,
  )
  return near.map(i => known[i]!.one)
}

function keyOf({ session, number }: DocumentKey): string {
  return `${session} ${number}`
}

function filtersOf({ types, tools, paths, since, until }: SearchOptions): Filters {
  const kinds = types?.map(type => filterTerm(ROLES.includes(type) ? 'role' : 'type', type))
  const lists = [
    kinds,
    tools?.map(tool => filterTerm('tool', tool)),
    paths?.map(path => filterTerm('path', plainPath(path))),
  ]
  return {
    terms: lists.filter(list => list !== undefined && list.length > 0) as string[][],
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
  }
}

/** Of parts with the same text keeps the newest, at the best rank of all. */
function withoutCopies<T extends Found & { print: number }>(hits: readonly T[]): T[] {
  const kept = new Map<string, T>()
  for (const hit of hits) {
    const key = `${hit.print} ${hit.to - hit.from}`
    const before = kept.get(key)
    if (!before) kept.set(key, hit)
    else
      kept.set(key, { ...(hit.at > before.at ? hit : before), score: before.score, copies: (before.copies ?? 0) + 1 })
  }
  return [...kept.values()]
}
