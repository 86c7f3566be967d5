/**
 * Reads the transcript of any known agent into sessions of neutral messages. The format is detected from the content,
 * not from the file's name.
 *
 * A broken line is reported with its number and reading goes on. Files of lines are read line by line, so their
 * size does not matter; files that are one JSON value are read whole, up to a limit. Each may be compressed by gzip.
 */

import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { isPalimpsestError, PalimpsestError } from '../../model/errors.ts'
import { parseJson } from '../../model/json.ts'
import { amount, headOf } from '../../model/text.ts'
import { aider } from './aider.ts'
import { atif } from './atif.ts'
import { claudeCode } from './claude-code.ts'
import { codex } from './codex.ts'
import { copilotCli } from './copilot-cli.ts'
import { geminiCli, geminiCliLines } from './gemini-cli.ts'
import { splitJsonValues, valuesInLine } from './json-values.ts'
import { miniSweAgent } from './mini-swe-agent.ts'
import { opencode, opencodeStorage } from './opencode.ts'
import { openhands } from './openhands.ts'
import { palimpsestExport, palimpsestRecording } from './palimpsest.ts'
import { pi } from './pi.ts'
import { SessionCollector, type TranscriptSession } from './sessions.ts'
import { sweAgent } from './swe-agent.ts'
import { tauBench } from './tau-bench.ts'
import { tau2Bench } from './tau2-bench.ts'
import type {
  Container,
  Format,
  Problem,
  Sample,
  TranscriptEvent,
  TranscriptParser,
  TranscriptReader,
} from './transcript.ts'
import { repairUnicode } from './unicode.ts'

export const READERS: readonly TranscriptReader[] = [
  claudeCode,
  codex,
  pi,
  opencode,
  opencodeStorage,
  copilotCli,
  geminiCli,
  geminiCliLines,
  sweAgent,
  miniSweAgent,
  openhands,
  tauBench,
  tau2Bench,
  aider,
  atif,
  palimpsestExport,
  palimpsestRecording,
]

export type Transcript = { format: Format; sessions: TranscriptSession[]; problems: Problem[] }

export type ReadOptions = {
  /** Uses this format instead of detecting it. */
  format?: Format
  /** Bytes of a line; a longer one is reported and left out. */
  maxLine?: number
  /** Bytes of a file that is one JSON value. */
  maxDocument?: number
  /** Bytes of a compressed file once it is unpacked; unlimited unless given. */
  maxUnpacked?: number
  /** A file with more problems is refused; unlimited unless given. */
  maxProblems?: number
  /** A file or line with more commas and brackets is refused: each can be a value, which takes far more memory. */
  maxValues?: number
}

const MB = 1024 * 1024
/** The lines in one piece are read without a pause. */
const PIECE_BYTES = 64 * 1024
const MAX_LINE_BYTES = 64 * MB
const MAX_DOCUMENT_BYTES = 256 * MB

export async function readTranscript(path: string, options: ReadOptions = {}): Promise<Transcript> {
  const collector = new SessionCollector()
  let format: Format | undefined
  for await (const event of readTranscriptStream(path, options)) {
    if (event.type === 'format') format = event.format
    else collector.add(event)
    if (collector.problems.length > (options.maxProblems ?? Number.POSITIVE_INFINITY))
      throw broken(path, `More than ${options.maxProblems} places cannot be read`, collector.problems)
  }
  const { sessions, problems } = collector
  if (!format || sessions.length === 0) throw nothingIn(path, problems)
  return { format, sessions, problems }
}

/** `place` is the session's place in the file, from 1; it does not change when the file grows. */
export type SessionRead = { format: Format; session: TranscriptSession; place: number }

/**
 * The same, session by session, each as soon as it is complete. Only the unfinished sessions are in memory, so a file
 * with many conversations, or one that was compacted many times, may be larger than memory.
 */
