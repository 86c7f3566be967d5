/**
 * The owner of a session. The id in the ledger names it: `@user/name` for a user's session, the name alone for a
 * session of the home itself. This is the only place that makes or reads such ids.
 *
 * `ownedBy` gives a store with one user's sessions, under their own names. It never finds or creates anything that
 * belongs to another user. So each user has a namespace, and no door can mix them up.
 */

import { createHash } from 'node:crypto'
import { basename, join } from 'node:path'
import type { Scope } from '../recall/index.ts'
import { earlyOf, type LedgerStore, type SessionRow } from './store.ts'
import type { Tombstone } from './tombstones.ts'

const OWNED = /^@([^/]+)\/(.+)$/s

/** The id in the ledger for a name that an owner uses. */
export function ledgerId(owner: string | undefined, name: string): string {
  return owner === undefined ? name : prefixOf(owner) + name
}

export function ownerIn(id: string): { owner: string | undefined; name: string } {
  const [, user, name = id] = OWNED.exec(id) ?? []
  if (user === undefined) return { owner: undefined, name }
  return { owner: user.replaceAll('%2F', '/').replaceAll('%25', '%'), name }
}

/**
 * The folder in a home for a user's files beside the ledger. No two users share one, not even where file names that
 * differ only in case are the same: capitals are encoded.
 */
export function userFolder(home: string, user: string): string {
  const name = formerName(user).replace(/%..|[A-Z]/g, found => (found.length > 1 ? found : percent(found)))
  return join(home, 'users', name.length <= LONGEST_FOLDER ? name : createHash('sha256').update(user).digest('hex'))
}

/** Earlier versions did not encode capitals. */
function formerName(user: string): string {
  return encodeURIComponent(user).replace(/[.*]/g, percent)
}

function percent(char: string): string {
  return `%${char.charCodeAt(0).toString(16).toUpperCase()}`
}

/**
 * The user whose folder has this name, or had it in an earlier version; undefined for a hash, or for a name that we
 * never give.
 */
export function userOfFolder(name: string): string | undefined {
  try {
    const user = decodeURIComponent(name)
    const isFormer = name === formerName(user) && name.length <= LONGEST_FOLDER
    return isFormer || basename(userFolder('.', user)) === name ? user : undefined
  } catch {
    return undefined
  }
}

/** File systems allow 255 bytes; a name of 100 characters can need nine bytes for each. */
const LONGEST_FOLDER = 200

/** The prefix of an owner's session ids, from an id or the beginning of one; empty for the home's own sessions. */
export function ownerPrefix(id: string): string {
  return /^@[^/]*\//.exec(id)?.[0] ?? ''
}

function prefixOf(owner: string): string {
  return `@${owner.replaceAll('%', '%25').replaceAll('/', '%2F')}/`
}

export function ownedBy(owner: string, store: LedgerStore): LedgerStore {
  const prefix = prefixOf(owner)
  const whole = (name: string) => prefix + name
  const own = (id: string) => (id.startsWith(prefix) ? id.slice(prefix.length) : id)
  const ownRow = ({ parent, ...row }: SessionRow): SessionRow => ({
    ...row,
    id: own(row.id),
    ...(parent ? { parent: { ...parent, id: own(parent.id) } } : {}),
  })
  const ownTombstone = (tombstone: Tombstone): Tombstone => ({ ...tombstone, session: own(tombstone.session) })
  const ownScope = (scope: Scope): Scope => {
    if (scope === 'all') return { prefix, among: id => id.startsWith(prefix) }
    if ('session' in scope) return { session: whole(scope.session) }
    return { prefix, among: id => id.startsWith(prefix) && scope.among(own(id)) }
  }
  return {
    async open(name, { parent, ...init }) {
      const from = parent ? { parent: { ...parent, id: whole(parent.id) } } : {}
      return ownRow(await store.open(whole(name), { ...init, ...from }))
    },
    async find(name) {
      const row = await store.find(whole(name))
      return row && ownRow(row)
    },
    async list({ after, prefix: beginning = '', ...options } = {}) {
      const behind = after === undefined ? {} : { after: whole(after) }
      return (await store.list({ ...options, ...behind, prefix: prefix + beginning })).map(ownRow)
    },
    setMeta: (name, meta) => store.setMeta(whole(name), meta),
    append: (name, rows) => store.append(whole(name), rows),
    read: (name, options) => store.read(whole(name), options),
    contents: hashes => store.contents(hashes),
    async remove(names, removal) {
      return (await store.remove(names.map(whole), removal)).map(ownTombstone)
    },
    async redact(names, what, removal) {
      const redacted = await store.redact(names.map(whole), what, removal)
      return redacted.map(one => ({ ...one, session: own(one.session) }))
    },
    scrub: () => store.scrub(),
    async tombstones(from) {
      return (await store.tombstones(from)).filter(({ session }) => session.startsWith(prefix)).map(ownTombstone)
    },
    async index(scope) {
      const index = await store.index(ownScope(scope))
      const places: typeof index.places = async documents =>
        (await index.places(documents)).map(place => place && { ...place, session: own(place.session) })
      return { ...index, places }
    },
    close: () => store.close(),
    ...earlyOf(store, inner => ownedBy(owner, inner)),
  }
}
