/**
 * The proxy: existing agents use Palimpsest by changing only their base URL.
 *
 * `createProxy` gives a handler from Request to Response that a server mounts at `/v1`, `/anthropic`, `/openai` and
 * `/gemini`. A generation request is recorded and sent on with the view in place of its messages. Every other request,
 * and every request without an active edit, is passed on byte for byte. If anything fails on our side, the client's own
 * bytes are sent and the fault is logged. Keys are passed on and never stored or logged.
 */

import { randomBytes } from 'node:crypto'
import { pipeline, Readable } from 'node:stream'
import { sameJson } from '../../formats/adapters/original.ts'
import { isPalimpsestError, messageOf } from '../../model/errors.ts'
import { headOf } from '../../model/text.ts'
import type { PlannerFactory } from '../../policies/policy.ts'
import type { Palimpsest } from '../../session/engine.ts'
import type { Statistics } from '../../view/statistics.ts'
import { ProxyAccount } from './account.ts'
import { anthropic } from './anthropic.ts'
import { readObject } from './body-json.ts'
import { clientKeyOf } from './client.ts'
import { countedRequest, countRequest } from './counting.ts'
import {
  type Answer,
  isOverflow,
  isOverflowText,
  type ProxyDialect,
  refusesClearing,
  refusesReasoning,
  type Untouchable,
} from './dialect.ts'
import { gemini } from './gemini.ts'
import type { InjectionOptions } from './injection.ts'
import { type Counts, Meter } from './meter.ts'
import type { Chunk } from './node-body.ts'
import { jsonAnswer, type NodeAnswer, NodeRequest, toResponse } from './node-http.ts'
import { AnswerWithNotice, type Notice, type Notices, withoutNotices, withoutUsableLinks } from './notices.ts'
import { openaiChat } from './openai-chat.ts'
import { openaiResponses } from './openai-responses.ts'
import { type Reading, Readings } from './reading.ts'
import { CONTEXT_MANAGEMENT, type ServerEdits } from './request-facts.ts'
import { piecesOf, type Spliced, spliceBody } from './splice-body.ts'
import { BodyReader, passOn, takeOpening, takeRefusal, takeRequest } from './stream.ts'
import type { Found, Incoming, Shown, Turn } from './turns.ts'
import { TurnsByOwner } from './turns-by-owner.ts'
import {
  type Exchange,
  exchange,
  forwardHeaders,
  type Outgoing,
  PROVIDERS,
  type Route,
  routeOf,
  type UpstreamName,
  type Upstreams,
  upstreamUrl,
} from './upstream.ts'

const DIALECTS: readonly ProxyDialect[] = [anthropic, openaiChat, openaiResponses, gemini]

/** The dialect of our errors for requests that are not generation requests. */
const SHAPES: Record<UpstreamName, ProxyDialect> = { anthropic, openai: openaiChat, gemini }

export type ProxyOptions = {
  pal: Palimpsest
  upstreams?: Partial<Upstreams>
  /** A preset by name, or a custom planner. By default the configuration decides, for the agent and the project. */
  policy?: string | PlannerFactory
  /** The share of conversations that are never edited, for comparison: 0 to 1. */
  holdout?: number
  /** Additions to new conversations; none by default. */
  inject?: InjectionOptions
  /** Shows users a line below an answer when a proposal is waiting. By default it is not shown. */
  notices?: Notices
  /** Called with a user's words when their turn is answered and recorded. */
  learn?: (said: Said, who: Who) => Promise<unknown>
  /** When the provider is told to clear old results itself: if the client has the beta (`auto`), always, or never. */
  serverEdits?: ServerEdits
  /** Gets one line for every fault, without headers or content. */
  log?: (line: string) => void
  clock?: () => number
}

/**
 * The caller, if known. `id`: the token, or `local` for the local user. `user` sees notices of proposals; `owner` has
 * the session (undefined: the home).
 */
export type Who = { id?: string; user?: string | undefined; owner?: string | undefined; role?: string }

/** A user's text in one of their sessions. */
export type Said = { text: string; session: string; entry: number }

/** The statistics of the sessions, and the proxy's own counts. */
export type Totals = Omit<Statistics, 'edits'> & Counts

export type PalimpsestProxy = {
  (request: Request, who?: Who): Promise<Response>
  /** The same for a caller that already has Node's streams. */
  (request: NodeRequest, who?: Who): Promise<NodeAnswer>
  readonly meter: Meter
  /** The totals since the start, from the statistics of the sessions. */
  totals(): Promise<Totals>
  /** The numbers in Prometheus' text format. */
  metrics(): Promise<string>
  /** Resolves when all answers are recorded. */
  idle(): Promise<void>
}

