/**
 * Sessions as callers of the server may have them: open ones are kept for a while, and each belongs to a user.
 *
 * A user and their agents have that user's sessions and no others, under names of their own: another's session is not
 * there for them, and its name is free. Admins have all of the home; there a user's session is called `@user/name`, and
 * what belongs to nobody by its name alone.
 */

import type { SessionChange } from '../../ledger/announced.ts'
import { ledgerId, ownerIn } from '../../ledger/owners.ts'
import { isPalimpsestError, PalimpsestError } from '../../model/errors.ts'
import type { OpenOptions, Palimpsest, SessionInfo } from '../../session/engine.ts'
import type { Session } from '../../session/session.ts'
import type { EventHub } from './event-hub.ts'
import type { Caller } from './gate.ts'

/** Opening reads the ledger, so that the sessions in use stay open. */
const KEPT_OPEN = 32
/** How many sessions are looked at for news. */
const BATCH = 500

export type OwnedSession = Omit<SessionInfo, 'owner'> & { owner: string | null }

export class SessionDesk {
  readonly #pal: Palimpsest
  readonly #hub: EventHub
  readonly #open = new Map<string, Promise<Session>>()
  /** The length at which each session was last told of. */
  readonly #told = new Map<string, number>()
  #looked = false

  constructor(pal: Palimpsest, hub: EventHub) {
    this.#pal = pal
    this.#hub = hub
  }

  /** The home as the caller has it. */
  of({ role, owner }: Caller): Palimpsest {
    if (role === 'admin') return this.#pal
    if (owner === undefined) throw new PalimpsestError('FORBIDDEN', 'Sessions are for those who are somebody.')
    return this.#pal.of(owner)
  }

  /** The id in the ledger of what the caller calls so. */
  idOf({ owner }: Caller, name: string): string {
    return ledgerId(owner, name)
  }

  /** What the caller calls the session of that id in the ledger; nothing where it is not for them. */
  nameFor(caller: Caller, id: string): string | undefined {
    if (caller.role === 'admin') return id
    const { owner, name } = ownerIn(id)
    return owner !== undefined && owner === caller.owner ? name : undefined
  }

  /** A session that exists and that the caller may have, with all that others have written to it. */
  async open(caller: Caller, name: string): Promise<Session> {
    const session = await this.#kept(caller, name)
    await session.view({ plan: false })
    return session
  }

  /** Makes a session for the caller; `owner` is for admins. */
  async create(caller: Caller, name: string, options: OpenOptions & { owner?: string | undefined }): Promise<Session> {
    const { owner, ...rest } = options
    const id = caller.role === 'admin' ? ledgerId(owner, name) : name
    if (await this.#exists(caller, id)) {
      throw new PalimpsestError('ALREADY', `There is a session ${id} already. Choose another name.`, { session: id })
    }
    return this.#keep(caller, id, this.of(caller).session(id, rest))
  }

  /** What the list says of one session of the caller. */
  async find(caller: Caller, name: string): Promise<OwnedSession | undefined> {
    const info = await this.of(caller).find(name)
    return info && withOwner(info)
  }

  /** The caller's sessions, the last used first. */
  async list(
    caller: Caller,
    { limit, after, contains }: { limit: number; after?: string; contains?: string | undefined },
  ): Promise<OwnedSession[]> {
    const pal = this.of(caller)
    if (after !== undefined && !(await pal.find(after))) {
      throw new PalimpsestError('NOT_FOUND', 'The list has no such place any more. Start again without a cursor.')
    }
    const page = { limit, ...(contains ? { contains } : {}), ...(after ? { after } : {}) }
    return (await pal.sessions(page)).map(withOwner)
  }

  /** Tells listeners of a session that this process wrote to. */
  tell({ session, length, at }: SessionChange): void {
    if (length === 0) this.#forget(session)
    this.#told.set(session, length)
    this.#hub.publish({ type: 'session.changed', session, length, at })
  }

  /** Tells listeners of the sessions that other processes wrote to since the last look. */
  async look(): Promise<void> {
    const first = !this.#looked
    this.#looked = true
    for (const { id, length, updatedAt } of await this.#pal.sessions({ limit: BATCH })) {
      const known = this.#told.get(id)
      this.#told.set(id, length)
      if (!first && known !== length) this.#hub.publish({ type: 'session.changed', session: id, length, at: updatedAt })
    }
  }

  /** A session that was removed; one of the same name would be another. */
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

  #kept(caller: Caller, name: string): Promise<Session> {
    const known = this.#open.get(keyOf(caller, name))
    return this.#keep(caller, name, known ?? this.#opened(caller, name))
  }

  async #opened(caller: Caller, name: string): Promise<Session> {
    const pal = this.of(caller)
    if (await pal.find(name)) return pal.session(name, { mustExist: true })
    throw new PalimpsestError('SESSION_NOT_FOUND', `There is no session ${name}.`, { session: name })
  }

  /** The most recently used ones stay; one that cannot be opened is not remembered. */
  #keep(caller: Caller, name: string, opening: Promise<Session>): Promise<Session> {
    const key = keyOf(caller, name)
    this.#open.delete(key)
    this.#open.set(key, opening)
    opening.catch(() => this.#open.delete(key))
    if (this.#open.size > KEPT_OPEN) this.#open.delete(this.#open.keys().next().value!)
    return opening
  }
}

/** A session is one for its user, under its name, and one for admins, under its whole name. */
function keyOf({ role, owner }: Caller, name: string): string {
  return role === 'admin' ? `home ${name}` : `user ${ledgerId(owner, name)}`
}

function withOwner({ owner, ...info }: SessionInfo): OwnedSession {
  return { ...info, owner: owner ?? null }
}
