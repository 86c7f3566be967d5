/**
 * Shows the user that a proposal waits: a line below an answer, with a count and a link, once for each new proposal.
 *
 * The line is for the user alone. It is added to the client's copy of the answer, never to the recorded one, and
 * removed from the client's next request before anything reads it. So the provider and the ledger see only the model's
 * words, and the provider's cache holds. Only an answer that ends a turn with text gets the line, in a conversation
 * with tools that was not started by another agent. Requested JSON and compressed answers never get it.
 */
import { Transform, type TransformCallback } from 'node:stream'
import type { Wire } from '../../formats/adapters/original.ts'
import {
  type DecisionLinks,
  PLAIN_NOTICE,
  PLAIN_NOTICE_MARK,
  plainNoticeOf,
  withoutLinks,
} from '../../memory/decision-links.ts'
import type { Memory } from '../../memory/memory.ts'
import { isRecord, parseJson } from '../../model/json.ts'
import { readObject } from './body-json.ts'
import { hasTools } from './client.ts'
import type { ProxyDialect, Step } from './dialect.ts'
import { splice } from './splice.ts'
import { type BodyReader, dataIn, Events, MOST_WHOLE, parsed } from './stream.ts'
import type { Found } from './turns.ts'

export type NoticeOptions = {
  memory: Memory
  links: DecisionLinks
  told: Told
  /** The users whose proposals are shown to callers without a token. */
  users: readonly string[]
  /** The URL at which users reach the server, if agents use another one. */
  publicUrl?: string | undefined
}

/** The reader of the answer. An agent's own token gets no link with which it could decide. */
export type Reader = { user?: string | undefined; role?: string | undefined }

/** A line that may be added. `claim` claims the right to add it, and returns whether that succeeded. */
export type Notice = { line: string; claim: () => Promise<boolean> }

/** Which proposals were announced to which users, shared by all servers of a home. */
export type Told = {
  untold(user: string, proposals: readonly string[]): Promise<string[]>
  claimTelling(user: string, proposals: readonly string[]): Promise<boolean>
}

const MOST_COUNTED = 100

export class Notices {
  readonly #options: NoticeOptions

  constructor(options: NoticeOptions) {
    this.#options = options
  }

  /** The line for the answer to a request; undefined if no new proposal waits, or if the line must not be added. */
  async due({ incoming, place, client }: Found, reader: Reader, url: string): Promise<Notice | undefined> {
    const { dialect, body } = incoming
    if (place.side || client?.parent !== undefined || !hasTools(body) || dialect.below.isData(body)) return undefined
    const { memory, told, links, publicUrl } = this.#options
    for (const user of reader.user === undefined ? this.#options.users : [reader.user]) {
      const open = await memory.proposals(user, { state: 'open', limit: MOST_COUNTED })
      const ids = open.map(({ id }) => id)
      if (ids.length === 0 || (await told.untold(user, ids)).length === 0) continue
      const path = reader.role === 'agent' ? '/#/memory' : links.path(user, ids)
      const line = plainNoticeOf(ids.length, new URL(path, publicUrl ?? url).href)
      return { line, claim: () => told.claimTelling(user, ids) }
    }
    return undefined
  }
}

const MARK = Buffer.from(PLAIN_NOTICE_MARK)
const LONGEST = 4000
const QUOTE = 0x22
const BACKSLASH = 0x5c

/** A body whose links to decisions are of no use any more, wherever they were copied to; the same bytes if it has none. */
export function withoutUsableLinks(bytes: Buffer): Buffer {
  if (bytes.indexOf('/decide') < 0) return bytes
  const text = bytes.toString('latin1')
  const safe = withoutLinks(text)
  return safe === text ? bytes : Buffer.from(safe, 'latin1')
}

/** A request without the lines that we added to answers, and without usable links; the same bytes if there are none. */
export function withoutNotices(bytes: Buffer): Buffer {
  return withoutUsableLinks(withoutLines(bytes))
}

function withoutLines(bytes: Buffer): Buffer {
  const kept: Buffer[] = []
  let from = 0
  for (let at = bytes.indexOf(MARK); at >= 0; at = bytes.indexOf(MARK, at + MARK.length)) {
    PLAIN_NOTICE.lastIndex = 0
    const found = PLAIN_NOTICE.exec(bytes.toString('latin1', at, at + LONGEST))
    if (!found) continue
    if (beginsString(bytes, at)) return withoutOwnParts(bytes)
    kept.push(bytes.subarray(from, at))
    from = at + found[0].length
  }
  return from === 0 ? bytes : Buffer.concat([...kept, bytes.subarray(from)])
}

/** Whether a string begins here: after a quote that is not itself inside a string. */
function beginsString(bytes: Buffer, at: number): boolean {
  if (bytes[at - 1] !== QUOTE) return false
  let slashes = 0
  while (bytes[at - 2 - slashes] === BACKSLASH) slashes++
  return slashes % 2 === 0
}

