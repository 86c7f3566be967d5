/**
 * Passes an answer to the client, and reads it at the same time.
 *
 * Every chunk is passed on unchanged, when the client reads it. A copy is decompressed if necessary and read: events of
 * a stream many at a time, any other answer when it is complete. `done` is called once, when the answer has ended or
 * broken off, before the client sees its end. A fault in reading never affects the bytes that are passed on: an
 * unreadable answer is passed on unread.
 */
import type { IncomingMessage } from 'node:http'
import type { Readable, Transform } from 'node:stream'
import { finished } from 'node:stream/promises'
import * as zlib from 'node:zlib'
import type { Wire } from '../../formats/adapters/original.ts'
import { isRecord, tryJson } from '../../model/json.ts'
import { type Answer, emptyAnswer, type ProxyDialect } from './dialect.ts'
import { type Chunk, collected, type NodeBody } from './node-body.ts'
import type { SomeHeaders } from './node-http.ts'

/** Answers in one piece, and single events, are read only up to this size; longer ones pass unread. */
export const MOST_WHOLE = 64 * 1024 * 1024
/** A compressed stream is read up to this size; its contents are held until it ends. */
const MOST_STREAM = 2 * MOST_WHOLE
/** At most this much of a refusal is read, however well it was compressed. */
const MOST_REFUSAL = 4 * 1024 * 1024
/** At most this much of a stream waits to be read: a thousand events at once take far less time than one by one. */
const MOST_HELD = 64 * 1024

/** The answer as a body for the client; `first` are the chunks that were already read. */
export function passOn(source: IncomingMessage, reader?: BodyReader, first: readonly Chunk[] = []): NodeBody {
  if (!reader) return { source, first }
  return { source, first, take: chunk => reader.take(chunk), end: () => reader.end() }
}

/**
 * Reads chunks of a stream until it can no longer be an error: some providers answer 200 and report in the second event
 * that the request did not fit.
 */
export async function takeOpening(body: IncomingMessage, reader: BodyReader): Promise<Chunk[]> {
  const taken: Chunk[] = []
  while (reader.opening) {
    const chunk = await nextChunk(body)
    if (!chunk) break
    taken.push(chunk)
    reader.take(chunk)
  }
  return taken
}

/** One chunk, without closing the stream as leaving a `for await` would. */
function nextChunk(body: Readable): Promise<Chunk | undefined> {
  return new Promise((resolve, reject) => {
    const settle = (outcome: () => void) => {
      body.off('readable', look).off('end', ended).off('error', failed)
      outcome()
    }
    const look = () => {
      const chunk: Chunk | null = body.read()
      if (chunk !== null) settle(() => resolve(chunk))
    }
    const ended = () => settle(() => resolve(undefined))
    const failed = (error: Error) => settle(() => reject(error))
    // The end may have been emitted with the last chunk, before the next listener was added.
    if (body.errored) return reject(body.errored)
    if (body.readableEnded) return resolve(undefined)
    body.on('readable', look).on('end', ended).on('error', failed)
    look()
  })
}

/** The chunks of a refusal, and its whole text if it is small enough to be read. */
export async function takeRefusal(body: Readable, encoding: string | null): Promise<{ taken: Chunk[]; text: string }> {
  const taken: Chunk[] = []
  let size = 0
  for (let chunk = await nextChunk(body); chunk; chunk = await nextChunk(body)) {
    taken.push(chunk)
    size += chunk.length
    if (size > MOST_REFUSAL) return { taken, text: '' }
  }
  return { taken, text: await decoded(Buffer.concat(taken), encoding).catch(() => '') }
}

/** The bytes without their compression. */
async function decoded(bytes: Uint8Array, encoding: string | null): Promise<string> {
  const decoder = decoderFor(encoding)
  if (!decoder) return new TextDecoder().decode(bytes)
  decoder.end(bytes)
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of decoder) {
    chunks.push(chunk)
    size += chunk.length
    if (size > MOST_REFUSAL) break
  }
  return Buffer.concat(chunks).toString('utf8')
}