export function createProxy(options: ProxyOptions): PalimpsestProxy {
  const handler = new Handler(options)
  async function proxy(request: Request, who?: Who): Promise<Response>
  async function proxy(request: NodeRequest, who?: Who): Promise<NodeAnswer>
  async function proxy(request: Request | NodeRequest, who?: Who): Promise<Response | NodeAnswer> {
    if (request instanceof NodeRequest) return handler.handle(request, who)
    return toResponse(await handler.handle(NodeRequest.from(request), who))
  }
  return Object.assign(proxy, {
    meter: handler.meter,
    totals: async () => ({ ...(await handler.account.totals()), ...handler.meter.totals }),
    metrics: async () => handler.meter.text(await handler.account.byModel()),
    idle: () => handler.idle(),
  })
}

/** The state of a running generation request. */
type Call = { dialect: ProxyDialect; outgoing: Outgoing; who: Who; notice?: Notice | undefined }

class Handler {
  readonly meter = new Meter()
  readonly account: ProxyAccount
  readonly #turns: TurnsByOwner
  /** Resolves when everything recorded so far is on disk. */
  readonly #synced: () => Promise<void>
  readonly #readings = new Readings()
  readonly #upstreams: Upstreams
  readonly #log: (line: string) => void
  readonly #notices: Notices | undefined
  readonly #learn: ProxyOptions['learn']
  /** Whether this proxy edits at all. */
  readonly #edits: boolean
  readonly #recording = new Set<Promise<void>>()
  /** Until this time the proxy does not touch the ledger, because another process holds it. */
  #lockedUntil = 0

  constructor(options: ProxyOptions) {
    const { pal, policy, holdout = 0, inject = {}, serverEdits = 'auto', clock = Date.now, log = () => {} } = options
    this.#upstreams = { ...PROVIDERS, ...options.upstreams }
    this.#log = log
    this.#notices = options.notices
    this.#learn = options.learn
    this.#edits = policy !== 'none'
    const newName = () => `chat-${randomBytes(6).toString('hex')}`
    const fault = (kind: string, error: unknown) => this.#fault(kind, error)
    this.account = new ProxyAccount(pal)
    const early = pal.early()
    this.#synced = early.synced
    this.#turns = new TurnsByOwner({ pal: early.pal, policy, holdout, inject, serverEdits, clock, newName, fault })
  }

