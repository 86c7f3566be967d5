/**
 * Redacting sessions of a SQLite ledger, within one transaction.
 *
 * A fork shares the rows of its parent, so a row that is changed is changed for all. Then the chains of all sessions that
 * hold a changed row are computed anew, parents first, and each gets an event that says so: whoever has the session
 * open finds that event when he appends, and reads it again.
 */
import { randomBytes } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { parseJson } from '../model/json.ts'
import { chainHash, contentHash, decodeEvent, encodeEvent, referencesIn } from './codec.ts'
import type { SqlValue } from './database.ts'
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
import { dropContents, findSession, headOf, type Session, sessionsIn } from './sqlite-family.ts'
import { idOf, SESSION_SIZE, type SqliteIndex } from './sqlite-index.ts'
import type { Removal } from './tombstones.ts'

type Change = EventChange & { key: number; seq: number; at: number; old: string }
type Affected = { session: Session; changes: Change[]; head: { seq: number; hash: string }; link: string }

/** The sessions that hold something that was changed, and the keys of those to be indexed anew. */
export function redactSessions(
  db: DatabaseSync,
  index: SqliteIndex,
  ids: readonly string[],
  options: { what: ToRedact; removal: Removal },
): { redacted: Redacted[]; keys: number[] } {
  return new SqliteRedaction(db, options).redact(index, ids)
}

class SqliteRedaction {
  readonly #db: DatabaseSync
  readonly #what: ToRedact
  readonly #removal: Removal
  readonly #salt = randomBytes(16).toString('hex')

  constructor(db: DatabaseSync, { what, removal }: { what: ToRedact; removal: Removal }) {
    this.#db = db
    this.#what = what
    this.#removal = removal
  }

