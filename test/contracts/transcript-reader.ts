/**
 * The contract of all transcript readers, run on invented samples of each format: a reader recognises its files by
 * content, returns all messages, and copes with broken files.
 */

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import {
  readSessions,
  readTranscript,
  readTranscriptStream,
  type SessionRead,
} from '../../src/formats/transcripts/read-transcript.ts'
import { SessionCollector, type TranscriptSession } from '../../src/formats/transcripts/sessions.ts'
import type { TranscriptEvent, TranscriptReader } from '../../src/formats/transcripts/transcript.ts'
import type { Message, Part } from '../../src/model/types.ts'
import { Calls, checkMessage } from '../../src/view/messages.ts'
import * as fc from '../property.ts'

export type TranscriptSample = {
  name: string
  /** The file: a list is written as JSON lines, an object as one JSON value, a string as it is. */
  file: unknown[] | Record<string, unknown> | string
  /** Each session in short: see `outline`. */
  sessions: Record<string, string[]>
  problems?: number
}

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-transcripts-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
let files = 0

/** Writes a file under a meaningless name, the same each time, in its own folder. */
export function fileOf(content: string | Uint8Array): string {
  const own = join(folder, String(++files))
  mkdirSync(own)
  const path = join(own, 'sample')
  writeFileSync(path, content)
  return path
}

export function sampleText(file: TranscriptSample['file']): string {
  if (typeof file === 'string') return file
  return Array.isArray(file) ? file.map(line => `${JSON.stringify(line)}\n`).join('') : JSON.stringify(file, null, 2)
}

export function transcriptReaderContract(reader: TranscriptReader, samples: TranscriptSample[]): void {
  describe(`${reader.format} (${reader.container}) keeps the reader contract`, () => {
    for (const sample of samples) contractOfSample(reader, sample)

    test('for any JSON it does not throw, and its messages are valid', () => {
      const values = samples.flatMap(({ file }) =>
        typeof file === 'string'
          ? file.split('\n')
          : Array.isArray(file) && reader.container !== 'json'
            ? file
            : [file],
      )
      const odd = fc.oneof(
        fc.jsonValue({ maxDepth: 3 }),
        fc.constantFrom(null, '', 0, -1, 1e300, [], {}, [null], { type: 'text' }),
      )
      const mutated = fc
        .tuple(fc.constantFrom(...values), fc.nat(), odd)
        .map(([value, at, other]) => replaceAt(value, at, other))
      fc.assert(
        fc.property(fc.array(fc.oneof(mutated, odd), { maxLength: 12 }), list => {
          const parser = reader.start({ name: 'fuzz' })
          const events = [...list.flatMap((value, at) => parser.take(value, at + 1)), ...parser.end()]
          const collector = new SessionCollector()
          for (const event of events) collector.add(event)
          for (const session of collector.sessions) assertAppendable(session)
          assertCounted(collector.sessions)
          assertEnded(events)
        }),
        { numRuns: 300 },
      )
    })

    test('it does not recognise files of other formats', () => {
      for (const values of [[{ hello: 'world' }], [{ type: 'message', text: 'x' }], [[1, 2]], ['x'], []])
        assert.equal(reader.detect({ text: values.map(value => JSON.stringify(value)).join('\n'), values }), 0)
    })
  })
}

function contractOfSample(reader: TranscriptReader, sample: TranscriptSample): void {
  const text = sampleText(sample.file)
  const byLines = reader.container === 'json-lines' || reader.container === 'text-lines'

  test(`${sample.name}: gives the expected messages`, async () => {
    const read = await readTranscript(fileOf(text))
    assert.equal(read.format, reader.format)
    assert.deepEqual(
      Object.fromEntries(read.sessions.map(session => [session.id, outline(session.messages)])),
      sample.sessions,
    )
    assert.equal(read.problems.length, sample.problems ?? 0, JSON.stringify(read.problems))
  })

  test(`${sample.name}: every session can be appended to a ledger`, async () => {
    const read = await readTranscript(fileOf(text))
    for (const session of read.sessions) assertAppendable(session)
    assertCounted(read.sessions)
  })

  test(`${sample.name}: the stream gives the same messages`, async () => {
    const path = fileOf(text)
    const read = await readTranscript(path)
    let streamed = 0
    for await (const event of readTranscriptStream(path)) {
      if (event.type === 'message') streamed++
      if (event.type === 'carry') streamed += event.to - event.from
    }
    assert.equal(
      streamed,
      read.sessions.reduce((sum, session) => sum + session.messages.length, 0),
    )
  })

  test(`${sample.name}: reading session by session gives the same`, async () => {
    const path = fileOf(text)
    assert.deepEqual(await sessionsOneByOne(path), (await readTranscript(path)).sessions)
  })

  test(`${sample.name}: CRLF and a byte order mark change nothing`, async () => {
    const plain = await readTranscript(fileOf(text))
    const windows = await readTranscript(fileOf(`\uFEFF${text.replaceAll('\n', '\r\n')}`))
    assert.deepEqual(
      windows.sessions.map(({ messages }) => messages),
      plain.sessions.map(({ messages }) => messages),
    )
  })

  if (typeof sample.file === 'object' && !Array.isArray(sample.file)) {
    test(`${sample.name}: one line gives the same`, async () => {
      assert.deepEqual(
        (await readTranscript(fileOf(`${JSON.stringify(sample.file)}\n`))).sessions,
        (await readTranscript(fileOf(text))).sessions,
      )
    })
  }

  if (reader.container === 'json-lines') {
    test(`${sample.name}: a broken line is reported with its number, and reading continues`, async () => {
      const lines = text.trimEnd().split('\n')
      lines.splice(-1, 0, '{"type":"user","cut')
      const read = await readTranscript(fileOf(lines.join('\n')))
      const plain = await readTranscript(fileOf(text))
      assert.equal(read.problems.filter(({ line }) => line === lines.length - 1).length, 1)
      assert.deepEqual(
        read.sessions.map(({ messages }) => messages),
        plain.sessions.map(({ messages }) => messages),
      )
    })
  }
  if (!byLines) {
    test(`${sample.name}: a truncated file gives an error or a reported problem`, async () => {
      const path = fileOf(text.slice(0, Math.floor(text.length * 0.8)))
      const read = await readTranscript(path).catch((error: unknown) => error)
      if (reader.container === 'json') assert.equal((read as { code?: string }).code, 'FORMAT_BROKEN')
      else assert.ok((read as { problems: unknown[] }).problems.length > 0)
    })
  }
}

