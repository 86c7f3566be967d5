/**
 * The provider of the proxy benchmark, as a process: reads the body, waits as a quick model would, and streams an
 * answer with one tool call. It says the same to everybody; asked for AT_ONCE tokens it does not wait.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export const FIRST_BYTE_MS = 300
export const LAST_BYTE_MS = 4000
/** A number that survives every proxy, unlike a header. */
export const AT_ONCE = 1001
const DELTAS = 100

function* eventsOf(call: number): Generator<{ type: string }> {
  const usage = { input_tokens: 10, output_tokens: 1 }
  const message = { id: `msg_${call}`, type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [] }
  yield { type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null, usage } } as never
  const block = { type: 'tool_use', id: `toolu_${call}`, name: 'bash', input: {} }
  yield { type: 'content_block_start', index: 0, content_block: block } as never
  for (let i = 0; i < DELTAS; i++) {
    const partial_json = i === 0 ? '{"command":"' : i === DELTAS - 1 ? '"}' : 'a piece of it '
    yield { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json } } as never
  }
  yield { type: 'content_block_stop', index: 0 } as never
  const delta = { stop_reason: 'tool_use', stop_sequence: null }
  yield { type: 'message_delta', delta, usage: { output_tokens: 50 } } as never
  yield { type: 'message_stop' }
}

if (import.meta.main) {
  process.on('disconnect', () => process.exit(0))
  let calls = 0
  const server = createServer({ noDelay: true }, async (incoming, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const at = body.indexOf('"max_tokens"')
    const wait = Number(/\d+/.exec(body.toString('latin1', at, at + 24))?.[0]) !== AT_ONCE
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (wait) await sleep(FIRST_BYTE_MS)
    for (const event of eventsOf(calls++)) {
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      if (wait) await sleep((LAST_BYTE_MS - FIRST_BYTE_MS) / DELTAS)
    }
    response.end()
  })
  server.listen(0, '127.0.0.1', () => {
    process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  })
}
