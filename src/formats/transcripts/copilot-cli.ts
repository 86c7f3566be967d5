/**
 * Copilot CLI: `~/.copilot/session-state/<id>/events.jsonl`.
 *
 * `assistant.message` holds the calls, `tool.execution_complete` the results, in any order; hooks repeat both and
 * are left out. The system prompt is written with every prompt and kept once. Events of a sub-agent name the call
 * that started it: they are a session of their own.
 */

import { isRecord } from '../../model/json.ts'
import { count, type Fields, fields, records, text, time } from './json.ts'
import {
  callPart,
  Parser,
  reasoningParts,
  type SessionRecorder,
  type TranscriptReader,
  textParts,
} from './transcript.ts'

export const copilotCli: TranscriptReader = {
  format: 'copilot-cli',
  container: 'json-lines',
  detect({ values }) {
    const events =
      /^(?:session\.start|user\.message|assistant\.(?:message|turn_start)|tool\.execution_(?:start|complete)|system\.message)$/
    const own = values.filter(line => isRecord(line) && isRecord(line['data']) && events.test(text(line['type'])))
    return own.length > 0 ? 0.9 : 0
  },
  start: ({ name }) => new CopilotParser(name),
}

class CopilotParser extends Parser {
  readonly #sessions = new Map<string, SessionRecorder>()
  #start: Fields = {}
  #system = ''

  protected override read(value: unknown, line: number): void {
    const event = fields(value)
    const data = fields(event['data'])
    const at = time(event['timestamp'])
    if (event['type'] === 'session.start') this.#start = data
    else if (event['type'] === 'session.compaction_complete') this.#compact(data, at)
    else if (SPOKEN.has(text(event['type']))) this.#speak(text(event['type']), data, { at, line })
  }

  protected override finish(): void {
    for (const session of this.#sessions.values()) session.flush()
  }

  #speak(type: string, data: Fields, { at, line }: { at: number | undefined; line: number }): void {
    const session = this.#session(text(data['parentToolCallId']))
    if (type === 'system.message') {
      const prompt = text(data['content'])
      if (prompt !== this.#system) session.system(prompt, { at })
      this.#system = prompt
    } else if (type === 'user.message') session.user(text(data['transformedContent']) || text(data['content']), { at })
    else if (type === 'assistant.message') answer(session, data, at)
    else result(session, data, { at, line })
  }

  #session(agent: string): SessionRecorder {
    const known = this.#sessions.get(agent)
    if (known) return known
    const id = text(this.#start['sessionId']) || this.name
    const cwd = text(fields(this.#start['context'])['cwd'])
    const start = agent === '' ? { id } : { id: `${id}/${agent}`, parent: id, reason: 'sub-agent' as const }
    const session = this.recorder.open({ ...start, cwd })
    this.#sessions.set(agent, session)
    return session
  }

  #compact(data: Fields, at: number | undefined): void {
    const summary = text(data['summaryContent'])
    const old = this.#sessions.get('')
    if (!old || summary === '' || data['success'] === false) return
    old.end()
    const session = this.recorder.follow(old, 'compaction')
    session.system(this.#system, { at })
    session.user(summary, { at })
    this.#sessions.set('', session)
  }
}

const SPOKEN = new Set(['system.message', 'user.message', 'assistant.message', 'tool.execution_complete'])

function answer(session: SessionRecorder, data: Fields, at: number | undefined): void {
  const calls = records(data['toolRequests'])
  const parts = [
    ...reasoningParts(text(data['reasoningText'])),
    ...textParts(text(data['content'])),
    ...calls.map(call => callPart(text(call['toolCallId']), text(call['name']), call['arguments'])),
  ]
  const model = text(data['model'])
  const usage =
    'outputTokens' in data ? { output: count(data['outputTokens']), ...(model ? { model } : {}) } : undefined
  session.assistant(parts, { key: text(data['messageId']) || undefined, at, usage })
}

function result(session: SessionRecorder, data: Fields, { at, line }: { at: number | undefined; line: number }): void {
  const failed = data['success'] === false
  const output = text(fields(data['result'])['content']) || text(fields(data['error'])['message'])
  session.result(
    text(data['toolCallId']),
    { output, isError: failed, name: text(data['toolName']) || undefined, at },
    line,
  )
}
