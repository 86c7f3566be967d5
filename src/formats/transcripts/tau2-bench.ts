/**
 * tau2-bench: `results.json`, a list of simulations, each a session. The simulated user can call tools too; the
 * agent does not see that, so those calls are a session beside the agent's.
 */

import { asText, callInput, type Fields, fields, isFields, items, text, time, usageWithCached } from './json.ts'
import { callPart, Recorder, type SessionRecorder, type TranscriptReader, textParts } from './transcript.ts'

export const tau2Bench: TranscriptReader = {
  format: 'tau2-bench',
  container: 'json',
  detect({ values }) {
    const value = fields(values[0])
    return Array.isArray(value['simulations']) && Array.isArray(value['tasks']) ? 1 : 0
  },
  start({ name }) {
    const recorder = new Recorder()
    return {
      take(value) {
        const results = fields(value)
        const model = text(fields(fields(results['info'])['agent_info'])['llm'])
        for (const run of items(results['simulations']).filter(isFields)) readRun(recorder, run, { name, model })
        return recorder.drain()
      },
      end: () => [],
    }
  },
}

function readRun(recorder: Recorder, run: Fields, { name, model }: { name: string; model: string }): void {
  const agent = recorder.open({
    id: text(run['id']) || `${name}-task-${asText(run['task_id'])}`,
    ...(model ? { model } : {}),
  })
  let user: SessionRecorder | undefined
  for (const message of items(run['messages']).filter(isFields)) {
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
    const calls = items(message['tool_calls']).filter(isFields)
    const parts = calls.map(call => callPart(text(call['id']), text(call['name']), callInput(call['arguments'])))
    const usage = fields(message['usage'])
    session.assistant([...textParts(content), ...parts], {
      at,
      ...('prompt_tokens' in usage
        ? { usage: usageWithCached(usage['prompt_tokens'], 0, usage['completion_tokens'], model) }
        : {}),
    })
    session.endResponse()
  }
}
