/** Events as a stream of lines (server-sent events), with a keep-alive comment now and then. */

const ALIVE_MS = 15_000

export const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
}

/** `isOver`: whether the reader may read no more. `left` is called when the reader stops before the end. */
type Reader = { isOver: () => Promise<boolean>; left?: () => void }

/** `lines` gives whole blocks. */
export function toEventStream(
  lines: AsyncIterable<string>,
  { isOver, left = () => {} }: Reader,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const iterator = lines[Symbol.asyncIterator]()
  let alive: NodeJS.Timeout | undefined
  return new ReadableStream<Uint8Array>({
    start(controller) {
      alive = setInterval(() => controller.enqueue(encoder.encode(': still here\n\n')), ALIVE_MS)
    },
    async pull(controller) {
      try {
        const { done, value } = await iterator.next()
        const isStopped = !done && (await isOver())
        if (!done && !isStopped) return controller.enqueue(encoder.encode(value))
        if (isStopped) left()
        clearInterval(alive)
        controller.close()
      } catch (error) {
        clearInterval(alive)
        controller.error(error)
      }
    },
    cancel() {
      clearInterval(alive)
      left()
    },
  })
}

export function dataBlock(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}
