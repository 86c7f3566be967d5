/**
 * Gemini CLI: `~/.gemini/tmp/<hash>/chats/session-*.json`.
 *
 * One JSON value; a call and its result are one object. Notices of the client (`info`, `error`) never reached the
 * model and are left out.
 */

import type { Part } from '../../model/types.ts'
import { asText, count, type Fields, fields, items, records, text, time, usageWithCached } from './json.ts'
import {
  byValue,
  callPart,
  imagePart,
  outputOf,
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
    const session = recorder.open({ id: text(chat['sessionId']) || name })
    for (const message of records(chat['messages'])) {
      const at = time(message['timestamp'])
      if (message['type'] === 'user') session.user(contentParts(message['content']), { at })
      else if (message['type'] === 'gemini') answer(session, message, at)
    }
    session.flush()
  }),
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
  const tokens = fields(message['tokens'])
  const output = count(tokens['output']) + count(tokens['thoughts'])
  const usage =
    'input' in tokens ? usageWithCached(tokens['input'], tokens['cached'], output, text(message['model'])) : undefined
  session.assistant(parts, { at, usage })
  session.endResponse()
  for (const call of calls) {
    const results = items(call['result'])
    if (results.length === 0) continue
    const output = outputOf(results.flatMap(resultParts))
    session.result(text(call['id']), { output, isError: call['status'] === 'error', at: time(call['timestamp']) ?? at })
  }
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
