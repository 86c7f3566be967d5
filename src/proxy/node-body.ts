/**
 * Bodies that come from a Node stream, as web streams: `Request` and `Response` carry nothing else.
 *
 * A web stream between two Node streams costs more than all that we do with what passes. So whoever is on Node on both
 * sides may ask with `nodeBodyOf` for what stands behind a body, as long as nobody has begun to read it, and gets the
 * bytes without the detour. What is passed on is the same either way.
 */
import type { Readable } from 'node:stream'

export type Chunk = Uint8Array<ArrayBuffer>

export type NodeBody = {
  source: Readable
  /** Chunks that have been taken off the stream already. */
  first: readonly Chunk[]
  /** Is shown every further chunk as it goes by. */
  take?: (chunk: Uint8Array) => void
  /** Is called once, when the stream has ended or broken off, before the reader sees it. */
  end?: () => Promise<void>
}

const bodies = new WeakMap<ReadableStream, NodeBody>()

/** What stands behind a body; the body itself is not to be read any more. */
export function nodeBodyOf(stream: ReadableStream | null | undefined): NodeBody | undefined {
  const body = stream ? bodies.get(stream) : undefined
  if (stream) bodies.delete(stream)
  return body
}

/** The body as a web stream: a chunk is read when one is asked for, and not before. */
export function toWebBody(body: NodeBody): ReadableStream<Chunk> {
  const held = [...body.first]
  let chunks: AsyncIterator<Chunk> | undefined
  const stream = new ReadableStream<Chunk>(
    {
      async pull(controller) {
        bodies.delete(stream)
        chunks ??= body.source[Symbol.asyncIterator]()
        try {
          const waiting = held.shift()
          const { done, value } = waiting ? { done: false, value: waiting } : await chunks.next()
          if (done) {
            await body.end?.()
            controller.close()
            return
          }
          if (!waiting) body.take?.(value)
          controller.enqueue(value)
        } catch (error) {
          await body.end?.()
          controller.error(error)
        }
      },
      async cancel() {
        body.source.destroy()
        await body.end?.()
      },
    },
    { highWaterMark: 0 },
  )
  bodies.set(stream, body)
  return stream
}

/** All of a stream at once. */
export function collected(source: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  return new Promise((resolve, reject) => {
    source
      .on('data', chunk => chunks.push(chunk))
      .on('end', () => resolve(Buffer.concat(chunks)))
      .on('error', reject)
      .on('close', () => reject(new Error('the client went away')))
  })
}
