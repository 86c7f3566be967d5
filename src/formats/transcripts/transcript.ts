/**
 * The interface of a transcript reader: it detects its format, and turns the file's lines (or its one JSON value)
 * into events. Readers are pure and hold only the current step, so a file of any length can be read.
 *
 * A session's messages can be appended to a ledger as they are: call ids are unique, a result answers a call before
 * it, no message is empty. Content that does not fit this form is kept as text, and reported.
 */

import { addAll } from '../../model/lists.ts'
import type { ImagePart, Message, Part, Role, ToolCallPart, ToolResultPart, Usage } from '../../model/types.ts'
import { promptTokens } from '../../providers/token-fit.ts'
import { callInput, type Fields, fields, records, text } from './json.ts'

export type Format =
  | 'claude-code'
  | 'codex'
  | 'pi'
  | 'opencode'
  | 'copilot-cli'
  | 'gemini-cli'
  | 'swe-agent'
  | 'mini-swe-agent'
  | 'openhands'
  | 'tau-bench'
  | 'tau2-bench'
  | 'aider'
  | 'atif'
  | 'palimpsest'

/** What the file contains: JSON per line, one JSON value, several JSON values in a row, or plain lines. */
export type Container = 'json-lines' | 'json' | 'json-values' | 'text-lines'

export interface TranscriptReader {
  readonly format: Format
  readonly container: Container
  /** How sure the reader is that the file has its format: 0 is no, 1 is certain. */
  detect(sample: Sample): number
  start(source: { name: string }): TranscriptParser
}

export interface TranscriptParser {
  /** One line or value of the file; the line is its number, from 1. */
  take(value: unknown, line: number): TranscriptEvent[]
  end(): TranscriptEvent[]
}

/** The beginning of a file: its text, and the JSON values in it (of a single JSON file, the whole value). */
export type Sample = { text: string; values: unknown[] }

export type Problem = { line?: number; message: string }

/** Why a session does not start as a new conversation. */
export const SESSION_REASONS = ['compaction', 'rewind', 'sub-agent', 'fork'] as const
export type SessionReason = (typeof SESSION_REASONS)[number]

export type SessionStart = {
  id: string
  /** The session that this one continues, or whose agent started it. */
  parent?: string
  reason?: SessionReason
  model?: string
  cwd?: string
  /** The full session, if the file is our own export. */
  whole?: unknown
}

/**
 * `carry`: the messages `from` to `to` (exclusive) of the parent session follow here. `inherit`: all messages so far
 * repeat the parent's, perhaps in other words. `fork`: the file began at this time with a copy of another session's
 * file. `end`: the session is complete, and nothing more is carried from it; a session that is open at the end of the
 * file has no `end`.
 */
export type TranscriptEvent =
  | { type: 'session'; session: SessionStart }
  | { type: 'message'; session: string; message: Message }
  | { type: 'carry'; session: string; from: number; to: number }
  | { type: 'inherit'; session: string }
  | { type: 'fork'; session: string; at: number }
  | { type: 'usage'; session: string; usage: Usage }
  | { type: 'end'; session: string }
  | { type: 'problem'; problem: Problem }

/** A parser for files whose values belong together. */
export abstract class Parser implements TranscriptParser {
  protected readonly recorder = new Recorder()
  protected readonly name: string

  constructor(name: string) {
    this.name = name
  }

  take(value: unknown, line: number): TranscriptEvent[] {
    this.read(value, line)
    return this.recorder.drain()
  }

  end(): TranscriptEvent[] {
    this.finish()
    return this.recorder.drain()
  }

  protected abstract read(value: unknown, line: number): void
  protected abstract finish(): void
}

/** Starts a parser for files in which each value is complete by itself. */
export function byValue(
  read: (recorder: Recorder, value: unknown, source: { name: string; line: number }) => void,
): TranscriptReader['start'] {
  return ({ name }) => {
    const recorder = new Recorder()
    return {
      take(value, line) {
        read(recorder, value, { name, line })
        return recorder.drain()
      },
      end: () => [],
    }
  }
}

/** Collects the events of a file while a parser goes through it. */
export class Recorder {
  #events: TranscriptEvent[] = []
  readonly #ids = new Set<string>()

