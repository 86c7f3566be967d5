/**
 * mini-swe-agent: `.traj.json` files, both forms.
 *
 * In the first the model writes one bash block and the next message is its output: the block is a call here, what
 * stands around it is the text. A message with no block or several was answered by a complaint, which stays a
 * message of the user. The second form has tool calls as OpenAI has them.
 */

import { exitCode } from '../../calls/tool-output.ts'
import type { Part } from '../../model/types.ts'
import { asText, callInput, type Fields, fields, isFields, items, text, usageWithCached } from './json.ts'
import { callPart, Recorder, type SessionRecorder, type TranscriptReader, textParts } from './transcript.ts'

export const miniSweAgent: TranscriptReader = {
  format: 'mini-swe-agent',
  container: 'json',
  detect({ values }) {
    const value = fields(values[0])
    if (text(value['trajectory_format']).startsWith('mini-swe-agent')) return 1
    const info = fields(value['info'])
    return Array.isArray(value['messages']) && 'exit_status' in info && 'model_stats' in info ? 0.8 : 0
  },
  start({ name }) {
    const recorder = new Recorder()
    return {
      take(value) {
        const run = fields(value)
        const session = recorder.open({ id: text(run['instance_id']) || name })
        readMessages(session, items(run['messages']).filter(isFields))
        session.flush()
        return recorder.drain()
      },
      end: () => [],
    }
  },
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
      // The last message is the submission, which the model never saw as an output.
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
  const calls = items(message['tool_calls']).filter(isFields)
  const response = fields(fields(message['extra'])['response'])
  const usage = fields(response['usage'])
  const cached = fields(usage['prompt_tokens_details'])['cached_tokens']
  const parts: Part[] =
    calls.length === 0
      ? acted(content, id)
      : [
          ...textParts(content),
          ...calls.map(call =>
            callPart(
              text(call['id']),
              text(fields(call['function'])['name']),
              callInput(fields(call['function'])['arguments']),
            ),
          ),
        ]
  session.assistant(parts, {
    at: timeOf(message),
    ...('prompt_tokens' in usage
      ? { usage: usageWithCached(usage['prompt_tokens'], cached, usage['completion_tokens'], text(response['model'])) }
      : {}),
  })
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
