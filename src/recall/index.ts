/**
 * What recall needs of a store: the segments, the postings of a term, and where a document comes from. The store
 * gives candidates and rank.ts orders them, so that every store answers alike.
 */
import type { Segment } from './postings.ts'

/** A session's documents from 0 up to a number, for forks: they share the first documents of their parent. */
export type Span = { session: number; upTo: number }

/** A document: its session's number in the store, and its own in the session. */
export type DocumentKey = { session: number; number: number }

/** Where a document is: characters `from` to `to` of a part of an entry. */
export type Place = { session: string; seq: number; part: number; from: number; to: number; print: number }

export type Posting = { segment: number; data: Uint8Array }

export interface RecallIndex {
  /** What is searched; everything where it is undefined. */
  readonly spans: readonly Span[] | undefined
  /** Whether events are left that the index does not hold yet. */
  readonly behind: boolean
  segments(): Promise<readonly Segment[]>
  /** The postings of some terms, asked for at once; a term that nothing holds is missing. */
  postings(terms: readonly string[], segments: readonly number[]): Promise<ReadonlyMap<string, readonly Posting[]>>
  /** Some terms that begin with a text; at most `limit`, and from the newest segments where there are many. */
  termsBeginning(text: string, options: { segments: readonly number[]; limit: number }): Promise<string[]>
  /** The terms of some words that hold a text of at least three characters; limited as above. */
  termsInside(text: string, options: { segments: readonly number[]; limit: number }): Promise<string[]>
  /** In the order asked for; undefined for one of a session that was removed meanwhile. */
  places(documents: readonly DocumentKey[]): Promise<readonly (Place | undefined)[]>
}

/** The one session that is searched, where it is one. */
export function sessionIn(scope: Scope): string | undefined {
  return typeof scope === 'object' && 'session' in scope ? scope.session : undefined
}

/** Which sessions are searched. `prefix`: what the ids of all of them begin with, for a store that can look that up. */
export type Scope = { session: string } | { among: (session: string) => boolean; prefix?: string } | 'all'
