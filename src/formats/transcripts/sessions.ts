/**
 * Assembles the events of a reader into whole sessions.
 */

import type { Message, Usage } from '../../model/types.ts'
import type { Problem, SessionStart, TranscriptEvent } from './transcript.ts'

export type TranscriptSession = SessionStart & {
  messages: Message[]
  /** How many messages at the beginning have no calls of this session: a summary and what it kept, or up to a rewind. */
  carried: number
  /** When the file began, if it began with a copy of another session. */
  forkedAt?: number
  /** The reported usage, each with the index of its assistant message. */
  usage: { message: number; usage: Usage }[]
}

export class SessionCollector {
  readonly #sessions = new Map<string, TranscriptSession>()
  readonly #complete = new Set<string>()
  readonly problems: Problem[] = []

  get sessions(): TranscriptSession[] {
    return [...this.#sessions.values()].filter(session => session.messages.length > 0)
  }

  add(event: TranscriptEvent): void {
    if (event.type === 'problem') {
      this.problems.push(event.problem)
      return
    }
    if (event.type === 'session') {
      this.#sessions.set(event.session.id, { ...event.session, messages: [], carried: 0, usage: [] })
      return
    }
    const session = this.#sessions.get(event.session)
    if (!session) return
    if (event.type === 'message') session.messages.push(event.message)
    else if (event.type === 'usage') addUsage(session, event.usage)
    else if (event.type === 'inherit') session.carried = session.messages.length
    else if (event.type === 'fork') session.forkedAt = event.at
    else if (event.type === 'end') this.#complete.add(session.id)
    else this.#carry(session, event.from, event.to)
  }

  /** The complete sessions, including empty ones, each once: they are dropped here. */
  takeComplete(): TranscriptSession[] {
    const taken = [...this.#complete].flatMap(id => this.#sessions.get(id) ?? [])
    for (const id of this.#complete) this.#sessions.delete(id)
    this.#complete.clear()
    return taken
  }

  #carry(session: TranscriptSession, from: number, to: number): void {
    const kept = this.#sessions.get(session.parent ?? '')?.messages.slice(from, to) ?? []
    for (const message of kept) session.messages.push(message)
    // The summary of a compaction comes before the messages that it kept.
    if (kept.length > 0) session.carried = session.messages.length
  }
}

function addUsage(session: TranscriptSession, usage: Usage): void {
  const message = session.messages.findLastIndex(({ role }) => role === 'assistant')
  if (usage.model) session.model ??= usage.model
  if (message >= 0) session.usage.push({ message, usage })
}
