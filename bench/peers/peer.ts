/**
 * A peer in the benchmark: given everything that has happened so far, it returns what it would send. It is called
 * before every model call, in order, with one tool result per message; messages that it does not change are returned as
 * the same objects.
 */
import type { Counter } from '../../src/model/tokens.ts'
import type { Message, Part, ToolResultPart } from '../../src/model/types.ts'

export type PeerCall = {
  /** Everything so far, and the first message that was not there in the call before. */
  messages: readonly Message[]
  fresh: number
  /** When this call is made, and when the one before was answered. */
  at: number
  before: number
  /** Tokens of the system prompt and tools. */
  overhead: number
}

export type PeerRun = { view(call: PeerCall): readonly Message[] | Promise<readonly Message[]> }

export type Peer = {
  name: string
  /** Begins with `default`, `best` (a second one that we chose from its options), `other`, or `knob` (for its curve). */
  setting: string
  /** The package that is called, or where the algorithm is described. */
  source: string
  runs: 'package' | 'description'
  start(count: Counter): PeerRun
}

export function resultOf(message: Message): ToolResultPart | undefined {
  const [part] = message.parts
  return message.role === 'tool' && part?.type === 'tool-result' ? part : undefined
}

export function outputOf(part: ToolResultPart): string {
  return typeof part.output === 'string' ? part.output : part.output.map(textIn).join('\n')
}

function textIn(part: Part): string {
  return 'text' in part ? part.text : ''
}

/** Messages with another result, each created once, so that an unchanged message stays the same object. */
export class Cleared {
  readonly #made = new Map<Message, Message>()

  clear(message: Message, text: string): void {
    const part = resultOf(message)
    if (part) this.#made.set(message, { ...message, parts: [{ ...part, output: text }] })
  }

  replace(message: Message, by: Message): void {
    this.#made.set(message, by)
  }

  has(message: Message): boolean {
    return this.#made.has(message)
  }

  show(messages: readonly Message[]): Message[] {
    return messages.map(message => this.#made.get(message) ?? message)
  }
}

/** The first message from here on at which a conversation may be cut: not a result without its call. */
export function legalCut(messages: readonly Message[], from: number): number {
  let at = from
  while (at < messages.length && messages[at]!.role === 'tool') at++
  return at
}