export async function* readSessions(
  path: string,
  { report = () => undefined, ...options }: ReadOptions & { report?: (problem: Problem) => void } = {},
): AsyncGenerator<SessionRead> {
  const collector = new SessionCollector()
  const places = new Map<string, number>()
  const problems: Problem[] = []
  let last = 0
  let isEmpty = true
  let format: Format | undefined
  const read = (session: TranscriptSession) => ({ format: format!, session, place: places.get(session.id)! })
  for await (const event of readTranscriptStream(path, options)) {
    if (event.type === 'format') format = event.format
    else if (event.type === 'problem') {
      problems[0] ??= event.problem
      report(event.problem)
    } else {
      if (event.type === 'session') places.set(event.session.id, ++last)
      else isEmpty &&= event.type === 'end'
      collector.add(event)
      const complete = collector.takeComplete()
      yield* complete.filter(session => session.messages.length > 0).map(read)
      // A session that ends without a message takes no place.
      last -= complete.filter(session => session.messages.length === 0 && places.get(session.id) === last).length
    }
  }
  if (isEmpty) throw nothingIn(path, problems)
  yield* collector.sessions.map(read)
}

/** The same, event by event; nothing is kept in memory. */
export async function* readTranscriptStream(
  path: string,
  options: ReadOptions = {},
): AsyncGenerator<TranscriptEvent | { type: 'format'; format: Format }> {
  await checkFile(path)
  const sample = await sampleLines(path, options)
  const reader = choose(['json-lines', 'text-lines'], sample, options)
  if (reader) {
    yield { type: 'format', format: reader.format }
    yield* readLines(path, reader, options)
    return
  }
  yield* readWhole(path, options)
}

async function checkFile(path: string): Promise<void> {
  const found = await stat(path).catch((cause: unknown) => {
    throw new PalimpsestError(
      'FILE_NOT_FOUND',
      `Cannot open ${path}. Check that the file exists and can be read.`,
      { path },
      cause,
    )
  })
  if (found.isDirectory())
    throw new PalimpsestError('FORMAT_UNKNOWN', `${path} is a folder. Name a transcript file in it.`, { path })
  if (found.size === 0) throw new PalimpsestError('FORMAT_UNKNOWN', `${path} is empty.`, { path })
}

function choose(containers: Container[], sample: Sample, options: ReadOptions): TranscriptReader | undefined {
  const fitting = READERS.filter(reader => containers.includes(reader.container))
  if (options.format) return fitting.find(reader => reader.format === options.format)
  let best: TranscriptReader | undefined
  let most = 0
  for (const reader of fitting) {
    const score = reader.detect(sample)
    if (score > most) [best, most] = [reader, score]
  }
  return best
}

const SAMPLE_LINES = 2000
const SAMPLE_VALUES = 60
const SAMPLE_CHARS = 256 * 1024

/** Reads enough of the beginning to detect a format of lines: some JSON objects, and some text. */
async function sampleLines(path: string, options: ReadOptions): Promise<Sample> {
  const sample: Sample = { text: '', values: [] }
  for await (const line of linesOf(path, options)) {
    const text = line.bytes?.toString('utf8').trim() ?? ''
    if (sample.text.length < SAMPLE_CHARS) sample.text += `${text.slice(0, SAMPLE_CHARS)}\n`
    if (text.startsWith('{') && text.endsWith('}')) {
      const parsed = parse(text, options)
      if ('value' in parsed) sample.values.push(parsed.value)
    }
    if (line.number >= SAMPLE_LINES || sample.values.length >= SAMPLE_VALUES) break
  }
  return sample
}

async function* readLines(
  path: string,
  reader: TranscriptReader,
  options: ReadOptions,
): AsyncGenerator<TranscriptEvent> {
  const parser = reader.start({ name: nameOf(path) })
  for await (const { number, bytes, length } of linesOf(path, options)) {
    if (!bytes) {
      yield problem(
        number,
        `The line has ${length} bytes; the limit is ${options.maxLine ?? MAX_LINE_BYTES}. It was left out.`,
      )
      continue
    }
    if (!isUtf8(bytes)) yield problem(number, 'The line is not valid UTF-8; invalid bytes were replaced by U+FFFD.')
    const text = bytes.toString('utf8')
    if (reader.container === 'text-lines') yield* parser.take(text.replace(/\r$/, ''), number)
    else if (text.trim() !== '') yield* takeJson(parser, { text, number, options })
  }
  yield* parser.end()
}

