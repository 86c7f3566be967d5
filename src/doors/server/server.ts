/**
 * The HTTP server: a function from Request to Response, and a function that listens on a port.
 *
 * `createServer` needs no port, so that tests, mounts and other runtimes can call `fetch` themselves. Every request,
 * mounted ones included, passes the same gate (Host, Origin, token, rate) and leaves with the same security headers.
 * `close` lets running requests finish, ends the live streams, and then closes the given stores.
 */

import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { methodNotAllowed } from 'hono/method-not-allowed'
import type { AgentDesk } from '../../agent/desk.ts'
import { packageVersion } from '../../files/package-version.ts'
import type { Files } from '../../files/store.ts'
import type { Memory } from '../../memory/memory.ts'
import { workspaceIn } from '../../memory/workspace.ts'
import type { Environment } from '../../model/defaults.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { couldSave } from '../../replay/account.ts'
import type { Palimpsest } from '../../session/engine.ts'
import type { SettingsGiven } from '../../session/settings.ts'
import { Timelines } from '../../session/timelines.ts'
import { answerNode, inTurn, type NodeAnswer, type NodeRequest } from '../proxy/node-http.ts'
import { type Asked, checkHost, checkOrigin, isLoopback } from '../proxy/same-site.ts'
import { agentRoutes } from './agent.ts'
import { type AnswerContext, admitCaller, answer } from './answer.ts'
import { blockRoutes } from './blocks.ts'
import { deletionRoutes } from './deletions.ts'
import { docsRoutes } from './docs.ts'
import { type Document, toDocument } from './document.ts'
import { EventHub } from './event-hub.ts'
import { eventRoutes } from './events.ts'
import { followConfig } from './follow-config.ts'
import { authenticate, type Caller, checkRole, NOBODY } from './gate.ts'
import { gatewayRoutes } from './gateway.ts'
import type { Outbox } from './outbox.ts'
import { ownRoutes } from './own-sessions.ts'
import { proposalRoutes } from './proposals.ts'
import { type Rate, RateLimiter, Slots } from './rates.ts'
import { redactionRoutes } from './redactions.ts'
import { type Refusal, toNodeAnswer, toRefusal, toResponse } from './refusals.ts'
import type { Doors, Route } from './route.ts'
import type { Role, ServerStore } from './server-store.ts'
import { compactRoutes } from './session-compact.ts'
import { SessionDesk } from './session-desk.ts'
import { editRoutes } from './session-edits.ts'
import { listRoutes } from './session-list.ts'
import { lookRoutes } from './session-look.ts'
import { mapRoutes } from './session-map.ts'
import { nowRoutes } from './session-now.ts'
import { shareRoutes } from './session-share.ts'
import { timelineRoutes } from './session-timeline.ts'
import { verdictRoutes } from './session-verdict.ts'
import { whyRoutes } from './session-why.ts'
import { sessionRoutes } from './sessions.ts'
import { settingsRoutes } from './settings.ts'
import { tokenRoutes } from './tokens.ts'
import { transcriptRoutes } from './transcripts.ts'
import { userRoutes } from './users.ts'
import { workspaceRoutes } from './workspace.ts'

export type ServerOptions = {
  pal: Palimpsest
  memory: Memory
  store: ServerStore
  /** Whether a token is needed on loopback too. Beyond loopback, and under custom host names, it always is. */
  requireToken?: boolean
  /** The address on which the server listens; `127.0.0.1` by default. */
  host?: string
  /** Further host names under which it may be reached. */
  allowHosts?: readonly string[]
  /** The rate limit of one caller; `false` for none. */
  rate?: Rate | false
  /** The most bytes of a JSON body. */
  maxBody?: number
  /** Other doors: the MCP endpoint, the proxy's /v1, the files of the web UI. */
  mount?: readonly Mounted[]
  /**
   * The knowledge files; by default in PALIMPSEST_WORKSPACE, in the database of the sessions, or in
   * `~/.agent/workspace`.
   */
  workspace?: Files
  /**
   * The environment in which to find sessions of the user's own agents on a first start; without it nothing is
   * searched.
   */
  agentsEnv?: Environment
  /** The environment and the flags of the process, to say where a setting came from. */
  given?: Pick<SettingsGiven, 'env' | 'flags'>
  /** Gives a user without sessions the sample. */
  sample?: boolean
  /** Our own agent; without it its routes answer that there is none. Closed with the server. */
  agent?: AgentDesk
  /** The events of all servers that share a database. Closed with the server. */
  outbox?: Outbox | undefined
  clock?: () => number
  log?: (line: string) => void
}

