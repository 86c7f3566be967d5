/**
 * Our own files: the output of `palimpsest export` (one JSON value), and a recording of one session like the sample
 * that ships with the package (JSON lines: a description of the session, then its events). Entries are read and edits
 * are not, so that a replay can decide again. An import takes the whole exported session.
 */
import { isRecord } from '../../model/json.ts'
import type { Part, Usage } from '../../model/types.ts'
import { count, type Fields, fields, records, text, time } from './json.ts'
import {
  byValue,
  Parser,
  SESSION_REASONS,
  type SessionRecorder,
  type SessionStart,
  type TranscriptReader,
} from './transcript.ts'

export const palimpsestExport: TranscriptReader = {
  format: 'palimpsest',
  container: 'json',
  detect: ({ values }) => (fields(values[0])['format'] === 'palimpsest-sessions' ? 1 : 0),
  start: byValue((recorder, value, { name }) => {
    for (const one of records(fields(value)['sessions'])) {
      const events = records(one['ledger'])
      const session = recorder.open({ ...startOf(one, name), ...originOf(one), whole: one })
      const reader = new EventReader(session, carriedIn(one, events))
      for (const event of events) reader.take(event)
      reader.end()
    }
  }),
}

export const palimpsestRecording: TranscriptReader = {
  format: 'palimpsest',
  container: 'json-lines',
  detect({ values }) {
    const [head, first] = values.map(fields)
    return typeof head?.['policy'] === 'string' && isRecord(first?.['event']) && typeof first?.['at'] === 'number'
      ? 1
      : 0
  },
  start: ({ name }) => new RecordingParser(name),
}

class RecordingParser extends Parser {
  #reader: EventReader | undefined

  protected override read(value: unknown): void {
    const line = fields(value)
    if (this.#reader) this.#reader.take(fields(line['event']))
    else this.#reader = new EventReader(this.recorder.open(startOf(line, this.name)))
  }

  protected override finish(): void {
    this.#reader?.end()
  }
}

function startOf(head: Fields, name: string): { id: string; model: string } {
  return { id: text(head['id']) || name, model: text(head['model']) }
}

/** Where a session comes from: a fork in its home, or what the recording said that it was imported from. */
function originOf(one: Fields): Pick<SessionStart, 'parent' | 'reason' | 'cwd'> {
  const about = fields(one['about'])
  const [forked, parent, cwd] = [text(fields(one['parent'])['id']), text(about['parent']), text(about['project'])]
  const said = SESSION_REASONS.find(known => known === about['reason'])
  const reason = said ?? (forked === '' ? undefined : 'fork')
  return { parent: forked || parent, reason, cwd }
}

/** The messages at the beginning whose calls another session has paid. */
function carriedIn(one: Fields, events: readonly Fields[]): number {
  const shared = events.slice(0, count(fields(one['parent'])['seq'])).filter(({ type }) => type === 'entry').length
  return Math.max(shared, count(fields(one['about'])['carried']))
}

/** Reads the entries and the reports of usage, which come after their answer or before it. */
class EventReader {
  readonly #session: SessionRecorder
  /** Entries that are still to come from another session. */
  #carried: number
  /** The usage of the last answer; `undefined` if it has none yet, `null` if there is no answer. */
  #reported: Usage | undefined | null = null
  /** A report whose answer is still to come. */
  #early: Usage | undefined

  constructor(session: SessionRecorder, carried = 0) {
    this.#session = session
    this.#carried = carried
  }

  take(event: Fields): void {
    if (event['type'] === 'usage') this.#report(usageOf(fields(event['usage'])))
    if (event['type'] !== 'entry') return
    const message = fields(event['message'])
    if (message['role'] !== 'assistant') this.#settle()
    if (this.#carried-- === 0) this.#session.inherit()
    readMessage(this.#session, message)
    this.#reported = message['role'] === 'assistant' ? undefined : null
    if (this.#early) this.#report(this.#early)
    this.#early = undefined
  }

  end(): void {
    this.#settle()
    if (this.#carried === 0) this.#session.inherit()
    this.#session.flush()
  }

  #report(usage: Usage): void {
    const corrects = this.#reported?.id !== undefined && this.#reported.id === usage.id
    if (this.#reported === undefined || corrects) {
      // If the client wrote the answer, the next report is of the call before.
      this.#reported = usage.by === 'client' ? undefined : usage
      this.#session.endResponse(usage)
    } else {
      this.#settle()
      this.#early = usage
    }
  }

  /** A report without an answer: the provider was paid for a call whose answer did not arrive. */
  #settle(): void {
    if (!this.#early || this.#early.by === 'client') return
    this.#session.assistant([], { usage: this.#early })
    this.#session.endResponse()
    this.#early = undefined
  }
}

function readMessage(session: SessionRecorder, message: Fields): void {
  const at = time(message['at'])
  const parts = records(message['parts']).filter(isPart)
  if (message['role'] === 'system')
    session.system(parts.map(part => ('text' in part ? part.text : '')).join('\n'), { at })
  else if (message['role'] === 'assistant') {
    session.assistant(
      parts.filter(part => part.type !== 'tool-result'),
      { at },
    )
    session.endResponse()
  } else {
    for (const part of parts) {
      if (part.type === 'tool-result')
        session.result(part.id, { output: part.output, isError: part.isError, name: part.name, at })
    }
    const said = parts.filter(part => part.type !== 'tool-result')
    if (said.length > 0) session.user(said, { at })
  }
}

/** The strings that a part of each type must have. */
const NEEDED: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    text: ['text'],
    reasoning: ['text'],
    'tool-call': ['id', 'name'],
    'tool-result': ['id', 'name'],
    image: ['mediaType'],
    raw: ['provider'],
  } satisfies Record<Part['type'], string[]>),
)

function isPart(value: Fields): value is Fields & Part {
  const needed = NEEDED.get(text(value['type']))
  if (!needed?.every(key => typeof value[key] === 'string' && (key === 'text' || value[key] !== ''))) return false
  if (value['type'] !== 'tool-result') return true
  const { output } = value
  return typeof output === 'string' || (Array.isArray(output) && output.every(part => isRecord(part) && isPart(part)))
}

const COUNTS = ['input', 'cacheRead', 'cacheWrite', 'cacheWriteLong', 'output', 'searches', 'reasoning'] as const
const NAMES = ['model', 'id', 'tier'] as const

function usageOf(given: Fields): Usage {
  const numbers = COUNTS.filter(key => typeof given[key] === 'number').map(key => [key, count(given[key])])
  const names = NAMES.filter(key => text(given[key]) !== '').map(key => [key, given[key]])
  const beside = records(given['beside']).map(usageOf)
  return {
    ...Object.fromEntries([...numbers, ...names]),
    ...(beside.length > 0 ? { beside } : {}),
    ...(given['by'] === 'client' ? { by: 'client' } : {}),
  }
}
