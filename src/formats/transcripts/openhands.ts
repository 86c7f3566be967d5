/**
 * OpenHands: `output.jsonl` of its evaluations, one run per line, each a list of events.
 *
 * An observation names the action that caused it; ids of tool calls repeat and are not used for that. The model's words
 * are taken from the recorded response if there is one.
 */

import type { Part } from '../../model/types.ts'
import { asText, callInput, chatUsage, type Fields, fields, items, records, text, time } from './json.ts'
import { byValue, callPart, type SessionRecorder, type TranscriptReader, textParts } from './transcript.ts'

export const openhands: TranscriptReader = {
  format: 'openhands',
  container: 'json-lines',
  detect({ values }) {
    const runs = records(values).filter(run => Array.isArray(run['history']) && !('trajectory' in run))
    const events = records(runs.flatMap(run => items(run['history']).slice(0, 5).flat()))
    return events.some(event => 'source' in event && ('action' in event || 'observation' in event)) ? 0.9 : 0
  },
  start: byValue((recorder, value, { name, line }) => {
    const run = fields(value)
    const history = records(items(run['history']).flat())
    if (history.length === 0) return
    const session = recorder.open({ id: text(run['instance_id']) || `${name}-${line}` })
    readEvents(session, history, line)
    session.end()
  }),
}

/** Events that the model does not see. */
const SILENT = new Set(['recall', 'change_agent_state', 'agent_state_changed', 'null', 'condensation'])

function readEvents(session: SessionRecorder, history: readonly Fields[], line: number): void {
  let previous = ''
  for (const event of history) {
    const at = time(event['timestamp'])
    const kind = text(event['action']) || text(event['observation'])
    if (SILENT.has(kind)) continue
    if (!('action' in event)) observe(session, event, { previous, at, line })
    else if (kind === 'system' || kind === 'message') say(session, event, at)
    else {
      previous = `event-${asText(event['id'] ?? history.indexOf(event))}`
      act(session, event, { id: previous, at })
    }
  }
}

function say(session: SessionRecorder, event: Fields, at: number | undefined): void {
  const args = fields(event['args'])
  if (event['action'] === 'system') session.system(text(args['content']), { at })
  else if (event['source'] === 'user') session.user(messageParts(args), { at })
  else session.assistant(textParts(text(args['content']) || text(event['message'])), { at, key: keyOf(event) })
}

function observe(
  session: SessionRecorder,
  event: Fields,
  { previous, at, line }: { previous: string; at: number | undefined; line: number },
): void {
  const cause = 'cause' in event ? `event-${asText(event['cause'])}` : previous
  const output = text(event['content'])
  // For a call that could not be parsed, the file has no action, only this error message.
  if (!('cause' in event) && !session.waits(cause)) session.user(output, { at })
  else session.result(cause, { output, isError: failed(event), at, name: text(event['observation']) }, line)
}

function act(session: SessionRecorder, event: Fields, { id, at }: { id: string; at: number | undefined }): void {
  const metadata = fields(event['tool_call_metadata'])
  const response = fields(metadata['model_response'])
  const answer = fields(fields(items(response['choices'])[0])['message'])
  const args = fields(event['args'])
  const called = items(answer['tool_calls'])
    .map(fields)
    .find(call => call['id'] === metadata['tool_call_id'])
  const { thought, ...rest } = args
  const input = called ? callInput(fields(called['function'])['arguments']) : rest
  const name = text(metadata['function_name']) || text(event['action'])
  const usage = chatUsage(fields(response['usage']), text(response['model']))
  // The text of a response with several calls is added once, with the first call.
  const says = items(answer['tool_calls'])[0] === called || !called
  const parts = says ? textParts(text(answer['content']) || text(thought)) : []
  session.assistant([...parts, callPart(id, name, input)], { key: keyOf(event), at, usage })
}

function keyOf(event: Fields): string {
  return text(fields(fields(event['tool_call_metadata'])['model_response'])['id']) || `event-${asText(event['id'])}`
}

function failed(event: Fields): boolean {
  const code = fields(fields(event['extras'])['metadata'])['exit_code'] ?? fields(event['extras'])['exit_code']
  return event['observation'] === 'error' || event['success'] === false || (typeof code === 'number' && code !== 0)
}

function messageParts(args: Fields): Part[] {
  const images = items(args['image_urls']).filter(url => typeof url === 'string')
  return [
    ...textParts(text(args['content'])),
    ...images.map((url): Part => ({ type: 'image', mediaType: 'image/png', url })),
  ]
}
