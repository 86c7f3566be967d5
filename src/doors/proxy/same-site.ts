/**
 * Whether a request is meant for this server, and from a page of its own if it is from a page.
 *
 * Host: only the allowed names of this server, so that a page with a name that points to this machine (DNS rebinding)
 * gets nothing. Origin: only the server's own pages, so that no other site can write or read through a visitor's
 * browser, not even where a provider's answer would allow it (CORS).
 */
import { isIP } from 'node:net'
import { PalimpsestError } from '../../model/errors.ts'

/** The parts of a request that are checked. */
export type Asked = Pick<Request, 'url' | 'method'> & { headers: Pick<Headers, 'get'> }

export type Names = {
  /** Further names of this server besides the loopback ones, without a port. */
  hosts: readonly string[]
  /** Whether any IP address is allowed as a Host: true if the server listens beyond loopback. */
  anyAddress: boolean
}

const LOOPBACK_NAMES = new Set(['localhost', '127.0.0.1', '[::1]'])

export function isLoopback(host: string): boolean {
  return LOOPBACK_NAMES.has(host) || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
}

export function checkHost(request: Asked, { hosts, anyAddress }: Names): void {
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
    throw foreign('Pages of other sites may not use this server.', { origin })
  }
  const site = request.headers.get('sec-fetch-site')
  if (site === null || site === 'same-origin' || site === 'none') return
  const isLink = request.method === 'GET' && request.headers.get('sec-fetch-mode') === 'navigate'
  if (!isLink) throw foreign('Pages of other sites may not use this server.', { site })
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
  return foreign('This server does not accept that host name. Start it with --allow-host NAME to allow it.', { host })
}

function foreign(message: string, data: Record<string, unknown>): PalimpsestError {
  return new PalimpsestError('FORBIDDEN', message, data)
}
