/**
 * mini-swe-agent: `.traj.json` files, both forms.
 *
 * In the first form, the model writes one bash block, and the next message is its output: the block becomes a call,
 * the words around it stay text. The answer to a message with no block or several is an error message, which stays a
 * user message. The second form has the tool calls of Chat Completions.
 */

import { exitCode } from '../../calls/tool-output.ts'
import type { Part } from '../../model/types.ts'
import { asText, chatUsage, type Fields, fields, records, text } from './json.ts'
import { byValue, callPart, chatCalls, type SessionRecorder, type TranscriptReader, textParts } from './transcript.ts'

export const miniSweAgent: TranscriptReader = {
  format: 'mini-swe-agent',
  container: 'json',
  detect({ values }) {
    const value = fields(values[0])
    if (text(value['trajectory_format']).startsWith('mini-swe-agent')) return 1
    const info = fields(value['info'])
    return Array.isArray(value['messages']) && 'exit_status' in info && 'model_stats' in info ? 0.8 : 0
  },
  start: byValue((recorder, value, { name }) => {
    const run = fields(value)
    const session = recorder.open({ id: text(run['instance_id']) || name })
    readMessages(session, records(run['messages']))
    session.flush()
  }),
}

function readMessages(session: SessionRecorder, messages: readonly Fields[]): void {
  let steps = 0
  for (const [index, message] of messages.entries()) {
    const content = contentText(message['content'])
    const said = { at: timeOf(message) }
    if (message['role'] === 'system') session.system(content, said)
    else if (message['role'] === 'assistant') answer(session, message, content, `action-${++steps}`)
    else if (message['role'] === 'tool') observe(session, text(message['tool_call_id']), content, said)
    else if (message['role'] === 'user') {
      // The last message is the submission, which the model did not see.
      const output = session.waits(`action-${steps}`) && (index < messages.length - 1 || OUTPUT.test(content))
      if (output) observe(session, `action-${steps}`, content, said)
      else session.user(content, said)
    }
  }
}

const OUTPUT = /^\s*<(?:returncode|output|exception|warning)>/

function observe(session: SessionRecorder, id: string, output: string, { at }: { at: number | undefined }): void {
  session.result(id, { output, isError: (exitCode(output) ?? 0) !== 0, at })
}

function answer(session: SessionRecorder, message: Fields, content: string, id: string): void {
  const calls = chatCalls(message)
  const response = fields(fields(message['extra'])['response'])
  const usage = chatUsage(fields(response['usage']), text(response['model']))
  const parts = calls.length === 0 ? acted(content, id) : [...textParts(content), ...calls]
  session.assistant(parts, { at: timeOf(message), usage })
  session.endResponse()
}

/** The one bash block of a text as a call, the rest as text. */
function acted(content: string, id: string): Part[] {
  const found = [...content.matchAll(/```bash[^\S\n]*\n(.*?)\n?```/gs)]
  const [block] = found
  if (!block || found.length > 1) return textParts(content)
  const before = content.slice(0, block.index).trimEnd()
  const after = content.slice(block.index + block[0].length).trim()
  return [...textParts(before), ...textParts(after), callPart(id, 'bash', { command: block[1]?.replace(/^\s*\n/, '') })]
}

function timeOf(message: Fields): number | undefined {
  const seconds = fields(message['extra'])['timestamp']
  return typeof seconds === 'number' ? Math.round(seconds * 1000) : undefined
}

function contentText(content: unknown): string {
  if (!Array.isArray(content)) return asText(content)
  return content.map(block => text(fields(block)['text'])).join('\n')
}
