import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setImmediate as nextRound } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { serveProxy } from '../../../src/doors/proxy/front.ts'
import { createProxy } from '../../../src/doors/proxy/proxy.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'

type Seen = { method: string; url: string; headers: IncomingMessage['headers']; body: Buffer }

/** A proxy, with a server after it that the test writes itself. */
async function between(answer: (seen: Seen, response: ServerResponse) => void, policy = 'thrifty') {
  const seen: Seen[] = []
  const counted = { connections: 0 }
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const { method = '', url = '', headers } = incoming
    seen.push({ method, url, headers, body: Buffer.concat(chunks) })
    answer(seen.at(-1)!, response)
  })
  server.on('connection', () => counted.connections++).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const pal = await openPalimpsest({ home: ':memory:' })
  const faults: string[] = []
  const log = (line: string) => faults.push(line)
  const upstreams = { anthropic: base, openai: base, gemini: base }
  const proxy = createProxy({ pal, policy, log, upstreams })
  const front = await serveProxy(proxy)
  return {
    seen,
    counted,
    faults,
    proxy,
    pal,
    url: front.url,
    async [Symbol.asyncDispose]() {
      await front.close()
      server.close()
      server.closeAllConnections()
      await proxy.idle()
      await pal.close()
    },
  }
}

const BODIES: [path: string, body: string][] = [
  [
    '/v1/messages?beta=true',
    '{ "model":"claude-sonnet-4-5", "max_tokens": 1e2,\n "messages":[{"role":"user","content":"\\u00e4 \\/ x"}]}',
  ],
  ['/v1/chat/completions', '{"model":"gpt-4o","messages":[{"role":"user","content":"hi","x":1.0}],"stream":true}'],
  ['/v1/responses', '{"model":"gpt-5","input":"hi" ,"store":false}'],
  ['/anthropic/v1/messages', '{"model":"claude","messages":[]}'],
  ['/openai/v1/embeddings?a=b&c', '{"input": "x"}'],
  ['/gemini/v1beta/models/gemini-2.5-pro:generateContent?key=k', '{"contents":[]}'],
  ['/v1/chat/completions', 'not json at all'],
  ['/v1/chat/completions', '{"model":"gpt-4o","messages":"what?"}'],
]

for (const policy of ['none', 'thrifty']) {
  test(`with ${policy} every route passes bytes, headers and query unchanged`, async () => {
    await using it = await between(
      (_, response) => response.writeHead(418, { 'x-own': 'a', 'set-cookie': ['a=1', 'b=2'] }).end('{"a" :1}'),
      policy,
    )
    for (const [path, body] of BODIES) {
      const headers = {
        'content-type': 'application/json',
        authorization: 'Bearer sk-secret',
        'x-stainless-lang': 'js',
        'accept-encoding': 'br, zstd',
        te: 'trailers',
        'x-palimpsest-session': 'one',
      }
      const response = await fetch(it.url + path, { method: 'POST', body, headers })
      assert.equal(response.status, 418)
      assert.equal(response.headers.get('x-own'), 'a')
      assert.deepEqual(response.headers.getSetCookie(), ['a=1', 'b=2'])
      assert.equal(await response.text(), '{"a" :1}')
      const got = it.seen.at(-1)!
      assert.equal(got.body.toString(), body)
      assert.equal(got.url, path.replace(/^\/(?:anthropic|openai|gemini)/, ''))
      assert.equal(got.headers.authorization, 'Bearer sk-secret')
      assert.equal(got.headers['x-stainless-lang'], 'js')
      assert.equal(got.headers['accept-encoding'], 'br, zstd')
      assert.equal(got.headers['content-length'], String(Buffer.byteLength(body)))
      assert.equal(got.headers.te, undefined)
      assert.equal(got.headers['x-palimpsest-session'], undefined)
    }
    assert.ok(!it.faults.join().includes('secret'))
  })
}

test('requests without a body have none at the provider, and share a connection to it', async () => {
  await using it = await between((_, response) => response.end('{}'))
  for (const path of ['/v1/models', '/anthropic/v1/models', '/v1/models']) await (await fetch(it.url + path)).text()
  for (const { headers, body } of it.seen) assert.deepEqual([headers['transfer-encoding'], body.length], [undefined, 0])
  assert.deepEqual([it.seen.length, it.counted.connections], [3, 1])
})

test('a body that is not valid UTF-8 is passed on unchanged', async () => {
  await using it = await between((_, response) => response.end('{}'))
  const body = Buffer.from([0x7b, 0xff, 0xfe, 0x7d])
  await (await fetch(`${it.url}/v1/chat/completions`, { method: 'POST', body })).text()
  assert.deepEqual(it.seen[0]!.body, body)
})

