/** Providers that close idle connections, bodies that are too large, answers that grow when they are unpacked. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { exchange } from '../../../src/doors/proxy/upstream.ts'

test('a request on a connection that the server closed is sent again, even when the write failed', async () => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.end('{}')
      // The other side still believes that the connection is open.
      setImmediate(() => request.socket.destroy())
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  const body = Buffer.alloc(1_000_000, 'a')
  const { signal } = new AbortController()
  for (let i = 0; i < 40; i++) {
    const answers = Array.from({ length: 3 }, () =>
      exchange({ url, method: 'POST', headers: { 'content-length': String(body.length) }, body, signal }),
    )
    for (const answer of await Promise.all(answers)) {
      assert.equal(answer.status, 200)
      await buffer(answer.body)
    }
  }
  server.close()
  server.closeAllConnections()
})
