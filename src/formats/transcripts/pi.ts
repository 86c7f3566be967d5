/**
 * pi: `~/.pi/agent/sessions/<folder>/*.jsonl`.
 *
 * Older files are a list, newer ones a tree (`id`, `parentId`): an entry whose parent is not the entry before it begins
 * a session that continues from its parent. A compaction begins a session with the summary and the kept entries.
 */

import { isRecord } from '../../model/json.ts'
import type { Part, Usage } from '../../model/types.ts'
import { count, type Fields, fields, records, text, time, usageOfNumbers } from './json.ts'
import {
  callPart,
  imagePart,
  outputOf,
  Parser,
  reasoningParts,
  type SessionReason,
  type SessionRecorder,
  type TranscriptReader,
  textParts,
} from './transcript.ts'

export const pi: TranscriptReader = {
  format: 'pi',
  container: 'json-lines',
  detect({ values }) {
    const lines = records(values)
    const header = lines.some(line => line['type'] === 'session' && 'cwd' in line && 'id' in line)
    const spoken = lines.some(
      line => line['type'] === 'message' && 'role' in fields(line['message']) && !('sessionId' in line),
    )
    return header ? 0.9 : spoken ? 0.6 : 0
  },
  start: ({ name }) => new PiParser(name),
}

class PiParser extends Parser {
  #session: SessionRecorder | undefined
  #header: Fields = {}
  /** The place of an entry's message in the session (or where it would be), by the entry's id or its index in the file. */
  #places = new Map<string | number, number>()
  #last = ''

  protected override read(value: unknown, line: number): void {
    const entry = fields(value)
    if (entry['type'] === 'session') this.#header = entry
    else this.#entry(entry, line)
  }

  protected override finish(): void {
    this.#session?.flush()
  }

  #entry(entry: Fields, line: number): void {
    const id = text(entry['id'])
    const parent = text(entry['parentId'])
    const message = fields(entry['message'])
    const at = time(entry['timestamp']) ?? time(message['timestamp'])
    if (this.#last !== '' && parent !== '' && parent !== this.#last) this.#branch(parent)
    if (id !== '') this.#last = id
    const isFirst = this.#session === undefined
    const session = this.#opened()
    // A fork's file begins with a copy of older entries.
    const began = time(this.#header['timestamp']) ?? 0
    if (isFirst && at !== undefined && at < began) session.forked(began)
    if (entry['type'] === 'compaction') return this.#compact(entry, at)
    this.#places.set(line - 1, session.length)
    if (entry['type'] === 'message') speak(session, message, { at, line })
    else if (entry['type'] === 'custom_message') session.user(contentOf(entry['content']), { at })
    else if (entry['type'] === 'branch_summary') session.user(text(entry['summary']), { at })
    if (id !== '') this.#places.set(id, session.length)
  }

  #opened(): SessionRecorder {
    const { id, cwd } = this.#header
    return (this.#session ??= this.recorder.open({ id: text(id) || this.name, cwd: text(cwd) }))
  }

  /** The next entry continues from an earlier one: a new session begins with the messages up to there. */
  #branch(parent: string): void {
    const end = this.#places.get(parent)
    if (end === undefined) return
    const old = this.#next('rewind')
    this.#session?.carry(0, end, old)
    old.end()
    this.#places = new Map([...this.#places].filter(([, place]) => place <= end))
  }

  #compact(entry: Fields, at: number | undefined): void {
    const kept = text(entry['firstKeptEntryId'])
    const index = entry['firstKeptEntryIndex']
    // Places by id are those after the entry.
    const behind = kept === '' ? undefined : this.#places.get(kept)
    const from =
      behind === undefined ? this.#places.get(typeof index === 'number' ? index : -1) : Math.max(0, behind - 1)
    const old = this.#next('compaction')
    const session = this.#opened()
    session.user(text(entry['summary']), { at })
    const shift = session.length - (from ?? old.length)
    if (from !== undefined) session.carry(from, old.length, old)
    old.end()
    this.#places = new Map(
      [...this.#places].flatMap(([key, place]) => (place >= (from ?? Infinity) ? [[key, place + shift]] : [])),
    )
    const id = text(entry['id'])
    if (id !== '') this.#places.set(id, session.length)
  }

  /** Begins a session that continues the current one, and returns the old one. */
  #next(reason: SessionReason): SessionRecorder {
    const old = this.#opened()
    old.flush()
    this.#session = this.recorder.follow(old, reason)
    return old
  }
}

function speak(
  session: SessionRecorder,
  message: Fields,
  { at, line }: { at: number | undefined; line: number },
): void {
  switch (message['role']) {
    case 'user':
      return session.user(contentOf(message['content']), { at })
    case 'assistant':
      session.assistant(contentOf(message['content']), { at, usage: usageOf(message) })
      return session.endResponse()
    case 'toolResult': {
      const output = outputOf(contentOf(message['content']))
      const name = text(message['toolName'])
      return session.result(
        text(message['toolCallId']),
        { output, name, isError: message['isError'] === true, at },
        line,
      )
    }
    case 'bashExecution':
      return session.user(`$ ${text(message['command'])}\n${text(message['output'])}`, { at })
    default:
      return session.user(contentOf(message['content'] ?? message['summary']), { at })
  }
}

function contentOf(content: unknown): Part[] {
  if (typeof content === 'string') return textParts(content)
  return records(content).flatMap((block): Part[] => {
    if (block['type'] === 'thinking') return reasoningParts(text(block['thinking']))
    if (block['type'] === 'toolCall') return [callPart(text(block['id']), text(block['name']), block['arguments'])]
    if (block['type'] === 'image')
      return [imagePart(text(block['mimeType']) || 'image/png', { data: text(block['data']) })]
    return textParts(text(block['text']))
  })
}

function usageOf(message: Fields): Usage | undefined {
  const usage = message['usage']
  if (!isRecord(usage)) return undefined
  const { input, cacheRead, cacheWrite, output } = usage
  const [read, write] = [count(cacheRead), count(cacheWrite)]
  const numbers = { input: count(input), cacheRead: read, cacheWrite: write, output: count(output) }
  const found = usageOfNumbers(numbers, text(message['model']))
  const id = text(message['responseId'])
  return found && id !== '' ? { ...found, id } : found
}
