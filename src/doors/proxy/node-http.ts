/**
 * Node's HTTP server in front of a handler, with backpressure and aborts passed both ways.
 *
 * Requests and answers have only the fields that the handler reads. A web `Request` and `Response` with their headers
 * and streams would cost more than all of the proxy's own work. Each form can be converted into the other.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { type NodeBody, toWebBody } from './node-body.ts'

/** Headers as Node has read them: names in lower case, repeated headers joined as the web does. */
export class NodeHeaders implements Iterable<[string, string]> {
  readonly #pairs: [string, string][] = []
  readonly #values = new Map<string, string>()

  /** `raw`: names and values, alternating. */
  constructor(raw: readonly string[]) {
    for (let i = 0; i < raw.length; i += 2) {
      const name = raw[i]!.toLowerCase()
      const value = raw[i + 1]!
      const before = this.#values.get(name)
      this.#pairs.push([name, value])
      this.#values.set(name, before === undefined ? value : `${before}${name === 'cookie' ? '; ' : ', '}${value}`)
    }
  }

  get(name: string): string | null {
    return this.#values.get(name.toLowerCase()) ?? null
  }

  has(name: string): boolean {
    return this.#values.has(name.toLowerCase())
  }

  /** Every header, unchanged. */
  [Symbol.iterator](): Iterator<[string, string]> {
    return this.#pairs[Symbol.iterator]()
  }
}

/** The part of the `Headers` interface that is used here; web headers have it too. */
export type SomeHeaders = Pick<Headers, 'get' | 'has'> & Iterable<[string, string]>

export class NodeRequest {
  readonly url: string
  readonly method: string
  readonly headers: SomeHeaders
  readonly signal: AbortSignal
  /** The body as it comes in; undefined if there is none. */
  readonly source: Readable | undefined

  constructor(given: Pick<NodeRequest, 'url' | 'method' | 'headers' | 'signal' | 'source'>) {
    this.url = given.url
    this.method = given.method
    this.headers = given.headers
    this.signal = given.signal
    this.source = given.source
  }

  static from({ url, method, headers, signal, body }: Request): NodeRequest {
    return new NodeRequest({ url, method, headers, signal, source: body ? Readable.fromWeb(body as never) : undefined })
  }
}

export type NodeAnswer = {
  status: number
  headers: readonly (readonly [string, string])[]
  body: NodeBody | string | Uint8Array<ArrayBuffer> | undefined
}

export function jsonAnswer(status: number, body: unknown, headers: Record<string, string> = {}): NodeAnswer {
  const all = { 'content-type': 'application/json', ...headers }
  return { status, headers: Object.entries(all), body: JSON.stringify(body) }
}

export function toResponse({ status, headers, body }: NodeAnswer): Response {
  const stream = body !== undefined && isNodeBody(body) ? toWebBody(body) : body
  return new Response(stream ?? null, {
    status,
    headers: headers.map(([name, value]): [string, string] => [name, value]),
  })
}

/** More requests than any client sends before it has read an answer. */
const MOST_WAITING = 100

/**
 * Answers the requests of a connection one after the other. Node hands them over as they come, so a client that sends
 * many and reads no answer would have all answers made, and kept in memory. A request that waits takes far more memory
 * than its bytes, so a client with many of them is disconnected.
 */
export function inTurn(answer: RequestListener): RequestListener {
  const lines = new WeakMap<Socket, { last?: ServerResponse; waiting: number }>()
  return (incoming, outgoing) => {
    const { socket } = incoming
    const line = lines.get(socket) ?? { waiting: 0 }
    lines.set(socket, line)
    const before = line.last
    line.last = outgoing
    if (!before || before.closed) return answer(incoming, outgoing)
    if (++line.waiting > MOST_WAITING) return void socket.destroy()
    before.once('close', () => {
      line.waiting--
      if (!socket.destroyed) answer(incoming, outgoing)
    })
  }
}

/** Sends the handler's answer to a request. `url`: the URL that the handler sees. */
export async function answerNode(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { url, handle }: { url: URL; handle: (request: NodeRequest) => Promise<NodeAnswer> },
): Promise<void> {
  const aborted = new AbortController()
  outgoing.on('close', () => {
    if (!outgoing.writableFinished) aborted.abort()
  })
  const { method = 'GET', rawHeaders } = incoming
  const headers = new NodeHeaders(rawHeaders)
  const hasBody = headers.has('transfer-encoding') || Number(headers.get('content-length') ?? 0) > 0
  const source = hasBody ? incoming : undefined
  await send(
    await handle(new NodeRequest({ url: url.href, method, headers, signal: aborted.signal, source })),
    outgoing,
  )
}

async function send({ status, headers, body }: NodeAnswer, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(status, headers.flat())
  if (body === undefined || !isNodeBody(body)) {
    outgoing.end(body)
    return
  }
  // Headers are sent together with the first bytes, if these are here already.
  if (body.first.length === 0) outgoing.flushHeaders()
  await pump(body, outgoing)
}

function isNodeBody(body: NonNullable<NodeAnswer['body']>): body is NodeBody {
  return typeof body === 'object' && 'source' in body
}

/** Copies from Node to Node. If one side breaks off, so does the other. */
function pump({ source, first, take, end }: NodeBody, outgoing: ServerResponse): Promise<void> {
  for (const chunk of first) outgoing.write(chunk)
  return new Promise((resolve, reject) => {
    const ended = async () => {
      await end?.()
      outgoing.end(resolve)
    }
    // A stream that was read to its end emitted `end` before this listener was added.
    if (source.readableEnded) return void ended()
    source
      .on('data', (chunk: Uint8Array) => {
        if (!outgoing.write(chunk)) source.pause()
        take?.(chunk)
      })
      .on('end', ended)
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
