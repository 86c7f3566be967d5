/** The thread of an embedding model: opens the model, then answers one request after the other. */

import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '../model/errors.ts'
import { type EmbedTexts, type OnnxAnswer, type OnnxAsked, type OnnxModel, OPENED, openOnnx } from './onnx.ts'

const port = parentPort!
const { config, from }: OnnxModel = workerData
let model: EmbedTexts | undefined
let last = answer(OPENED, async () => {
  model = await openOnnx(config, from)
  return []
})

port.on('message', ({ n, texts }: OnnxAsked) => {
  last = last.then(() => answer(n, async () => model!(texts)))
})

async function answer(n: number, work: () => Promise<Float32Array[]>): Promise<void> {
  try {
    port.postMessage({ n, vectors: await work() } satisfies OnnxAnswer)
  } catch (error) {
    port.postMessage({ n, problem: messageOf(error) } satisfies OnnxAnswer)
  }
}