/** A handler for everything under a path. `/` gets the requests that no route of ours takes. */
export type Mounted = {
  prefix: string
  /** The roles that may use it; `public` needs no token, for files without data. */
  roles: readonly Role[] | 'public'
  /**
   * `Authorization` is for the provider to which the request is forwarded. Our token comes as `X-Palimpsest-Token`, or
   * with `unless-ours` in either header.
   */
  foreignAuthorization?: boolean | 'unless-ours'
  handle(request: Request, context: MountContext): Response | Promise<Response>
  /** The same for a handler with large streams: from Node to Node, without the cost of a web `Request`. */
  pass?(request: NodeRequest, context: MountContext): Promise<NodeAnswer>
}

export type MountContext = { caller: Caller; doors: Doors }

type From = { address?: string | undefined }

export type Server = {
  fetch(request: Request, from?: From): Promise<Response>
  /** The same from Node to Node; undefined if the handler under that path cannot do that. */
  pass(url: URL): ((request: NodeRequest, from?: From) => Promise<NodeAnswer>) | undefined
  close(): Promise<void>
  document: Document
  requireToken: boolean
}

const MB = 1024 * 1024
const MAX_BODY = 16 * MB
/** URLs hold names and queries, four times as long when they are escaped. */
const MAX_HEADERS = 64 * 1024
const RATE: Rate = { perSecond: 50, burst: 300 }
const HEAVY_AT_ONCE = 2
const LOOK_MS = 1000
/** The interval at which the outbox of all servers is read while there are listeners. */
const READ_MS = 250
const GRACE_MS = 10_000
const IDLE_MS = 20

export function createServer(options: ServerOptions): Server {
  const { pal, memory, store, host = '127.0.0.1', allowHosts = [], rate = RATE, mount = [] } = options
  const clock = options.clock ?? Date.now
  const log = options.log ?? (line => console.error(line))
  const isLocal = isLoopback(host)
  const requireToken = options.requireToken === true || !isLocal || allowHosts.length > 0
  const hub = new EventHub({ outbox: options.outbox, seen: event => desk.heard(event) })
  const desk = new SessionDesk(pal, hub, clock)
  const workspace = options.workspace ?? workspaceIn(process.env, { files: pal.files })
  const timelines = new Timelines(pal, { store, couldSave })
  const heavy = new Slots(HEAVY_AT_ONCE)
  const { agent, given, sample = false } = options
  const agentsEnv = isLocal ? options.agentsEnv : undefined
  const made = { desk, store, hub, timelines, workspace, heavy, clock }
  const doors: Doors = { pal, memory, ...made, agent, agentsEnv, given, sample }
  const hosts = [...allowHosts, ...(isLocal ? [] : [host])].map(name => name.toLowerCase())
  const context: AnswerContext = {
    gate: { store, requireToken, hosts, anyAddress: !isLocal, clock },
    doors,
    rates: rate === false ? undefined : new RateLimiter(rate, clock),
    maxBody: options.maxBody ?? MAX_BODY,
    log,
  }
  const routes = [...allRoutes, ...docsRoutes(() => document)]
  const document = toDocument(routes, { version: packageVersion(), requireToken })
  const app = createApp(routes, mount, context)
  const mountedAt = finderOf(routes, mount)
  const stop = watch({ pal, memory, hub, desk, timelines, agent, log })
  const running = new Set<Promise<unknown>>()
  let closing = false

  /** Answers every request. */
  async function respond<A>(request: Asked, handle: () => A | Promise<A>, refuse: (refusal: Refusal) => A): Promise<A> {
    const work = admitted(request, handle).catch(error => refuse(toRefusal(error, log)))
    running.add(work)
    return work.finally(() => running.delete(work))
  }

  async function admitted<A>(request: Asked, handle: () => A | Promise<A>): Promise<A> {
    if (closing) throw new PalimpsestError('CLOSING', 'The server is shutting down.', { retryAfter: 5 })
    checkHost(request, context.gate)
    checkOrigin(request)
    return handle()
  }

  return {
    document,
    requireToken,
    async fetch(request, { address: from = 'unknown' } = {}) {
      const found = mountedAt(new URL(request.url))
      const handle = () => (found ? call(found, found.handle, request, from, context) : app.fetch(request, { from }))
      const { status, statusText, headers, body } = await respond(request, handle, toResponse)
      return new Response(body, { status, statusText, headers: withSecurity([...headers], closing) })
    },
    pass(url) {
      const found = mountedAt(url)
      if (!found?.pass) return undefined
      const { pass } = found
      return async (request, { address: from = 'unknown' } = {}) => {
        const answer = await respond(request, () => call(found, pass, request, from, context), toNodeAnswer)
        return { ...answer, headers: withSecurity(answer.headers, closing) }
      }
    },
    async close() {
      closing = true
      stop()
      await hub.close()
      await options.agent?.close()
      await Promise.race([Promise.allSettled([...running]), patience(GRACE_MS)])
      await timelines.close()
      await memory.close()
      await store.close()
      await pal.close()
    },
  }
}

