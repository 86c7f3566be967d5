/**
 * Providers with invalid answers: unexpected JSON, bytes that are not compressed as announced, answers without an end.
 * The client gets every byte, no reading throws, and the next request works.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import * as zlib from 'node:zlib'
import { anthropic } from '../../../src/doors/proxy/anthropic.ts'
import { type Answer, emptyAnswer } from '../../../src/doors/proxy/dialect.ts'
import { gemini } from '../../../src/doors/proxy/gemini.ts'
import { openaiChat } from '../../../src/doors/proxy/openai-chat.ts'
import { openaiResponses } from '../../../src/doors/proxy/openai-responses.ts'
import { BodyReader, Events } from '../../../src/doors/proxy/stream.ts'
import { timeOf } from '../../processor.ts'
import * as fc from '../../property.ts'
import { setUp } from './setup.ts'

/** It has no text: `String` of it throws. */
const TEXTLESS = { toString: 1, valueOf: 1 }
const DIALECTS = [anthropic, openaiChat, openaiResponses, gemini]
const PATHS: Record<string, [path: string, body: object]> = {
  anthropic: ['/anthropic/v1/messages', { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }],
  'openai-chat': ['/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'hi' }] }],
  'openai-responses': ['/v1/responses', { model: 'm', input: [{ role: 'user', content: 'hi' }] }],
  gemini: ['/gemini/v1beta/models/m:streamGenerateContent', { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }],
}

/** The names and values that answers have, so that generated ones come far into the readers. */
const KEYS = (
  'type message delta content_block index usage choices content text tool_calls function arguments name id candidates ' +
  'parts functionCall args response output item status error code model stop_reason finish_reason input call_id ' +
  'input_tokens cache_creation iterations context_management applied_edits input_transformations diagnostics ' +
  'cache_miss_reason usageMetadata promptTokenCount partial_json prompt_tokens_details service_tier thought toString'
).split(' ')
const VALUES = (
  'message_start content_block_start content_block_delta message_delta error text_delta input_json_delta tool_use ' +
  'text compaction compaction_delta response.created response.completed response.output_item.done ' +
  'response.output_text.delta response.failed clear_tool_uses_20250919 thinking_dropped'
).split(' ')
const value = fc.letrec(tie => ({
  any: fc.oneof(
    { depthSize: 'small', maxDepth: 6 },
    { weight: 3, arbitrary: fc.constantFrom(...VALUES) },
    { weight: 1, arbitrary: fc.constantFrom<unknown>(null, true, 0, -1, 1.5, '', '{"a"', TEXTLESS) },
    { weight: 2, arbitrary: fc.array(tie('any'), { maxLength: 3 }) },
    { weight: 4, arbitrary: fc.dictionary(fc.constantFrom(...KEYS), tie('any'), { maxKeys: 5 }) },
  ),
})).any
const events = fc.array(fc.dictionary(fc.constantFrom(...KEYS), value, { minKeys: 1, maxKeys: 6 }), {
  minLength: 1,
  maxLength: 5,
})

/** A provider that answers every request in the same way. */
async function startProvider(answer: (response: ServerResponse) => void) {
  const server = createServer((request, response) => void request.resume().on('end', () => answer(response)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const close = async () => {
    server.close()
    server.closeAllConnections()
  }
  return { upstreams: { anthropic: url, openai: `${url}/v1`, gemini: url }, [Symbol.asyncDispose]: close }
}

async function post(url: string, body: object): Promise<{ status: number; bytes: Buffer }> {
  const sent = httpRequest(url, { method: 'POST', headers: { 'content-type': 'application/json' } })
  sent.end(JSON.stringify(body))
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: answer.statusCode!, bytes: await buffer(answer) }
}

async function readBy(reader: (done: (answer: Answer) => void) => BodyReader, bytes: Uint8Array): Promise<Answer> {
  let read: Answer | undefined
  const body = reader(answer => (read = answer))
  for (let at = 0; at < bytes.length; at += 50) body.take(bytes.subarray(at, at + 50))
  await body.end()
  return read!
}

const STREAM = new Headers({ 'content-type': 'text/event-stream' })
const WHOLE = new Headers({ 'content-type': 'application/json' })

for (const dialect of DIALECTS) {
  describe(dialect.name, () => {
    test('reads any JSON without an error, streamed or whole', async () => {
      await fc.assert(
        fc.asyncProperty(events, async given => {
          const stream = Buffer.from(given.map(event => `data: ${JSON.stringify(event)}\n\n`).join(''))
          for (const [headers, bytes] of [
            [STREAM, stream],
            [WHOLE, Buffer.from(JSON.stringify(given[0]))],
            [WHOLE, Buffer.from(JSON.stringify(given))],
          ] as const) {
            const { text, calls } = await readBy(done => new BodyReader(dialect, headers, done), bytes)
            assert.equal(typeof text, 'string')
            assert.ok(Array.isArray(calls))
          }
        }),
        { numRuns: 300 },
      )
    })

    test('passes an unreadable answer to the client byte for byte, and logs a fault', async () => {
      const given = [
        { type: 'content_block_start', content_block: { type: 'tool_use', id: 'x', name: TEXTLESS } },
        { choices: [{ delta: { tool_calls: [{ id: 'x', function: { name: TEXTLESS } }] } }] },
        { type: 'response.output_item.done', item: { call_id: 'x', name: TEXTLESS } },
        { candidates: [{ content: { parts: [{ functionCall: { id: 'x', name: TEXTLESS } }] } }] },
      ]
      const whole = {
        content: [{ type: 'tool_use', id: 'x', name: TEXTLESS }],
        output: [{ call_id: 'x', name: TEXTLESS }],
        choices: [{ message: { tool_calls: [{ id: 'x', function: { name: TEXTLESS } }] } }],
        candidates: [{ content: { parts: [{ functionCall: { id: 'x', name: TEXTLESS } }] } }],
      }
      for (const [type, text] of [
        ['text/event-stream', given.map(event => `data: ${JSON.stringify(event)}\n\n`).join('')],
        ['application/json', JSON.stringify(whole)],
      ] as const) {
        await using provider = await startProvider(response => {
          response.writeHead(200, { 'content-type': type }).end(text)
        })
        await using setup = await setUp([], { upstreams: provider.upstreams })
        const [path, body] = PATHS[dialect.name]!
        for (let i = 0; i < 2; i++) {
          const { status, bytes } = await post(setup.url + path, body)
          assert.equal(status, 200)
          assert.equal(bytes.toString(), text)
        }
        await setup.proxy.idle()
        assert.equal(setup.faults.length, 2)
        assert.match(setup.faults[0]!, /^proxy: an answer cannot be read, and is passed on all the same: TypeError/)
      }
    })
  })
}

test('a request with values of unexpected types is passed on unchanged', async () => {
  await using provider = await startProvider(response => response.end('{}'))
  await using setup = await setUp([], { upstreams: provider.upstreams })
  const [, ask] = PATHS['anthropic']!
  for (const [path, body] of [
    ['/anthropic/v1/messages', { ...ask, system: [{ type: 'text', text: TEXTLESS }] }],
    ['/anthropic/v1/messages', { ...ask, tools: [{ type: TEXTLESS, name: TEXTLESS }], thinking: TEXTLESS }],
    ['/v1/chat/completions', { messages: [{ role: TEXTLESS, content: 'a' }] }],
    ['/v1/responses', { input: [{ type: TEXTLESS, role: TEXTLESS, id: TEXTLESS }] }],
    [
      '/gemini/v1beta/models/m:generateContent',
      { contents: [{ parts: [{ functionCall: TEXTLESS }] }], tools: [TEXTLESS] },
    ],
    ['/gemini/v1beta/models/m:countTokens', { contents: [], generateContentRequest: TEXTLESS }],
  ] as const) {
    assert.equal((await post(setup.url + path, body)).status, 200, path)
  }
})

describe('compressed bytes that do not match their announced encoding', () => {
  const plain = Buffer.from('data: {"type":"message_start"}\n\n'.repeat(200))
  const packed: Record<string, (bytes: Buffer) => Buffer> = {
    gzip: bytes => zlib.gzipSync(bytes),
    deflate: bytes => zlib.deflateSync(bytes),
    br: bytes => zlib.brotliCompressSync(bytes),
    zstd: bytes => zlib.zstdCompressSync(bytes),
  }
  for (const [encoding, pack] of Object.entries(packed)) {
    for (const [name, bytes] of Object.entries({
      nothing: Buffer.alloc(0),
      'plain text': plain,
      'the beginning alone': pack(plain).subarray(0, 25),
      'the whole, and more behind it': Buffer.concat([pack(plain), plain]),
    })) {
      test(`${encoding}, ${name}: the client gets the bytes and their end`, async () => {
        for (const type of ['text/event-stream', 'application/json']) {
          await using provider = await startProvider(async response => {
            response.writeHead(200, { 'content-type': type, 'content-encoding': encoding })
            // In two pieces: the decoder fails before the second one comes.
            for (const piece of [bytes.subarray(0, 20), bytes.subarray(20)]) {
              if (piece.length > 0) await new Promise(resolve => response.write(piece, resolve))
              await new Promise(resolve => setImmediate(resolve))
            }
            response.end()
          })
          await using setup = await setUp([], { upstreams: provider.upstreams })
          const [path, body] = PATHS['anthropic']!
          const answer = await post(setup.url + path, body)
          assert.equal(answer.status, 200)
          assert.ok(answer.bytes.equals(bytes))
          await setup.proxy.idle()
        }
      })
    }
  }

  test('the reader ends although its decoder failed earlier', async () => {
    const headers = new Headers({ 'content-type': 'text/event-stream', 'content-encoding': 'gzip' })
    let answer: Answer | undefined
    const reader = new BodyReader(anthropic, headers, read => (answer = read))
    reader.take(plain)
    // Wait some turns of the event loop, until the decoder has reported its error.
    for (let i = 0; i < 20; i++) await new Promise(resolve => setImmediate(resolve))
    reader.take(plain)
    await reader.end()
    assert.deepEqual(answer, emptyAnswer())
  })
})

describe('events of a stream', () => {
  test('are the same for every division into pieces', () => {
    const line = fc.constantFrom('data: 1', 'event: a', '\n', '\n\n', '\r\n', '\r', '\r\n\r\n', 'x')
    fc.assert(
      fc.property(fc.array(line, { maxLength: 30 }), fc.array(fc.nat(9), { minLength: 1 }), (lines, sizes) => {
        const text = lines.join('')
        const cut = (pieces: readonly string[]) => {
          const taken: string[] = []
          const events = new Events()
          for (const piece of pieces) events.take(piece, (_, raw) => taken.push(raw))
          return [...taken, events.rest()].join('\0')
        }
        const pieces: string[] = []
        for (let at = 0, i = 0; at < text.length; i++) {
          const end = at + 1 + sizes[i % sizes.length]!
          pieces.push(text.slice(at, end))
          at = end
        }
        assert.equal(pieces.join(''), text)
        // A lone carriage return at the end of a piece may be the first half of a line's end.
        if (!text.includes('\r')) assert.equal(cut(pieces), cut([text]))
        assert.equal(cut(pieces).replaceAll('\0', ''), text)
      }),
      { numRuns: 2000 },
    )
  })

  test('without an end are read in linear time', () => {
    for (const sign of ['a', 'a\n', 'a\r\n', ' ', ':', '\r \n']) {
      const piece = Buffer.from(sign.repeat(16_384 / sign.length))
      const reader = new BodyReader(anthropic, STREAM, () => {})
      const ms = timeOf(() => {
        for (let i = 0; i < 512; i++) reader.take(piece)
      })
      assert.ok(ms < 1500, `${ms} ms of processor for 8 MB of ${JSON.stringify(sign)}`)
    }
  })
})

test('of a stream that unpacks to a huge size, only the beginning is kept', async () => {
  const event = `data: ${JSON.stringify({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'a'.repeat(2 ** 20) } })}\n\n`
  const bomb = zlib.gzipSync(event.repeat(300))
  assert.ok(bomb.length < 2 ** 20)
  const headers = new Headers({ 'content-type': 'text/event-stream', 'content-encoding': 'gzip' })
  const answer = await readBy(done => new BodyReader(anthropic, headers, done), bomb)
  assert.ok(answer.text.length > 2 ** 20 && answer.text.length <= 128 * 2 ** 20, `${answer.text.length}`)
})
