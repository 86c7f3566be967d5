/**
 * The connection to a provider: one HTTP exchange that changes nothing. Bytes, headers and query are sent unchanged,
 * except hop-by-hop headers. The answer is not decompressed, and streams with backpressure. An abort on either side
 * ends the other. Node's own `fetch` cannot do this: it decodes what it receives.
 */

import { request as httpRequest, type IncomingMessage, Agent as PlainAgent } from 'node:http'
import { request as httpsRequest, Agent as SecureAgent } from 'node:https'
import { Readable } from 'node:stream'
import { trimEndOf } from '../../model/text.ts'
import { NodeHeaders, type SomeHeaders } from './node-http.ts'

export type Upstreams = {
  /** As in ANTHROPIC_BASE_URL: without `/v1`. */
  anthropic: string
  /** As in OPENAI_BASE_URL: with `/v1`, or the provider's own path in its place. */
  openai: string
  gemini: string
}
export type UpstreamName = keyof Upstreams

export const PROVIDERS: Upstreams = {
  anthropic: 'https://api.anthropic.com',
  openai: 'https://api.openai.com/v1',
  gemini: 'https://generativelanguage.googleapis.com',
}

/** Which upstream a request is for, and the path there, from `/v1` on. */
export type Route = { upstream: UpstreamName; path: string }

const PREFIXES: Record<string, UpstreamName> = { anthropic: 'anthropic', openai: 'openai', gemini: 'gemini' }

export function routeOf({ pathname }: URL, headers: SomeHeaders): Route {
  const [, first = ''] = pathname.split('/', 2)
  const named = Object.hasOwn(PREFIXES, first) ? PREFIXES[first] : undefined
  if (named) return { upstream: named, path: pathname.slice(first.length + 1) || '/' }
  const publisher = VERTEX.exec(pathname)?.[1]
  if (publisher) return { upstream: publisher === 'anthropic' ? 'anthropic' : 'gemini', path: pathname }
  return { upstream: isForAnthropic(pathname, headers) ? 'anthropic' : 'openai', path: pathname }
}

/** Vertex AI names the model's publisher in the path. */
const VERTEX = /^\/v\d+(?:(?:alpha|beta)\d*)?\/projects\/[^/]+\/locations\/[^/]+\/publishers\/(anthropic|google)\//

function isForAnthropic(path: string, headers: SomeHeaders): boolean {
  return path.startsWith('/v1/messages') || headers.has('anthropic-version') || !path.startsWith('/v1')
}

export function upstreamUrl({ upstream, path }: Route, search: string, upstreams: Upstreams): URL {
  const base = trimEndOf(upstreams[upstream], '/')
  if (upstream === 'anthropic') return new URL(base.replace(/\/v1$/, '') + path + search)
  if (upstream === 'gemini') return new URL(base + path + search)
  const { pathname } = new URL(base)
  // Azure's paths have a version, except those of deployments.
  if (pathname === '/openai') return new URL(base + path + search)
  const root = pathname === '/' ? `${base}/v1` : base
  return new URL(root + path.replace(/^\/v1(?=\/|$)/, '') + search)
}

const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'host',
])

/** The headers that are forwarded: all except those about this connection and those meant for us. */
export function forwardHeaders(headers: SomeHeaders): Record<string, string> {
  const named = new Set((headers.get('connection') ?? '').split(',').map(name => name.trim().toLowerCase()))
  // A client may not hide where its body ends.
  named.delete('content-length')
  const kept: Record<string, string> = {}
  for (const [name] of headers) {
    if (HOP_BY_HOP.has(name) || named.has(name) || name.startsWith('x-palimpsest-')) continue
    kept[name] = headers.get(name)!
  }
  return kept
}

export type Outgoing = {
  url: URL
  method: string
  headers: Record<string, string>
  body: Uint8Array | readonly Uint8Array[] | Readable | undefined
  signal: AbortSignal
}

export type Exchange = { status: number; headers: NodeHeaders; body: IncomingMessage }

const agents = {
  'http:': new PlainAgent({ keepAlive: true }),
  'https:': new SecureAgent({ keepAlive: true }),
}

/** Rejects only if no answer came: the provider is unreachable, or the client went away. */
export async function exchange(outgoing: Outgoing): Promise<Exchange> {
  for (;;) {
    try {
      return await attempt(outgoing)
    } catch (error) {
      // The provider had closed this connection while it was idle. Nothing was answered, so the request is sent again.
      // Every such failure removes one kept connection, until a new one is used.
      if (!isStale(error) || outgoing.body instanceof Readable) throw error
    }
  }
}

/** Error codes of a connection that the other side has closed, while we wait for the answer or still write. */
const CLOSED = ['ECONNRESET', 'EPIPE', 'ECONNABORTED']

function attempt({ url, method, headers, body, signal }: Outgoing): Promise<Exchange> {
  const secure = url.protocol === 'https:'
  const agent = secure ? agents['https:'] : agents['http:']
  return new Promise((resolve, reject) => {
    const request = (secure ? httpsRequest : httpRequest)(url, { method, headers: framed(headers, body), agent })
    const abort = () => request.destroy(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    request.on('response', response => {
      resolve({ status: response.statusCode ?? 502, headers: headersOf(response), body: response })
    })
    request.on('error', error => reject(Object.assign(error, { reused: request.reusedSocket })))
    if (body instanceof Readable) body.on('error', reject).pipe(request)
    else if (body instanceof Uint8Array || body === undefined) request.end(body)
    else {
      for (const piece of body) request.write(piece)
      request.end()
    }
  })
}

/**
 * The headers, including one that says where the body ends. Without it Node sends the body of a DELETE unframed, and
 * the provider would take it for another request on a connection that all users share.
 */
function framed(headers: Outgoing['headers'], body: Outgoing['body']): Outgoing['headers'] {
  const { 'content-length': length, ...others } = headers
  if (length === undefined) return body instanceof Readable ? { ...headers, 'transfer-encoding': 'chunked' } : headers
  return body === undefined ? others : headers
}

function isStale(error: unknown): boolean {
  return (
    error instanceof Error &&
    'reused' in error &&
    error.reused === true &&
    'code' in error &&
    CLOSED.includes(String(error.code))
  )
}

function headersOf({ rawHeaders }: IncomingMessage): NodeHeaders {
  return new NodeHeaders(
    rawHeaders.filter((_, i) => !HOP_BY_HOP.has((i % 2 === 0 ? rawHeaders[i] : rawHeaders[i - 1])!.toLowerCase())),
  )
}
