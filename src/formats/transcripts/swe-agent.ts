/**
 * SWE-agent: `.traj` files.
 *
 * `history` is the conversation; `trajectory` repeats it step by step and is used only for the last observation, which
 * no message contains. If the model wrote its command as text, the command becomes a call and the rest stays text, so
 * that nothing is duplicated.
 */

import type { Part } from '../../model/types.ts'
import { type Fields, fields, items, records, text } from './json.ts'
import {
  byValue,
  callPart,
  chatCalls,
  type Recorder,
  type SessionRecorder,
  type TranscriptReader,
  textParts,
} from './transcript.ts'

export const sweAgent: TranscriptReader = {
  format: 'swe-agent',
  container: 'json',
  detect({ values }) {
    const value = fields(values[0])
    return Array.isArray(value['history']) && Array.isArray(value['trajectory']) ? 1 : 0
  },
  start: byValue(readRun),
}

function readRun(recorder: Recorder, value: unknown, { name }: { name: string }): void {
  const run = fields(value)
  const session = recorder.open({ id: name })
  /** The id of a command that was written as text and has no observation yet. */
  let waiting: string | undefined
  let steps = 0
  for (const message of records(run['history'])) {
    const content = contentText(message['content'])
    if (message['role'] === 'assistant') {
      waiting = actsByText(message) ? `action-${++steps}` : undefined
      session.assistant(waiting ? acted(message, content, waiting) : [...textParts(content), ...chatCalls(message)])
      session.endResponse()
    } else if (message['role'] === 'user' && waiting !== undefined && message['is_demo'] !== true) {
      session.result(waiting, { output: content })
      waiting = undefined
    } else hear(session, message, content)
  }
  const last = text(fields(items(run['trajectory']).at(-1))['observation'])
  if (waiting !== undefined && last !== '') session.result(waiting, { output: last })
  session.flush()
}

function hear(session: SessionRecorder, message: Fields, content: string): void {
  if (message['role'] === 'tool') answer(session, items(message['tool_call_ids']), content)
  else if (message['role'] === 'system') session.system(content)
  else session.user(content)
}

function actsByText(message: Fields): boolean {
  return records(message['tool_calls']).length === 0 && text(message['action']) !== ''
}

function acted(message: Fields, content: string, id: string): Part[] {
  const action = text(message['action'])
  const thought = typeof message['thought'] === 'string' ? message['thought'] : content
  return [...textParts(thought.trimEnd()), callPart(id, 'bash', { command: action })]
}

function answer(session: SessionRecorder, ids: readonly unknown[], content: string): void {
  const open = ids.map(text).filter(id => session.waits(id))
  for (const [at, id] of open.entries()) session.result(id, { output: at === 0 ? content : '' })
  if (open.length === 0) session.result(text(ids[0]), { output: content })
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  return items(content)
    .map(block => text(fields(block)['text']))
    .join('\n')
}
