/**
 * A free port of this machine. It is outside the ranges from which systems assign ports to connections or to servers
 * that ask for any port; otherwise one of those could take it first.
 */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

const FIRST = 10_000
const LAST = 32_000

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    await new Promise(resolve => server.close(resolve))
    return port
  }
}
