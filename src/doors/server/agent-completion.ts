/** A turn of the agent in the form of a chat completion: whole, or in chunks as it runs. */

import type { RunningTurn } from '../../agent/desk.ts'
import type { AgentEvent } from '../../agent/events.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { inOneLine } from '../../model/text.ts'
import { dataBlock } from './agent-stream.ts'

export type Completion = { id: string; created: number; model: string }

/** Returns the line below an answer that names the proposals that wait for a decision. */
export type Notice = (event: Extract<AgentEvent, { type: 'proposals' }>) => string

type Piece = { content: string } | { reasoning_content: string }
type Done = Extract<AgentEvent, { type: 'done' }>

/** `isOver`: whether the reader may read no more. */
type Reader = { notice: Notice; isOver: () => Promise<boolean> }

export async function toCompletion(turn: RunningTurn, base: Completion, { notice, isOver }: Reader): Promise<object> {
  const usage = new UsageSum()
  const talk = new Talk(notice)
  let content = ''
  let reasoning = ''
  for await (const event of turn.events()) {
    if (await isOver()) {
      turn.abort()
      throw new PalimpsestError('UNAUTHORIZED', 'This token was revoked.')
    }
    usage.add(event)
    for (const piece of talk.tell(event)) {
      if ('content' in piece) content += piece.content
      else reasoning += piece.reasoning_content
    }
    if (event.type === 'done' && event.reason === 'failed') throw new PalimpsestError('MODEL_FAILED', event.message)
    if (event.type !== 'done') continue
    const message = { role: 'assistant', content, ...(reasoning === '' ? {} : { reasoning_content: reasoning }) }
    const choices = [{ index: 0, message, finish_reason: finishOf(event) }]
    return { ...base, object: 'chat.completion', choices, usage: usage.value() }
  }
  throw new PalimpsestError('MODEL_FAILED', 'The turn ended without an answer.')
}

export type ChunkOptions = { withUsage: boolean; notice: Notice }

export async function* chunksOf(
  turn: RunningTurn,
  base: Completion,
  { withUsage, notice }: ChunkOptions,
): AsyncGenerator<string> {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    dataBlock({ ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })
  const usage = new UsageSum()
  const talk = new Talk(notice)
  yield chunk({ role: 'assistant', content: '' })
  for await (const event of turn.events()) {
    usage.add(event)
    for (const piece of talk.tell(event)) yield chunk(piece)
    if (event.type !== 'done') continue
    if (event.reason === 'failed')
      yield dataBlock({ error: { message: event.message, type: 'palimpsest_error', code: 'MODEL_FAILED' } })
    else yield chunk({}, finishOf(event))
  }
  if (withUsage) yield dataBlock({ ...base, object: 'chat.completion.chunk', choices: [], usage: usage.value() })
  yield 'data: [DONE]\n\n'
}

function finishOf({ reason }: Done): string {
  return reason === 'answered' || reason === 'aborted' ? 'stop' : 'length'
}

const LINE = 160

/** Text becomes content, with a blank line between two steps; tool calls become reasoning. */
class Talk {
  readonly #notice: Notice
  #said = false
  #between = false

  constructor(notice: Notice) {
    this.#notice = notice
  }

  tell(event: AgentEvent): Piece[] {
    if (event.type === 'text') return this.#say(event.text)
    if (event.type === 'proposals') return [{ content: this.#notice(event) }]
    if (event.type === 'done') {
      const stopped = event.reason !== 'answered' && event.reason !== 'failed'
      return stopped ? [{ content: `\n\n${event.message}` }] : []
    }
    if (event.type === 'call') this.#between = true
    const line = lineOf(event)
    return line === undefined ? [] : [{ reasoning_content: line }]
  }

  #say(text: string): Piece[] {
    const gap = this.#said && this.#between ? [{ content: '\n\n' }] : []
    this.#said = true
    this.#between = false
    return [...gap, { content: text }]
  }
}

function lineOf(event: AgentEvent): string | undefined {
  switch (event.type) {
    case 'reasoning':
      return event.text
    case 'call':
      return `\n→ ${event.name} ${short(JSON.stringify(event.input) ?? '')}\n`
    case 'result':
      return `${event.isError ? '✗' : '✓'} ${short(event.text)}\n`
    case 'retry':
      return `\n… ${short(event.reason)}; trying again\n`
    case 'edits':
      return `\n(context: ${short(event.decision)})\n`
    case 'interrupted':
      return `\n(interrupted before: ${event.calls.map(({ name }) => name).join(', ')})\n`
    case 'delegated':
      return event.event.type === 'call' || event.event.type === 'result' ? lineOf(event.event) : undefined
    default:
      return undefined
  }
}

function short(text: string): string {
  return inOneLine(text, LINE)
}

class UsageSum {
  #input = 0
  #cached = 0
  #output = 0

  add(event: AgentEvent): void {
    if (event.type === 'delegated') return this.add(event.event)
    if (event.type !== 'usage') return
    const { input = 0, cacheRead = 0, cacheWrite = 0, output = 0 } = event.usage
    this.#input += input + cacheRead + cacheWrite
    this.#cached += cacheRead
    this.#output += output
  }

  value(): object {
    return {
      prompt_tokens: this.#input,
      completion_tokens: this.#output,
      total_tokens: this.#input + this.#output,
      prompt_tokens_details: { cached_tokens: this.#cached },
    }
  }
}
