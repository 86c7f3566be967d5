/**
 * Copies sessions from one store to another, of whatever kind, row by row with their hashes.
 *
 * Every session is verified at the target: its chain must lead to the hash that it has at the source, so the copy is
 * proven. A session that exists already is compared by that hash and not copied again; an interrupted copy continues
 * where it stopped. A session that differs is left as it is and named.
 */
import { PalimpsestError } from '../model/errors.ts'
import { referencesIn } from './codec.ts'
import { Ledger } from './ledger.ts'
import { ownerIn } from './owners.ts'
import type { LedgerStore, NewRow, Row, SessionRow } from './store.ts'
import { checkTombstones, type Tombstone } from './tombstones.ts'

/** A store that can take over the tombstones of removed sessions. */
type CopyStore = LedgerStore & { addTombstones(tombstones: readonly Tombstone[]): Promise<void> }

export type Copied = {
  sessions: number
  events: number
  /** Sessions that the target already had, complete. */
  already: number
  removed: number
}

type CopyOptions = {
  /** Only the sessions of this user. */
  user?: string | undefined
  progress?: (session: string, done: number, all: number) => void
}

const EVENTS_AT_ONCE = 200
const CHARS_AT_ONCE = 1_000_000
const NO_LIMIT = 0x7fffffff

export async function copyLedger(from: LedgerStore, to: CopyStore, options: CopyOptions = {}): Promise<Copied> {
  const { user, progress } = options
  const all = await from.list({ limit: NO_LIMIT })
  const chosen = parentsFirst(user === undefined ? all : all.filter(({ id }) => ownerIn(id).owner === user))
  const ids = new Set(chosen.map(({ id }) => id))
  const copied: Copied = { sessions: 0, events: 0, already: 0, removed: 0 }
  for (const [done, row] of chosen.entries()) {
    progress?.(row.id, done, chosen.length)
    // If the parent is not copied, the fork gets all its rows.
    const { parent, ...whole } = row
    const { events, isNew } = await copySession({ from, to }, parent && ids.has(parent.id) ? row : whole)
    copied.events += events
    if (events > 0 || isNew) copied.sessions++
    else copied.already++
  }
  if (user === undefined) copied.removed = await copyTombstones(from, to)
  return copied
}

/** Gives the number of missing events, and whether the session itself was missing. */
async function copySession(
  { from, to }: { from: LedgerStore; to: LedgerStore },
  session: SessionRow,
): Promise<{ events: number; isNew: boolean }> {
  const { id, createdAt: at, meta, parent } = session
  const rows = await from.read(id)
  const before = await to.find(id)
  if (!before) await to.open(id, { at, meta, ...(parent ? { parent } : {}) })
  const there = await to.read(id, { to: rows.length - 1 })
  const last = there.at(-1)
  if (last && rows[last.seq]?.hash !== last.hash) throw differs(id)
  const missing = rows.slice(there.length)
  for (const some of batchesOf(missing)) {
    if (!(await to.append(id, await withContents(from, some)))) throw differs(id)
  }
  const head = rows.at(-1)
  await new Ledger(to, id).verify({ session: id, events: rows.length, hash: head?.hash ?? '' })
  return { events: missing.length, isNew: before === undefined }
}

async function withContents(from: LedgerStore, rows: readonly Row[]): Promise<NewRow[]> {
  const contents = await from.contents(rows.flatMap(({ body }) => referencesIn(body ?? '')))
  return rows.map(row => {
    const body = row.body ?? ''
    const own = referencesIn(body).flatMap(hash => (contents.has(hash) ? [[hash, contents.get(hash)!] as const] : []))
    return { ...row, body, ...(own.length > 0 ? { contents: new Map(own) } : {}) }
  })
}

function* batchesOf(rows: readonly Row[]): Generator<Row[]> {
  let some: Row[] = []
  let chars = 0
  for (const row of rows) {
    const size = row.body?.length ?? 0
    if (some.length >= EVENTS_AT_ONCE || (some.length > 0 && chars + size > CHARS_AT_ONCE)) {
      yield some
      some = []
      chars = 0
    }
    some.push(row)
    chars += size
  }
  if (some.length > 0) yield some
}

/** Copies the tombstones if the target has none, or only the first of them. */
async function copyTombstones(from: LedgerStore, to: CopyStore): Promise<number> {
  const [source, target] = [await from.tombstones(), await to.tombstones()]
  checkTombstones(source)
  const shared = Math.min(source.length, target.length)
  if (shared > 0 && source[shared - 1]!.hash !== target[shared - 1]!.hash) {
    throw new PalimpsestError(
      'CONFLICT',
      'The target has removed sessions that the source does not know. The sessions were copied, but not the record of removed sessions.',
    )
  }
  const missing = source.slice(target.length)
  await to.addTombstones(missing)
  checkTombstones(await to.tombstones())
  return missing.length
}

function parentsFirst(sessions: readonly SessionRow[]): SessionRow[] {
  const left = new Map(sessions.map(session => [session.id, session]))
  const sorted: SessionRow[] = []
  const place = (session: SessionRow) => {
    if (!left.delete(session.id)) return
    const parent = session.parent && left.get(session.parent.id)
    if (parent) place(parent)
    sorted.push(session)
  }
  // Oldest session first, so that the order of keys is kept as far as possible.
  for (const session of [...sessions].sort((a, b) => a.createdAt - b.createdAt)) place(session)
  return sorted
}

function differs(session: string): PalimpsestError {
  return new PalimpsestError(
    'CONFLICT',
    `The target has a session ${session} with other events. It was not changed. Delete it there, or copy to another place.`,
    { session },
  )
}
