import { asText, type Fields, fields, items, records, text } from './json.ts'
import { byValue, chatCalls, type SessionRecorder, type TranscriptReader, textParts } from './transcript.ts'

export const tauBench: TranscriptReader = {
  format: 'tau-bench',
  container: 'json',
  detect({ values }) {
    const run = fields(items(values[0])[0])
    return Array.isArray(run['traj']) && 'task_id' in run ? 1 : 0
  },
  start: byValue((recorder, value, { name }) => {
    for (const run of records(value)) {
      const session = recorder.open({ id: `${name}-task-${asText(run['task_id'])}-trial-${asText(run['trial'])}` })
      for (const message of records(run['traj'])) speak(session, message)
      session.flush()
    }
  }),
}

function speak(session: SessionRecorder, message: Fields): void {
  const content = asText(message['content'])
  if (message['role'] === 'system') session.system(content)
  else if (message['role'] === 'user') session.user(content)
  else if (message['role'] === 'tool') {
    const name = text(message['name']) || undefined
    session.result(text(message['tool_call_id']), { output: content, isError: content.startsWith('Error:'), name })
  } else if (message['role'] === 'assistant') {
    session.assistant([...textParts(content), ...chatCalls(message)])
    session.endResponse()
  }
}