/** The sessions of `readSessions`, in the order of the file. */
export async function sessionsOneByOne(path: string): Promise<TranscriptSession[]> {
  const read: SessionRead[] = []
  for await (const one of readSessions(path)) read.push(one)
  return read.sort((a, b) => a.place - b.place).map(({ session }) => session)
}

/** Nothing of a session comes after its end, and nothing is carried from it then. */
function assertEnded(events: readonly TranscriptEvent[]): void {
  const parents = new Map<string, string | undefined>()
  const ended = new Set<string>()
  for (const event of events) {
    if (event.type === 'problem') continue
    if (event.type === 'session') {
      parents.set(event.session.id, event.session.parent)
      continue
    }
    assert.ok(!ended.has(event.session), `${event.type} behind the end of ${event.session}`)
    if (event.type === 'carry') assert.ok(!ended.has(parents.get(event.session) ?? ''), 'carried behind the end')
    if (event.type === 'end') ended.add(event.session)
  }
}

/** The requirements of a ledger: shape, unique ids, results that answer a call. */
export function assertAppendable(session: TranscriptSession): void {
  const calls = new Calls()
  for (const message of session.messages) {
    checkMessage(message)
    assert.ok(message.parts.length > 0, 'a message without parts')
    calls.check(message)
    calls.add(message)
  }
}

/** A message that comes from the parent is paid there, and reports have only plausible numbers. */
function assertCounted(sessions: readonly TranscriptSession[]): void {
  const known = new Map(sessions.map(session => [session.id, session]))
  for (const { parent = '', messages, carried, usage: reports } of sessions) {
    const paid = new Set(known.get(parent)?.messages)
    assert.ok(!messages.slice(carried).some(message => paid.has(message)), 'a message of the parent counts again')
    for (const { usage } of reports) {
      const counts = Object.values(usage).filter(value => typeof value === 'number')
      assert.ok(
        counts.every(value => value >= 0 && value <= Number.MAX_SAFE_INTEGER),
        JSON.stringify(usage),
      )
      assert.ok((usage.cacheWriteLong ?? 0) <= (usage.cacheWrite ?? 0), JSON.stringify(usage))
    }
  }
}

/** One line per message: its role, then its parts. `(…)` is reasoning, `name{…}` a call, `name=…` a result, `!` an error. */
export function outline(messages: readonly Message[]): string[] {
  return messages.map(({ role, parts }) => `${role}: ${parts.map(inShort).join(' | ')}`)
}

function inShort(part: Part): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'reasoning':
      return `(${part.text})`
    case 'tool-call':
      return `${part.name}#${part.id}${JSON.stringify(part.input)}`
    case 'tool-result':
      return `${part.name}#${part.id}${part.isError ? '!' : ''}=${typeof part.output === 'string' ? part.output : `[${part.output.map(inShort).join(' | ')}]`}`
    case 'image':
      return `<${part.mediaType} ${part.data ?? part.url}>`
    case 'raw':
      return `<raw ${part.provider}>`
  }
}

/** The value with the `at`-th place in it (counted in depth-first order) replaced. */
function replaceAt(value: unknown, at: number, other: unknown): unknown {
  const places = countPlaces(value)
  let left = at % places
  const walk = (each: unknown): unknown => {
    if (left-- === 0) return other
    if (Array.isArray(each)) return each.map(walk)
    if (typeof each === 'object' && each !== null)
      return Object.fromEntries(Object.entries(each).map(([key, inner]) => [key, walk(inner)]))
    return each
  }
  return walk(value)
}

function countPlaces(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, inner) => sum + countPlaces(inner), 1)
}
