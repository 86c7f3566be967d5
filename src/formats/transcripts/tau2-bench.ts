import { asText, callInput, chatUsage, type Fields, fields, items, records, text, time } from './json.ts'
import {
  byValue,
  callPart,
  type Recorder,
  type SessionRecorder,
  type TranscriptReader,
  textParts,
} from './transcript.ts'

export const tau2Bench: TranscriptReader = {
  format: 'tau2-bench',
  container: 'json',
  detect({ values }) {
    const value = fields(values[0])
    return Array.isArray(value['simulations']) && Array.isArray(value['tasks']) ? 1 : 0
  },
  start: byValue((recorder, value, { name }) => {
    const results = fields(value)
    const model = text(fields(fields(results['info'])['agent_info'])['llm'])
    for (const run of records(results['simulations'])) readRun(recorder, run, { name, model })
  }),
}

function readRun(recorder: Recorder, run: Fields, { name, model }: { name: string; model: string }): void {
  const agent = recorder.open({ id: text(run['id']) || `${name}-task-${asText(run['task_id'])}`, model })
  let user: SessionRecorder | undefined
  for (const message of records(run['messages'])) {
    const asks = message['role'] === 'user' && items(message['tool_calls']).length > 0
    const answered = message['role'] === 'tool' && message['requestor'] === 'user'
    if (!answered) speak(agent, message, model)
    if (!asks && !answered) continue
    user ??= recorder.open({ id: `${agent.id}/user`, parent: agent.id, reason: 'sub-agent' })
    speak(user, asks ? { ...message, role: 'assistant', content: '' } : message, '')
  }
  agent.flush()
  user?.flush()
}

function speak(session: SessionRecorder, message: Fields, model: string): void {
  const content = asText(message['content'])
  const at = time(message['timestamp'])
  if (message['role'] === 'system') session.system(content, { at })
  else if (message['role'] === 'user') session.user(content, { at })
  else if (message['role'] === 'tool')
    session.result(text(message['id']), { output: content, isError: message['error'] === true, at })
  else if (message['role'] === 'assistant') {
    const calls = records(message['tool_calls'])
    const parts = calls.map(call => callPart(text(call['id']), text(call['name']), callInput(call['arguments'])))
    session.assistant([...textParts(content), ...parts], { at, usage: chatUsage(fields(message['usage']), model) })
    session.endResponse()
  }
}
