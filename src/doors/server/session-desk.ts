/**
 * Sessions as callers of the server may have them: open ones are kept for a while, and each belongs to a user.
 *
 * Where tokens are used, a user and their agents see that user's sessions and no others: another's session is
 * answered as one that is not there. A session that was made without a token belongs to nobody and is for admins.
 */

import { isPalimpsestError, PalimpsestError } from '../../model/errors.ts'
import type { OpenOptions, Palimpsest, SessionInfo } from '../../session/engine.ts'
import type { Session } from '../../session/session.ts'
import type { EventHub } from './event-hub.ts'
import type { Caller } from './gate.ts'
import type { ServerStore } from './server-store.ts'

/** Opening reads the ledger, so that the sessions in use stay open. */
const KEPT_OPEN = 32
/** How many rows of the list are read at once while looking for those of one user. */
const BATCH = 500

export type OwnedSession = SessionInfo & { owner: string | null }

export class SessionDesk {
  readonly #pal: Palimpsest
  readonly #store: ServerStore
  readonly #hub: EventHub
  readonly #open = new Map<string, Promise<Session>>()
  /** The length at which each session was last told of. */
  readonly #told = new Map<string, number>()

  constructor(pal: Palimpsest, store: ServerStore, hub: EventHub) {
    this.#pal = pal
    this.#store = store
    this.#hub = hub
  }

  maySee(caller: Caller, session: string): boolean {
    return caller.role === 'admin' || (caller.user !== undefined && this.#store.ownerOf(session) === caller.user)
  }

  /** A session that exists and that the caller may have, with all that others have written to it. */
  async open(caller: Caller, id: string): Promise<Session> {
    if (!this.maySee(caller, id)) throw notFound(id)
    const session = await this.#kept(id)
    await session.view({ plan: false })
    return session
  }

  /** Makes a session for the caller; `owner` is for admins. */
  async create(caller: Caller, id: string, options: OpenOptions & { owner?: string | undefined }): Promise<Session> {
    const { owner = caller.user, ...rest } = options
    if (await this.#exists(id)) {
      throw new PalimpsestError('ALREADY', `There is a session ${id} already. Choose another name.`, { session: id })
    }
    const session = await this.#pal.session(id, rest)
    if (owner !== undefined) this.#store.setOwner(id, owner)
    this.#keep(id, Promise.resolve(session))
    return session
  }

  /** A session made from another belongs to the same user. */
  inherit(from: string, to: string): void {
    const owner = this.#store.ownerOf(from)
    if (owner !== undefined) this.#store.setOwner(to, owner)
  }

  ownerOf(id: string): string | null {
    return this.#store.ownerOf(id) ?? null
  }

  /** What the list says of one session. */
  find(id: string): Promise<SessionInfo | undefined> {
    return this.#pal.find(id)
  }

  /** The caller's sessions, the last used first. */
  async list(
    caller: Caller,
    { limit, after, contains }: { limit: number; after?: string; contains?: string | undefined },
  ): Promise<OwnedSession[]> {
    if (after !== undefined && !(this.maySee(caller, after) && (await this.#exists(after)))) {
      throw new PalimpsestError('NOT_FOUND', 'The list has no such place any more. Start again without a cursor.')
    }
    const found: OwnedSession[] = []
    for await (const info of this.#rows({ ...(contains ? { contains } : {}), ...(after ? { after } : {}) })) {
      if (!this.maySee(caller, info.id)) continue
      found.push({ ...info, owner: this.ownerOf(info.id) })
      if (found.length >= limit) break
    }
    return found
  }

  /** Tells listeners of the sessions that were written to since the last look, by whomever. */
  async look(): Promise<void> {
    const first = this.#told.size === 0
    for (const { id, length, updatedAt } of await this.#pal.sessions({ limit: BATCH })) {
      const known = this.#told.get(id)
      this.#told.set(id, length)
      if (!first && known !== length) this.#hub.publish({ type: 'session.changed', session: id, length, at: updatedAt })
    }
  }

  async *#rows(options: { contains?: string; after?: string }): AsyncGenerator<SessionInfo> {
    let { after } = options
    for (;;) {
      const rows = await this.#pal.sessions({ ...options, limit: BATCH, ...(after === undefined ? {} : { after }) })
      yield* rows
      if (rows.length < BATCH) return
      after = rows.at(-1)!.id
    }
  }

  async #exists(id: string): Promise<boolean> {
    try {
      await this.#kept(id)
      return true
    } catch (error) {
      if (isPalimpsestError(error) && error.code === 'SESSION_NOT_FOUND') return false
      throw error
    }
  }

  #kept(id: string): Promise<Session> {
    const known = this.#open.get(id)
    return this.#keep(id, known ?? this.#pal.session(id, { mustExist: true }))
  }

  /** The most recently used ones stay; one that cannot be opened is not remembered. */
  #keep(id: string, opening: Promise<Session>): Promise<Session> {
    this.#open.delete(id)
    this.#open.set(id, opening)
    opening.catch(() => this.#open.delete(id))
    if (this.#open.size > KEPT_OPEN) this.#open.delete(this.#open.keys().next().value!)
    return opening
  }
}

function notFound(id: string): PalimpsestError {
  return new PalimpsestError('SESSION_NOT_FOUND', `There is no session ${id}.`, { session: id })
}
