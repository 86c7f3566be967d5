/**
 * Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`.
 *
 * `response_item` lines are the input and output of the model; `event_msg` lines repeat them for the screen and are
 * skipped, except `token_count`, which ends a response and reports its usage. A `compacted` line begins a session with
 * the history that replaces everything before it.
 *
 * The file of a fork, and of a subagent that knows its parent's history, begins with a copy of the parent's file,
 * including reports of usage. The copy is written at once, with the time of the fork, so it ends at the first pause.
 */

import { exitCode } from '../../calls/tool-output.ts'
import { isRecord } from '../../model/json.ts'
import type { Part } from '../../model/types.ts'
import { asText, callInput, type Fields, fields, items, text, time, usageWithCached } from './json.ts'
import {
  callPart,
  imagePart,
  outputOf,
  Parser,
  reasoningParts,
  type SessionRecorder,
  type SessionStart,
  type TranscriptReader,
  textParts,
} from './transcript.ts'

export const codex: TranscriptReader = {
  format: 'codex',
  container: 'json-lines',
  detect({ values }) {
    const types = ['session_meta', 'response_item', 'event_msg', 'turn_context', 'compacted']
    const own = values.filter(line => isRecord(line) && isRecord(line['payload']) && types.includes(text(line['type'])))
    return own.length > 0 ? 0.95 : 0
  },
  start: ({ name }) => new CodexParser(name),
}

class CodexParser extends Parser {
  #session: SessionRecorder | undefined
  #meta: Fields = {}
  #model = ''
  /** The last reported count of the whole session, as JSON. */
  #counted = ''
  /** While the lines are a copy of another session: the time of the last line, and of the copy. */
  #copy: { at: number; made: number } | undefined

  protected override read(value: unknown, line: number): void {
    const entry = fields(value)
    const payload = fields(entry['payload'])
    const at = time(entry['timestamp'])
    this.#follow(at)
    if (entry['type'] === 'session_meta') this.#begin(payload, at)
    else if (entry['type'] === 'turn_context') this.#model = text(payload['model'])
    else if (entry['type'] === 'compacted') this.#compact(payload, at)
    else if (entry['type'] === 'response_item') item(this.#opened(), payload, { at, line })
    else if (payload['type'] === 'token_count') this.#count(payload)
  }

  protected override finish(): void {
    this.#session?.flush()
  }

  #begin(meta: Fields, at: number | undefined): void {
    if (this.#session) return
    this.#meta = meta
    if (at !== undefined && originOf(meta)) this.#copy = { at, made: at }
    this.#instruct(this.#opened(), at)
  }

  /** The copy ends with the first line that was written after a pause. Older versions kept the times of the copied lines. */
  #follow(at: number | undefined): void {
    if (!this.#copy || at === undefined) return
    const isCopied = at < this.#copy.made || at - Math.max(this.#copy.at, this.#copy.made) < COPY_PAUSE_MS
    this.#copy = isCopied ? { ...this.#copy, at } : undefined
  }

  #instruct(session: SessionRecorder, at: number | undefined): void {
    const instructions = this.#meta['base_instructions'] ?? this.#meta['instructions']
    session.system(text(fields(instructions)['text']) || text(instructions), { at })
  }

  #opened(): SessionRecorder {
    if (this.#session) return this.#session
    const id = text(this.#meta['id']) || text(this.#meta['session_id']) || this.name
    this.#session = this.recorder.open({ id, ...originOf(this.#meta), cwd: text(this.#meta['cwd']) })
    return this.#session
  }

  #compact(payload: Fields, at: number | undefined): void {
    const old = this.#opened()
    old.end()
    const session = this.recorder.follow(old, 'compaction')
    this.#session = session
    this.#instruct(session, at)
    for (const each of items(payload['replacement_history'])) item(session, fields(each), { at })
    session.user(text(payload['message']), { at })
    session.inherit()
  }

