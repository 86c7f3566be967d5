/** Reading a streamed answer gives the same for any split into chunks and any line endings. */
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import * as zlib from 'node:zlib'
import { anthropic } from '../../../src/doors/proxy/anthropic.ts'
import type { Answer } from '../../../src/doors/proxy/dialect.ts'
import { NodeHeaders } from '../../../src/doors/proxy/node-http.ts'
import { BodyReader, MOST_WHOLE, takeRequest } from '../../../src/doors/proxy/stream.ts'
import * as fc from '../../property.ts'

const STREAM = new NodeHeaders(['Content-Type', 'text/event-stream; charset=utf-8'])

async function learnt(chunks: readonly Uint8Array[], headers = STREAM): Promise<Answer> {
  const { promise, resolve } = Promise.withResolvers<Answer>()
  const reader = new BodyReader(anthropic, headers, resolve)
  for (const chunk of chunks) reader.take(chunk)
  await reader.end()
  return promise
}

test('a stream is read the same for any split into chunks', async () => {
  const piece = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('\n', '\r\n', 'data: ', '€', ''))
  const given = fc.record({
    pieces: fc.array(piece, { maxLength: 6 }),
    end: fc.constantFrom('\n', '\r\n', '\r'),
    space: fc.constantFrom('', ' '),
    named: fc.boolean(),
    size: fc.integer({ min: 1, max: 40 }),
  })
  await fc.assert(
    fc.asyncProperty(given, async ({ pieces, end, space, named, size }) => {
      const start = {
        type: 'content_block_start',
        content_block: { type: 'tool_use', id: 'c1', name: 'bash', input: {} },
      }
      const events = [
        start,
        ...pieces.map(text => ({ type: 'content_block_delta', delta: { type: 'text_delta', text } })),
        { type: 'message_delta', usage: { output_tokens: 7 } },
      ]
      const written = events.map(
        event =>
          `${named ? `event: ${event.type}${end}` : `: ping${end}`}data:${space}${JSON.stringify(event)}${end}${end}`,
      )
      const bytes = Buffer.from(written.join(''))
      const cuts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.subarray(i * size, (i + 1) * size),
      )
      const { text, calls, usage } = await learnt(cuts)
      assert.equal(text, pieces.join(''))
      assert.deepEqual(calls, [{ id: 'c1', name: 'bash', input: {} }])
      assert.equal(usage.output, 7)
    }),
  )
})

test('an event may have several data lines, and the last event needs no end', async () => {
  const lines = [
    'data: {"type":"content_block_delta",',
    'data: "delta":{"text":"yes"}}',
    '',
    'data: {"type":"error","error":1}',
  ]
  const { text, error } = await learnt([Buffer.from(lines.join('\n'))])
  assert.equal(text, 'yes')
  assert.equal(error, '1')
})

test('headers are found in any letter case, joined if repeated, and passed on unchanged', () => {
  const raw = ['Accept', 'a', 'accept', 'b', 'Cookie', 'x=1', 'cookie', 'y=2', 'Set-Cookie', 'p=1', 'Set-Cookie', 'q=2']
  const headers = new NodeHeaders(raw)
  assert.equal(headers.get('ACCEPT'), 'a, b')
  assert.equal(headers.get('cookie'), 'x=1; y=2')
  assert.equal(headers.has('Accept'), true)
  assert.equal(headers.get('host'), null)
  assert.deepEqual(
    [...headers].filter(([name]) => name === 'set-cookie').map(([, value]) => value),
    ['p=1', 'q=2'],
  )
})

test('an answer is read in any known compression, and an unknown one gives nothing', async () => {
  const event = { type: 'content_block_delta', delta: { type: 'text_delta', text: 'yes' } }
  const plain = Buffer.from(`data: ${JSON.stringify(event)}\n\n`)
  const forms: [string, Buffer][] = [
    ['gzip', zlib.gzipSync(plain)],
    ['X-Gzip', zlib.gzipSync(plain)],
    ['br', zlib.brotliCompressSync(plain)],
    [' zstd ', zlib.zstdCompressSync(plain)],
    ['deflate', zlib.deflateSync(plain)],
    ['identity', plain],
  ]
  for (const [name, bytes] of forms) {
    const headers = new NodeHeaders(['content-type', 'text/event-stream', 'content-encoding', name])
    const halves = [bytes.subarray(0, bytes.length >> 1), bytes.subarray(bytes.length >> 1)]
    assert.equal((await learnt(halves, headers)).text, 'yes', name)
  }
  const odd = new NodeHeaders(['content-type', 'text/event-stream', 'content-encoding', 'compress'])
  assert.equal((await learnt([zlib.gzipSync(plain)], odd)).text, '')
  const cut = new NodeHeaders(['content-type', 'text/event-stream', 'content-encoding', 'gzip'])
  assert.equal((await learnt([Buffer.from('no gzip at all')], cut)).text, '')
})

test('a request stays as it is if its compression is unknown or damaged, or hides too much', async () => {
  const bomb = zlib.gzipSync(Buffer.alloc(MOST_WHOLE + 1), { level: 1 })
  const forms: [string, Buffer][] = [
    ['compress', Buffer.from('{}')],
    ['gzip', Buffer.from('no gzip at all')],
    ['zstd', zlib.zstdCompressSync('{}').subarray(0, -1)],
    ['gzip', bomb],
  ]
  for (const [encoding, bytes] of forms) {
    const headers = { 'content-encoding': encoding }
    assert.ok((await takeRequest(Readable.from([bytes]), headers)).equals(bytes))
    assert.deepEqual(headers, { 'content-encoding': encoding })
  }
})

test('a body of JSON that is no answer is read without a fault', async () => {
  for (const body of ['7', 'null', '"a"', '[7]']) {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    const json = new NodeHeaders(['content-type', 'application/json'])
    const reader = new BodyReader(anthropic, json, (_, fault) => resolve(fault))
    reader.take(Buffer.from(body))
    await reader.end()
    assert.equal(await promise, undefined, body)
  }
})
