/**
 * Finds the conversation that a request belongs to. In this order: the client's headers; calls in answers that passed
 * through the proxy and now come back; the longest known beginning; text in answers that passed through. Otherwise it
 * is new.
 *
 * Messages are compared by their meaning (keyOf), not by the form of their content or by cache marks, which clients
 * change from request to request. This memory only helps to find sessions in the ledger: after a restart it is rebuilt
 * from there, and a wrong guess costs a fork, never a wrong view.
 */
import { hash } from 'node:crypto'
import { linkOf } from '../../ledger/redaction.ts'
import { textOf } from '../../model/leaves.ts'
import { Remembered } from '../../model/remembered.ts'
import type { Message } from '../../model/types.ts'
import { callsIn } from '../../view/legality.ts'
import { leadingSystem } from '../../view/messages.ts'
import type { ClientKey, Side } from './client.ts'
import type { Answer } from './dialect.ts'

export type Place = {
  session: string
  by: string
  isNew: boolean
  /** The session that this one continues, or whose agent started it. */
  parent?: string
  side?: Side | 'other'
  /** The hash of all messages of the request. */
  end: string
}

type Found = Omit<Place, 'end'>

export type Request = {
  client: ClientKey | undefined
  side: Side | undefined
  messages: readonly Message[]
  /** See `chainOf`. */
  chain: readonly string[]
  hasTools: boolean
  now: number
}

/** Within this time the same first request is a retry; after it, a new conversation with the same question. */
const RETRY_MS = 10 * 60_000
/** Shorter texts occur in many conversations. */
const TELLING_TEXT = 40
const REMEMBERED = 50_000

type Seen = { session: string; at: number; end: string }

export class Conversations {
  readonly #newName: () => string
  /** By scope and hash of the messages up to the end of a request. */
  readonly #chains = new Remembered<string, Seen>(REMEMBERED)
  readonly #calls = new Remembered<string, string>(REMEMBERED)
  readonly #texts = new Remembered<string, string>(REMEMBERED)
  /** The hash of the last request of each session. */
  readonly #ends = new Remembered<string, string>(REMEMBERED)
  /** Sessions of each client key. */
  readonly #segments = new Remembered<string, string[]>(REMEMBERED)

  constructor(newName: () => string) {
    this.#newName = newName
  }

  /** Whether the ledger may know a conversation that is not remembered here. */
  isUnknown({ client, messages, chain }: Request): boolean {
    if (client) return !this.#segments.has(client.key)
    return messages.some(({ role }) => role === 'assistant') && !this.#byContent(messages, chain)
  }

  /** The session that has these messages, or their beginning. Changes nothing. */
  whoseIs({ client, messages, chain }: Pick<Request, 'client' | 'messages' | 'chain'>): string | undefined {
    if (!client) return this.#byContent(messages, chain)?.session
    return this.#longest(chain, end => this.#chains.get(`${client.key} ${end}`))?.session
  }

  locate(request: Request): Place {
    const { chain } = request
    const found = request.client ? this.#byClient(request, request.client, chain) : this.#byContentOrNew(request, chain)
    if (!found.side) this.note(found.session, request)
    return { ...found, end: chain.at(-1) ?? '' }
  }

  /** Remembers that a session has these messages. */
  note(session: string, { client, chain, now }: Pick<Request, 'client' | 'chain' | 'now'>): void {
    const end = chain.at(-1)
    if (end === undefined) return
    this.#chains.set(scoped(client, end), { session, at: now, end })
    this.#ends.set(session, end)
    if (!client) return
    const segments = this.#segments.get(client.key) ?? []
    if (!segments.includes(session)) this.#segments.set(client.key, [...segments, session])
  }

  /** Remembers an answer of a session, so that it is recognized when the client sends it back. */
  answered(session: string, { calls, text }: Pick<Answer, 'calls' | 'text'>): void {
    for (const { id } of calls) this.#calls.set(id, session)
    if (calls.length === 0 && text.trim().length >= TELLING_TEXT) this.#texts.set(digest(text.trim()), session)
  }

