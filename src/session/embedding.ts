/**
 * What gives texts their vectors, for recall by meaning: an ONNX model on this machine, or an endpoint that speaks OpenAI's
 * `/embeddings`. Loaded at the first search, and only where `recall.embedding` of the configuration names one.
 *
 * `onnxruntime-web` (WebAssembly) is an optional peer dependency: it has no install script and runs everywhere.
 */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { PalimpsestError } from '../model/errors.ts'
import { parseJson } from '../model/json.ts'
import { type Embed, normalized, remembered } from '../recall/meaning.ts'
import { wordPieces } from './wordpiece.ts'

const queryPrefix = z.string().optional().describe('Put before a query, where the model wants that')

export const embeddingSchema = z
  .union([
    z.strictObject({
      onnx: z.string().min(1).describe('The file of an ONNX model of the BERT kind'),
      tokenizer: z.string().min(1).optional().describe('Its tokenizer.json; beside the model unless given'),
      pooling: z.enum(['cls', 'mean']).optional().describe('cls (BGE, unless given) or mean (MiniLM, E5)'),
      queryPrefix,
    }),
    z.strictObject({
      url: z.url().describe('An endpoint with /embeddings, up to /v1'),
      model: z.string().min(1),
      keyEnv: z.string().min(1).optional().describe('The environment variable that holds the key'),
      queryPrefix,
    }),
  ])
  .describe('What gives texts their vectors: a model on this machine, or an endpoint')

export type EmbeddingConfig = z.infer<typeof embeddingSchema>

const MAX_TOKENS = 256
const BATCH = 16
const ENDPOINT_BATCH = 64
const ENDPOINT_MS = 10_000

/** Opened when it is first needed, and again after a failure. */
export function lateEmbedding(config: EmbeddingConfig, from: string): Embed {
  let opened: Promise<Embed> | undefined
  return remembered(async (texts, kind) => {
    opened ??= openEmbedding(config, from).catch(error => {
      opened = undefined
      throw error
    })
    return (await opened)(texts, kind)
  })
}

/** `from` is the folder that paths are relative to. */
export async function openEmbedding(config: EmbeddingConfig, from: string): Promise<Embed> {
  const embed = 'onnx' in config ? await openOnnx(config, from) : endpoint(config)
  const { queryPrefix: prefix = '' } = config
  return (texts, kind) => embed(kind === 'query' ? texts.map(text => prefix + text) : texts)
}

type EmbedTexts = (texts: readonly string[]) => Promise<Float32Array[]>

/** What is used of onnxruntime-web; it may not be installed. */
type Ort = {
  env: { wasm: { numThreads?: number } }
  Tensor: new (type: 'int64', data: BigInt64Array, dims: readonly number[]) => unknown
  InferenceSession: { create(model: Uint8Array): Promise<OrtSession> }
}
type OrtSession = {
  inputNames: readonly string[]
  run(feeds: Record<string, unknown>): Promise<Record<string, { data: Float32Array; dims: readonly number[] }>>
}

async function openOnnx(
  { onnx, tokenizer, pooling = 'cls' }: Extract<EmbeddingConfig, { onnx: string }>,
  from: string,
): Promise<EmbedTexts> {
  const path = resolve(from, onnx)
  const tokenize = wordPieces(
    parseJson(
      (
        await read(tokenizer === undefined ? join(dirname(path), 'tokenizer.json') : resolve(from, tokenizer))
      ).toString(),
    ),
    MAX_TOKENS,
  )
  if (!tokenize) throw wrong(`The tokenizer of ${onnx} is none of the BERT kind (WordPiece).`)
  const ort = await loadOrt(from)
  ort.env.wasm.numThreads = 1
  const session = await ort.InferenceSession.create(await read(path))
  const batchOf = async (texts: readonly string[]): Promise<Float32Array[]> => {
    const tokens = texts.map(tokenize)
    const width = Math.max(...tokens.map(({ length }) => length))
    const tensor = (value: (row: readonly number[], i: number) => number) => {
      const data = BigInt64Array.from(
        tokens.flatMap(row => Array.from({ length: width }, (_, i) => BigInt(value(row, i)))),
      )
      return new ort.Tensor('int64', data, [texts.length, width])
    }
    const feeds: Record<string, unknown> = {
      input_ids: tensor((row, i) => row[i] ?? 0),
      attention_mask: tensor((row, i) => (i < row.length ? 1 : 0)),
      token_type_ids: tensor(() => 0),
    }
    const wanted = Object.fromEntries(session.inputNames.map(name => [name, feeds[name]]))
    const [output] = Object.values(await session.run(wanted))
    if (!output) throw wrong(`${onnx} gives no output.`)
    const size = output.dims.at(-1)!
    return tokens.map((row, n) =>
      pooled(output.data, { at: n * width * size, size, rows: pooling === 'cls' ? 1 : row.length }),
    )
  }
  return async texts => {
    const vectors: Float32Array[] = []
    for (let i = 0; i < texts.length; i += BATCH) vectors.push(...(await batchOf(texts.slice(i, i + BATCH))))
    return vectors
  }
}

/** The mean of the first vectors of a text: of the first one alone, or of all of its tokens. */
function pooled(data: Float32Array, { at, size, rows }: { at: number; size: number; rows: number }): Float32Array {
  const sum = new Float32Array(size)
  for (let row = 0; row < rows; row++) for (let i = 0; i < size; i++) sum[i]! += data[at + row * size + i]!
  return normalized(sum)
}

/** Found from the folder of the configuration, where a user installs it, or from ours. */
async function loadOrt(from: string): Promise<Ort> {
  const name = 'onnxruntime-web'
  try {
    return await import(pathToFileURL(createRequire(join(resolve(from), 'from.js')).resolve(name)).href)
  } catch {
    return import(name).catch(cause => {
      throw wrong(`recall.embedding needs ${name}. Install it: npm install ${name}`, cause)
    })
  }
}

async function read(path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (cause) {
    throw wrong(`recall.embedding: ${path} cannot be read.`, cause)
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
    if (!answer.ok) throw wrong(`${url} answered ${answer.status} when asked for embeddings.`)
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

function wrong(message: string, cause?: unknown): PalimpsestError {
  return new PalimpsestError('CONFIG_INVALID', message, {}, cause)
}
