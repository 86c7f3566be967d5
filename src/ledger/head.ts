/**
 * Heads: the end of each session's chain, as a file to keep outside the home.
 *
 * Anyone who can write the ledger can recompute its hashes, or drop its last events or a whole session. A head that
 * was kept elsewhere reveals all of that. It is not signed: a key in the home would be in the same hands as the
 * ledger.
 */
import { PalimpsestError } from '../model/errors.ts'
import { isRecord } from '../model/json.ts'

export type Head = {
  session: string
  /** The number of events, including those of the session that it was forked from. */
  events: number
  /** The hash of the last event, which covers all events before it. */
  hash: string
}

const FORMAT = 'palimpsest-heads'

/** A head as it is printed: with the time of the last event. */
export type PrintedHead = Head & { at: number }

/** The last tombstone of the removed sessions; its hash covers all tombstones before it. */
export type RemovedHead = { sessions: number; hash: string }

export function headsFile(sessions: readonly PrintedHead[], removed: RemovedHead) {
  return { format: FORMAT, version: 1, sessions, removed }
}

type Heads = { sessions: Head[]; removed: RemovedHead }

/** Reads the output of `headsFile` from outside. */
export function parseHeads(value: unknown, path: string): Heads {
  const file = isRecord(value) && value['format'] === FORMAT && value['version'] === 1 ? value : {}
  const { sessions: list, removed = { sessions: 0, hash: '' } } = file
  const sessions = Array.isArray(list) ? list.filter(isHead) : []
  const isWhole = Array.isArray(list) && sessions.length === list.length
  if (isWhole && isRemovedHead(removed)) return { sessions, removed }
  throw new PalimpsestError('FORMAT_UNKNOWN', `${path} is not a file of heads. Create one with: palimpsest head`, {
    path,
  })
}

function isRemovedHead(value: unknown): value is RemovedHead {
  return isRecord(value) && Number.isSafeInteger(value['sessions']) && typeof value['hash'] === 'string'
}

function isHead(value: unknown): value is Head {
  if (!isRecord(value)) return false
  const { session, events, hash } = value
  return typeof session === 'string' && Number.isSafeInteger(events) && /^[0-9a-f]{64}$/.test(String(hash))
}
