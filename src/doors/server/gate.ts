/**
 * The checks before every route, mounted ones included: who calls, and what they may do. same-site.ts has the checks of
 * Host and Origin. No check relies on cookies: there are none.
 */
import { PalimpsestError } from '../../model/errors.ts'
import type { Asked, Names } from '../proxy/same-site.ts'
import { forbidden } from './refusals.ts'
import type { Role, ServerStore } from './server-store.ts'

/** The caller. Without tokens it is the local user, who may do everything. */
export type Caller = {
  /** The id of the token, or `local`. */
  id: string
  role: Role
  user: string | undefined
  /** The owner of the sessions that the caller may use; undefined for an admin, who may use the whole home. */
  owner: string | undefined
  name: string
}

export const LOCAL: Caller = { id: 'local', role: 'admin', user: undefined, owner: undefined, name: '' }

/** The caller of a public route, who may see no user's data. */
export const NOBODY: Caller = { id: 'nobody', role: 'agent', user: undefined, owner: undefined, name: '' }

export type GateOptions = Names & {
  store: ServerStore
  requireToken: boolean
  clock: () => number
}

export type Credentials = {
  /** The caller's `Authorization` is for another service (a provider behind a proxy): only our own header counts. */
  foreignAuthorization?: boolean | 'unless-ours'
}

/** Every token of ours begins with this. */
const OURS = /^Bearer +pal_/i

/** The token's owner; without a token the local user, if that is allowed. */
export async function authenticate(
  request: Asked,
  options: GateOptions,
  credentials: Credentials = {},
): Promise<Caller> {
  const shown = shownToken(request, credentials)
  if (shown === undefined) {
    if (!options.requireToken) return LOCAL
    throw new PalimpsestError('UNAUTHORIZED', 'Send a token: Authorization: Bearer pal_… (palimpsest token create).')
  }
  const token = await options.store.findToken(shown, options.clock())
  if (!token) throw new PalimpsestError('UNAUTHORIZED', 'This token is not known, or it was revoked.')
  const { id, role, user, name } = token
  return { id, role, user, owner: role === 'admin' ? undefined : user, name }
}

/** For streams: whether the caller's token was revoked since. An unreachable store ends no stream. */
export async function isRevoked(store: ServerStore, { id }: Caller): Promise<boolean> {
  if (id === LOCAL.id) return false
  return store.token(id).then(
    token => token?.revokedAt !== null,
    () => false,
  )
}

export function checkRole({ role }: Caller, roles: readonly Role[]): void {
  if (roles.includes(role)) return
  throw forbidden(`A token with the role ${role} may not do this: it is for ${roles.join(' and ')}.`, { roles })
}

/** An admin may act for every user; any other token only for its own user. */
export function mayActFor(caller: Caller, user: string): boolean {
  return caller.role === 'admin' || caller.user === user
}

function shownToken({ headers }: Asked, { foreignAuthorization }: Credentials): string | undefined {
  const own = headers.get('x-palimpsest-token')
  if (own !== null) return own.trim()
  const authorization = headers.get('authorization')
  if (authorization === null || foreignAuthorization === true) return undefined
  if (foreignAuthorization === 'unless-ours' && !OURS.test(authorization.trim())) return undefined
  return /^Bearer +(\S+)$/i.exec(authorization.trim())?.[1] ?? ''
}
