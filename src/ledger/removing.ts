/**
 * Removes sessions from a ledger, within one transaction.
 *
 * A fork shares the events of its parent up to the fork's place. When the parent is removed, the fork that shares
 * most of them takes them over, and the other forks become forks of that one. So every fork keeps its whole chain,
 * and the parent's events after the last fork are gone.
 */
import { type FamilySession, type FamilyTables, headOfSession } from './family.ts'
import { ask, type Steps } from './steps.ts'
import { type Removal, type Tombstone, tombstoneAfter } from './tombstones.ts'

/** The tombstones, and the sessions that took over events of removed ones; these have to be indexed. */
type Removed = { buried: Tombstone[]; heirs: number[] }

export function* removeSessions(tables: FamilyTables, ids: readonly string[], removal: Removal): Steps<Removed> {
  const gone = new Set<number>()
  const heirs = new Set<number>()
  const contents = new Set<string>()
  const buried: Tombstone[] = []
  for (const id of new Set(ids)) {
    const session = yield* ask(tables.session(id))
    if (!session) continue
    const { seq, hash } = yield* headOfSession(tables, session)
    const heir = yield* leaveToForks(tables, session)
    if (heir !== undefined) heirs.add(heir)
    for (const text of yield* ask(tables.removeEvents(session.key))) contents.add(text)
    yield* ask(tables.removeSession(session.key))
    gone.add(session.key)
    const last = yield* ask(tables.lastTombstone())
    const tombstone = tombstoneAfter(last, { session: id, ...removal, events: seq + 1, head: hash })
    yield* ask(tables.addTombstone(tombstone, session.key))
    buried.push(tombstone)
  }
  yield* ask(tables.dropContents(contents))
  yield* ask(tables.forget([...gone, ...heirs]))
  return { buried, heirs: [...heirs].filter(key => !gone.has(key)) }
}

/** Gives the fork that took over the events, if there is one. */
function* leaveToForks(tables: FamilyTables, { key, parent, forkSeq }: FamilySession): Steps<number | undefined> {
  const forks = yield* ask(tables.forksOf(key))
  const heir = forks.find(fork => fork.forkSeq > forkSeq)
  for (const fork of forks) {
    // The shared events are now in the heir, or in the ancestors of the removed session.
    const above = heir && fork !== heir && fork.forkSeq > forkSeq ? heir.key : parent
    const upTo = fork === heir ? forkSeq : fork.forkSeq
    yield* ask(tables.setParent(fork.key, above, above === null ? null : upTo))
  }
  if (heir) yield* ask(tables.moveEvents(key, heir.key, heir.forkSeq))
  return heir?.key
}