  /** Leaves out facts that are empty. */
  open({ id: wanted, ...facts }: SessionStart): SessionRecorder {
    let id = wanted
    for (let n = 2; this.#ids.has(id); n++) id = `${wanted}#${n}`
    this.#ids.add(id)
    const known = Object.entries(facts).filter(([, fact]) => fact !== undefined && fact !== '')
    const session: SessionStart = { id, ...Object.fromEntries(known) }
    this.emit({ type: 'session', session })
    return new SessionRecorder(this, session)
  }

  follow({ start }: SessionRecorder, reason: SessionReason): SessionRecorder {
    return this.open({ ...start, id: start.id.replace(/#\d+$/, ''), parent: start.id, reason })
  }

  emit(event: TranscriptEvent): void {
    this.#events.push(event)
  }

  problem(message: string, line?: number): void {
    this.emit({ type: 'problem', problem: line === undefined ? { message } : { line, message } })
  }

  drain(): TranscriptEvent[] {
    const events = this.#events
    this.#events = []
    return events
  }
}

type Said = { at?: number | undefined }
type Answer = Said & {
  /** Names the model's response: further parts of the same response join its message. */
  key?: string | undefined
  usage?: Usage | undefined
}
type Result = Said & { output: string | Part[]; isError?: boolean | undefined; name?: string | undefined }

type Call = { id: string; name: string; answered: boolean; place: number }

/** A response of the model and the messages after it, kept until it is complete. */
type Step = {
  key: string | undefined
  answer: Message
  results: Message[]
  after: Message[]
  usage?: Usage
  closed: boolean
}

/**
 * One session being read. Parts of a response join one message even if results are between them in the file; results
 * follow the message whose calls they answer.
 */
export class SessionRecorder {
  readonly start: SessionStart
  readonly #recorder: Recorder
  /** By the file's ids; if two calls have one id, the later counts. */
  readonly #calls = new Map<string, Call>()
  readonly #ids = new Set<string>()
  /** The roles of all emitted messages. */
  readonly #roles: Role[] = []
  #step: Step | undefined

  constructor(recorder: Recorder, start: SessionStart) {
    this.#recorder = recorder
    this.start = start
  }

  get id(): string {
    return this.start.id
  }

  /** Messages so far. */
  get length(): number {
    const step = this.#step
    return this.#roles.length + (step ? Number(isCall(step)) + step.results.length + step.after.length : 0)
  }

  system(text: string, { at }: Said = {}): void {
    this.#add(message('system', textParts(text), at))
  }

  user(content: string | Part[], { at }: Said = {}): void {
    this.#add(message('user', typeof content === 'string' ? textParts(content) : content.filter(isContent), at))
  }

  assistant(parts: Part[], { key, at, usage }: Answer = {}): void {
    const step = this.#step
    const joins =
      step && !step.closed && (key === undefined ? step.key === undefined && isBare(step) : step.key === key)
    if (!joins) this.flush()
    const own = parts.map(part => (part.type === 'tool-call' ? this.#registered(part) : part))
    if (joins) {
      addAll(step.answer.parts, own)
      if (usage) step.usage = usage
    } else {
      const answer = message('assistant', own, at)
      this.#step = { key, answer, results: [], after: [], closed: false, ...(usage ? { usage } : {}) }
    }
  }

  /** The response has ended: the model's next text is another message. `usage` is that of the response. */
  endResponse(usage?: Usage): void {
    if (!this.#step) return
    this.#step.closed = true
    if (usage) this.#step.usage = usage
  }

  waits(callId: string): boolean {
    return this.#calls.get(callId)?.answered === false
  }

  result(callId: string, { output: given, isError, name, at }: Result, line?: number): void {
    const output = typeof given === 'string' ? given : given.filter(isContent)
    const call = this.#calls.get(callId)
    if (!call || call.answered) {
      const what = call ? 'a second result for the call' : 'a result without its call'
      this.#recorder.problem(`There is ${what} ${JSON.stringify(callId)}; it was kept as text.`, line)
      const label = `[Result of ${name ?? call?.name ?? 'an unknown tool'}]`
      this.user(typeof output === 'string' ? `${label}\n${output}` : [{ type: 'text', text: label }, ...output], { at })
      return
    }
    call.answered = true
    const part: ToolResultPart = {
      type: 'tool-result',
      id: call.id,
      name: call.name,
      output,
      ...(isError ? { isError } : {}),
    }
    const step = this.#step
    const answer = message('tool', [part], at)
    if (step?.answer.parts.some(other => other.type === 'tool-call' && other.id === call.id)) step.results.push(answer)
    else this.#add(answer)
  }

  /** Takes over messages of the parent session, with the calls in them. */
  carry(from: number, to: number, parent: SessionRecorder): void {
    this.flush()
    let first = from
    // A result is dropped if its call is not carried.
    while (first < to && parent.#roles[first] === 'tool') first++
    if (to <= first) return
    const shift = this.#roles.length - first
    for (const [id, call] of parent.#calls)
      if (call.place >= first && call.place < to) this.#calls.set(id, { ...call, place: call.place + shift })
    for (const id of parent.#ids) this.#ids.add(id)
    for (let at = first; at < to; at++) this.#roles.push(parent.#roles[at]!)
    this.#recorder.emit({ type: 'carry', session: this.id, from: first, to })
  }

  /** All messages so far repeat the parent's, so their usage counts there. */
  inherit(): void {
    this.flush()
    this.#recorder.emit({ type: 'inherit', session: this.id })
  }

  /** The file began with a copy of another session; `at` is the best known time of the copy. */
  forked(at: number): void {
    this.#recorder.emit({ type: 'fork', session: this.id, at })
  }

  flush(): void {
    const step = this.#step
    if (!step) return
    this.#step = undefined
    if (isCall(step)) {
      // A call without visible output (withheld reasoning, an interruption) was billed too.
      if (step.answer.parts.length === 0) step.answer.parts.push({ type: 'reasoning', text: '' })
      this.#emit(step.answer)
      if (step.usage) this.#recorder.emit({ type: 'usage', session: this.id, usage: step.usage })
    }
    for (const each of [...step.results, ...step.after]) this.#emit(each)
  }

  /** The session is complete. */
  end(): void {
    this.flush()
    this.#recorder.emit({ type: 'end', session: this.id })
  }

  #add(each: Message): void {
    if (each.parts.length === 0) return
    if (this.#step) this.#step.after.push(each)
    else this.#emit(each)
  }

  #emit(each: Message): void {
    this.#roles.push(each.role)
    this.#recorder.emit({ type: 'message', session: this.id, message: each })
  }

  #registered(call: ToolCallPart): ToolCallPart {
    const wanted = call.id === '' ? `call-${this.#ids.size + 1}` : call.id
    let id = wanted
    for (let n = 2; this.#ids.has(id); n++) id = `${wanted}#${n}`
    this.#ids.add(id)
    this.#calls.set(call.id, { id, name: call.name, answered: false, place: this.#roles.length })
    return { ...call, id }
  }
}

/** Parts that a message of a user or a tool can have; a call or reasoning there is damage. */
function isContent(part: Part): boolean {
  return part.type === 'text' || part.type === 'image' || part.type === 'raw'
}

/** Whether a step has an answer, or at least reported usage. */
function isCall({ answer, usage }: Step): boolean {
  return answer.parts.length > 0 || (usage !== undefined && promptTokens(usage) + (usage.output ?? 0) > 0)
}

function isBare(step: Step): boolean {
  return step.results.length === 0 && step.after.length === 0
}

function message(role: Message['role'], parts: Part[], at: number | undefined): Message {
  return at === undefined ? { role, parts } : { role, parts, at }
}

export function textParts(text: string): Part[] {
  return text === '' ? [] : [{ type: 'text', text }]
}

export function reasoningParts(text: string): Part[] {
  return text === '' ? [] : [{ type: 'reasoning', text }]
}

export function callPart(id: string, name: string, input: unknown): ToolCallPart {
  return { type: 'tool-call', id, name: name === '' ? 'unknown' : name, input: input ?? {} }
}

export function chatCalls(message: Fields): ToolCallPart[] {
  return records(message['tool_calls']).map(call => {
    const called = fields(call['function'])
    return callPart(text(call['id']), text(called['name']), callInput(called['arguments']))
  })
}

export function imagePart(mediaType: string, source: { data?: string; url?: string }): ImagePart {
  const inline = /^data:([^;,]*);base64,(.*)$/s.exec(source.url ?? '')
  if (inline) return { type: 'image', mediaType: inline[1] || mediaType, data: inline[2]! }
  return { type: 'image', mediaType, ...source }
}

/** A string if all parts are text, otherwise the parts. */
export function outputOf(parts: Part[]): string | Part[] {
  if (parts.every(part => part.type === 'text')) return parts.map(part => part.text).join('\n')
  return parts
}