  #byClient({ side, messages, hasTools }: Request, { key, parent, by }: ClientKey, chain: readonly string[]): Found {
    const segments = this.#segments.get(key)
    const found = this.#longest(chain, end => this.#chains.get(`${key} ${end}`))
    const isSide = side ?? (segments && !found && !hasTools ? 'other' : undefined)
    if (isSide)
      return {
        session: sideName(found?.session ?? key, isSide, chain),
        by,
        isNew: true,
        parent: found?.session ?? key,
        side: isSide,
      }
    if (found) return { session: found.session, by, isNew: false }
    if (!segments) return { session: key, by, isNew: true, ...(parent ? { parent } : {}) }
    const from = this.#byCalls(messages) ?? segments.at(-1)!
    return { session: `${key}.${segments.length + 1}`, by, isNew: true, parent: from }
  }

  #byContentOrNew({ side, messages, now }: Request, chain: readonly string[]): Found {
    const found = this.#byContent(messages, chain, now)
    if (side) {
      const session = sideName(found?.session ?? 'side', side, chain)
      return { session, by: 'words', isNew: true, ...(found ? { parent: found.session } : {}), side }
    }
    return found ?? { session: this.#newName(), by: 'new', isNew: true }
  }

  #byContent(messages: readonly Message[], chain: readonly string[], now = 0): Found | undefined {
    const called = this.#byCalls(messages)
    if (called !== undefined) return { session: called, by: 'call ids', isNew: false }
    const seen = this.#longest(chain, end => this.#chains.get(` ${end}`))
    const answered = messages.some(({ role }) => role === 'assistant')
    if (seen && (answered || this.#isRetry(seen, chain, now)))
      return { session: seen.session, by: 'beginning', isNew: false }
    const said = answered ? this.#byText(messages) : undefined
    return said === undefined ? undefined : { session: said, by: 'text', isNew: false }
  }

  /** The whole request was seen before, and nothing came after it. */
  #isRetry({ session, end, at }: Seen, chain: readonly string[], now: number): boolean {
    return end === chain.at(-1) && this.#ends.get(session) === end && now - at < RETRY_MS
  }

  #byCalls(messages: readonly Message[]): string | undefined {
    const last = messages.findLast(({ role }) => role === 'assistant')
    return (
      last &&
      callsIn(last)
        .map(({ id }) => this.#calls.get(id))
        .find(session => session !== undefined)
    )
  }

  #byText(messages: readonly Message[]): string | undefined {
    const last = messages.findLast(({ role }) => role === 'assistant')
    const text = last?.parts
      .flatMap(part => (part.type === 'text' ? [textOf(part)] : []))
      .join('')
      .trim()
    return text ? this.#texts.get(digest(text)) : undefined
  }

  #longest(chain: readonly string[], find: (end: string) => Seen | undefined): Seen | undefined {
    for (let i = chain.length - 1; i >= 0; i--) {
      const seen = find(chain[i]!)
      if (seen) return seen
    }
    return undefined
  }
}

/**
 * The hash of everything up to each message. A leading system prompt is left out, because it may change. The hashes of
 * messages that are the same objects as in `known` are reused.
 */
export function chainOf(messages: readonly Message[], known?: { messages: readonly Message[]; chain: string[] }) {
  const first = leadingSystem(messages)
  const isLike = known !== undefined && leadingSystem(known.messages) === first
  let same = first
  while (isLike && same < messages.length && messages[same] === known.messages[same]) same++
  const chain: string[] = known?.chain.slice(0, same - first) ?? []
  let before = chain.at(-1) ?? ''
  for (const message of messages.slice(first + chain.length)) {
    before = linkOf(before, message)
    chain.push(before)
  }
  return chain
}

function scoped(client: ClientKey | undefined, end: string): string {
  return `${client?.key ?? ''} ${end}`
}

function sideName(of: string, side: string, chain: readonly string[]): string {
  return `${of}.${side}-${(chain.at(-1) ?? '').slice(0, 8)}`
}

export function digest(text: string): string {
  return hash('sha1', text)
}