type Watched = Pick<Doors, 'pal' | 'memory' | 'hub' | 'desk' | 'timelines' | 'agent'> & { log: (line: string) => void }

/** Follows what others change, until the returned function is called. */
function watch({ pal, memory, hub, desk, timelines, agent, log }: Watched): () => void {
  const stops = [
    pal.onChange(change => desk.tell(change)),
    pal.onChange(({ session, what }) => {
      if (what !== 'redacted' && what !== 'removed') return
      timelines.forget(session)
      agent?.forget(session).catch(error => log(String(error)))
    }),
    memory.onChange(event => hub.publish(event)),
    followConfig(pal, { changed: () => desk.reopen(), log }),
  ]
  const looking = setInterval(() => hub.listening > 0 && void desk.look().catch(error => log(String(error))), LOOK_MS)
  const reading = setInterval(() => hub.listening > 0 && void hub.refresh().catch(() => {}), READ_MS)
  for (const timer of [looking, reading]) timer.unref()
  return () => {
    for (const timer of [looking, reading]) clearInterval(timer)
    for (const stop of stops) stop()
  }
}

/** All routes except those about the server itself, which need the document of them all. */
export const allRoutes: readonly Route[] = [
  ...listRoutes,
  ...ownRoutes,
  ...deletionRoutes,
  ...redactionRoutes,
  ...sessionRoutes,
  ...editRoutes,
  ...lookRoutes,
  ...mapRoutes,
  ...timelineRoutes,
  ...shareRoutes,
  ...whyRoutes,
  ...verdictRoutes,
  ...nowRoutes,
  ...compactRoutes,
  ...transcriptRoutes,
  ...gatewayRoutes,
  ...userRoutes,
  ...blockRoutes,
  ...proposalRoutes,
  ...agentRoutes,
  ...eventRoutes,
  ...workspaceRoutes,
  ...tokenRoutes,
  ...settingsRoutes,
]

type Env = { Bindings: { from: string } }

function createApp(routes: readonly Route[], mount: readonly Mounted[], context: AnswerContext): Hono<Env> {
  const app = new Hono<Env>()
  const { log } = context
  const refuse = (error: unknown) => toResponse(toRefusal(error, log))
  app.use(methodNotAllowed({ app, onMethodNotAllowed: (_, methods) => refuse(wrongMethod(methods)) }))
  for (const route of routes) {
    const path = route.path.replaceAll(/{(\w+)}/g, ':$1')
    app.on(route.method, path, c => answer(route, c.req.raw, { params: c.req.param(), from: c.env.from }, context))
  }
  const rest = mount.find(({ prefix }) => prefix === '/')
  if (!routes.some(({ path }) => path === '/') && !rest) app.get('/', c => c.redirect('/docs'))
  // A refusal is answered here, not thrown, so that a wrong method on an existing path becomes 405.
  app.notFound(c =>
    rest ? call(rest, rest.handle, c.req.raw, c.env.from, context).catch(refuse) : refuse(unknownPath()),
  )
  app.onError(error => refuse(error))
  return app
}

/**
 * The mounted door for a URL: the one whose path contains it, unless a route of ours has exactly that path. `/` comes
 * last, if nothing of ours fits.
 */
