/**
 * A port for only the proxy, for `palimpsest run` and for tests. Beyond loopback it requires a token, as a header or as
 * the beginning of the path (`/key/TOKEN/v1/…`), because many clients can be given nothing but a base URL.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PalimpsestError } from '../../model/errors.ts'
import { answerNode, type NodeAnswer, type NodeRequest } from './node-http.ts'

export type FrontOptions = { port?: number; host?: string; token?: string }

export type Front = { url: string; port: number; close(): Promise<void>; [Symbol.asyncDispose](): Promise<void> }

/**
 * Agents pause for longer than Node's five seconds, and a connection that closes in that moment is an error for them.
 */
const KEEP_ALIVE_MS = 75_000

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost'])

export async function serveProxy(
  handler: (request: NodeRequest) => Promise<NodeAnswer>,
  { port = 0, host = '127.0.0.1', token }: FrontOptions = {},
): Promise<Front> {
  if (!LOOPBACK.has(host) && !token) {
    throw new PalimpsestError('INVALID_INPUT', `Listening on ${host} requires a token, because others can reach it.`, {
      host,
    })
  }
  const server = createServer({ requestTimeout: 0, keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
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

type Serving = { handler: (request: NodeRequest) => Promise<NodeAnswer>; token: string | undefined }

async function serve(incoming: IncomingMessage, outgoing: ServerResponse, { handler, token }: Serving): Promise<void> {
  const path = token === undefined ? incoming.url! : admitted(incoming, token)
  if (path === undefined) {
    const body = { type: 'error', error: { type: 'authentication_error', message: 'A token is required.' } }
    outgoing.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    return
  }
  await answerNode(incoming, outgoing, { url: new URL(path, 'http://proxy.local'), handle: handler })
}

/** The path without the token in it; undefined if the token is wrong. */
function admitted({ url = '/', headers }: IncomingMessage, token: string): string | undefined {
  const given = headers['x-palimpsest-token']
  if (typeof given === 'string' && isSame(given, token)) return url
  const match = /^\/key\/([^/?]+)(.*)$/s.exec(url)
  return match && isSame(decodeURIComponent(match[1]!), token) ? match[2] || '/' : undefined
}

function isSame(given: string, token: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(given), hash(token))
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
