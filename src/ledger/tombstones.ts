/**
 * The record of a removed session: a tombstone, in a hash chain of its own.
 *
 * It names the session, when and by whom it was removed, and the end of its chain. So `verify` can tell a deleted
 * session from a missing one, and a head that was kept elsewhere proves that no tombstone was dropped or rewritten.
 */
import { hash } from 'node:crypto'
import { PalimpsestError } from '../model/errors.ts'

export type Tombstone = {
  /** The tombstone's place among all tombstones, from 0. */
  seq: number
  session: string
  at: number
  by: string
  /** How many events the session had, and the hash of the last one. */
  events: number
  head: string
  /** The hash over everything above and the tombstone before. */
  hash: string
}

export type Removal = { at: number; by: string }

/** Makes the tombstone that follows the last one. */
export function tombstoneAfter(last: Pick<Tombstone, 'seq' | 'hash'> | undefined, of: Omit<Tombstone, 'seq' | 'hash'>) {
  const placed = { seq: (last?.seq ?? -1) + 1, ...of }
  return { ...placed, hash: tombstoneHash(last?.hash ?? '', placed) }
}

function tombstoneHash(prev: string, { seq, session, at, by, events, head }: Omit<Tombstone, 'hash'>): string {
  return hash('sha256', JSON.stringify([prev, seq, session, at, by, events, head]))
}

/** Throws if a tombstone is missing or was changed. */
export function checkTombstones(tombstones: readonly Tombstone[]): void {
  let prev = ''
  for (const [index, tombstone] of tombstones.entries()) {
    const fits = tombstone.seq === index && tombstoneHash(prev, tombstone) === tombstone.hash
    if (!fits) {
      const message = `The record of removed sessions does not verify: record ${index} is missing or was changed.`
      throw new PalimpsestError('LEDGER_CORRUPT', `${message} Restore it from a backup.`, { seq: index })
    }
    prev = tombstone.hash
  }
}

/** Reads a row of the tombstones' table, from either database. */
export function toTombstone(row: Record<string, unknown>): Tombstone {
  const { seq, session, at, by, events, head, hash: own } = row
  return {
    seq: Number(seq),
    session: String(session),
    at: Number(at),
    by: String(by),
    events: Number(events),
    head: String(head),
    hash: String(own),
  }
}