test('a compressed request is passed on unpacked, one in an unknown encoding unchanged, both without a fault', async () => {
  await using it = await between((_, response) => response.end('{}'))
  const plain = '{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}'
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  await (await fetch(`${it.url}/v1/chat/completions`, { method: 'POST', body: gzipSync(plain), headers })).text()
  assert.equal(it.seen[0]!.body.toString(), plain)
  assert.deepEqual([it.seen[0]!.headers['content-encoding'], it.faults], [undefined, []])
  const known = (await it.pal.sessions()).length
  assert.equal(known, 1)
  const odd = { ...headers, 'content-encoding': 'own' }
  const other = plain.replace('hi', 'hello')
  await (await fetch(`${it.url}/v1/chat/completions`, { method: 'POST', body: other, headers: odd })).text()
  assert.equal(it.seen[1]!.body.toString(), other)
  assert.deepEqual([it.seen[1]!.headers['content-encoding'], it.faults], ['own', []])
  assert.equal((await it.pal.sessions()).length, known, 'nobody knows what it says')
})

test('a compressed answer stays compressed, and its usage is still read', async () => {
  const answer = gzipSync(
    JSON.stringify({ model: 'gpt-4o', choices: [], usage: { prompt_tokens: 70, completion_tokens: 3 } }),
  )
  await using it = await between((_, response) =>
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(answer),
  )
  const call = request(`${it.url}/v1/chat/completions`, { method: 'POST' })
  call.end('{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}')
  const [response]: [IncomingMessage] = (await once(call, 'response')) as never
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  assert.equal(response.headers['content-encoding'], 'gzip')
  assert.deepEqual(Buffer.concat(chunks), answer)
  await it.proxy.idle()
  assert.equal((await it.proxy.totals()).input, 70)
})

test('chunks of a stream arrive one by one, event lines and pings included', async () => {
  let go = () => {}
  await using it = await between((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('event: ping\ndata: {"type": "ping"}\n\n')
    go = () => response.end(': comment\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n')
  })
  const body = '{"model":"claude-sonnet-4-5","stream":true,"messages":[{"role":"user","content":"hi"}]}'
  const response = await fetch(`${it.url}/v1/messages`, { method: 'POST', body })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  assert.equal((await reader.read()).value, 'event: ping\ndata: {"type": "ping"}\n\n')
  go()
  assert.equal((await reader.read()).value, ': comment\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n')
  assert.equal((await reader.read()).done, true)
})

test('a client that disconnects ends the request to the provider', async () => {
  const closed = Promise.withResolvers<void>()
  await using it = await between((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {}\n\n')
    response.on('close', closed.resolve)
  })
  const abort = new AbortController()
  const body = '{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"hi"}]}'
  const response = await fetch(`${it.url}/v1/chat/completions`, { method: 'POST', body, signal: abort.signal })
  await response.body!.getReader().read()
  abort.abort()
  await closed.promise
})

test('a client that disconnects before the answer begins ends the request to the provider', async () => {
  const arrived = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<void>()
  await using it = await between((_, response) => {
    response.on('close', closed.resolve)
    arrived.resolve()
  })
  const abort = new AbortController()
  const body = '{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}'
  const answer = fetch(`${it.url}/v1/chat/completions`, { method: 'POST', body, signal: abort.signal })
  await arrived.promise
  abort.abort()
  await assert.rejects(answer)
  await closed.promise
})

test('an answer that breaks off also breaks off for the client', async () => {
  await using it = await between((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {}\n\n')
    setImmediate(() => response.destroy())
  })
  const body = '{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"hi"}]}'
  const response = await fetch(`${it.url}/v1/chat/completions`, { method: 'POST', body })
  await assert.rejects(response.text())
})

test('a slow client slows down the provider', async () => {
  const big = Buffer.alloc(1 << 20, 'x')
  let written = 0
  await using it = await between((_, response) => {
    response.writeHead(200, { 'content-type': 'application/octet-stream' })
    const more = () => {
      while (written < 32) {
        written++
        if (!response.write(big)) return void response.once('drain', more)
      }
      response.end()
    }
    more()
  })
  const call = request(`${it.url}/v1/files/x/content`)
  call.end()
  const [response]: [IncomingMessage] = (await once(call, 'response')) as never
  response.pause()
  // Provider, proxy and client share this event loop: after so many rounds without a write, no write will follow.
  for (let [still, before] = [0, written]; still < 500; before = written) {
    await nextRound()
    still = written === before ? still + 1 : 0
  }
  assert.ok(written < 24, `the provider had written ${written} MB before anybody read`)
  let size = 0
  for await (const chunk of response) size += chunk.length
  assert.equal(size, 32 << 20)
})

