/**
 * Embeds texts for recall by meaning: with an ONNX model on this machine, or an endpoint that speaks OpenAI's
 * `/embeddings`. The model is loaded at the first search, and only if `recall.embedding` in the configuration names
 * one.
 *
 * `onnxruntime-web` (WebAssembly) is an optional peer dependency: it has no install script and runs everywhere.
 */
import { Worker } from 'node:worker_threads'
import { z } from 'zod'
import { parseJson } from '../model/json.ts'
import { type Embed, normalized } from '../recall/meaning.ts'
import {
  type EmbedTexts,
  type OnnxAnswer,
  type OnnxAsked,
  type OnnxConfig,
  type OnnxModel,
  OPENED,
  wrong,
} from './onnx.ts'

const queryPrefix = z.string().optional().describe('Prefix for queries, if the model needs one')

export const embeddingSchema = z
  .union([
    z.strictObject({
      onnx: z.string().min(1).describe('The file of a BERT-style ONNX model'),
      tokenizer: z.string().min(1).optional().describe('Its tokenizer.json (beside the model)'),
      pooling: z.enum(['cls', 'mean']).optional().describe('cls (BGE, the default) or mean (MiniLM, E5)'),
      queryPrefix,
    }),
    z.strictObject({
      url: z.url().describe('The address of an endpoint with /embeddings, up to /v1'),
      model: z.string().min(1),
      keyEnv: z.string().min(1).optional().describe('The environment variable with the API key'),
      queryPrefix,
    }),
  ])
  .describe('The source of vectors for texts: a model on this machine, or an endpoint')

export type EmbeddingConfig = z.infer<typeof embeddingSchema>

const ENDPOINT_BATCH = 64
const ENDPOINT_MS = 10_000

/** Opens the model at its first use, and again after a failure. */
export function lateEmbedding(config: EmbeddingConfig, from: string): Embed {
  let opened: Promise<Embed> | undefined
  return async (texts, kind) => {
    opened ??= openEmbedding(config, from).catch(error => {
      opened = undefined
      throw error
    })
    return (await opened)(texts, kind)
  }
}

/** Paths are relative to `from`. */
export async function openEmbedding(config: EmbeddingConfig, from: string): Promise<Embed> {
  const embed = 'onnx' in config ? await inThread(config, from) : endpoint(config)
  const { queryPrefix: prefix = '' } = config
  return (texts, kind) => embed(kind === 'query' ? texts.map(text => prefix + text) : texts)
}

/** Runs the model in its own thread: a batch takes a tenth of a second and would block every other request. */
async function inThread(config: OnnxConfig, from: string): Promise<EmbedTexts> {
  const file = import.meta.url.endsWith('.ts') ? './onnx-thread.ts' : './onnx-thread.js'
  const thread = new Worker(new URL(file, import.meta.url), { workerData: { config, from } satisfies OnnxModel })
  const waiting = new Map<number, PromiseWithResolvers<Float32Array[]>>()
  const wait = (n: number) => {
    const answer = Promise.withResolvers<Float32Array[]>()
    waiting.set(n, answer)
    thread.ref()
    return answer.promise
  }
  const settle = (n: number, done: (answer: PromiseWithResolvers<Float32Array[]>) => void) => {
    const answer = waiting.get(n)
    waiting.delete(n)
    // The process may end while no vectors are awaited.
    if (waiting.size === 0) thread.unref()
    if (answer) done(answer)
  }
  thread.on('message', ({ n, vectors, problem }: OnnxAnswer) =>
    settle(n, ({ resolve, reject }) =>
      vectors ? resolve(vectors) : reject(wrong(problem ?? 'The endpoint returned no vectors.')),
    ),
  )
  thread.on('error', error => {
    for (const n of [...waiting.keys()]) settle(n, ({ reject }) => reject(error))
  })
  await wait(OPENED)
  let last = OPENED
  return texts => {
    thread.postMessage({ n: ++last, texts } satisfies OnnxAsked)
    return wait(last)
  }
}

const answerSchema = z.object({ data: z.array(z.object({ embedding: z.array(z.number()), index: z.number() })) })

function endpoint({ url, model, keyEnv }: Extract<EmbeddingConfig, { url: string }>): EmbedTexts {
  const ask = async (input: readonly string[]): Promise<Float32Array[]> => {
    const key = keyEnv === undefined ? undefined : process.env[keyEnv]
    const answer = await fetch(`${url.replace(/\/$/, '')}/embeddings`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key ? { authorization: `Bearer ${key}` } : {}) },
      body: JSON.stringify({ model, input }),
      signal: AbortSignal.timeout(ENDPOINT_MS),
    })
    if (!answer.ok) throw wrong(`${url} answered ${answer.status} to a request for embeddings.`)
    const { data } = answerSchema.parse(parseJson(await answer.text()))
    return data.sort((a, b) => a.index - b.index).map(({ embedding }) => normalized(Float32Array.from(embedding)))
  }
  return async texts => {
    const vectors: Float32Array[] = []
    for (let i = 0; i < texts.length; i += ENDPOINT_BATCH)
      vectors.push(...(await ask(texts.slice(i, i + ENDPOINT_BATCH))))
    return vectors
  }
}
