/**
 * tau-bench: `historical_trajectories/*.json`, an array of runs, each a conversation in OpenAI's chat form.
 * Ids of calls are unique inside one run only; each run is a session.
 */

import { asText, callInput, type Fields, fields, isFields, items, text } from './json.ts'
import { callPart, Recorder, type SessionRecorder, type TranscriptReader, textParts } from './transcript.ts'

export const tauBench: TranscriptReader = {
  format: 'tau-bench',
  container: 'json',
  detect({ values }) {
    const run = fields(items(values[0])[0])
    return Array.isArray(run['traj']) && 'task_id' in run ? 1 : 0
  },
  start({ name }) {
    const recorder = new Recorder()
    return {
      take(value) {
        for (const run of items(value).filter(isFields)) {
          const session = recorder.open({ id: `${name}-task-${asText(run['task_id'])}-trial-${asText(run['trial'])}` })
          for (const message of items(run['traj']).filter(isFields)) speak(session, message)
          session.flush()
        }
        return recorder.drain()
      },
      end: () => [],
    }
  },
}

function speak(session: SessionRecorder, message: Fields): void {
  const content = asText(message['content'])
  if (message['role'] === 'system') session.system(content)
  else if (message['role'] === 'user') session.user(content)
  else if (message['role'] === 'tool') {
    const name = text(message['name']) || undefined
    session.result(text(message['tool_call_id']), { output: content, isError: content.startsWith('Error:'), name })
  } else if (message['role'] === 'assistant') {
    const calls = items(message['tool_calls'])
      .filter(isFields)
      .map(call => {
        const called = fields(call['function'])
        return callPart(text(call['id']), text(called['name']), callInput(called['arguments']))
      })
    session.assistant([...textParts(content), ...calls])
    session.endResponse()
  }
}
