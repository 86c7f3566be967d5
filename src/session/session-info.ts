/** Facts about a session apart from its events: its meta in the ledger, and its row in the list. */
import { ledgerId, ownerIn } from '../ledger/owners.ts'
import type { SessionRow } from '../ledger/store.ts'
import { PalimpsestError } from '../model/errors.ts'
import { onOneLine } from '../model/text.ts'
import { IDS_OVER } from '../policies/ids.ts'
import type { About } from './session-options.ts'

/** The meta that the ledger keeps of a session. `OpenOptions` explains the fields. */
export type Meta = {
  policy: string
  model: string
  cacheTtl?: string
  cacheKept?: number
  overhead?: number
  ids?: number
  about?: About
}

export type SessionInfo = Omit<SessionRow, 'meta'> &
  Meta & {
    about: About
    /** The user who owns the session; `undefined` for a session of the home itself. */
    owner?: string
  }

/** The name by which the home itself calls the session. */
export function wholeName(owner: string | undefined, name: string): string {
  return ownerIn(name).owner === owner ? name : ledgerId(owner, name)
}

export function aboutOf(stored: About = {}, given: About = {}): { about?: About } {
  const about = { ...stored, ...given }
  return Object.keys(about).length > 0 ? { about } : {}
}

/** The length from which results get an id; undefined for none. */
export function idsOver(given: boolean | number | undefined, stored: number | undefined): number | undefined {
  if (given === true) return IDS_OVER
  return given === undefined ? stored : given || undefined
}

export const MAX_TITLE = 200
export const MOST_TAGS = 20
const LONGEST_TAG = 50
/** The length is in code points, as JSON Schema counts. */
export const TAG = new RegExp(`^[^,\\r\\n]{0,${LONGEST_TAG}}$`, 'u')

/** A title on one line. */
export function toTitle(given: string): string {
  const title = onOneLine(given)
  if (title.length <= MAX_TITLE) return title
  throw new PalimpsestError('INVALID_INPUT', `A title has at most ${MAX_TITLE} characters.`)
}

/** Normalises tags: sorted, without duplicates. */
export function toTags(given: readonly string[]): string[] {
  const tags = [...new Set(given.map(tag => tag.trim()))].filter(tag => tag !== '').sort()
  const wrong = tags.find(tag => !TAG.test(tag))
  if (wrong === undefined && tags.length <= MOST_TAGS) return tags
  const rule = `A session has at most ${MOST_TAGS} tags, each of at most ${LONGEST_TAG} characters on one line, without commas.`
  throw new PalimpsestError('INVALID_INPUT', rule, {
    tags: tags.length,
    ...(wrong === undefined ? {} : { tag: wrong }),
  })
}
