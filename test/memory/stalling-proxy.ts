/** A TCP proxy that can stop forwarding, at once or at the first statement that contains a text. */
import { connect, createServer, type Socket } from 'node:net'

/** Whether the statement itself is forwarded, and only its answer is lost. */
type Trap = { text: string; forward: boolean; sprung: () => void }

export type StallingProxy = {
  port: number
  stall(): void
  /** Stalls at the first statement with this text; resolves when that happens. */
  stallAt(text: string, options: { forward: boolean }): Promise<void>
  /** Forwards again, on new connections; stalled ones are cut. */
  resume(): void
  close(): void
}

export async function startStallingProxy(target: number): Promise<StallingProxy> {
  const sockets = new Set<Socket>()
  let stalled = false
  let trap: Trap | undefined
  const server = createServer(client => {
    const upstream = connect(target, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        if (!stalled) for (const other of [client, upstream]) other.destroy()
      })
    }
    client.on('data', bytes => {
      if (stalled) return
      if (trap && bytes.includes(trap.text)) {
        stalled = true
        if (trap.forward) upstream.write(bytes)
        trap.sprung()
        trap = undefined
      } else upstream.write(bytes)
    })
    upstream.on('data', bytes => {
      if (!stalled) client.write(bytes)
    })
  })
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  const address = server.address()
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    stall: () => {
      stalled = true
    },
    stallAt: (text, { forward }) =>
      new Promise<void>(sprung => {
        trap = { text, forward, sprung }
      }),
    resume: () => {
      cut()
      stalled = false
    },
    close: () => {
      cut()
      server.close()
    },
  }
}
