/** The thread of ThreadedLedger, for slow operations: one request after the other, each answered when it is on disk. */
import { parentPort, workerData } from 'node:worker_threads'
import { isPalimpsestError, messageOf } from '../model/errors.ts'
import { SqliteLedger } from './sqlite.ts'
import type { Answered, Asked, ThreadError } from './threaded.ts'

const port = parentPort!
const store = new SqliteLedger(workerData.path, workerData.options)
let last: Promise<void> = Promise.resolve()

port.on('message', (asked: Asked | 'close') => {
  last = last.then(() => (asked === 'close' ? close() : answer(asked)))
})

async function answer({ n, method, args }: Asked): Promise<void> {
  try {
    // The arguments fit the method: ThreadedLedger passes on its own.
    const result: unknown = await (store[method] as (...args: unknown[]) => Promise<unknown>).apply(store, args)
    port.postMessage({ n, result } satisfies Answered)
  } catch (error) {
    port.postMessage({ n, error: toPlain(error) } satisfies Answered)
  }
}

async function close(): Promise<void> {
  await store.close()
  port.close()
}

function toPlain(error: unknown): ThreadError {
  const message = messageOf(error)
  return isPalimpsestError(error) ? { message, code: error.code, data: error.data } : { message }
}