  async handle(request: NodeRequest, who: Who = {}): Promise<NodeAnswer> {
    const url = new URL(request.url)
    const route = routeOf(url, request.headers)
    const dialect = dialectOf(request, route)
    if (request.headers.get('upgrade')?.toLowerCase() === 'websocket') return upgradeRequired(route)
    const outgoing: Outgoing = {
      url: upstreamUrl(route, url.search, this.#upstreams),
      method: request.method,
      headers: forwardHeaders(request.headers),
      body: undefined,
      signal: request.signal,
    }
    try {
      if (!dialect) {
        this.meter.totals.passed++
        outgoing.body = request.source
        return this.#pass(await exchange(outgoing), request.method)
      }
      const call = { dialect, outgoing, who }
      return await (dialect.counts?.test(route.path) ? this.#count(request, call) : this.#generate(request, call))
    } catch (error) {
      return this.#unreachable(error, dialect ?? SHAPES[route.upstream], outgoing)
    }
  }

  async idle(): Promise<void> {
    while (this.#recording.size > 0) await Promise.all(this.#recording)
  }

  async #generate(request: NodeRequest, call: Call): Promise<NodeAnswer> {
    const { outgoing } = call
    const own = await takeRequest(request.source, outgoing.headers)
    const bytes = withoutNotices(own)
    const reading = this.#read(request, call, bytes)
    const untouchable = reading && this.#untouchable(reading)
    sendBytes(outgoing, untouchable ? withoutUsableLinks(own) : bytes)
    if (untouchable && untouchable !== 'pass' && this.#edits) return jsonAnswer(untouchable.status, untouchable.body)
    const found = reading && !untouchable ? await this.#find(incoming(reading, request, call)) : undefined
    if (found?.asIs) {
      await this.#expectNotice(call, found, request.url)
      return this.#sendAsIs(call, found)
    }
    const turn = found && (await this.#prepare(found))
    if (turn) await this.#expectNotice(call, found, request.url)
    if (turn?.edited) setBody(outgoing, turn.edited, turn.clears)
    const sending = exchange(outgoing)
    const kept = turn && bytesOut().then(() => this.#keep())
    const answer = await sending
    await kept
    return this.#answer(call, answer, turn)
  }

  /** A line can be added only to an uncompressed answer. Proposals that our own tools made in this turn count too. */
  async #expectNotice(call: Call, found: Found, url: string): Promise<void> {
    try {
      call.notice = await this.#notices?.due(found, call.who, url)
      if (call.notice) delete call.outgoing.headers['accept-encoding']
    } catch (error) {
      this.#fault('notice', error)
    }
  }

  /** Counts the tokens of the body that would be sent. Records nothing. */
  async #count(request: NodeRequest, call: Call): Promise<NodeAnswer> {
    const { dialect, outgoing } = call
    const bytes = withoutNotices(await takeRequest(request.source, outgoing.headers))
    sendBytes(outgoing, bytes)
    this.meter.totals.passed++
    const reading = this.#read(request, call, countedRequest(dialect, bytes))
    const isWhole = reading && !this.#untouchable(reading)
    const shown = isWhole ? await this.#shown(incoming(reading, request, call)) : undefined
    if (shown) setBody(outgoing, countRequest(dialect, bytes, shown.body), shown.clears)
    const answer = await exchange(outgoing)
    return answer.status >= 400 ? this.#refused(call, undefined, answer) : this.#pass(answer, request.method)
  }

  async #shown(incoming: Incoming): Promise<Shown | undefined> {
    try {
      return await this.#turns.of(incoming).shown(incoming)
    } catch (error) {
      return this.#fault('count', error)
    }
  }

  /** A request that is only recorded goes to the provider at once; its answer waits until the record is on disk. */
  async #sendAsIs(call: Call, found: Found): Promise<NodeAnswer> {
    const sending = exchange(call.outgoing)
    const turning = bytesOut().then(() => this.#prepare(found))
    const kept = turning.then(turn => turn && this.#keep())
    const [answer, turn] = await Promise.all([sending, turning, kept])
    return this.#answer(call, answer, turn)
  }

  /** No answer is passed on before its turn is on disk. The request is sent meanwhile. */
  async #keep(): Promise<void> {
    await this.#synced().catch(error => this.#fault('record', error))
  }

  #read({ headers }: NodeRequest, { dialect, outgoing }: Call, bytes: Uint8Array): Reading | undefined {
    if ('content-encoding' in outgoing.headers) return undefined
    try {
      return this.#readings.read(dialect, bytes, clientKeyOf(headers)?.key)
    } catch (error) {
      return this.#fault('read', error)
    }
  }

  /** A body with unexpected values is passed on. */
  #untouchable({ dialect, body }: Reading): Untouchable | undefined {
    try {
      return dialect.untouchable(body)
    } catch (error) {
      this.#fault('read', error)
      return 'pass'
    }
  }

  async #find(incoming: Incoming): Promise<Found | undefined> {
    if (Date.now() < this.#lockedUntil) return undefined
    try {
      return await this.#turns.of(incoming).find(incoming)
    } catch (error) {
      return this.#unprepared(error)
    }
  }