function finderOf(routes: readonly Route[], mount: readonly Mounted[]): (url: URL) => Mounted | undefined {
  const doors = mount.filter(({ prefix }) => prefix !== '/').sort((a, b) => b.prefix.length - a.prefix.length)
  const doorOf = (path: string) => doors.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`))
  const ours = routes.filter(({ path }) => doorOf(path))
  return ({ pathname }) => (ours.some(({ path }) => isAt(path, pathname)) ? undefined : doorOf(pathname))
}

/** Whether the path of a request fits that of a route, step by step; `{name}` matches one step. */
function isAt(route: string, pathname: string): boolean {
  const [wanted, given] = [route.split('/'), pathname.split('/')]
  if (wanted.length !== given.length) return false
  return wanted.every((step, i) => (step.startsWith('{') ? given[i] !== '' : step === given[i]))
}

async function call<R extends Asked, A>(
  mounted: Mounted,
  handle: (request: R, context: MountContext) => A | Promise<A>,
  request: R,
  from: string,
  { gate, rates, doors }: AnswerContext,
): Promise<A> {
  const { foreignAuthorization = false, roles } = mounted
  const find = async () => (roles === 'public' ? NOBODY : authenticate(request, gate, { foreignAuthorization }))
  const caller = await admitCaller(find, rates, from)
  if (roles !== 'public') checkRole(caller, roles)
  return handle(request, { caller, doors })
}

const SECURITY_HEADERS = Object.entries({
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
})

/** Adds the security headers that an answer does not set itself. */
function withSecurity(headers: NodeAnswer['headers'], closing: boolean): [string, string][] {
  const given = new Set(headers.map(([name]) => name))
  const ours = SECURITY_HEADERS.filter(([name]) => !given.has(name))
  const all = [...headers, ...ours].map(([name, value]): [string, string] => [name, value])
  return closing ? [...all.filter(([name]) => name !== 'connection'), ['connection', 'close']] : all
}

function wrongMethod(methods: readonly string[]): PalimpsestError {
  const allow = methods.join(', ')
  return new PalimpsestError('METHOD_NOT_ALLOWED', `This path takes ${allow}.`, { allow })
}

function unknownPath(): PalimpsestError {
  return new PalimpsestError('NOT_FOUND', 'There is nothing at this path. See /docs.')
}

function patience(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms).unref())
}

export type Listening = { url: string; port: number; server: Server; close(): Promise<void> }

/** Listens; `port` 0 takes a free one. Closing first stops new requests, then waits for the running ones. */
export async function serve(options: ServerOptions & { port: number; orFreePort?: boolean }): Promise<Listening> {
  const { port, host = '127.0.0.1', orFreePort = false } = options
  const server = createServer(options)
  const addressOf = ({ socket }: IncomingMessage) => ({ address: socket.remoteAddress })
  const answer = getRequestListener((request, { incoming }) =>
    server.fetch(request, addressOf(incoming as IncomingMessage)),
  )
  const http = createHttpServer(
    { maxHeaderSize: MAX_HEADERS },
    inTurn((incoming, outgoing) => {
      const url = urlOf(incoming)
      const pass = url && server.pass(url)
      if (!pass) return answer(incoming, outgoing)
      const handle = (request: NodeRequest) => pass(request, addressOf(incoming))
      answerNode(incoming, outgoing, { url, handle }).catch(() => outgoing.destroy())
    }),
  )
  const listen = (on: number) =>
    new Promise<void>((resolve, reject) => {
      http.once('error', cause => reject(cannotListen(cause, host, on)))
      http.listen(on, host, () => resolve())
    })
  await listen(port).catch(error => {
    if (orFreePort && error.code === 'ALREADY') return listen(0)
    throw error
  })
  const address = http.address()
  const taken = typeof address === 'object' && address ? address.port : port
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    port: taken,
    server,
    async close() {
      const closed = new Promise<void>(resolve => http.close(() => resolve()))
      await server.close()
      // Idle connections are closed at once; active ones may finish, within a time limit.
      const idle = setInterval(() => http.closeIdleConnections(), IDLE_MS)
      await Promise.race([closed, patience(GRACE_MS)])
      clearInterval(idle)
      http.closeAllConnections()
      await closed
    },
  }
}

/** The address that the client used, so that links in answers lead back here. */
function urlOf({ url = '/', headers }: IncomingMessage): URL | null {
  const asked = URL.parse(url, 'http://localhost')
  return asked && URL.parse(asked.pathname + asked.search, `http://${headers.host ?? 'localhost'}`)
}

function cannotListen(cause: Error, host: string, port: number): PalimpsestError {
  const taken = 'code' in cause && cause.code === 'EADDRINUSE'
  const why = taken ? `Another program uses port ${port}. Choose another port.` : cause.message
  return new PalimpsestError(
    taken ? 'ALREADY' : 'INVALID_INPUT',
    `Cannot listen on ${host}: ${why}`,
    { host, port },
    cause,
  )
}