export class BodyReader {
  readonly answer: Answer = emptyAnswer()
  readonly dialect: ProxyDialect
  readonly isStream: boolean
  readonly #text = new TextDecoder()
  readonly #decoder: Transform | undefined
  readonly #done: (answer: Answer, fault?: unknown) => void
  readonly #events = new Events()
  #held: Uint8Array[] = []
  #heldSize = 0
  #whole = ''
  #ended = false
  #size = 0
  #isDropped = false
  #fault: unknown
  /** Whether everything so far could still be followed by an error. */
  opening: boolean

  /** `done` gets the answer as far as it was read, and the error that ended the reading, if any. */
  constructor(
    dialect: ProxyDialect,
    headers: Pick<SomeHeaders, 'get'>,
    done: (answer: Answer, fault?: unknown) => void,
  ) {
    this.dialect = dialect
    this.#done = done
    this.isStream = (headers.get('content-type') ?? '').includes('text/event-stream')
    this.#decoder = decoderFor(headers.get('content-encoding'))
    this.#decoder?.on('data', chunk => this.#read(chunk)).on('error', () => {})
    this.opening = this.isStream && !this.#decoder
  }

  take(chunk: Uint8Array): void {
    if (this.#isDropped) return
    if (!this.#decoder) this.#read(chunk)
    else if (!this.#decoder.destroyed) this.#decoder.write(chunk)
  }

  /** Ends the answer; resolves when everything that came is read. */
  async end(): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    if (this.#decoder) await flushed(this.#decoder)
    this.#attempt(() => {
      this.#readHeld()
      if (this.isStream) this.#event(this.#events.rest())
      else this.#readWhole(this.#whole)
    })
    this.#done(this.answer, this.#fault)
  }

  #read(chunk: Uint8Array): void {
    this.#size += chunk.length
    if (this.#size > (this.isStream ? MOST_STREAM : MOST_WHOLE)) this.#drop()
    if (this.#isDropped) return
    this.#held.push(chunk)
    this.#heldSize += chunk.length
    if (this.opening || this.#heldSize > MOST_HELD) this.#attempt(() => this.#readHeld())
  }

  /** A provider may send anything: if it cannot be read, the rest of the answer is not read either. */
  #attempt(read: () => void): void {
    try {
      read()
    } catch (error) {
      this.#fault = error
      this.#drop()
    }
  }

  #readHeld(): void {
    const text = this.#text.decode(Buffer.concat(this.#held), { stream: true })
    this.#held = []
    this.#heldSize = 0
    if (!this.isStream) {
      this.#whole += text
      return
    }
    this.#events.take(text, block => this.#event(block))
    if (this.#events.waiting > MOST_WHOLE) this.#drop()
  }

  /** Stops reading this answer and releases everything held of it. */
  #drop(): void {
    this.#isDropped = true
    this.#decoder?.destroy()
    this.#held = []
    this.#heldSize = 0
    this.#whole = ''
    this.#events.rest()
    this.opening = false
  }

  #event(block: string): void {
    const data = dataIn(block)
    if (data === '') return
    const value = parsed(data)
    if (this.opening) this.opening = value !== undefined && this.dialect.isOpening(value)
    if (value) this.dialect.event(this.answer, value)
  }

  #readWhole(text: string): void {
    const value = tryJson(text)
    if (isRecord(value)) this.dialect.whole(this.answer, value)
    // A stream of events may also come as one JSON list.
    else if (Array.isArray(value)) for (const data of value) if (isRecord(data)) this.dialect.event(this.answer, data)
  }
}

/** Cuts a text that comes in pieces into events. A piece is searched once, however long its event is. */
export class Events {
  #pieces: string[] = []
  /** The last characters before the next piece: the end of an event may be in both. */
  #seam = ''
  /** Characters of an event that has not ended yet. */
  waiting = 0