  redact(index: SqliteIndex, ids: readonly string[]): { redacted: Redacted[]; keys: number[] } {
    const changes = new Map<string, Change>()
    for (const id of new Set(ids)) {
      const session = findSession(this.#db, id)
      if (!session) continue
      this.#redactMeta(session)
      for (const change of this.#changesIn(session)) changes.set(`${change.key}.${change.seq}`, change)
    }
    const affected = this.#affectedBy([...changes.values()])
    for (const { session } of affected) this.#redactMeta(session)
    for (const change of changes.values()) this.#rewrite(change)
    const done = new Set<number>()
    for (const one of affected)
      this.#rechain(one.session, new Map(affected.map(other => [other.session.key, other])), done)
    dropContents(this.#db, new Set([...changes.values()].flatMap(({ old }) => referencesIn(old))))
    const keys = [...new Set([...changes.values()].map(({ key }) => key))]
    if (keys.length > 0) index.forget(keys)
    return {
      redacted: affected.map(one => ({
        session: one.session.id,
        changed: one.changes.length,
        kinds: kindsOf(one.changes),
      })),
      keys,
    }
  }

  /** What a session is called. */
  #redactMeta({ key }: Session): void {
    const [row] = this.#all('SELECT meta FROM sessions WHERE key = ?', [key])
    const before = String(row!['meta'])
    const meta = JSON.stringify(withTexts(parseJson(before), text => covered(text, placesIn(text, this.#what))))
    if (meta !== before) this.#run('UPDATE sessions SET meta = ? WHERE key = ?', [meta, key])
  }

  *#changesIn(session: Session): Generator<Change> {
    for (const { key, seq, at, body } of this.#rows(session)) {
      const change = redactEvent(this.#decoded(body), this.#what, this.#salt)
      if (change) yield { ...change, key, seq, at, old: body }
    }
  }

  /** Every session that holds one of the changed rows, with where its chain ended and what its client has. */
  #affectedBy(changes: readonly Change[]): Affected[] {
    if (changes.length === 0) return []
    return sessionsIn(this.#db).flatMap(session => {
      const own = changes.filter(({ key, seq }) =>
        this.#segments(session).some(part => part.key === key && seq <= part.upTo),
      )
      if (own.length === 0) return []
      const events = [...this.#rows(session)].map(({ body }) => ({ event: this.#decoded(body) }))
      return [{ session, changes: own, head: headOf(this.#db, session), link: lastLink(events) ?? '' }]
    })
  }

  #rewrite({ event, key, seq, at }: Change): void {
    const { body, light, contents } = encodeEvent(event, { prev: '', seq, at })
    for (const [hash, text] of contents ?? [])
      this.#run('INSERT INTO contents (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING', [hash, text])
    this.#run('UPDATE events SET body = ?, light = ? WHERE id = ?', [body, light, idOf(key, seq)])
  }

  #rechain(session: Session, affected: ReadonlyMap<number, Affected>, done: Set<number>): void {
    const one = affected.get(session.key)
    if (!one || done.has(session.key)) return
    done.add(session.key)
    const parent = session.parent === null ? undefined : sessionsIn(this.#db).find(({ key }) => key === session.parent)
    if (parent) this.#rechain(parent, affected, done)
    let prev = headOf(this.#db, { ...session, key: -1 }).hash
    const range = [idOf(session.key, 0), idOf(session.key, SESSION_SIZE - 1)]
    for (const row of this.#all('SELECT * FROM events WHERE id BETWEEN ? AND ? ORDER BY id', range)) {
      const seq = Number(row['id']) % SESSION_SIZE
      const { type, light, body } = {
        type: String(row['type']),
        light: String(row['light']),
        body: String(row['body']),
      }
      prev = chainHash(prev, { seq, at: Number(row['at']), type, light, body })
      if (prev !== row['hash']) this.#run('UPDATE events SET hash = ? WHERE id = ?', [prev, Number(row['id'])])
    }
    this.#record(one, prev)
  }

  #record({ session, changes, head, link }: Affected, prev: string): void {
    const { at, by } = this.#removal
    const texts = new Map<string, RedactedText>(changes.flatMap(change => change.texts.map(text => [text.hash, text])))
    const from = Math.min(...changes.map(({ seq }) => seq))
    const event = {
      ...{ type: 'redact' as const, by, kinds: kindsOf(changes), from, events: head.seq + 1, head: head.hash },
      ...{ salt: this.#salt, texts: [...texts.values()], link },
    }
    const row = encodeEvent(event, { prev, seq: head.seq + 1, at })
    for (const [hash, text] of row.contents ?? [])
      this.#run('INSERT INTO contents (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING', [hash, text])
    this.#run('INSERT INTO events (id, type, at, hash, light, body) VALUES (?, ?, ?, ?, ?, ?)', [
      ...[idOf(session.key, row.seq), row.type, at, row.hash, row.light, row.body],
    ])
  }

  *#rows(session: Session): Generator<{ key: number; seq: number; at: number; body: string }> {
    for (const { key, first, upTo } of this.#segments(session)) {
      const range = [idOf(key, first), idOf(key, upTo)]
      for (const row of this.#all('SELECT id, at, body FROM events WHERE id BETWEEN ? AND ? ORDER BY id', range))
        yield { key, seq: Number(row['id']) % SESSION_SIZE, at: Number(row['at']), body: String(row['body']) }
    }
  }

  /** The rows of a session by whose they are, the oldest first. */
  #segments({ key, parent, forkSeq }: Session): { key: number; first: number; upTo: number }[] {
    const own = { key, first: forkSeq + 1, upTo: SESSION_SIZE - 1 }
    const above = parent === null ? undefined : sessionsIn(this.#db).find(session => session.key === parent)
    if (!above) return [own]
    const shared = this.#segments(above).filter(({ first }) => first <= forkSeq)
    return [...shared.map(part => ({ ...part, upTo: Math.min(part.upTo, forkSeq) })), own]
  }

  #decoded(body: string) {
    const contents = new Map<string, string>()
    for (const hash of referencesIn(body)) {
      const [row] = this.#all('SELECT text FROM contents WHERE hash = ?', [hash])
      if (row && contentHash(String(row['text'])) === hash) contents.set(hash, String(row['text']))
    }
    return decodeEvent(body, contents)
  }

  #run(sql: string, values: SqlValue[]): void {
    this.#db.prepare(sql).run(...values)
  }

  #all(sql: string, values: SqlValue[] = []): Record<string, unknown>[] {
    return this.#db.prepare(sql).all(...values)
  }
}

function kindsOf(changes: readonly Change[]): Record<string, number> {
  const kinds: Record<string, number> = {}
  for (const kind of changes.flatMap(change => change.kinds)) kinds[kind] = (kinds[kind] ?? 0) + 1
  return kinds
}