/** Gemini's clients may keep our line as a separate part. Removes the part, and a message that has no other. */
function withoutOwnParts(bytes: Buffer): Buffer {
  const { body } = readObject(bytes)
  if (!Array.isArray(body?.['contents'])) return bytes
  const contents = body['contents'].flatMap(content => {
    if (!isRecord(content) || !Array.isArray(content['parts'])) return [content]
    const parts = content['parts'].flatMap(withoutLine)
    return parts.length === 0 && content['parts'].length > 0 ? [] : [{ ...content, parts }]
  })
  return Buffer.from(splice(bytes.toString(), body, { ...body, contents }))
}

function withoutLine(part: unknown): unknown[] {
  if (!isRecord(part) || typeof part['text'] !== 'string') return [part]
  const written = JSON.stringify(part['text'])
  const at = written.lastIndexOf(PLAIN_NOTICE_MARK)
  PLAIN_NOTICE.lastIndex = at
  if (at < 0 || !PLAIN_NOTICE.test(written)) return [part]
  return at === 1 ? [] : [{ ...part, text: parseJson(`${written.slice(0, at)}"`) }]
}

/** An answer on its way to the client, with the line below it if the answer qualifies. */
export class AnswerWithNotice extends Transform {
  readonly #reader: BodyReader
  readonly #notice: Notice
  readonly #below: ProxyDialect['below']
  readonly #step: ((data: Wire) => Step) | undefined
  /** Bytes as latin1 characters, so that unchanged ones are passed on byte for byte. */
  #rest = ''
  readonly #events = new Events()
  #held = ''
  #done = false
  /** Pending while the right to add the line is being claimed. Later output waits for it too. */
  #claiming: Promise<void> | undefined

  constructor(reader: BodyReader, notice: Notice) {
    super()
    this.#reader = reader
    this.#notice = notice
    this.#below = reader.dialect.below
    this.#step = reader.isStream ? this.#below.stream(notice.line) : undefined
  }

  /** Passes on chunks that were already read from the stream. */
  begin(chunks: readonly Uint8Array[]): this {
    for (const chunk of chunks) this.#pass(chunk)
    return this
  }

  override _transform(chunk: Uint8Array, _: BufferEncoding, done: TransformCallback): void {
    this.#reader.take(chunk)
    this.#pass(chunk)
    this.#settle(done)
  }

  override _flush(done: TransformCallback): void {
    const text = this.#held + this.#rest + this.#events.rest()
    if (this.#step || this.#done) this.#send(text)
    else this.#whole(text)
    this.#settle(done)
  }

  #settle(done: TransformCallback): void {
    if (this.#claiming) this.#claiming.then(() => done(), done)
    else done()
  }

  /** Sends `told` if the right to add the line was claimed, and `otherwise` if not. */
  #sendClaimed(told: string, otherwise: string): void {
    const before = this.#claiming
    this.#claiming = (async () => {
      await before
      // An unreachable store must not cost the client its answer.
      const isOurs = await this.#notice.claim().catch(() => false)
      this.push(Buffer.from(isOurs ? told : otherwise, 'latin1'))
    })()
  }

  #pass(chunk: Uint8Array): void {
    if (this.#done) return this.#send(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1'))
    const piece = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1')
    if (this.#step) this.#events.take(piece, (block, raw) => this.#event(block, raw))
    else this.#rest += piece
    if (!this.#done && this.#rest.length + this.#events.waiting <= MOST_WHOLE) return
    this.#done = true
    this.#send(this.#held + this.#rest + this.#events.rest())
    this.#held = ''
    this.#rest = ''
  }

  #event(block: string, raw: string): void {
    const data = this.#done ? undefined : parsed(dataIn(utf8(block)))
    const step = data ? this.#stepOf(data) : 'pass'
    if (step === 'hold') {
      this.#held += raw
      return
    }
    const isNamed = /^event:/m.test(block)
    const plain = this.#held + raw
    this.#held = ''
    this.#done ||= step !== 'pass'
    if (step === 'pass') this.#send(plain)
    else this.#sendClaimed(bytesOf(step.map(toEvent).join('')), plain)

    function toEvent(event: Wire): string {
      return `${isNamed ? `event: ${event['type']}\n` : ''}data: ${JSON.stringify(event)}\n\n`
    }
  }

  #stepOf(data: Wire): Step {
    return this.#attempt(() => this.#step!(data)) ?? 'pass'
  }

  /** A provider may send anything: an unreadable answer gets no line. */
  #attempt<T>(read: () => T): T | undefined {
    try {
      return read()
    } catch {
      this.#done = true
      return undefined
    }
  }

  #whole(text: string): void {
    const plain = utf8(text)
    const answer = parsed(plain)
    const told = answer && this.#attempt(() => this.#below.whole(answer, this.#notice.line))
    if (told) this.#sendClaimed(bytesOf(splice(plain, answer, told)), text)
    else this.#send(text)
  }

  #send(text: string): void {
    if (text === '') return
    const send = () => void this.push(Buffer.from(text, 'latin1'))
    if (this.#claiming) this.#claiming = this.#claiming.then(send)
    else send()
  }
}

function utf8(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}
