/**
 * What recall needs from a store: the segments, the postings of a term, and the place of a document. The store returns
 * candidates and rank.ts orders them, so that every store gives the same answers.
 */
import type { Segment } from './postings.ts'

/** A session's documents from 0 up to a number. Forks use it: they share the first documents of their parent. */
export type Span = { session: number; upTo: number }

/** A document: its session's number in the store, and its own in the session. */
export type DocumentKey = { session: number; number: number }

/** Where a document is: characters `from` to `to` of a part of an entry. */
export type Place = { session: string; seq: number; part: number; from: number; to: number; print: number }

export type Posting = { segment: number; data: Uint8Array }

export interface RecallIndex {
  /** The documents to search; all of them if undefined. */
  readonly spans: readonly Span[] | undefined
  /** Whether some events are not indexed yet. */
  readonly behind: boolean
  segments(): Promise<readonly Segment[]>
  /** The postings of several terms in one request; a term that no document contains is missing from the result. */
  postings(terms: readonly string[], segments: readonly number[]): Promise<ReadonlyMap<string, readonly Posting[]>>
  /** Terms that begin with a text; at most `limit`, from the newest segments if there are many. */
  termsBeginning(text: string, options: { segments: readonly number[]; limit: number }): Promise<string[]>
  /** The terms of words that contain a text of at least three characters; limited as above. */
  termsInside(text: string, options: { segments: readonly number[]; limit: number }): Promise<string[]>
  /** The places in the order of the request; undefined for a document whose session was removed meanwhile. */
  places(documents: readonly DocumentKey[]): Promise<readonly (Place | undefined)[]>
}

/** The id of the searched session, if only one is searched. */
export function sessionIn(scope: Scope): string | undefined {
  return typeof scope === 'object' && 'session' in scope ? scope.session : undefined
}

/** Which sessions are searched. `prefix`: the common beginning of their ids, for a store that can look it up. */
export type Scope = { session: string } | { among: (session: string) => boolean; prefix?: string } | 'all'
