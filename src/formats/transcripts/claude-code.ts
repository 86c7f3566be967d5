/**
 * Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`.
 *
 * One API response is written as several lines with one `message.id`, which are joined to one message. The lines form a
 * tree, but results of parallel calls are siblings in it, so the order of the file is used; only if a prompt replaces
 * an earlier one (a rewind), a new session begins from there. A compaction begins a session with the summary; each
 * sub-agent in the file is a separate session. A fork (`--fork-session`, `/branch`, `--resume` of old versions) is a
 * file that begins with a copy of another file's lines.
 */

import { isRecord } from '../../model/json.ts'
import { addAll } from '../../model/lists.ts'
import type { Part, Usage } from '../../model/types.ts'
import { takeTier } from '../../providers/pricing.ts'
import { takeIterations } from '../../providers/reported.ts'
import { asText, count, type Fields, fields, items, records, text, time } from './json.ts'
import {
  callPart,
  imagePart,
  outputOf,
  Parser,
  reasoningParts,
  type SessionRecorder,
  type TranscriptReader,
  textParts,
} from './transcript.ts'

export const claudeCode: TranscriptReader = {
  format: 'claude-code',
  container: 'json-lines',
  detect({ values }) {
    const lines = records(values)
    const known = lines.filter(
      line => 'sessionId' in line && ('uuid' in line || 'leafUuid' in line || 'operation' in line),
    )
    const spoken = lines.some(line => 'parentUuid' in line && 'isSidechain' in line)
    return spoken ? 1 : known.length > 0 ? 0.5 : 0
  },
  start: ({ name }) => new ClaudeCodeParser(name),
}

/** A conversation in the file: the main one or a sub-agent's. */
type Thread = {
  session: SessionRecorder
  /** The place of a line's message in the session, by uuid. */
  places: Map<string, number>
  /** The place of the prompt that follows a message, by that message's uuid. */
  prompts: Map<string, number>
  kept?: { from: number; to: number; parent: SessionRecorder }
}

/** Where a line is: in the tree, and in the file. */
type Place = { type: string; uuid: string; parent: string; anchor: string; line: number }

class ClaudeCodeParser extends Parser {
  #main: Thread | undefined
  /** The time of the first line that is not a copy, and whether the last line was one. */
  #began: number | undefined
  #isCopy = false
  readonly #sub = new Map<string, Thread>()
  /** By a line's uuid: the message line that it follows (itself if it is one), and its sub-agent. */
  readonly #anchors = new Map<string, string>()
  readonly #agents = new Map<string, string>()

