/**
 * Bodies that come from a Node stream: passed on as they are if Node is on both sides, and as a web stream for a
 * `Response`. The bytes are the same either way.
 */

import type { Readable } from 'node:stream'
import { PalimpsestError } from '../../model/errors.ts'

export type Chunk = Uint8Array<ArrayBuffer>

export type NodeBody = {
  source: Readable
  /** Chunks that were already read from the stream. */
  first: readonly Chunk[]
  /** Called with every further chunk as it passes. */
  take?: (chunk: Uint8Array) => void
  /** Called once, when the stream has ended or broken off, before the reader sees its end. */
  end?: () => Promise<void>
}

/** The body as a web stream: a chunk is read when one is asked for, and not before. */
export function toWebBody(body: NodeBody): ReadableStream<Chunk> {
  const held = [...body.first]
  let chunks: AsyncIterator<Chunk> | undefined
  return new ReadableStream<Chunk>(
    {
      async pull(controller) {
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
}

/** More than any provider accepts. */
const MOST_BODY = 128 * 1024 * 1024

/** Reads all of a stream. Bytes after `most` are read and dropped, so that the refusal can be sent. */
export function collected(source: Readable, most = MOST_BODY): Promise<Buffer> {
  let chunks: Buffer[] = []
  let size = 0
  return new Promise((resolve, reject) => {
    source
      .on('data', chunk => {
        size += chunk.length
        if (size <= most) return chunks.push(chunk)
        chunks = []
        reject(new PalimpsestError('TOO_LARGE', `The body is larger than ${most} bytes.`, { limit: most }))
      })
      .on('end', () => resolve(Buffer.concat(chunks)))
      .on('error', reject)
      .on('close', () => reject(new Error('the client disconnected')))
  })
}
