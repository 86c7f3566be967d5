/**
 * Node's HTTP server in front of a handler of requests, with backpressure and aborts passed both ways.
 *
 * The handler is given a request that looks like a web `Request` as far as it goes, and answers with a `Response`. A
 * real `Request` and web streams on both sides would cost more than everything that the proxy does with what passes.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type NodeBody, nodeBodyOf, toWebBody } from './node-body.ts'

/** What can be known of a request; every web `Request` is one. */
export type AnyRequest = Pick<Request, 'url' | 'method' | 'headers' | 'body' | 'signal'>

export class NodeRequest implements AnyRequest {
  readonly url: string
  readonly method: string
  readonly headers = new Headers()
  readonly signal: AbortSignal
  /** The body as it comes in; nothing where the method has none. */
  readonly source: IncomingMessage | undefined
  #body: Request['body'] = null

  constructor(incoming: IncomingMessage, url: URL, signal: AbortSignal) {
    const { method = 'GET', rawHeaders } = incoming
    this.url = url.href
    this.method = method
    this.signal = signal
    this.source = method === 'GET' || method === 'HEAD' ? undefined : incoming
    for (let i = 0; i < rawHeaders.length; i += 2) this.headers.append(rawHeaders[i]!, rawHeaders[i + 1]!)
  }

  /** The body as a web stream, for one who cannot do with `source`. */
  get body(): Request['body'] {
    if (this.source) this.#body ??= toWebBody({ source: this.source, first: [] })
    return this.#body
  }
}

/** Answers a request with what the handler gives for it. `url`: under which the handler shall see it. */
export async function answerNode(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { url, handle }: { url: URL; handle: (request: NodeRequest) => Promise<Response> },
): Promise<void> {
  const aborted = new AbortController()
  outgoing.on('close', () => {
    if (!outgoing.writableFinished) aborted.abort()
  })
  await send(await handle(new NodeRequest(incoming, url, aborted.signal)), outgoing)
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
    const ended = async () => {
      await end?.()
      outgoing.end(resolve)
    }
    // A stream of which all was taken already says so only once, before anybody listened.
    if (source.readableEnded) return void ended()
    source
      .on('data', (chunk: Uint8Array) => {
        take?.(chunk)
        if (!outgoing.write(chunk)) source.pause()
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
