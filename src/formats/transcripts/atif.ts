/**
 * ATIF, Harbor's Agent Trajectory Interchange Format (v1.x): one JSON value, a list of steps; a call and its
 * result are in one step. Steps of a sub-agent are a session of their own.
 */

import type { Part, Usage } from '../../model/types.ts'
import { asText, callInput, type Fields, fields, records, text, time, usageWithCached } from './json.ts'
import {
  byValue,
  callPart,
  imagePart,
  outputOf,
  type Recorder,
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
  start: byValue(readTrajectory),
}

function readTrajectory(recorder: Recorder, value: unknown, { name }: { name: string }): void {
  const trajectory = fields(value)
  const model = text(fields(trajectory['agent'])['model_name'])
  const main = recorder.open({ id: text(trajectory['session_id']) || name, model })
  let side: SessionRecorder | undefined
  for (const step of records(trajectory['steps'])) {
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
  const calls = records(step['tool_calls'])
  if (step['source'] === 'agent') {
    session.assistant(
      [
        ...reasoningParts(text(step['reasoning_content'])),
        ...parts,
        ...calls.map(call =>
          callPart(text(call['tool_call_id']), text(call['function_name']), callInput(call['arguments'])),
        ),
      ],
      { at, usage: usageOf(fields(step['metrics']), text(step['model_name']) || model) },
    )
    session.endResponse()
  } else if (step['source'] === 'system') session.system(asText(outputOf(parts)), { at })
  else session.user(parts, { at })
  for (const result of records(fields(step['observation'])['results'])) observe(session, result, { calls, at })
}

function usageOf(metrics: Fields, model: string): Usage | undefined {
  const { prompt_tokens: prompt, cached_tokens: cached, completion_tokens: output, extra } = metrics
  if (prompt === undefined) return undefined
  const written = fields(extra)['cache_creation_input_tokens']
  return usageWithCached({ prompt, cached, written, output, model })
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
  return records(content).flatMap((part): Part[] => {
    const source = fields(part['source'])
    if (part['type'] === 'image')
      return [imagePart(text(source['media_type']) || 'image/png', { url: text(source['path']) })]
    return textParts(text(part['text']))
  })
}
