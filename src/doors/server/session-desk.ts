/**
 * Sessions as callers of the server may use them: open ones are kept for a while, and each belongs to a user.
 *
 * A user and their agents have that user's sessions and no others, under names of their own: another user's session
 * does not exist for them, and its name is free. Admins have the whole home. There a user's session is called
 * `@user/name`, and a session without an owner has its plain name.
 */

import type { SessionChange } from '../../ledger/announced.ts'
import { ledgerId, ownerIn } from '../../ledger/owners.ts'
import { isPalimpsestError, PalimpsestError } from '../../model/errors.ts'
import { Remembered } from '../../model/remembered.ts'
import type { OpenOptions, Palimpsest, SessionInfo } from '../../session/engine.ts'
import type { Session } from '../../session/session.ts'
import { Catalogue } from './catalogue.ts'
import type { EventHub } from './event-hub.ts'
import type { Caller } from './gate.ts'
import type { LiveEvent } from './live-event.ts'

/**
 * The number of entries, in all sessions together, up to which sessions stay open, because opening one reads its
 * ledger.
 */
const MAX_ENTRIES_OPEN = 30_000
/** The cost of an open session besides its entries, counted in entries. */
const ENTRIES_PER_SESSION = 10
/** Users whose lists of sessions are kept. */
const KEPT_CATALOGUES = 32
/** The number of sessions that are checked for changes by other processes. */
const BATCH = 500

export type OwnedSession = Omit<SessionInfo, 'owner'> & { owner: string | null }

type KeptSession = { opening: Promise<Session>; createdAt?: number; entries: number }

export class SessionDesk {
  readonly #pal: Palimpsest
  readonly #hub: EventHub
  readonly #clock: () => number
  readonly #open = new Map<string, KeptSession>()
  /** By user; the whole home is under undefined. */
  readonly #catalogues = new Remembered<string | undefined, Catalogue>(KEPT_CATALOGUES)
  /** The length of each session in its last event to listeners. */
  readonly #told = new Map<string, number>()
  #looked = false

  constructor(pal: Palimpsest, hub: EventHub, clock: () => number) {
    this.#pal = pal
    this.#clock = clock
    this.#hub = hub
  }

  /** The home as the caller sees it. */
  of({ role, owner }: Caller): Palimpsest {
    if (role === 'admin') return this.#pal
    if (owner === undefined) throw new PalimpsestError('FORBIDDEN', 'Sessions need a user, and this caller has none.')
    return this.#pal.of(owner)
  }

  /** The ledger's id of a session that the caller names. */
  idOf({ owner }: Caller, name: string): string {
    return ledgerId(owner, name)
  }

  /** The caller's name for a session id of the ledger; undefined if the caller may not see the session. */
  nameFor(caller: Caller, id: string): string | undefined {
    if (caller.role === 'admin') return id
    const { owner, name } = ownerIn(id)
    return owner !== undefined && owner === caller.owner ? name : undefined
  }

  /** An existing session that the caller may use, with everything that others have written to it. */
  async open(caller: Caller, name: string): Promise<Session> {
    const { session, length } = await this.#kept(caller, name)
    await session.view({ plan: false, length })
    return session
  }

  /** Creates a session for the caller; `owner` is for admins. */
  async create(caller: Caller, name: string, options: OpenOptions & { owner?: string }): Promise<Session> {
    const { owner, ...rest } = options
    const id = caller.role === 'admin' ? ledgerId(owner, name) : name
    if (await this.#exists(caller, id)) {
      throw new PalimpsestError('ALREADY', `The session ${id} already exists. Choose another name.`, { session: id })
    }
    return this.#keep(caller, id, { opening: this.of(caller).session(id, rest), entries: ENTRIES_PER_SESSION })
  }

  /** The list's row for one session of the caller. */
  async find(caller: Caller, name: string): Promise<OwnedSession | undefined> {
    const info = await this.of(caller).find(name)
    return info && withOwner(info)
  }