test('HEAD, GET and answers without a body are passed on', async () => {
  await using it = await between(({ method }, response) => response.writeHead(method === 'GET' ? 200 : 204).end())
  assert.equal((await fetch(`${it.url}/anthropic/api/hello`, { method: 'HEAD' })).status, 204)
  assert.equal((await fetch(`${it.url}/v1/models`, { headers: { 'anthropic-version': '2023-06-01' } })).status, 200)
  assert.deepEqual(
    it.seen.map(({ method, url }) => `${method} ${url}`),
    ['HEAD /api/hello', 'GET /v1/models'],
  )
})

test('a body stays the body of its request, whatever the method and however its end is told', async () => {
  await using world = await between((_, response) => response.end('{}'))
  const body = 'GET /v1/hidden HTTP/1.1\r\nHost: x\r\n\r\n'
  const ends = {
    chunked: { 'transfer-encoding': 'chunked' },
    counted: { 'content-length': body.length },
    hidden: { 'content-length': body.length, connection: 'content-length' },
  }
  for (const method of ['DELETE', 'OPTIONS', 'TRACE', 'PUT', 'POST', 'GET', 'HEAD']) {
    for (const [end, headers] of Object.entries(ends)) {
      world.seen.length = 0
      const sent = request(`${world.url}/v1/files/x`, { method, headers })
      sent.end(body)
      const [response] = await once(sent, 'response')
      await once(response.resume(), 'end')
      assert.equal((await fetch(`${world.url}/v1/models`)).status, 200)
      const seen = world.seen.map(one => [one.method, one.url, one.body.toString()])
      assert.deepEqual(
        seen,
        [
          [method, '/v1/files/x', body],
          ['GET', '/v1/models', ''],
        ],
        `${method}, ${end}`,
      )
    }
  }
})

test('a WebSocket upgrade is refused, so that the client falls back to HTTP', async () => {
  await using it = await between((_, response) => response.end())
  const call = request(`${it.url}/v1/responses`, { headers: { connection: 'Upgrade', upgrade: 'websocket' } })
  call.end()
  const [response]: [IncomingMessage] = (await once(call, 'response')) as never
  assert.equal(response.statusCode, 426)
  assert.equal(it.seen.length, 0)
  response.resume()
})

test('an unreachable provider gives an error in the form of its dialect', async () => {
  const pal = await openPalimpsest({ home: ':memory:' })
  const faults: string[] = []
  const upstreams = { anthropic: 'http://127.0.0.1:1', openai: 'http://127.0.0.1:1/v1' }
  const proxy = createProxy({ pal, upstreams, log: line => faults.push(line) })
  const post = (path: string, body: string) =>
    proxy(new Request(`http://x${path}`, { method: 'POST', body, headers: { authorization: 'Bearer sk-secret' } }))
  const anthropic = await post('/v1/messages', '{"model":"claude","messages":[{"role":"user","content":"hi"}]}')
  assert.equal(anthropic.status, 502)
  assert.deepEqual(await anthropic.json(), {
    type: 'error',
    error: { type: 'api_error', message: 'Palimpsest cannot reach 127.0.0.1:1: ECONNREFUSED.' },
  })
  const openai = (await (await post('/v1/chat/completions', '{}')).json()) as { error: { code: string } }
  assert.equal(openai.error.code, 'upstream_unreachable')
  assert.equal(faults.length, 2)
  assert.ok(!faults.join().includes('secret'))
  await pal.close()
})

test('listening beyond loopback needs a token, and requests with the token are accepted', async () => {
  const handler = async ({ url }: { url: string }) => ({ status: 200, headers: [], body: new URL(url).pathname })
  await assert.rejects(serveProxy(handler, { host: '0.0.0.0' }), { code: 'INVALID_INPUT' })
  await using front = await serveProxy(handler, { host: '0.0.0.0', token: 'sesame' })
  const at = `http://127.0.0.1:${front.port}`
  assert.equal((await fetch(`${at}/v1/models`)).status, 401)
  assert.equal((await fetch(`${at}/key/wrong/v1/models`)).status, 401)
  assert.equal(await (await fetch(`${at}/key/sesame/v1/models`)).text(), '/v1/models')
  assert.equal(
    await (await fetch(`${at}/v1/models`, { headers: { 'x-palimpsest-token': 'sesame' } })).text(),
    '/v1/models',
  )
})
