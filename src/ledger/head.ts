/**
 * Heads: where the chain of each session ends, as a file to keep outside the home.
 *
 * Whoever can write the ledger can compute its hashes anew, drop its last events or a whole session. A head that was
 * kept elsewhere shows all of that. It is not signed: a key in the home would be in the same hands as the ledger.
 */
import { PalimpsestError } from '../model/errors.ts'
import { isRecord } from '../model/json.ts'

export type Head = {
  session: string
  /** How many events it has, those of the session that it was forked from included. */
  events: number
  /** The hash of the last one, which covers all before it. */
  hash: string
}

const FORMAT = 'palimpsest-heads'

/** A head as it is printed: with the time of the last event. */
export type PrintedHead = Head & { at: number }

export function headsFile(sessions: readonly PrintedHead[]) {
  return { format: FORMAT, version: 1, sessions }
}

/** What `headsFile` made, read from outside. */
export function parseHeads(value: unknown, path: string): Head[] {
  const list = isRecord(value) && value['format'] === FORMAT && value['version'] === 1 ? value['sessions'] : undefined
  const heads = Array.isArray(list) ? list.filter(isHead) : []
  if (Array.isArray(list) && heads.length === list.length) return heads
  throw new PalimpsestError('FORMAT_UNKNOWN', `${path} is not a file of heads. Make one with: palimpsest head`, {
    path,
  })
}

function isHead(value: unknown): value is Head {
  if (!isRecord(value)) return false
  const { session, events, hash } = value
  return typeof session === 'string' && Number.isSafeInteger(events) && /^[0-9a-f]{64}$/.test(String(hash))
}
