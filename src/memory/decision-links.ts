/**
 * Links by which a user decides on proposals without signing in: a token in an address, signed with a key that lies in
 * the home (`link.key`), that names one user and the proposals that it is for.
 *
 * A link expires, and each of its proposals can be decided once. It is shown to the user only: `noticeOf` makes the line
 * for the end of an answer, and `withoutNotice` and `withoutLinks` take it out of what a front end sends back, so that
 * no model ever reads a link that holds.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { PalimpsestError } from '../model/errors.ts'
import { parseJson } from '../model/json.ts'

export type LinkedProposals = { user: string; ids: string[] }

const LIFETIME_MS = 24 * 3_600_000
/** The newest ones that a link names: its address stays short. */
const MOST_PROPOSALS = 20
const KEY_FILE = 'link.key'
const KEY_BYTES = 32
const LINK = /\/decide\/[\w-]{16,}\.[\w-]{43}/g
const payloadSchema = z.tuple([z.string(), z.number(), z.array(z.string())])

export class DecisionLinks {
  readonly #home: string
  readonly #clock: () => number
  #key: Buffer | undefined

  constructor(home: string, clock: () => number = Date.now) {
    this.#home = home
    this.#clock = clock
  }

  /** The path of a page on which the user decides. */
  path(user: string, ids: readonly string[]): string {
    const payload = JSON.stringify([user, this.#clock() + LIFETIME_MS, ids.slice(0, MOST_PROPOSALS)])
    const text = Buffer.from(payload).toString('base64url')
    return `/decide/${text}.${this.#sign(text)}`
  }

  /** What a link is for; an error for one that is not ours or too old. */
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
    this.#key ??= keyIn(this.#home)
    return createHmac('sha256', this.#key).update(text).digest('base64url')
  }
}

/** Between an answer and our line below it. */
const MARK = '\n\n---\nMemory: '

/** The line at the end of an answer. */
export function noticeOf(count: number, url: string): string {
  const what = count === 1 ? '1 change waits' : `${count} changes wait`
  return `${MARK}${what} for your decision: [look and decide](${url}), or answer "approve" or "reject".`
}

/** The token of the notice that an answer ends with, if it does. */
export function tokenInNotice(text: string): string | undefined {
  const at = text.lastIndexOf(MARK)
  const found = at < 0 ? undefined : text.slice(at).match(LINK)?.[0]
  return found?.slice('/decide/'.length)
}

/** An answer without the notice that we put below it. */
export function withoutNotice(text: string): string {
  return tokenInNotice(text) === undefined ? text : text.slice(0, text.lastIndexOf(MARK))
}

/** A text in which no link of ours can be followed any more. */
export function withoutLinks(text: string): string {
  return text.replaceAll(LINK, '/decide/…')
}

function keyIn(home: string): Buffer {
  const key = randomBytes(KEY_BYTES)
  // A home that is on no disk has no other process that would read its links.
  if (home === ':memory:') return key
  const path = join(home, KEY_FILE)
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const temporary = `${path}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`
  writeFileSync(temporary, key, { mode: 0o600, flag: 'wx' })
  try {
    // The key is there whole or not at all, whoever comes first.
    linkSync(temporary, path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    rmSync(temporary)
  }
  return readFileSync(path)
}

function notALink(what: string): PalimpsestError {
  return new PalimpsestError(
    'LINK_INVALID',
    `This link ${what}. Ask the agent anything for a new one, or decide on the memory page or with: palimpsest memory proposals`,
  )
}
