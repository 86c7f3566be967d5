/**
 * Links with which a user decides on proposals without signing in. The address has a token, signed with a key that
 * the servers of a home share; it names one user and the proposals.
 *
 * A link expires, and each of its proposals can be decided once. Only the user sees it: `noticeOf` makes the line for
 * the end of an answer. What a front end or an agent sends back, and what is imported, has no usable link any more
 * (`withoutNotice`, `withoutLinks`): no model reads one, and no agent finds one in a session.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { PalimpsestError } from '../model/errors.ts'
import { parseJson } from '../model/json.ts'

type LinkedProposals = { user: string; ids: string[] }

const LIFETIME_MS = 24 * 3_600_000
/** A link names at most this many proposals, the newest, so that its address stays short. */
const MOST_PROPOSALS = 20
const TOKEN = String.raw`[\w-]{16,4000}\.[\w-]{43}`
/** Also with the slashes escaped, as some programs write JSON. */
const LINK = new RegExp(`(/decide\\\\?/)${TOKEN}`, 'g')
const payloadSchema = z.tuple([z.string(), z.number(), z.array(z.string())])

export class DecisionLinks {
  readonly #key: Buffer
  readonly #clock: () => number

  constructor(key: Buffer, clock: () => number = Date.now) {
    this.#key = key
    this.#clock = clock
  }

  path(user: string, ids: readonly string[]): string {
    const payload = JSON.stringify([user, this.#clock() + LIFETIME_MS, ids.slice(0, MOST_PROPOSALS)])
    const text = Buffer.from(payload).toString('base64url')
    return `/decide/${text}.${this.#sign(text)}`
  }

  /** The proposals of a link; throws if the link is not ours or has expired. */
  read(token: string): LinkedProposals {
    const [text = '', signature = ''] = token.split('.')
    const expected = Buffer.from(this.#sign(text))
    const given = Buffer.from(signature)
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw notALink('is not valid')
    const [user, expires, ids] = payloadSchema.parse(parseJson(Buffer.from(text, 'base64url').toString()))
    if (expires <= this.#clock()) throw notALink('has expired')
    return { user, ids }
  }

  #sign(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url')
  }
}

/** The separator between an answer and our line below it. */
const MARK = '\n\n---\nMemory: '

/** The line at the end of an answer. */
export function noticeOf(count: number, url: string): string {
  return `${waiting(count)}[look and decide](${url}), or answer "approve" or "reject".`
}

/** The same for programs that show Markdown as plain text, where a typed word would go to the model. */
export function plainNoticeOf(count: number, url: string): string {
  return waiting(count) + url
}

function waiting(count: number): string {
  return `${MARK}${count === 1 ? '1 change waits' : `${count} changes wait`} for your decision: `
}

/** The beginning of a plain notice, and the notice itself, as they appear at the end of a JSON string. */
export const PLAIN_NOTICE_MARK = JSON.stringify(MARK).slice(1, -1)
export const PLAIN_NOTICE =
  /\\n\\n---\\nMemory: \d+ changes? waits? for your decision: https?:[^\s"\\]+\/(?:decide\/[\w-]{16,}\.[\w-]{43}|#\/memory)(?=")/y

const IN_NOTICE = new RegExp(`/decide/(${TOKEN})`)

/** The token of the notice at the end of an answer, if there is one. */
export function tokenInNotice(text: string): string | undefined {
  const at = text.lastIndexOf(MARK)
  return at < 0 ? undefined : text.slice(at).match(IN_NOTICE)?.[1]
}

/** Removes our notice from the end of an answer. */
export function withoutNotice(text: string): string {
  return tokenInNotice(text) === undefined ? text : text.slice(0, text.lastIndexOf(MARK))
}

/** The text with all of our links made unusable. */
export function withoutLinks(text: string): string {
  return text.replaceAll(LINK, '$1...')
}

/** The same for all texts in a value of JSON. */
export function withoutLinksIn<T>(value: T): T {
  const text = JSON.stringify(value)
  const safe = withoutLinks(text)
  return safe === text ? value : (parseJson(safe) as T)
}

function notALink(what: string): PalimpsestError {
  return new PalimpsestError(
    'LINK_INVALID',
    `This link ${what}. Send the agent any message to get a new one, or decide on the memory page or with: palimpsest memory proposals`,
  )
}