function* takeJson(
  parser: TranscriptParser,
  { text, number, options }: { text: string; number: number; options: ReadOptions },
): Generator<TranscriptEvent> {
  const parsed = parse(text, options)
  const values = 'value' in parsed ? [parsed.value] : valuesInLine(text)
  if ('message' in parsed) {
    const what = values.length === 0 ? 'is left out' : `${amount(values.length, 'value')} in it could be read`
    yield problem(number, `The line is not valid JSON: ${what} (${parsed.message}).`)
  }
  for (const each of values) {
    const { value, repaired } = repairUnicode(each, text)
    if (repaired) yield problem(number, 'The line has lone surrogates; they are replaced by U+FFFD.')
    yield* parser.take(value, number)
  }
}

/** Files that are one JSON value, or several values that span lines. */
async function* readWhole(
  path: string,
  options: ReadOptions,
): AsyncGenerator<TranscriptEvent | { type: 'format'; format: Format }> {
  const bytes = await bytesOf(path, options)
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
  const parsed = parse(text, options)
  const values = 'value' in parsed ? [{ value: parsed.value, line: 1 }] : [...splitJsonValues(text)]
  const sample = {
    text: text.slice(0, SAMPLE_CHARS),
    values: values.flatMap(each => ('value' in each ? [each.value] : [])),
  }
  const reader = choose('value' in parsed ? ['json', 'json-values'] : ['json-values'], sample, options)
  const broken = 'message' in parsed && values.some(each => 'problem' in each) ? parsed.message : undefined
  if (!reader) throw unknown(path, broken)
  yield { type: 'format', format: reader.format }
  if (!isUtf8(bytes)) yield problem(1, 'The file is not valid UTF-8; invalid bytes were replaced by U+FFFD.')
  const parser = reader.start({ name: nameOf(path) })
  for (const each of values) {
    if ('problem' in each) {
      yield { type: 'problem', problem: each.problem }
      continue
    }
    const { value, repaired } = repairUnicode(each.value, text)
    if (repaired) yield problem(each.line, 'The file has lone surrogates; they were replaced by U+FFFD.')
    yield* parser.take(value, each.line)
  }
  yield* parser.end()
}

async function bytesOf(path: string, options: ReadOptions): Promise<Buffer> {
  const limit = options.maxDocument ?? MAX_DOCUMENT_BYTES
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of chunksOf(path, options)) {
    size += chunk.length
    if (size > limit)
      throw new PalimpsestError(
        'TOO_LARGE',
        `${path} has more than ${limit} bytes and is not JSON Lines. Raise maxDocument.`,
        { path, limit },
      )
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const GZIP = Buffer.from([0x1f, 0x8b])

/** The content of a file, decompressed if necessary. */
async function* chunksOf(
  path: string,
  { maxUnpacked = Number.POSITIVE_INFINITY }: ReadOptions,
): AsyncGenerator<Buffer> {
  const isPacked = await isGzip(path)
  const stream = createReadStream(path, { highWaterMark: PIECE_BYTES })
  if (!isPacked) return yield* stream as AsyncIterable<Buffer>
  try {
    let size = 0
    // A failure in either stream is thrown by the one that is read.
    for await (const chunk of pipeline(
      stream,
      createGunzip({ chunkSize: PIECE_BYTES }),
      () => {},
    ) as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > maxUnpacked) throw unpackedTooLarge(path, maxUnpacked)
      yield chunk
    }
  } catch (cause) {
    if (isPalimpsestError(cause)) throw cause
    throw new PalimpsestError(
      'FORMAT_BROKEN',
      `${path} is compressed and cannot be unpacked: ${cause}`,
      { path },
      cause,
    )
  }
}

