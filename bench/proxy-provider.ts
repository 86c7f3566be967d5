/**
 * The provider of the proxy benchmark, as a process: reads the body, waits as a fast model would, and streams an answer
 * with one tool call. All answers are the same; for a request of AT_ONCE tokens it does not wait. Everything possible
 * is prepared beforehand, because it shares the machine with what is measured.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export const FIRST_BYTE_MS = 300
export const LAST_BYTE_MS = 4000
/** A number that survives every proxy, unlike a header. */
export const AT_ONCE = 1001
const DELTAS = 100

type Event = { type: string } & Record<string, unknown>

const DELTA = 'content_block_delta'
const FIRST_DELTA = written(delta('{"command":"'))
const NEXT_DELTA = written(delta('a piece of it '))
const ENDING = [
  delta('"}'),
  { type: 'content_block_stop', index: 0 },
  {
    type: 'message_delta',
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: { output_tokens: 50 },
  },
  { type: 'message_stop' },
].map(written)

function delta(partial_json: string): Event {
  return { type: DELTA, index: 0, delta: { type: 'input_json_delta', partial_json } }
}

function written(event: Event): Buffer {
  return Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
}

function eventsOf(call: number): Buffer[] {
  const usage = { input_tokens: 10, output_tokens: 1 }
  const message = { id: `msg_${call}`, type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [] }
  const block = { type: 'tool_use', id: `toolu_${call}`, name: 'bash', input: {} }
  return [
    written({ type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null, usage } }),
    written({ type: 'content_block_start', index: 0, content_block: block }),
    FIRST_DELTA,
    ...Array.from({ length: DELTAS - 2 }, () => NEXT_DELTA),
    ...ENDING,
  ]
}

/** One event after the other, with a pause after each. */
function stream(response: ServerResponse, events: readonly Buffer[], at = 0): void {
  const event = events[at]
  if (!event) return void response.end()
  response.write(event)
  setTimeout(stream, (LAST_BYTE_MS - FIRST_BYTE_MS) / DELTAS, response, events, at + 1)
}

if (import.meta.main) {
  process.on('disconnect', () => process.exit(0))
  let calls = 0
  const server = createServer({ noDelay: true }, (incoming, response) => {
    const chunks: Buffer[] = []
    incoming
      .on('data', chunk => chunks.push(chunk))
      .on('end', () => {
        const body = Buffer.concat(chunks)
        const at = body.indexOf('"max_tokens"')
        const waits = Number(/\d+/.exec(body.toString('latin1', at, at + 24))?.[0]) !== AT_ONCE
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const events = eventsOf(calls++)
        if (waits) setTimeout(stream, FIRST_BYTE_MS, response, events)
        else {
          for (const event of events) response.write(event)
          response.end()
        }
      })
  })
  server.listen(0, '127.0.0.1', () => {
    process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  })
}
