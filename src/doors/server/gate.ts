/**
 * The checks before every route, mounted ones included.
 *
 * Host: only the allowed names of this server, so that a page with a name that points to this machine (DNS rebinding)
 * gets nothing. Origin: only the server's own pages, so that no other site can write or read through a visitor's
 * browser; there is no CORS. No check relies on cookies: there are none.
 */
import { isIP } from 'node:net'
import { PalimpsestError } from '../../model/errors.ts'
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

export type GateOptions = {
  store: ServerStore
  requireToken: boolean
  /** Further names of this server besides the loopback ones, without a port. */
  hosts: readonly string[]
  /** Whether any IP address is allowed as a Host: true if the server listens beyond loopback. */
  anyAddress: boolean
  clock: () => number
}

/** The parts of a request that the gate checks. */
export type Asked = Pick<Request, 'url' | 'method'> & { headers: Pick<Headers, 'get'> }

const LOOPBACK_NAMES = new Set(['localhost', '127.0.0.1', '[::1]'])

export function isLoopback(host: string): boolean {
  return LOOPBACK_NAMES.has(host) || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
}

export function checkHost(request: Asked, { hosts, anyAddress }: Pick<GateOptions, 'hosts' | 'anyAddress'>): void {
  const named = [new URL(request.url).host, request.headers.get('host') ?? '']
  for (const host of named) if (host !== '' && !isAllowed(host)) throw unknownHost(host)

  function isAllowed(host: string): boolean {
    const name = nameIn(host)
    if (name === '') return false
    if (isLoopback(name) || hosts.includes(name)) return true
    return anyAddress && isIP(name.replace(/^\[|\]$/g, '')) !== 0
  }
}

/** Pages of other sites can neither write nor read. A link to a page of ours may be followed. */
export function checkOrigin(request: Asked): void {
  const origin = request.headers.get('origin')
  const own = request.headers.get('host') ?? new URL(request.url).host
  if (origin !== null && hostOf(origin) !== own) {
    throw forbidden('Pages of other sites may not use this server.', { origin })
  }
  const site = request.headers.get('sec-fetch-site')
  if (site === null || site === 'same-origin' || site === 'none') return
  const isLink = request.method === 'GET' && request.headers.get('sec-fetch-mode') === 'navigate'
  if (!isLink) throw forbidden('Pages of other sites may not use this server.', { site })
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

/** The name without its port; empty if it is not a valid host. */
function nameIn(host: string): string {
  const [, name = ''] = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i.exec(host) ?? []
  return name.toLowerCase().replace(/\.$/, '')
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined
}

function unknownHost(host: string): PalimpsestError {
  return forbidden('This server does not accept that host name. Start it with --allow-host NAME to allow it.', { host })
}