function unpackedTooLarge(path: string, limit: number): PalimpsestError {
  return new PalimpsestError('TOO_LARGE', `${path} has more than ${limit} bytes when it is unpacked.`, { path, limit })
}

async function isGzip(path: string): Promise<boolean> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(GZIP.length), 0, GZIP.length, 0)
    return bytesRead === GZIP.length && buffer.equals(GZIP)
  } finally {
    await file.close()
  }
}

function unknown(path: string, broken: string | undefined): PalimpsestError {
  if (broken !== undefined)
    return new PalimpsestError(
      'FORMAT_BROKEN',
      `${path} is not valid JSON (${broken}). It may be truncated; get a complete copy.`,
      { path },
    )
  const known = [...new Set(READERS.map(({ format }) => format))].join(', ')
  return new PalimpsestError('FORMAT_UNKNOWN', `The format of ${path} is not known. Known formats: ${known}.`, { path })
}

function nothingIn(path: string, problems: Problem[]): PalimpsestError {
  if (problems.length === 0) return new PalimpsestError('FORMAT_UNKNOWN', `${path} has no messages.`, { path })
  return broken(path, 'No message can be read', problems)
}

function broken(path: string, what: string, problems: Problem[]): PalimpsestError {
  const { line, message } = problems[0]!
  const where = line === undefined ? '' : `line ${line}: `
  return new PalimpsestError('FORMAT_BROKEN', `${path} is damaged. ${what}; ${where}${message}`, { path, problems })
}

function nameOf(path: string): string {
  return basename(path).replace(/(?:\.traj)?\.(?:jsonl?|traj|md)(?:\.gz)?$/, '')
}

function problem(line: number, message: string): TranscriptEvent {
  return { type: 'problem', problem: { line, message } }
}

function parse(text: string, { maxValues }: ReadOptions): { value: unknown } | { message: string } {
  if (maxValues !== undefined && hasMoreSigns(text, maxValues))
    throw new PalimpsestError('TOO_LARGE', `The transcript has more than ${maxValues} values.`, { limit: maxValues })
  try {
    return { value: parseJson(text) }
  } catch (error) {
    return { message: error instanceof Error ? headOf(error.message, 120) : String(error) }
  }
}

const SIGNS = new Set([...',[{'].map(sign => sign.charCodeAt(0)))

/** Signs in strings are counted, too: in a damaged text nobody knows where a string begins. */
function hasMoreSigns(text: string, most: number): boolean {
  let seen = 0
  for (let at = 0; text.length > most && at < text.length && seen <= most; at++)
    if (SIGNS.has(text.charCodeAt(at))) seen++
  return seen > most
}

type Line = { number: number; bytes: Buffer | undefined; length: number }

/** The lines of a file. For a line that is too long, only its length is given. */
async function* linesOf(path: string, options: ReadOptions): AsyncGenerator<Line> {
  const limit = options.maxLine ?? MAX_LINE_BYTES
  let pending: Buffer[] = []
  let length = 0
  let number = 0
  const take = (last: Buffer): Line => {
    const size = length + last.length
    const bytes = size > limit ? undefined : pending.length === 0 ? last : Buffer.concat([...pending, last])
    pending = []
    length = 0
    return { number: ++number, bytes: number === 1 ? withoutMark(bytes) : bytes, length: size }
  }
  for await (const chunk of chunksOf(path, options)) {
    let start = 0
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      yield take(chunk.subarray(start, end))
      start = end + 1
    }
    const rest = chunk.subarray(start)
    length += rest.length
    if (length <= limit) pending.push(rest)
    else pending = []
  }
  if (length > 0) yield take(Buffer.alloc(0))
}

/** Removes the byte order mark that some editors add. */
function withoutMark(bytes: Buffer | undefined): Buffer | undefined {
  return bytes?.[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes
}
