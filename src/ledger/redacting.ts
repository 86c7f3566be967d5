/**
 * Redacting sessions of a ledger, within one transaction.
 *
 * A fork shares the rows of its parent, so a changed row changes for all. Then the chains of all sessions with a
 * changed row are recomputed, parents first, and each gets an event that says so. A process that has the session open
 * finds that event when it appends, and reads the session again.
 */
import { randomBytes } from 'node:crypto'
import { parseJson } from '../model/json.ts'
import type { Event } from '../model/types.ts'
import { chainHash, contentHash, decodeEvent, encodeEvent, referencesIn } from './codec.ts'
import {
  type FamilySession,
  type FamilyTables,
  headAbove,
  headOfSession,
  LAST_SEQ,
  type StoredEvent,
} from './family.ts'
import {
  covered,
  type EventChange,
  lastLink,
  placesIn,
  type Redacted,
  type RedactedText,
  redactEvent,
  type ToRedact,
  withTexts,
} from './redaction.ts'
import { ask, type Steps } from './steps.ts'
import type { Removal } from './tombstones.ts'

type Change = EventChange & { key: number; seq: number; at: number; old: string }
type Affected = { session: FamilySession; changes: Change[]; head: { seq: number; hash: string }; link: string }
type Part = { key: number; first: number; upTo: number }
type Work = { what: ToRedact; removal: Removal; salt: string }

/** Gives the sessions with changed rows, and the keys of the sessions to index again. */
export function* redactSessions(
  tables: FamilyTables,
  ids: readonly string[],
  options: { what: ToRedact; removal: Removal },
): Steps<{ redacted: Redacted[]; keys: number[] }> {
  const work = { ...options, salt: randomBytes(16).toString('hex') }
  const changes = new Map<string, Change>()
  for (const id of new Set(ids)) {
    const session = yield* ask(tables.session(id))
    if (!session) continue
    yield* redactMeta(tables, session, work)
    for (const change of yield* changesIn(tables, session, work)) changes.set(`${change.key}.${change.seq}`, change)
  }
  const affected = yield* affectedBy(tables, [...changes.values()])
  for (const { session } of affected) yield* redactMeta(tables, session, work)
  for (const { event, key, seq, at } of changes.values())
    yield* ask(tables.changeEvent(key, encodeEvent(event, { prev: '', seq, at })))
  const left = new Map(affected.map(one => [one.session.key, one]))
  for (const one of affected) yield* rechain(tables, one, { left, work })
  yield* ask(tables.dropContents(new Set([...changes.values()].flatMap(({ old }) => referencesIn(old)))))
  const keys = [...new Set([...changes.values()].map(({ key }) => key))]
  yield* ask(tables.forget(keys))
  return {
    redacted: affected.map(one => ({
      session: one.session.id,
      changed: one.changes.length,
      kinds: kindsOf(one.changes),
    })),
    keys,
  }
}

/** Redacts texts in the session's meta, such as its title. */
function* redactMeta(tables: FamilyTables, { key }: FamilySession, { what }: Work): Steps<void> {
  const before = yield* ask(tables.meta(key))
  const meta = JSON.stringify(withTexts(parseJson(before), text => covered(text, placesIn(text, what))))
  if (meta !== before) yield* ask(tables.setMeta(key, meta))
}

function* changesIn(tables: FamilyTables, session: FamilySession, { what, salt }: Work): Steps<Change[]> {
  const changes: Change[] = []
  for (const { key, seq, at, body } of yield* rowsOf(tables, session)) {
    const change = redactEvent(yield* decoded(tables, body), what, salt)
    if (change) changes.push({ ...change, key, seq, at, old: body })
  }
  return changes
}