  protected override read(value: unknown, line: number): void {
    const entry = fields(value)
    const uuid = text(entry['uuid'])
    const parent = text(entry['parentUuid']) || text(entry['logicalParentUuid'])
    const type = text(entry['type'])
    this.#date(entry)
    // A line that is written a second time was paid once.
    if (uuid !== '' && this.#anchors.has(uuid)) return
    const speaks = (type === 'user' || type === 'assistant') && isRecord(entry['message'])
    const anchor = this.#anchors.get(parent) ?? ''
    if (uuid !== '') this.#anchors.set(uuid, speaks ? uuid : anchor)
    if (type === 'system' && entry['subtype'] === 'compact_boundary') this.#compact(entry)
    else if (speaks || type === 'attachment') this.#speak(entry, { type, uuid, parent, anchor, line })
  }

  protected override finish(): void {
    this.#main?.session.flush()
    for (const { session } of this.#sub.values()) session.flush()
  }

  #speak(entry: Fields, { type, uuid, parent, anchor, line }: Place): void {
    const at = time(entry['timestamp'])
    if (entry['isCompactSummary'] === true && this.#main && this.#main.session.length > 0) this.#compact(entry)
    let thread = entry['isSidechain'] === true ? this.#subAgent(entry, uuid, parent) : this.#mainThread(entry)
    const message = fields(entry['message'])
    if (type === 'user' && thread === this.#main && isPrompt(entry)) thread = this.#rewound(thread, anchor)
    if (uuid !== '') thread.places.set(uuid, thread.session.length)
    if (type === 'attachment') thread.session.user(attachmentText(fields(entry['attachment'])), { at })
    else if (type === 'assistant') answer(thread.session, message, at)
    else listen(thread.session, message, { at, line })
    if (thread.kept) {
      const { from, to, parent: old } = thread.kept
      delete thread.kept
      thread.session.carry(from, to, old)
      old.end()
    }
  }

  #mainThread(entry: Fields): Thread {
    if (this.#main) return this.#main
    const session = this.recorder.open({ id: text(entry['sessionId']) || this.name, cwd: text(entry['cwd']) })
    this.#main = newThread(session)
    const at = time(entry['timestamp']) ?? 0
    if (this.#isCopy) session.forked(at)
    else if (this.#began !== undefined && at < this.#began) session.forked(this.#began)
    return this.#main
  }

  /** Copied lines keep their times: a line that is older than the file, or names its first session, is a copy. */
  #date(entry: Fields): void {
    const at = time(entry['timestamp'])
    const isCopy = isRecord(entry['forkedFrom'])
    if (!isCopy && this.#isCopy && at !== undefined) this.#main?.session.forked(at)
    if (isCopy || at !== undefined) this.#isCopy = isCopy
    if (!isCopy) this.#began ??= at
  }

  /** A sub-agent is identified by its id, or in older files by the first line that its lines descend from. */
  #subAgent(entry: Fields, uuid: string, parent: string): Thread {
    const agent = text(entry['agentId']) || this.#agents.get(parent) || uuid
    if (uuid !== '') this.#agents.set(uuid, agent)
    const known = this.#sub.get(agent)
    if (known) return known
    const id = `${text(entry['sessionId']) || this.name}/${agent.slice(0, 8)}`
    // In a file of its own, the lines name the session that started the agent.
    const main = this.#main?.session.id ?? text(entry['sessionId'])
    const start = { id, parent: main, reason: 'sub-agent' as const, cwd: text(entry['cwd']) }
    const opened = newThread(this.recorder.open(start))
    this.#sub.set(agent, opened)
    return opened
  }

  #compact(entry: Fields): void {
    const old = this.#main
    if (!old || old.session.length === 0) return
    old.session.flush()
    const opened = newThread(this.recorder.follow(old.session, 'compaction'))
    const segment = fields(fields(entry['compactMetadata'])['preservedSegment'])
    const from = old.places.get(text(segment['headUuid']))
    const to = old.places.get(text(segment['tailUuid']))
    if (from !== undefined && to !== undefined) opened.kept = { from, to: to + 1, parent: old.session }
    else old.session.end()
    this.#main = opened
  }

  /** If a message already has a prompt after it, the user went back to before that prompt. */
  #rewound(thread: Thread, anchor: string): Thread {
    const { session, prompts, places } = thread
    const earlier = prompts.get(anchor)
    if (anchor === '' || earlier === undefined || session.length === earlier + 1) {
      prompts.set(anchor, session.length)
      return thread
    }
    session.flush()
    const opened = newThread(this.recorder.follow(session, 'rewind'))
    opened.session.carry(0, earlier, session)
    session.end()
    for (const [uuid, place] of places) if (place < earlier) opened.places.set(uuid, place)
    for (const [uuid, place] of prompts) if (place <= earlier) opened.prompts.set(uuid, place)
    this.#main = opened
    return opened
  }
}

function newThread(session: SessionRecorder): Thread {
  return { session, places: new Map(), prompts: new Map() }
}

function isPrompt(entry: Fields): boolean {
  if (entry['isMeta'] === true || entry['isCompactSummary'] === true) return false
  return !items(fields(entry['message'])['content']).some(block => fields(block)['type'] === 'tool_result')
}

function answer(session: SessionRecorder, message: Fields, at: number | undefined): void {
  const parts = blocks(message['content']).flatMap((block): Part[] => {
    if (block['type'] === 'thinking') return reasoningParts(text(block['thinking']))
    if (block['type'] === 'tool_use') return [callPart(text(block['id']), text(block['name']), block['input'])]
    return contentParts(block)
  })
  session.assistant(parts, { key: text(message['id']) || undefined, at, usage: usageOf(message) })
}

function listen(
  session: SessionRecorder,
  message: Fields,
  { at, line }: { at: number | undefined; line: number },
): void {
  const said: Part[] = []
  for (const block of blocks(message['content'])) {
    if (block['type'] !== 'tool_result') {
      addAll(said, contentParts(block))
      continue
    }
    const output = outputOf(blocks(block['content']).flatMap(contentParts))
    session.result(text(block['tool_use_id']), { output, isError: block['is_error'] === true, at }, line)
  }
  session.user(said, { at })
}

function blocks(content: unknown): Fields[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : records(content)
}

function contentParts(block: Fields): Part[] {
  if (block['type'] === 'text') return textParts(text(block['text']))
  if (block['type'] === 'image') {
    const source = fields(block['source'])
    const where = source['type'] === 'url' ? { url: text(source['url']) } : { data: text(source['data']) }
    return [imagePart(text(source['media_type']) || 'image/png', where)]
  }
  if (block['type'] === 'tool_reference') return textParts(`[Tool ${text(block['tool_name'])}]`)
  return [{ type: 'raw', provider: 'anthropic', value: block }]
}

function usageOf(message: Fields): Usage | undefined {
  const usage = message['usage']
  const [model, id] = [text(message['model']), text(message['id'])]
  if (model === '<synthetic>') return { by: 'client' }
  if (!isRecord(usage)) return undefined
  const written = fields(usage['cache_creation'])
  const [short, long] = [count(written['ephemeral_5m_input_tokens']), count(written['ephemeral_1h_input_tokens'])]
  const reasoning = count(fields(usage['output_tokens_details'])['thinking_tokens'])
  const searches = count(fields(usage['server_tool_use'])['web_search_requests'])
  const reported: Usage = {
    input: count(usage['input_tokens']),
    cacheRead: count(usage['cache_read_input_tokens']),
    cacheWrite: Math.max(count(usage['cache_creation_input_tokens']), short + long),
    ...(long > 0 ? { cacheWriteLong: long } : {}),
    output: count(usage['output_tokens']),
    ...(searches > 0 ? { searches } : {}),
    ...(reasoning > 0 ? { reasoning } : {}),
    ...(model ? { model } : {}),
    ...(id ? { id } : {}),
  }
  takeTier(reported, usage['service_tier'], usage['speed'], usage['inference_geo'])
  takeIterations(reported, usage['iterations'])
  return reported
}

/** Attachments that only the user or the client sees. */
const UNSENT = new Set(['hook_system_message', 'command_permissions', 'auto_mode'])

/** Text that the client itself added to the conversation. */
function attachmentText(attachment: Fields): string {
  const type = text(attachment['type'])
  if (UNSENT.has(type)) return ''
  if (type === 'queued_command') return asText(attachment['prompt'])
  const body = attachmentBody(attachment)
  const file = text(attachment['filename']) || text(attachment['path'])
  if (body === '' && file === '') return ''
  return `[${type.replaceAll('_', ' ')}${file ? `: ${file}` : ''}]\n${body}`.trimEnd()
}

function attachmentBody(attachment: Fields): string {
  const { content } = attachment
  if (isRecord(content)) return text(content['content']) || text(fields(content['file'])['content'])
  if (typeof content === 'string') return content
  const lists = [
    content,
    attachment['addedBlocks'],
    attachment['addedLines'],
    attachment['addedNames'],
    attachment['files'],
  ]
  const list = lists.map(items).find(each => each.length > 0)
  return list ? list.map(asText).join('\n') : text(attachment['snippet'])
}
