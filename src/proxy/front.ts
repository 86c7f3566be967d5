/**
 * A port for the proxy alone, for `palimpsest run` and for tests: Node's HTTP server in front of the handler, with
 * backpressure and aborts passed both ways. Beyond loopback it asks for a token, as a header or as the beginning of
 * the path (`/key/TOKEN/v1/…`), because many clients can be given nothing but a base URL.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PalimpsestError } from '../errors.ts'
import { type NodeBody, nodeBodyOf, toWebBody } from './node-body.ts'

export type FrontOptions = { port?: number; host?: string; token?: string }

export type Front = { url: string; port: number; close(): Promise<void>; [Symbol.asyncDispose](): Promise<void> }

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost'])

export async function serveProxy(
  handler: (request: Request) => Promise<Response>,
  { port = 0, host = '127.0.0.1', token }: FrontOptions = {},
): Promise<Front> {
  if (!LOOPBACK.has(host) && !token) {
    throw new PalimpsestError('INVALID_INPUT', `Listening on ${host} needs a token: others could use it.`, { host })
  }
  const server = createServer({ requestTimeout: 0 }, (request, response) => {
    serve(request, response, { handler, token }).catch(() => response.destroy())
  })
  server.listen(port, host)
  await once(server, 'listening')
  const { port: bound } = server.address() as AddressInfo
  const close = () => closeServer(server)
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    close,
    [Symbol.asyncDispose]: close,
  }
}

type Serving = { handler: (request: Request) => Promise<Response>; token: string | undefined }

async function serve(incoming: IncomingMessage, outgoing: ServerResponse, { handler, token }: Serving): Promise<void> {
  const path = token === undefined ? incoming.url! : admitted(incoming, token)
  if (path === undefined) {
    const body = { type: 'error', error: { type: 'authentication_error', message: 'A token is needed here.' } }
    outgoing.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    return
  }
  const aborted = new AbortController()
  outgoing.on('close', () => {
    if (!outgoing.writableFinished) aborted.abort()
  })
  const response = await handler(toRequest(incoming, path, aborted.signal))
  await send(response, outgoing)
}

/** The path without the token in it; nothing where the token is not right. */
function admitted({ url = '/', headers }: IncomingMessage, token: string): string | undefined {
  const given = headers['x-palimpsest-token']
  if (typeof given === 'string' && isSame(given, token)) return url
  const match = /^\/key\/([^/?]+)(.*)$/.exec(url)
  return match && isSame(decodeURIComponent(match[1]!), token) ? match[2] || '/' : undefined
}

function isSame(given: string, token: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(given), hash(token))
}

function toRequest(incoming: IncomingMessage, path: string, signal: AbortSignal): Request {
  const { method = 'GET', rawHeaders } = incoming
  const headers = new Headers()
  for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i]!, rawHeaders[i + 1]!)
  const hasBody = method !== 'GET' && method !== 'HEAD'
  return new Request(new URL(path, 'http://proxy.local'), {
    method,
    headers,
    signal,
    ...(hasBody ? { body: toWebBody({ source: incoming, first: [] }), duplex: 'half' as const } : {}),
  })
}

async function send(response: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(response.status, [...response.headers].flat())
  if (!response.body) {
    outgoing.end()
    return
  }
  const direct = nodeBodyOf(response.body)
  // Headers leave with the first bytes, where those are here already.
  if (!direct || direct.first.length === 0) outgoing.flushHeaders()
  if (direct) await pump(direct, outgoing)
  else await pumpWeb(response.body, outgoing)
}

/** From Node to Node; breaks off on one side when the other does. */
function pump({ source, first, take, end }: NodeBody, outgoing: ServerResponse): Promise<void> {
  for (const chunk of first) outgoing.write(chunk)
  return new Promise((resolve, reject) => {
    source
      .on('data', (chunk: Uint8Array) => {
        take?.(chunk)
        if (!outgoing.write(chunk)) source.pause()
      })
      .on('end', async () => {
        await end?.()
        outgoing.end(resolve)
      })
      .on('error', async error => {
        await end?.()
        reject(error)
      })
    outgoing
      .on('drain', () => source.resume())
      .on('close', async () => {
        source.destroy()
        await end?.()
        resolve()
      })
  })
}

async function pumpWeb(body: ReadableStream<Uint8Array>, outgoing: ServerResponse): Promise<void> {
  const reader = body.getReader()
  outgoing.on('close', () => void reader.cancel().catch(() => {}))
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    if (!outgoing.write(next.value)) await drained(outgoing)
    if (outgoing.destroyed) return
  }
  outgoing.end()
}

/** Resolves when there is room again, or nobody left to write for. */
function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise(resolve => {
    const go = () => {
      outgoing.off('drain', go).off('close', go)
      resolve()
    }
    outgoing.on('drain', go).on('close', go)
  })
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