/** Every session with a changed row, with the old end of its chain and the hash of its client's conversation. */
function* affectedBy(tables: FamilyTables, changes: readonly Change[]): Steps<Affected[]> {
  const family = new Map<number, FamilySession>()
  const waiting: FamilySession[] = []
  for (const key of new Set(changes.map(change => change.key))) waiting.push(yield* ask(tables.sessionOf(key)))
  for (let session = waiting.pop(); session; session = waiting.pop()) {
    family.set(session.key, session)
    waiting.push(...(yield* ask(tables.forksOf(session.key))))
  }
  const affected: Affected[] = []
  for (const session of [...family.values()].sort((a, b) => a.key - b.key)) {
    const parts = yield* partsOf(tables, session)
    const own = changes.filter(({ key, seq }) => parts.some(part => part.key === key && seq <= part.upTo))
    if (own.length === 0) continue
    const events: { event: Event }[] = []
    for (const { body } of yield* rowsOf(tables, session)) events.push({ event: yield* decoded(tables, body) })
    affected.push({ session, changes: own, head: yield* headOfSession(tables, session), link: lastLink(events) ?? '' })
  }
  return affected
}

function* rechain(
  tables: FamilyTables,
  { session }: Affected,
  { left, work }: { left: Map<number, Affected>; work: Work },
): Steps<void> {
  const one = left.get(session.key)
  if (!one) return
  left.delete(session.key)
  const parent = session.parent === null ? undefined : left.get(session.parent)
  if (parent) yield* rechain(tables, parent, { left, work })
  let prev = (yield* headAbove(tables, session)).hash
  const rows = yield* ask(tables.events(session.key, 0, LAST_SEQ))
  const fresh = rows.map(row => ({ seq: row.seq, hash: (prev = chainHash(prev, row)) }))
  const changed = fresh.filter(({ hash }, i) => hash !== rows[i]!.hash)
  yield* ask(tables.setHashes(session.key, changed))
  yield* ask(tables.addEvent(session.key, recordOf(one, prev, work)))
}

function recordOf({ changes, head, link }: Affected, prev: string, { removal: { at, by }, salt }: Work) {
  const texts = new Map<string, RedactedText>(changes.flatMap(change => change.texts.map(text => [text.hash, text])))
  const event = {
    type: 'redact' as const,
    by,
    kinds: kindsOf(changes),
    from: changes.reduce((first, { seq }) => Math.min(first, seq), head.seq),
    events: head.seq + 1,
    head: head.hash,
    salt,
    texts: [...texts.values()],
    link,
  }
  return encodeEvent(event, { prev, seq: head.seq + 1, at })
}

function* rowsOf(tables: FamilyTables, session: FamilySession): Steps<(StoredEvent & { key: number })[]> {
  const rows: (StoredEvent & { key: number })[] = []
  for (const { key, first, upTo } of yield* partsOf(tables, session))
    for (const row of yield* ask(tables.events(key, first, upTo))) rows.push({ ...row, key })
  return rows
}

/** The rows of a session, grouped by the session that holds them, oldest first. */
function* partsOf(tables: FamilyTables, { key, parent, forkSeq }: FamilySession): Steps<Part[]> {
  const own = { key, first: forkSeq + 1, upTo: LAST_SEQ }
  if (parent === null) return [own]
  const above = yield* partsOf(tables, yield* ask(tables.sessionOf(parent)))
  const shared = above.filter(({ first }) => first <= forkSeq)
  return [...shared.map(part => ({ ...part, upTo: Math.min(part.upTo, forkSeq) })), own]
}

function* decoded(tables: FamilyTables, body: string): Steps<Event> {
  const hashes = referencesIn(body)
  if (hashes.length === 0) return decodeEvent(body, new Map())
  const contents = yield* ask(tables.contents(hashes))
  return decodeEvent(body, new Map([...contents].filter(([hash, text]) => contentHash(text) === hash)))
}

function kindsOf(changes: readonly Change[]): Record<string, number> {
  const kinds: Record<string, number> = {}
  for (const kind of changes.flatMap(change => change.kinds)) kinds[kind] = (kinds[kind] ?? 0) + 1
  return kinds
}