  #count(payload: Fields): void {
    const info = fields(payload['info'])
    const usage = fields(info['last_token_usage'])
    // A report of the rate limits repeats the last count, even in the middle of a response.
    const counted = asText(info['total_token_usage'] ?? '')
    if (!('input_tokens' in usage) || (counted !== '' && counted === this.#counted)) return
    this.#counted = counted
    const reported = usageWithCached({
      prompt: usage['input_tokens'],
      cached: usage['cached_input_tokens'],
      written: usage['cache_write_input_tokens'],
      output: usage['output_tokens'],
      reasoning: usage['reasoning_output_tokens'],
      model: this.#model,
    })
    this.#opened().endResponse(reported)
    if (this.#copy) this.#opened().inherit()
  }
}

/** An answer of a model takes longer than this, and the lines of a copy come faster. */
const COPY_PAUSE_MS = 1000

/** The session that this one was forked from, or whose agent started it. */
function originOf(meta: Fields): Pick<SessionStart, 'parent' | 'reason'> | undefined {
  const spawned = fields(fields(fields(meta['source'])['subagent'])['thread_spawn'])
  const parent = [meta['forked_from_id'], meta['parent_thread_id'], spawned['parent_thread_id']].map(text).find(Boolean)
  if (parent === undefined) return undefined
  const isAgent = meta['thread_source'] === 'subagent' || 'subagent' in fields(meta['source'])
  return { parent, reason: isAgent ? 'sub-agent' : 'fork' }
}

function item(
  session: SessionRecorder,
  payload: Fields,
  { at, line }: { at: number | undefined; line?: number },
): void {
  const type = text(payload['type'])
  const id = text(payload['call_id'])
  switch (type) {
    case 'message':
      return say(session, payload, at)
    case 'reasoning':
      return session.assistant(reasoningParts(summaryOf(payload)), { at })
    case 'function_call':
      return session.assistant([callPart(id, text(payload['name']), callInput(payload['arguments']))], { at })
    case 'custom_tool_call':
      return session.assistant([callPart(id, text(payload['name']), payload['input'])], { at })
    case 'local_shell_call':
      return session.assistant([callPart(id, 'local_shell', fields(payload['action']))], { at })
    case 'tool_search_call':
      return session.assistant([callPart(id, 'tool_search', payload['arguments'])], { at })
    // The provider searched by itself: the call has no id and no result in the file.
    case 'web_search_call':
    case 'compaction':
    case 'compaction_summary':
      return session.assistant([{ type: 'raw', provider: 'openai-responses', value: payload }], { at })
    case 'function_call_output':
    case 'custom_tool_call_output':
      return session.result(id, { ...outputParts(payload['output']), at }, line)
    case 'tool_search_output':
      return session.result(id, { output: asText(payload['tools']), at }, line)
    default:
  }
}

function say(session: SessionRecorder, payload: Fields, at: number | undefined): void {
  const parts = items(payload['content']).flatMap(contentParts)
  if (payload['role'] === 'assistant') session.assistant(parts, { at })
  else if (payload['role'] === 'user') session.user(parts, { at })
  else session.system(parts.flatMap(part => (part.type === 'text' ? part.text : [])).join('\n'), { at })
}

function contentParts(block: unknown): Part[] {
  const content = fields(block)
  if (content['type'] === 'input_image') return [imagePart('image/png', { url: text(content['image_url']) })]
  return textParts(text(content['text']))
}

function summaryOf(payload: Fields): string {
  const lines = [...items(payload['summary']), ...items(payload['content'])]
  return lines.map(line => text(fields(line)['text'])).join('\n')
}

function outputParts(output: unknown): { output: string | Part[]; isError?: boolean } {
  if (Array.isArray(output)) return { output: outputOf(output.flatMap(contentParts)) }
  const result = fields(output)
  const body = typeof output === 'string' ? output : text(result['content']) || asText(output)
  const failed = result['success'] === false || (exitCode(body) ?? 0) !== 0
  return failed ? { output: body, isError: true } : { output: body }
}