  async #prepare(found: Found): Promise<Turn | undefined> {
    try {
      const turns = this.#turns.of(found.incoming)
      const turn = await turns.prepare(found)
      this.meter.edits(turn.made)
      const { id } = turn.live.session
      this.account.touch(`${found.incoming.owner ?? ''}/${id}`, { ...turns.sessionOf(id), before: turn.before })
      return turn
    } catch (error) {
      return this.#unprepared(error)
    }
  }

  #unprepared(error: unknown): undefined {
    // Each attempt would wait for the lock. Nothing is lost: the next request carries the whole conversation.
    if (isPalimpsestError(error) && error.code === 'STORE_LOCKED') this.#lockedUntil = Date.now() + LOCKED_MS
    return this.#fault('prepare', error)
  }

  async #answer(call: Call, answer: Exchange, turn: Turn | undefined): Promise<NodeAnswer> {
    this.meter.add('palimpsest_requests_total', { dialect: call.dialect.name, status: String(answer.status) })
    if (answer.status >= 400) return this.#refused(call, turn, answer)
    if (!turn) return this.#pass(answer, 'POST')
    const reader = new BodyReader(call.dialect, answer.headers, (said, fault) => this.#record(turn, said, fault))
    const first = await takeOpening(answer.body, reader)
    if (reader.answer.error !== undefined && isOverflowText(reader.answer.error)) {
      const again = await this.#again(call, turn)
      if (again) {
        answer.body.destroy()
        return again
      }
    }
    return answeredWith(call.notice, answer, reader, first)
  }

  /** Handles an error of the provider. If the error names its cause, a changed request is sent once. */
  async #refused(call: Call, turn: Turn | undefined, answer: Exchange): Promise<NodeAnswer> {
    const { taken, text } = await takeRefusal(answer.body, answer.headers.get('content-encoding'))
    if (refusesReasoning(answer.status, text)) {
      const recovered = await this.#withoutReasoning(call, turn)
      if (recovered) return recovered
    }
    if (turn?.clears && refusesClearing(answer.status, text)) return this.#withAllResults(call, turn)
    const again = turn && isOverflow(answer.status, text) ? await this.#again(call, turn) : undefined
    return again ?? answered(answer, passOn(answer.body, undefined, taken))
  }

  async #again(call: Call, turn: Turn): Promise<NodeAnswer | undefined> {
    try {
      const shorter = await this.#turns.of(turn.incoming).shrink(turn)
      this.meter.add('palimpsest_overflows_total', { outcome: shorter ? 'sent again' : 'passed on' })
      return shorter && (await this.#sendAgain(call, turn, shorter))
    } catch (error) {
      return this.#fault('shrink', error)
    }
  }

  /** Sends the request again without its reasoning. A recorded conversation leaves reasoning out from now on. */
  async #withoutReasoning(call: Call, turn: Turn | undefined): Promise<NodeAnswer | undefined> {
    const { dialect, outgoing } = call
    try {
      const edited = turn ? await this.#turns.of(turn.incoming).forgetReasoning(turn) : strippedBody(dialect, outgoing)
      this.meter.add('palimpsest_reasoning_refused_total', { outcome: edited ? 'sent again' : 'passed on' })
      if (!edited) return undefined
      const session = turn ? ` in ${turn.live.session.id}` : ''
      this.#log(`proxy: the provider refused reasoning${session}; the request was sent again without it`)
      const answer = await this.#sendAgain(call, turn, edited)
      return { ...answer, headers: [...answer.headers, ['x-palimpsest-recovered', 'reasoning-left-out']] }
    } catch (error) {
      return this.#fault('forget', error)
    }
  }

  /** Sends the request again with all results, and with the client's own betas. */
  async #withAllResults(call: Call, turn: Turn): Promise<NodeAnswer> {
    this.#log(`proxy: the provider does not clear results in ${turn.live.session.id}; all are sent`)
    const body = await this.#turns.of(turn.incoming).keepResults(turn)
    const betas = turn.incoming.headers.get('anthropic-beta')
    if (betas === null || betas === undefined) delete call.outgoing.headers['anthropic-beta']
    else call.outgoing.headers['anthropic-beta'] = betas
    return this.#sendAgain(call, { ...turn, clears: 0 }, body)
  }

  async #sendAgain({ dialect, outgoing }: Call, turn: Turn | undefined, body: Spliced): Promise<NodeAnswer> {
    setBody(outgoing, body)
    const answer = await exchange(outgoing)
    this.meter.add('palimpsest_requests_total', { dialect: dialect.name, status: String(answer.status) })
    if (!turn || answer.status >= 400) return this.#pass(answer, 'POST')
    const reader = new BodyReader(dialect, answer.headers, (said, fault) => this.#record(turn, said, fault))
    return answered(answer, passOn(answer.body, reader))
  }

  #pass(answer: Exchange, method: string): NodeAnswer {
    if (method === 'HEAD' || NO_BODY.has(answer.status)) {
      answer.body.resume()
      return answered(answer, undefined)
    }
    return answered(answer, passOn(answer.body))
  }

  #record(turn: Turn, said: Answer, fault?: unknown): void {
    if (fault !== undefined) {
      this.meter.fault('answer')
      this.#log(`proxy: an answer cannot be read, and is passed on all the same: ${headOf(String(fault), 300)}`)
    }
    const work = this.#turns
      .of(turn.incoming)
      .finish(turn, said)
      .then(() => this.#learnFrom(turn))
      .catch(error => this.#fault('record', error))
      .finally(() => this.#recording.delete(work))
    this.#recording.add(work)
  }

  /** Learns from the user's last message, if it is new in this turn and not from a side request or another agent. */
  async #learnFrom({ live, place, client, before, incoming: { user, owner } }: Turn): Promise<void> {
    const { session } = live
    const entry = session.fold.lastUser
    const message = session.fold.entries[entry]?.message
    if (!this.#learn || !message || entry < before || place.side || client?.parent !== undefined) return
    const text = message.parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n')
    await this.#learn({ text, session: session.id, entry }, { user, owner })
  }

  #unreachable(error: unknown, dialect: ProxyDialect, { url, signal }: Outgoing): NodeAnswer {
    if (signal.aborted) return { status: 499, headers: [], body: undefined }
    if (isPalimpsestError(error) && error.code === 'TOO_LARGE')
      return jsonAnswer(413, dialect.error(413, error.message), { connection: 'close' })
    const reason = codeOf(error)
    this.meter.fault('unreachable')
    this.#log(`proxy: ${url.host} cannot be reached (${reason})`)
    return jsonAnswer(502, dialect.error(502, `Palimpsest cannot reach ${url.host}: ${reason}.`))
  }

  /** Our faults never stop the client. */
  #fault(kind: string, error: unknown): undefined {
    this.meter.fault(kind)
    const message = isPalimpsestError(error) ? `${error.code}: ${error.message}` : String(error)
    this.#log(`proxy: ${kind} failed, the request was passed on unedited: ${headOf(message, 300)}`)
  }
}

