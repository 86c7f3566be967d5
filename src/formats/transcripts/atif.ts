/**
 * ATIF, Harbor's Agent Trajectory Interchange Format (v1.x): one JSON value, a list of steps; a call and its
 * result stand in one step. Steps of a sub-agent are a session of their own.
 */

import type { Part } from '../../model/types.ts'
import { asText, callInput, type Fields, fields, isFields, items, text, time, usageWithCached } from './json.ts'
import {
  callPart,
  imagePart,
  outputOf,
  Recorder,
  reasoningParts,
  type SessionRecorder,
  type TranscriptReader,
  textParts,
} from './transcript.ts'

export const atif: TranscriptReader = {
  format: 'atif',
  container: 'json',
  detect({ values }) {
    const value = fields(values[0])
    return text(value['schema_version']).startsWith('ATIF') && Array.isArray(value['steps']) ? 1 : 0
  },
  start({ name }) {
    const recorder = new Recorder()
    return {
      take(value) {
        readTrajectory(recorder, fields(value), name)
        return recorder.drain()
      },
      end: () => [],
    }
  },
}

function readTrajectory(recorder: Recorder, trajectory: Fields, name: string): void {
  const model = text(fields(trajectory['agent'])['model_name'])
  const main = recorder.open({ id: text(trajectory['session_id']) || name, ...(model ? { model } : {}) })
  let side: SessionRecorder | undefined
  for (const step of items(trajectory['steps']).filter(isFields)) {
    const aside = fields(step['extra'])['is_sidechain'] === true
    if (aside) side ??= recorder.open({ id: `${main.id}/side`, parent: main.id, reason: 'sub-agent' })
    readStep(aside && side ? side : main, step, model)
  }
  main.flush()
  side?.flush()
}

function readStep(session: SessionRecorder, step: Fields, model: string): void {
  const at = time(step['timestamp'])
  const parts = contentParts(step['message'])
  const calls = items(step['tool_calls']).filter(isFields)
  if (step['source'] === 'agent') {
    const metrics = fields(step['metrics'])
    const { prompt_tokens, cached_tokens, completion_tokens } = metrics
    session.assistant(
      [
        ...reasoningParts(text(step['reasoning_content'])),
        ...parts,
        ...calls.map(call =>
          callPart(text(call['tool_call_id']), text(call['function_name']), callInput(call['arguments'])),
        ),
      ],
      {
        at,
        ...('prompt_tokens' in metrics
          ? {
              usage: usageWithCached(
                prompt_tokens,
                cached_tokens,
                completion_tokens,
                text(step['model_name']) || model,
              ),
            }
          : {}),
      },
    )
    session.endResponse()
  } else if (step['source'] === 'system') session.system(asText(outputOf(parts)), { at })
  else session.user(parts, { at })
  for (const result of items(fields(step['observation'])['results']).filter(isFields))
    observe(session, result, { calls, at })
}

function observe(
  session: SessionRecorder,
  result: Fields,
  { calls, at }: { calls: readonly Fields[]; at: number | undefined },
): void {
  const parts = contentParts(result['content'])
  const only = calls.length === 1 ? text(calls[0]!['tool_call_id']) : ''
  const id = text(result['source_call_id']) || only
  if (id === '') session.user(parts, { at })
  else session.result(id, { output: outputOf(parts), at })
}

function contentParts(content: unknown): Part[] {
  if (!Array.isArray(content)) return textParts(asText(content))
  return content.filter(isFields).flatMap((part): Part[] => {
    const source = fields(part['source'])
    if (part['type'] === 'image')
      return [imagePart(text(source['media_type']) || 'image/png', { url: text(source['path']) })]
    return textParts(text(part['text']))
  })
}
