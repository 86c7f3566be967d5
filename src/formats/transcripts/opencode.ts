/**
 * opencode: the output of `opencode export <session>`, or the records of its storage folder
 * (`~/.local/share/opencode/storage`), one JSON value after the other.
 *
 * One assistant message is one call of the model, in older versions one per `step-start`; call and result are one
 * `tool` part. A message with a `compaction` part (or a summary) begins a session.
 */

import { amount } from '../../model/text.ts'
import type { Part, Usage } from '../../model/types.ts'
import { asText, count, type Fields, fields, items, records, text, time, usageOfNumbers } from './json.ts'
import {
  byValue,
  callPart,
  imagePart,
  outputOf,
  Parser,
  type Recorder,
  reasoningParts,
  type SessionRecorder,
  type TranscriptReader,
  textParts,
} from './transcript.ts'

export const opencode: TranscriptReader = {
  format: 'opencode',
  container: 'json',
  detect({ values }) {
    const first = fields(fields(values[0])['info'])
    return text(first['id']).startsWith('ses_') && 'messages' in fields(values[0]) ? 1 : 0
  },
  start: byValue((recorder, value, { name }) => {
    const info = fields(fields(value)['info'])
    const messages = items(fields(value)['messages']).map(message => ({
      info: fields(fields(message)['info']),
      parts: records(fields(message)['parts']),
    }))
    readSession(recorder, info, messages, text(info['id']) || name)
  }),
}

export const opencodeStorage: TranscriptReader = {
  format: 'opencode',
  container: 'json-values',
  detect({ values }) {
    const own = values.filter(value => /^(?:prt|msg|ses)_/.test(text(fields(value)['id'])))
    return own.length > 0 ? 0.9 : 0
  },
  start: ({ name }) => new StorageParser(name),
}

/** Records come in any order, so sessions are made at the end. */
class StorageParser extends Parser {
  readonly #sessions = new Map<string, Fields>()
  readonly #messages: Fields[] = []
  readonly #parts: Fields[] = []

  protected override read(value: unknown): void {
    const record = fields(value)
    const id = text(record['id'])
    if (id.startsWith('ses_')) this.#sessions.set(id, record)
    else if (id.startsWith('msg_') && 'role' in record) this.#messages.push(record)
    else if (id.startsWith('prt_')) this.#parts.push(record)
  }

  protected override finish(): void {
    const parts = Map.groupBy(this.#parts.sort(byId), part => text(part['messageID']))
    const sessions = Map.groupBy(this.#messages.sort(byId), message => text(message['sessionID']))
    for (const [id, list] of [...sessions].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const messages = list.map(info => ({ info, parts: parts.get(text(info['id'])) ?? [] }))
      for (const { info } of messages) parts.delete(text(info['id']))
      readSession(this.recorder, this.#sessions.get(id) ?? {}, messages, id || this.name)
    }
    const lost = [...parts.values()].flat().length
    if (lost > 0) this.recorder.problem(`${amount(lost, 'part')} of messages that are not in the file: left out.`)
  }
}

function byId(a: Fields, b: Fields): number {
  return text(a['id']) < text(b['id']) ? -1 : 1
}

type StoredMessage = { info: Fields; parts: Fields[] }

function readSession(recorder: Recorder, info: Fields, messages: StoredMessage[], id: string): void {
  const parent = text(info['parentID'])
  let session = recorder.open({ id, cwd: text(info['directory']), parent, reason: parent ? 'sub-agent' : undefined })
  let compacting = false
  for (const message of messages) {
    const asked = message.parts.some(part => part['type'] === 'compaction')
    const summary = message.info['summary'] === true && message.info['role'] === 'assistant'
    if ((asked || (summary && !compacting)) && session.length > 0) {
      session.flush()
      session = recorder.follow(session, 'compaction')
    }
    compacting = asked
    if (message.info['role'] === 'user')
      session.user(message.parts.flatMap(userParts), { at: time(fields(message.info['time'])['created']) })
    else answer(session, message)
  }
  session.flush()
}

function userParts(part: Fields): Part[] {
  if (part['ignored'] === true) return []
  switch (part['type']) {
    case 'text':
      return textParts(text(part['text']))
    case 'file':
      return filePart(part)
    case 'compaction':
      return textParts('[The conversation so far was compacted; its summary follows.]')
    case 'subtask':
      return textParts(text(part['prompt']))
    default:
      return []
  }
}

function filePart(part: Fields): Part[] {
  const type = text(part['mime'])
  if (type.startsWith('image/')) return [imagePart(type, { url: text(part['url']) })]
  return textParts(`[File ${text(part['filename']) || text(part['url'])}]`)
}

function answer(session: SessionRecorder, { info, parts }: StoredMessage): void {
  const times = fields(info['time'])
  const at = time(times['completed']) ?? time(times['created'])
  let key = text(info['id'])
  let step = 0
  let isReported = false
  const finish = (tokens: unknown) => {
    const usage = usageOf(fields(tokens), { model: text(info['modelID']), id: idOf(times, step) })
    isReported ||= usage !== undefined
    session.endResponse(usage)
  }
  session.assistant([], { key, at })
  for (const part of parts) {
    if (part['type'] === 'step-start') {
      key = `${text(info['id'])}/${++step}`
      session.assistant([], { key, at })
    } else if (part['type'] === 'step-finish') finish(part['tokens'])
    else if (part['type'] === 'text') session.assistant(textParts(text(part['text'])), { key, at })
    else if (part['type'] === 'reasoning') session.assistant(reasoningParts(text(part['text'])), { key, at })
    else if (part['type'] === 'tool') use(session, part, { key, at })
  }
  // The tokens of the message are those of its last step.
  if (isReported) session.endResponse()
  else finish(info['tokens'])
}

function use(session: SessionRecorder, part: Fields, options: { key: string; at: number | undefined }): void {
  const state = fields(part['state'])
  const id = text(part['callID']) || text(part['id'])
  session.assistant([callPart(id, text(part['tool']), state['input'])], options)
  const at = time(fields(state['time'])['end']) ?? options.at
  if (state['status'] === 'error') session.result(id, { output: asText(state['error']), isError: true, at })
  if (state['status'] !== 'completed') return
  const files = records(state['attachments']).flatMap(filePart)
  session.result(id, { output: outputOf([...textParts(asText(state['output'])), ...files]), at })
}

/** A fork is a copy with other ids, but the same times. */
function idOf({ created, completed }: Fields, step: number): string | undefined {
  return time(completed) === undefined ? undefined : `${asText(created)}-${asText(completed)}/${step}`
}

function usageOf(tokens: Fields, { model, id }: { model: string; id: string | undefined }): Usage | undefined {
  const cache = fields(tokens['cache'])
  const reasoning = count(tokens['reasoning'])
  const output = count(tokens['output']) + reasoning
  const [cacheRead, cacheWrite] = [count(cache['read']), count(cache['write'])]
  const numbers = { input: count(tokens['input']), cacheRead, cacheWrite, output, reasoning }
  const usage = usageOfNumbers(numbers, model)
  return usage && id !== undefined ? { ...usage, id } : usage
}
