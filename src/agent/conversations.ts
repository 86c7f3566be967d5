/**
 * Finds the session of a chat front end's conversation. Front ends send everything again with each request and know
 * nothing of the tool calls in between, so a conversation is identified by its user's messages.
 *
 * Known messages are not added again. If the user went back (edited a message, or asked for another answer), the
 * session is forked there, and the old branch stays as it was. A history that began elsewhere is taken over. A
 * request that was cut off before its answer is continued.
 */
import { createHash } from 'node:crypto'
import { PalimpsestError } from '../model/errors.ts'
import type { ImagePart, Message, TextPart } from '../model/types.ts'
import type { Palimpsest } from '../session/engine.ts'
import type { Session } from '../session/session.ts'

export type Placed = {
  session: string
  /** Messages before the request that the front end knows and the session does not. */
  history: Message[]
  /** Undefined if the last request already waits for its answer. */
  request: (TextPart | ImagePart)[] | undefined
}

/** `messages` are those of the front end, by the user and the assistant; the last is by the user. */
export async function placeConversation(pal: Palimpsest, base: string, messages: readonly Message[]): Promise<Placed> {
  const asked = messages.filter(({ role }) => role === 'user')
  const last = asked.at(-1)
  if (!last || messages.at(-1) !== last) {
    throw new PalimpsestError('INVALID_INPUT', 'The last message must be from the user.')
  }
  const keys = asked.map(keyOf)
  const known = bestOf(await candidates(pal, base), keys)
  if (known && isUnanswered(known, keys)) return { session: known.session.id, history: [], request: undefined }
  const common = known ? sharedLength(known.keys, keys.slice(0, -1)) : 0
  const session = known ? await withoutRest(known, common) : undefined
  const history = behind(messages.slice(0, -1), common)
  return { session: session?.id ?? base, history, request: requestParts(last) }
}

/** A session, with the keys and the entries of its requests. */
type Candidate = { session: Session; keys: string[]; entries: number[] }

async function candidates(pal: Palimpsest, base: string): Promise<Candidate[]> {
  const rows = (await pal.find(base)) ? await pal.sessions({ contains: base, limit: MAX_CANDIDATES }) : []
  const own = rows.filter(({ id }) => id.startsWith(base) && FORKS.test(id.slice(base.length)))
  return Promise.all(own.map(({ id }) => readCandidate(pal, id)))
}

const MAX_CANDIDATES = 200
const FORKS = /^(-fork-\d+)*$/

async function readCandidate(pal: Palimpsest, id: string): Promise<Candidate> {
  const session = await pal.session(id, { mustExist: true })
  const all = session.fold.entries
  const entries = [...all.keys()].filter(entry => all[entry]?.role === 'user')
  const events = await session.eventsAt(entries.map(entry => all[entry]!.seq))
  const keys = events.flatMap(({ event }) => (event.type === 'entry' ? [keyOf(event.message)] : []))
  return { session, keys, entries }
}

/** The session that shares the most requests with the conversation; of several, one without other requests. */
function bestOf(found: readonly Candidate[], keys: readonly string[]): Candidate | undefined {
  const before = keys.slice(0, -1)
  const rank = (candidate: Candidate) => {
    if (isUnanswered(candidate, keys)) return Number.POSITIVE_INFINITY
    const shared = sharedLength(candidate.keys, before)
    return shared * 2 + (candidate.keys.length === shared ? 1 : 0)
  }
  return found.toSorted((a, b) => rank(b) - rank(a))[0]
}

function isUnanswered({ session, keys }: Candidate, asked: readonly string[]): boolean {
  if (keys.length !== asked.length || sharedLength(keys, asked) !== keys.length) return false
  const last = session.fold.entries.at(-1)
  return last?.role !== 'assistant' || last.message?.parts.some(({ type }) => type === 'tool-call') === true
}

function sharedLength(a: readonly string[], b: readonly string[]): number {
  let shared = 0
  while (shared < a.length && shared < b.length && a[shared] === b[shared]) shared++
  return shared
}

/** The session before the first request that the conversation does not have. */
async function withoutRest({ session, keys, entries }: Candidate, common: number): Promise<Session> {
  return keys.length === common ? session : session.fork(entries[common]! - 1)
}

/** The front end's messages after its first `count` requests and their answers. */
function behind(messages: readonly Message[], count: number): Message[] {
  let requests = 0
  const from = messages.findIndex(({ role }) => role === 'user' && requests++ === count)
  return from < 0 ? [] : messages.slice(from).filter(({ parts }) => parts.length > 0)
}

function requestParts({ parts }: Message): (TextPart | ImagePart)[] {
  const kept = parts.filter(part => part.type === 'text' || part.type === 'image')
  if (kept.length > 0) return kept
  throw new PalimpsestError('INVALID_INPUT', 'The last message has neither text nor an image.')
}

function keyOf({ parts }: Message): string {
  const said = parts.flatMap(part =>
    part.type === 'text' ? part.text.trim() : part.type === 'image' ? [part.data ?? part.url] : [],
  )
  return createHash('sha256').update(JSON.stringify(said)).digest('hex')
}