  /** `raw`: the event with the blank line after it. */
  take(piece: string, event: (block: string, raw: string) => void): void {
    const seam = this.#seam + piece
    this.#hold(piece)
    if (endIn(seam)) this.#hold(eachEvent(this.rest(), event))
    else this.#seam = seam.slice(-LONGEST_END)
  }

  /** Returns the incomplete event, and drops it. */
  rest(): string {
    const rest = this.#pieces.join('')
    this.#pieces = []
    this.#seam = ''
    this.waiting = 0
    return rest
  }

  #hold(piece: string): void {
    this.#pieces.push(piece)
    this.#seam = piece.slice(-LONGEST_END)
    this.waiting += piece.length
  }
}

/** The most characters of an event's end that can be in an earlier piece. */
const LONGEST_END = 3

/** Reads the complete events of a text, and returns the rest. */
function eachEvent(text: string, take: (block: string, raw: string) => void): string {
  const endOf = text.includes('\r') ? endOfAnyEvent : endOfEvent
  let from = 0
  for (let end = endOf(text, from); end; end = endOf(text, from)) {
    take(text.slice(from, end.at), text.slice(from, end.behind))
    from = end.behind
  }
  return text.slice(from)
}

function endIn(text: string): boolean {
  return (text.includes('\r') ? endOfAnyEvent : endOfEvent)(text, 0) !== undefined
}

type End = { at: number; behind: number }

/** Nearly all servers end lines with only a line feed. */
function endOfEvent(text: string, from: number): End | undefined {
  const at = text.indexOf('\n\n', from)
  return at < 0 ? undefined : { at, behind: at + 2 }
}

function endOfAnyEvent(text: string, from: number): End | undefined {
  END_OF_EVENT.lastIndex = from
  const found = END_OF_EVENT.exec(text)
  return found ? { at: found.index, behind: END_OF_EVENT.lastIndex } : undefined
}

const END_OF_EVENT = /\r\n\r\n|\n\n|\r\r/g

/** The data of an event: its data lines, joined. */
export function dataIn(block: string): string {
  const at = block.startsWith('data:') ? 0 : block.indexOf('\ndata:') + 1
  const only = block.indexOf('\n', at) < 0 && !block.includes('\r')
  if (only && block.startsWith('data:', at)) return block.slice(at + (block[at + 5] === ' ' ? 6 : 5))
  return block
    .split(/\r\n|\n|\r/)
    .flatMap(line => (line.startsWith('data:') ? [line.slice(line[5] === ' ' ? 6 : 5)] : []))
    .join('\n')
}

/** An object; undefined if the text is `[DONE]`, a cut answer or anything else that is not a JSON object. */
export function parsed(text: string): Wire | undefined {
  const value = tryJson(text)
  return isRecord(value) ? value : undefined
}

/** Also resolves if the bytes were not compressed as announced and the decoder failed. */
async function flushed(decoder: Transform): Promise<void> {
  if (!decoder.destroyed) decoder.end()
  await finished(decoder).catch(() => {})
}

/**
 * The body of a request, without its compression if it can be read: it can then be edited, and `headers` no longer name
 * an encoding.
 */
export async function takeRequest(source: Readable | undefined, headers: Record<string, string>): Promise<Buffer> {
  const bytes = source ? await collected(source) : Buffer.of()
  const decoder = decoderFor(headers['content-encoding'] ?? null)
  if (!decoder) return bytes
  decoder.end(bytes)
  try {
    const plain = await collected(decoder, MOST_WHOLE)
    delete headers['content-encoding']
    return plain
  } catch {
    decoder.destroy()
    return bytes
  }
}

function decoderFor(encoding: string | null): Transform | undefined {
  switch (encoding?.trim().toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return zlib.createGunzip()
    case 'br':
      return zlib.createBrotliDecompress()
    case 'zstd':
      // Available from Node 22.15 on; before that, the answer passes unread.
      return zlib.createZstdDecompress?.()
    case 'deflate':
      return zlib.createInflate()
    default:
      return undefined
  }
}