const LOCKED_MS = 5000
const NO_BODY = new Set([204, 205, 304])

function dialectOf(request: NodeRequest, { upstream, path }: Route): ProxyDialect | undefined {
  if (request.method !== 'POST') return undefined
  return DIALECTS.find(
    dialect => dialect.upstream === upstream && (dialect.path.test(path) || dialect.counts?.test(path)),
  )
}

function incoming(reading: Reading, { headers }: NodeRequest, { dialect, outgoing, who }: Call): Incoming {
  const { model } = reading.body
  const named = dialect.modelIn?.(outgoing.url.pathname) ?? (typeof model === 'string' ? model : undefined)
  const compacts = dialect.compacts?.test(outgoing.url.pathname) ?? false
  const { id = 'local', user, owner } = who
  return { ...reading, headers, isHere: id === 'local', user, owner, model: named, compacts }
}

function answered({ status, headers }: Exchange, body: NodeAnswer['body']): NodeAnswer {
  return { status, headers: [...headers], body }
}

/** The answer with the line below it. An answer that is compressed without a request for it passes unchanged. */
function answeredWith(notice: Notice | undefined, answer: Exchange, reader: BodyReader, first: Chunk[]): NodeAnswer {
  const { status, headers, body } = answer
  if (!notice || headers.has('content-encoding')) return answered(answer, passOn(body, reader, first))
  const told = new AnswerWithNotice(reader, notice).begin(first)
  // If one side breaks off, so does the other; the reader of `told` sees the error.
  pipeline(body, told, () => {})
  const kept = [...headers].filter(([name]) => name !== 'content-length')
  return { status, headers: kept, body: { source: told, first: [], end: () => reader.end() } }
}

function sendBytes(outgoing: Outgoing, bytes: Uint8Array): void {
  outgoing.body = bytes
  if ('content-length' in outgoing.headers) outgoing.headers['content-length'] = String(bytes.length)
}

function setBody(outgoing: Outgoing, edited: Spliced, clears = 0): void {
  const { headers } = outgoing
  const pieces = piecesOf(edited)
  outgoing.body = pieces
  headers['content-length'] = String(pieces[0].length + pieces[1].length)
  const betas = headers['anthropic-beta']
  if (clears === 0 || betas?.includes(CONTEXT_MANAGEMENT)) return
  headers['anthropic-beta'] = betas ? `${betas},${CONTEXT_MANAGEMENT}` : CONTEXT_MANAGEMENT
}

/** The client's own bytes without reasoning; undefined if they contain none. */
function strippedBody(dialect: ProxyDialect, { body: sent }: Outgoing): Spliced | undefined {
  if (sent === undefined || sent instanceof Readable || !dialect.withoutReasoning) return undefined
  const bytes = Buffer.concat(sent instanceof Uint8Array ? [sent] : sent)
  const { body } = readObject(bytes)
  if (!body) return undefined
  const stripped = dialect.withoutReasoning(body)
  return sameJson(body, stripped) ? undefined : spliceBody({ dialect, bytes, body, list: undefined }, stripped)
}

function upgradeRequired({ upstream }: Route): NodeAnswer {
  return jsonAnswer(426, SHAPES[upstream].error(426, 'WebSockets are not supported: use HTTP.'), {
    upgrade: 'HTTP/1.1',
  })
}

/** Resolves when the bytes given to a socket were sent, because work on the ledger would delay them. */
function bytesOut(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code
  return messageOf(error)
}
