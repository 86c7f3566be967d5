/**
 * Our own files: the output of `palimpsest export` (one JSON value), and a recording of one session like the sample
 * that ships with the package (JSON lines: a description of the session, then its events). Entries are read and edits
 * are not, so that a replay can decide again. An import takes the whole exported session.
 */
import { isRecord } from '../../model/json.ts'
import type { Part, Usage } from '../../model/types.ts'
import { type Fields, fields, records, text, time } from './json.ts'
import { byValue, Recorder, type SessionRecorder, type TranscriptReader } from './transcript.ts'

export const palimpsestExport: TranscriptReader = {
  format: 'palimpsest',
  container: 'json',
  detect: ({ values }) => (fields(values[0])['format'] === 'palimpsest-sessions' ? 1 : 0),
  start: byValue((recorder, value, { name }) => {
    for (const one of records(fields(value)['sessions'])) {
      const session = recorder.open({ ...startOf(one, name), whole: one })
      for (const event of records(one['ledger'])) readEvent(session, event)
      session.flush()
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
  start({ name }) {
    const recorder = new Recorder()
    let session: SessionRecorder | undefined
    return {
      take(value) {
        const line = fields(value)
        if (session) readEvent(session, fields(line['event']))
        else session = recorder.open(startOf(line, name))
        return recorder.drain()
      },
      end() {
        session?.flush()
        return recorder.drain()
      },
    }
  },
}

function startOf(head: Fields, name: string): { id: string; model?: string } {
  const model = text(head['model'])
  return { id: text(head['id']) || name, ...(model ? { model } : {}) }
}

function readEvent(session: SessionRecorder, event: Fields): void {
  if (event['type'] === 'entry') readMessage(session, fields(event['message']))
  if (event['type'] === 'usage') session.endResponse(usageOf(fields(event['usage'])))
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

function usageOf(given: Fields): Usage {
  const numbers = ['input', 'cacheRead', 'cacheWrite', 'output'].filter(key => typeof given[key] === 'number')
  const model = text(given['model'])
  return { ...Object.fromEntries(numbers.map(key => [key, given[key]])), ...(model ? { model } : {}) }
}
