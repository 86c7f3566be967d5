/**
 * A port for only the proxy, for `palimpsest run` and for tests. Without a token it is for programs of this machine.
 * Beyond loopback it requires one, as a header or as the beginning of the path (`/key/TOKEN/v1/…`), because many clients
 * can be given nothing but a base URL.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { messageOf, PalimpsestError } from '../../model/errors.ts'
import { answerNode, inTurn, type NodeAnswer, NodeHeaders, type NodeRequest } from './node-http.ts'
import { checkHost, checkOrigin, isLoopback } from './same-site.ts'

export type FrontOptions = { port?: number; host?: string; token?: string }

export type Front = { url: string; port: number; close(): Promise<void>; [Symbol.asyncDispose](): Promise<void> }

/**
 * Agents pause for longer than Node's five seconds, and a connection that closes in that moment is an error for them.
 */
const KEEP_ALIVE_MS = 75_000

export async function serveProxy(
  handler: (request: NodeRequest) => Promise<NodeAnswer>,
  { port = 0, host = '127.0.0.1', token }: FrontOptions = {},
): Promise<Front> {
  if (!isLoopback(host) && !token) {
    throw new PalimpsestError('INVALID_INPUT', `Listening on ${host} requires a token, because others can reach it.`, {
      host,
    })
  }
  const server = createServer(
    { requestTimeout: 0, keepAliveTimeout: KEEP_ALIVE_MS },
    inTurn((request, response) => {
      serve(request, response, { handler, token }).catch(() => response.destroy())
    }),
  )
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
  if (path === undefined) return refuse(outgoing, 401, 'authentication_error', 'A token is required.')
  const url = new URL(path, 'http://localhost')
  try {
    if (token === undefined) checkSite(incoming, url)
  } catch (error) {
    return refuse(outgoing, 403, 'permission_error', messageOf(error))
  }
  await answerNode(incoming, outgoing, { url, handle: handler })
}

/** Without a token, only programs of this machine may use the port, and no web site through a browser here. */
function checkSite({ method = 'GET', rawHeaders }: IncomingMessage, { href }: URL): void {
  const asked = { url: href, method, headers: new NodeHeaders(rawHeaders) }
  checkHost(asked, { hosts: [], anyAddress: false })
  checkOrigin(asked)
}

function refuse(outgoing: ServerResponse, status: number, type: string, message: string): void {
  outgoing.writeHead(status, { 'content-type': 'application/json' })
  outgoing.end(JSON.stringify({ type: 'error', error: { type, message } }))
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
