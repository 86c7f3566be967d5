/**
 * A BERT-like ONNX model, run by `onnxruntime-web`. It computes on the calling thread, so it gets a thread of its own
 * (onnx-thread.ts).
 */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PalimpsestError } from '../model/errors.ts'
import { parseJson } from '../model/json.ts'
import { normalized } from '../recall/meaning.ts'
import { wordPieces } from './wordpiece.ts'

export type EmbedTexts = (texts: readonly string[]) => Promise<Float32Array[]>

/** The configuration's `recall.embedding` (embedding.ts). */
export type OnnxConfig = { onnx: string; tokenizer?: string; pooling?: 'cls' | 'mean' }

/** The messages to and from the thread. */
export type OnnxModel = { config: OnnxConfig; from: string }
export type OnnxAsked = { n: number; texts: readonly string[] }
export type OnnxAnswer = { n: number; vectors?: Float32Array[]; problem?: string }
/** The number of the answer which says that the model is open. */
export const OPENED = 0

const MAX_TOKENS = 256
const BATCH = 16

/** The part of onnxruntime-web that we use; it may not be installed. */
type Ort = {
  env: { wasm: { numThreads?: number } }
  Tensor: new (type: 'int64', data: BigInt64Array, dims: readonly number[]) => unknown
  InferenceSession: { create(model: Uint8Array): Promise<OrtSession> }
}
type OrtSession = {
  inputNames: readonly string[]
  run(feeds: Record<string, unknown>): Promise<Record<string, { data: Float32Array; dims: readonly number[] }>>
}

export async function openOnnx({ onnx, tokenizer, pooling = 'cls' }: OnnxConfig, from: string): Promise<EmbedTexts> {
  const path = resolve(from, onnx)
  const words = tokenizer === undefined ? join(dirname(path), 'tokenizer.json') : resolve(from, tokenizer)
  const tokenize = wordPieces(parseJson(String(await read(words))), MAX_TOKENS)
  if (!tokenize) throw wrong(`The tokenizer of ${onnx} is not BERT-style (WordPiece).`)
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
    if (!output) throw wrong(`${onnx} returned no output.`)
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

/** The mean of a text's first `rows` vectors: only the first one, or those of all tokens. */
function pooled(data: Float32Array, { at, size, rows }: { at: number; size: number; rows: number }): Float32Array {
  const sum = new Float32Array(size)
  for (let row = 0; row < rows; row++) for (let i = 0; i < size; i++) sum[i]! += data[at + row * size + i]!
  return normalized(sum)
}

/** Loads the package from the folder of the configuration, where users install it, or from ours. */
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

function read(path: string): Promise<Buffer> {
  return readFile(path).catch(cause => {
    throw wrong(`recall.embedding: ${path} cannot be read.`, cause)
  })
}

export function wrong(message: string, cause?: unknown): PalimpsestError {
  return new PalimpsestError('CONFIG_INVALID', message, {}, cause)
}
