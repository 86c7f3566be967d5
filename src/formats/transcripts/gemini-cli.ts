/**
 * Gemini CLI: `~/.gemini/tmp/<project>/chats/session-*.json`, one JSON value, and since 0.39 `*.jsonl`.
 *
 * A call and its result are one object. Notices of the client (`info`, `error`) never reached the model and are
 * skipped. In files of lines, a message is written again when it grows, `$set` replaces the whole list, and `$rewindTo`
 * removes its end: the conversation then begins a new session from there, and the removed calls still count as paid.
 */

import type { Part, Usage } from '../../model/types.ts'
import { asText, count, type Fields, fields, items, records, text, time, usageWithCached } from './json.ts'
import {
  byValue,
  callPart,
  imagePart,
  outputOf,
  Parser,
  type Recorder,
  reasoningParts,
  type SessionRecorder,
  type TranscriptReader,
  textParts,
} from './transcript.ts'

export const geminiCli: TranscriptReader = {
  format: 'gemini-cli',
  container: 'json',
  detect({ values }) {
    const value = fields(values[0])
    return 'sessionId' in value && 'projectHash' in value && Array.isArray(value['messages']) ? 1 : 0
  },
  start: byValue((recorder, value, { name }) => {
    const chat = fields(value)
    const session = open(recorder, chat, name)
    for (const message of records(chat['messages'])) speak(session, message)
    session.flush()
  }),
}

export const geminiCliLines: TranscriptReader = {
  format: 'gemini-cli',
  container: 'json-lines',
  detect({ values }) {
    const isHead = (line: Fields) =>
      'sessionId' in line && 'projectHash' in line && !('type' in line || 'messages' in line)
    const heads = records(values).filter(isHead)
    return heads.length > 0 ? 0.95 : 0
  },
  start: ({ name }) => new LinesParser(name),
}

/** A stretch of the conversation; its first `kept` messages are also those of the stretch before it. */
type Stretch = { kept: number; messages: Fields[] }

/** A message may change until the end of the file, so sessions are made there. */
class LinesParser extends Parser {
  #head: Fields = {}
  readonly #stretches: Stretch[] = [{ kept: 0, messages: [] }]

  protected override read(value: unknown): void {
    const line = fields(value)
    const changes = fields(line['$set'])
    if ('projectHash' in line) this.#head = line
    else if (Array.isArray(changes['messages'])) this.#replace(records(changes['messages']))
    else if ('$rewindTo' in line) this.#rewind(text(line['$rewindTo']))
    else if ('type' in line) this.#put(line)
  }

  protected override finish(): void {
    let session = open(this.recorder, this.#head, this.name)
    let places: number[] = []
    for (const [i, { kept, messages }] of this.#stretches.entries()) {
      if (i > 0) {
        const before = session
        session = this.recorder.follow(before, 'rewind')
        session.carry(0, places[kept] ?? before.length, before)
        before.end()
      }
      places = places.slice(0, kept)
      for (const message of messages.slice(kept)) {
        places.push(session.length)
        speak(session, message)
      }
      session.flush()
    }
  }

  get #last(): Stretch {
    return this.#stretches.at(-1)!
  }

  #put(message: Fields): void {
    const { messages } = this.#last
    const place = message['id'] === undefined ? -1 : messages.findLastIndex(({ id }) => id === message['id'])
    if (place < 0) messages.push(message)
    else messages[place] = { ...messages[place], ...message }
  }

  #replace(messages: Fields[]): void {
    const { kept, messages: before } = this.#last
    const differs = before.findIndex(({ id }, i) => messages[i]?.['id'] !== id)
    if (differs < 0) this.#stretches[this.#stretches.length - 1] = { kept, messages }
    else this.#stretches.push({ kept: differs, messages })
  }

  #rewind(id: string): void {
    const { messages } = this.#last
    const place = messages.findIndex(message => message['id'] === id)
    if (place >= 0) this.#stretches.push({ kept: place, messages: messages.slice(0, place) })
  }
}

function open(recorder: Recorder, head: Fields, name: string): SessionRecorder {
  return recorder.open({
    id: text(head['sessionId']) || name,
    reason: head['kind'] === 'subagent' ? 'sub-agent' : undefined,
    cwd: text(items(head['directories'])[0]),
  })
}

function speak(session: SessionRecorder, message: Fields): void {
  const at = time(message['timestamp'])
  if (message['type'] === 'user') session.user(contentParts(message['content']), { at })
  else if (message['type'] === 'gemini') answer(session, message, at)
}

function answer(session: SessionRecorder, message: Fields, at: number | undefined): void {
  const thoughts = records(message['thoughts'])
  const calls = records(message['toolCalls'])
  const parts: Part[] = [
    ...thoughts.flatMap(thought =>
      reasoningParts([text(thought['subject']), text(thought['description'])].filter(Boolean).join('\n')),
    ),
    ...contentParts(message['content']),
    ...calls.map(call => callPart(text(call['id']), text(call['name']), call['args'])),
  ]
  session.assistant(parts, { at, usage: usageOf(fields(message['tokens']), text(message['model'])) })
  session.endResponse()
  for (const call of calls) {
    const results = items(call['result'])
    if (results.length === 0) continue
    const output = outputOf(results.flatMap(resultParts))
    session.result(text(call['id']), { output, isError: call['status'] === 'error', at: time(call['timestamp']) ?? at })
  }
}

/** `input` does not include the prompt tokens of the provider's own tools (`tool`). */
function usageOf(tokens: Fields, model: string): Usage | undefined {
  if (!('input' in tokens)) return undefined
  const reasoning = count(tokens['thoughts'])
  return usageWithCached({
    prompt: count(tokens['input']) + count(tokens['tool']),
    cached: tokens['cached'],
    output: count(tokens['output']) + reasoning,
    reasoning,
    model,
  })
}

function contentParts(content: unknown): Part[] {
  if (typeof content === 'string') return textParts(content)
  return items(content).flatMap(part => (typeof part === 'string' ? textParts(part) : plainPart(fields(part))))
}

function resultParts(value: unknown): Part[] {
  const response = fields(fields(value)['functionResponse'])['response']
  if (response === undefined) return plainPart(fields(value))
  const { output, error } = fields(response)
  return textParts(asText(output ?? error ?? response))
}

function plainPart(part: Fields): Part[] {
  const inline = fields(part['inlineData'])
  if ('data' in inline) return [imagePart(text(inline['mimeType']) || 'image/png', { data: text(inline['data']) })]
  return textParts(text(part['text']))
}
