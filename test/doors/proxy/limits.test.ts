/** Bodies that are too large for the proxy, end to end: requests, answers and refusals, on real ports. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { openaiChat } from '../../../src/doors/proxy/openai-chat.ts'
import { Readings } from '../../../src/doors/proxy/reading.ts'
import { takeRefusal } from '../../../src/doors/proxy/stream.ts'
import { entriesOf, sessionNames, setUp } from './setup.ts'

const MIB = 1024 * 1024
const QUESTION = JSON.stringify({ model: 'gpt-4.1', messages: [{ role: 'user', content: 'What is new?' }] })

/** A provider that answers every request in the same way, and counts them. */
async function startProvider(answer: (response: ServerResponse) => void) {
  const counted = { requests: 0 }
  const server = createServer((request, response) => {
    counted.requests++
    request.resume().on('end', () => answer(response))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.close()
    server.closeAllConnections()
  }
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  return Object.assign(counted, { url, [Symbol.asyncDispose]: close })
}

/** Sends a body piece by piece and gives the answer unchanged. */
async function post(url: string, body: Iterable<Buffer | string>): Promise<{ status: number; bytes: Buffer }> {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer k' }
  const sent = httpRequest(`${url}/v1/chat/completions`, { method: 'POST', headers })
  const answered = once(sent, 'response')
  Readable.from(body).pipe(sent)
  const [answer] = (await answered) as [IncomingMessage]
  return { status: answer.statusCode!, bytes: await buffer(answer) }
}

test('a body over 128 MiB is a 413 in the form of the provider, nothing is sent on, and the next request works', async () => {
  await using provider = await startProvider(response => response.end('{}'))
  await using setup = await setUp([], { upstreams: { openai: provider.url } })
  const piece = Buffer.alloc(MIB, 'a')
  const { status, bytes } = await post(setup.url, [
    '{"model":"gpt-4.1","messages":[{"role":"user","content":"',
    ...Array.from({ length: 128 }, () => piece),
    '"}]}',
  ])
  assert.equal(status, 413)
  const { error } = JSON.parse(bytes.toString())
  assert.match(error.message, /larger than 134217728 bytes/)
  assert.equal(provider.requests, 0)
  assert.equal((await post(setup.url, [QUESTION])).status, 200)
  assert.equal(provider.requests, 1)
})

test('a body of too many values is passed on unread, and fills no memory', async () => {
  const asked = (values: number) =>
    `{"model":"gpt-4.1","messages":[{"role":"user","content":"Who?"}],"x":[${'{},'.repeat(values)}{}]}`
  await using provider = await startProvider(response => response.end('{}'))
  await using setup = await setUp([], { upstreams: { openai: provider.url } })
  assert.equal((await post(setup.url, [asked(2_000_000)])).status, 200)
  assert.deepEqual(await sessionNames(setup.pal), [])
  assert.equal((await post(setup.url, [asked(200_000)])).status, 200)
  assert.equal((await sessionNames(setup.pal)).length, 1)
})

test('a conversation that grows to too many values is read no further', () => {
  const readings = new Readings()
  const messages = (count: number) =>
    Array.from({ length: count }, (_, i) => `{"role":"${i % 2 ? 'assistant' : 'user'}","content":"${i}"}`)
  const read = (count: number) =>
    readings.read(openaiChat, Buffer.from(`{"model":"m","messages":[${messages(count).join()}]}`))
  for (const count of [100_000, 150_000]) assert.equal(read(count)?.messages?.length, count)
  assert.equal(read(200_000), undefined)
})

test('an answer over 64 MiB reaches the client byte for byte, compressed or not, and is not recorded', async () => {
  const long = { choices: [{ message: { role: 'assistant', content: 'a'.repeat(65 * MIB) } }] }
  const plain = Buffer.from(JSON.stringify(long))
  for (const packed of [plain, gzipSync(plain, { level: 1 })]) {
    const headers = packed === plain ? {} : { 'content-encoding': 'gzip' }
    await using provider = await startProvider(response => {
      response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(packed)
    })
    await using setup = await setUp([], { upstreams: { openai: provider.url } })
    const { status, bytes } = await post(setup.url, [QUESTION])
    assert.equal(status, 200)
    assert.ok(bytes.equals(packed))
    await setup.proxy.idle()
    const [name] = await sessionNames(setup.pal)
    assert.deepEqual(
      (await entriesOf(setup.pal, name!)).map(({ role }) => role),
      ['user'],
    )
    assert.deepEqual(setup.faults, [])
  }
})

test('a refusal of any size reaches the client byte for byte, and an unreadable one causes no second request', async () => {
  const words = 'This model’s maximum context length is 8 tokens. '
  const plain = Buffer.from(JSON.stringify({ error: { message: words, code: 'context_length_exceeded' } }))
  const large = Buffer.concat([plain, Buffer.alloc(9 * MIB, ' ')])
  for (const [bytes, encoding] of [
    [large, undefined],
    [gzipSync(Buffer.alloc(300 * MIB, ' ')), 'gzip'],
    [Buffer.from('not gzip at all'), 'gzip'],
  ] as const) {
    await using provider = await startProvider(response => {
      const headers = encoding ? { 'content-encoding': encoding } : {}
      response.writeHead(400, { 'content-type': 'application/json', ...headers }).end(bytes)
    })
    await using setup = await setUp([], { upstreams: { openai: provider.url } })
    const answer = await post(setup.url, [QUESTION])
    assert.equal(answer.status, 400)
    assert.ok(answer.bytes.equals(bytes))
    assert.equal(provider.requests, 1)
  }
})

test('only the beginning of a large compressed refusal is unpacked', async () => {
  const packed = gzipSync(Buffer.alloc(100_000_000, 'a'))
  const { taken, text } = await takeRefusal(Readable.from([packed]), 'gzip')
  assert.ok(text.length > 0 && text.length < 10_000_000)
  assert.ok(Buffer.concat(taken).equals(packed))
})
