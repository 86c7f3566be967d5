/** A scripted provider, a proxy for it on a real port, and the engine behind it. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Front, serveProxy } from '../../../src/doors/proxy/front.ts'
import { createProxy, type PalimpsestProxy, type ProxyOptions } from '../../../src/doors/proxy/proxy.ts'
import type { Message } from '../../../src/model/types.ts'
import { openPalimpsest, type Palimpsest } from '../../../src/session/engine.ts'
import { type Script, startUpstream, type Upstream, type UpstreamOptions } from '../../upstream.ts'

export type Setup = {
  upstream: Upstream
  pal: Palimpsest
  proxy: PalimpsestProxy
  front: Front
  url: string
  /** Faults that the proxy logged. */
  faults: string[]
  [Symbol.asyncDispose](): Promise<void>
}

export async function setUp(
  script: Script,
  options: Partial<ProxyOptions> = {},
  provider: UpstreamOptions = {},
): Promise<Setup> {
  const upstream = await startUpstream(script, provider)
  const pal = options.pal ?? (await openPalimpsest({ home: ':memory:' }))
  const faults: string[] = []
  const upstreams = { anthropic: upstream.url, openai: `${upstream.url}/v1`, gemini: upstream.url }
  const proxy = createProxy({ upstreams, log: line => faults.push(line), ...options, pal })
  const front = await serveProxy(proxy)
  return {
    upstream,
    pal,
    proxy,
    front,
    url: front.url,
    faults,
    async [Symbol.asyncDispose]() {
      await front.close()
      await proxy.idle()
      await upstream.close()
      if (!options.pal) await pal.close()
    },
  }
}

/** In front of a provider: answers requests over this many bytes with a stream of these events. */
export async function startRefusing(upstream: string, most: number, events: readonly object[]) {
  const counted = { refused: 0 }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    if (body.length > most) {
      counted.refused++
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`)
      return response.end()
    }
    const answer = await fetch(upstream + request.url, { method: 'POST', body })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
    response.end(await answer.text())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.close()
    server.closeAllConnections()
  }
  const { port } = server.address() as AddressInfo
  return Object.assign(counted, { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: close })
}

/** The ids of all sessions, in the order in which they were created. */
export async function sessionNames(pal: Palimpsest): Promise<string[]> {
  const sessions = await pal.sessions({ limit: 1000 })
  return sessions.sort((a, b) => a.createdAt - b.createdAt).map(({ id }) => id)
}

/** The entries of a session, in order. */
export async function entriesOf(pal: Palimpsest, id: string): Promise<Message[]> {
  const session = await pal.session(id, { mustExist: true })
  return (await session.events()).flatMap(({ event }) => (event.type === 'entry' ? [event.message] : []))
}

/** A result that is large enough for an edit, and different each time. */
export function largeOutput(round: number, chars = 12_000): string {
  const line = (i: number) => `${round}:${i} compiled module-${(i * 7919 + round) % 1000} in ${(i * 31) % 97} ms`
  return Array.from({ length: Math.ceil(chars / 38) }, (_, i) => line(i)).join('\n')
}