  /** The caller's sessions, the most recently used first. */
  async list(
    caller: Caller,
    { limit, after, contains }: { limit: number; after?: string; contains?: string },
  ): Promise<OwnedSession[]> {
    const pal = this.of(caller)
    if (after !== undefined && !(await pal.find(after))) {
      throw new PalimpsestError('NOT_FOUND', 'This cursor is no longer valid. Start again without a cursor.')
    }
    return (await pal.sessions({ limit, contains, after })).map(withOwner)
  }

  /** Sessions that were opened under the old configuration are opened again when they are next used. */
  reopen(): void {
    this.#open.clear()
  }

  /** All sessions of the caller, in no order. */
  async all(caller: Caller): Promise<OwnedSession[]> {
    const whose = caller.role === 'admin' ? undefined : caller.owner
    const catalogue = this.#catalogues.get(whose) ?? new Catalogue(this.of(caller), this.#clock)
    this.#catalogues.set(whose, catalogue)
    return (await catalogue.all()).map(withOwner)
  }

  /** Processes an event of another server. */
  heard(event: LiveEvent): void {
    if (event.type !== 'session.changed' || this.#told.get(event.session) === event.length) return
    this.#note(event.session, event.length)
  }

  /** Sends an event for a session that this process wrote to. */
  tell({ session, what, length, at }: SessionChange): void {
    if (what === 'redacted' || what === 'removed') this.#forget(session)
    this.#note(session, length)
    this.#hub.publish({ type: 'session.changed', session, length, at })
  }

  #note(session: string, length: number): void {
    const { owner, name } = ownerIn(session)
    this.#catalogues.get(undefined)?.note(session)
    if (owner !== undefined) this.#catalogues.get(owner)?.note(name)
    this.#told.set(session, length)
  }

  /** Sends events for the sessions that other processes wrote to since the last call. */
  async look(): Promise<void> {
    const first = !this.#looked
    this.#looked = true
    for (const { id, length, updatedAt } of await this.#pal.sessions({ limit: BATCH })) {
      const known = this.#told.get(id)
      this.#told.set(id, length)
      if (!first && known !== length) this.#hub.publish({ type: 'session.changed', session: id, length, at: updatedAt })
    }
  }

  /** Drops an open session that was redacted or removed: a new one of the same name would be another session. */
  #forget(id: string): void {
    const { owner, name } = ownerIn(id)
    this.#open.delete(`home ${id}`)
    this.#open.delete(`user ${ledgerId(owner, name)}`)
  }

  async #exists(caller: Caller, name: string): Promise<boolean> {
    try {
      await this.#kept(caller, name)
      return true
    } catch (error) {
      if (isPalimpsestError(error) && error.code === 'SESSION_NOT_FOUND') return false
      throw error
    }
  }

  async #kept(caller: Caller, name: string): Promise<{ session: Session; length: number }> {
    const pal = this.of(caller)
    const info = await pal.mustFind(name)
    const known = this.#open.get(keyOf(caller, name))
    // Another process may have removed the session and made another one of that name.
    const isSame = known && (known.createdAt ?? info.createdAt) === info.createdAt
    const opening = isSame ? known.opening : pal.session(name, { mustExist: true })
    const session = await this.#keep(caller, name, {
      opening,
      createdAt: info.createdAt,
      entries: ENTRIES_PER_SESSION + info.length,
    })
    return { session, length: info.length }
  }

  /** Keeps the most recently used sessions; one that cannot be opened is not kept. */
  #keep(caller: Caller, name: string, kept: KeptSession): Promise<Session> {
    const key = keyOf(caller, name)
    this.#open.delete(key)
    this.#open.set(key, kept)
    let all = 0
    for (const { entries } of this.#open.values()) all += entries
    for (const [oldest, { entries }] of this.#open) {
      if (all <= MAX_ENTRIES_OPEN || oldest === key) break
      this.#open.delete(oldest)
      all -= entries
    }
    kept.opening.catch(() => this.#open.delete(key))
    return kept.opening
  }
}

/** A session has two keys: its name for its user, and its full name for admins. */
function keyOf({ role, owner }: Caller, name: string): string {
  return role === 'admin' ? `home ${name}` : `user ${ledgerId(owner, name)}`
}

function withOwner({ owner, ...info }: SessionInfo): OwnedSession {
  return { ...info, owner: owner ?? null }
}
