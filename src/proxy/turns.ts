/**
 * One turn of a conversation that passes through: it is found, recorded, and given the view to send.
 *
 * `prepare` answers with the text to send instead of the client's, or with none where nothing is edited: then the
 * client's own bytes go. The ledger holds exactly the messages that the client sent; an answer enters it with the next
 * request, which carries it. The same body again is the same turn and gets the same text. Whatever fails in here is
 * for the caller to swallow: the conversation goes on without us.
 */
import { isWire, type Wire } from '../adapters/original.ts'
import { entriesOf } from '../edits.ts'
import type { Palimpsest } from '../engine.ts'
import { checkView, type Rule, type Violation } from '../legality.ts'
import type { PlannerFactory } from '../policies/policy.ts'
import { thrifty } from '../policies/thrifty.ts'
import { isKnownModel } from '../prices.ts'
import type { Session } from '../session.ts'
import type { View } from '../session-state.ts'
import { inPresentForm } from '../sync.ts'
import type { Edit, Message } from '../types.ts'
import { tokensOf } from '../view.ts'
import { type ClientKey, clientKeyOf, hasTools, sideOf } from './client.ts'
import { Conversations, chainOf, digest, type Place, Remembered } from './conversation.ts'
import type { Answer, ProxyDialect } from './dialect.ts'
import { splice } from './splice.ts'

export type Incoming = { dialect: ProxyDialect; headers: Headers; text: string; body: Wire }

export type Turn = {
  incoming: Incoming
  messages: Message[]
  chain: readonly string[]
  client: ClientKey | undefined
  place: Place
  live: Live
  /** What to send in place of the client's text; nothing where that stands as it is. */
  text?: string
  /** Tokens of the edits in force: what the client sent and we did not. */
  saved: number
  /** The authors of the edits that this turn made. */
  made: string[]
  /** Tokens that the provider had cached and must write again, and why. */
  bust?: Bust
}

export type Bust = { cause: 'edit' | 'pause' | 'client'; tokens: number }

export type TurnsOptions = {
  pal: Palimpsest
  policy: string | PlannerFactory
  /** The share of conversations that are recorded and never edited. */
  holdout: number
  clock: () => number
  newName: () => string
}

/** A session in use, and what is known of its last turn. */
type Live = {
  session: Session
  model: string
  policy: string | PlannerFactory
  isHoldout: boolean
  answeredAt?: number
  last?: { body: string; text: string | undefined; saved: number }
}

const MOST_LIVE = 64
/** How many sessions are read when a conversation comes back after a restart. */
const LOOK_BACK = 30
/** Reports that do not make a view unfit to be sent. */
const HARMLESS = new Set<Rule>(['edit-refused', 'file-not-kept'])

export class Turns {
  readonly #options: TurnsOptions
  readonly #conversations: Conversations
  readonly #live = new Remembered<Live>(MOST_LIVE)
  readonly #queues = new Map<string, Promise<unknown>>()
  #recovered = false

  constructor(options: TurnsOptions) {
    this.#options = options
    this.#conversations = new Conversations(options.newName)
  }

  /** Nothing where the request carries no conversation. */
  async prepare(incoming: Incoming): Promise<Turn | undefined> {
    const { dialect, headers, body } = incoming
    const messages = dialect.read(body)
    if (!messages) return undefined
    const client = clientKeyOf(headers)
    const request = {
      client,
      messages,
      chain: chainOf(messages),
      side: sideOf(headers, body, messages),
      hasTools: hasTools(body),
      now: this.#options.clock(),
    }
    if (this.#conversations.isUnknown(request)) await this.#recover(client)
    const place = this.#conversations.locate(request)
    return this.#inTurn(place.session, () => this.#take({ incoming, messages, chain: request.chain, client, place }))
  }

  /** The turn again, with half of what was sent: for a provider that says it was too much. */
  async shrink(turn: Turn): Promise<string | undefined> {
    const { live, incoming, messages, place } = turn
    if (place.side || live.isHoldout || nameOf(live.policy) === 'none') return undefined
    const { id } = live.session
    return this.#inTurn(id, async () => {
      const { tokens } = await live.session.view({ plan: false })
      const goal = tokens / 2 / live.session.options.model.window
      const policy = { ...thrifty({ may: 0, must: goal, goal }), name: nameOf(live.policy) }
      const session = await this.#options.pal.session(id, { policy, model: live.model })
      await session.record({ type: 'decision', text: 'The provider says that the request is too long: made room.' })
      const view = await session.view()
      live.session = await this.#options.pal.session(id, { policy: live.policy, model: live.model })
      const text = textFor(incoming, view, inPresentForm(session.fold, messages))
      if (text === undefined || text === (turn.text ?? incoming.text)) return undefined
      turn.saved = savedBy(view)
      live.last = { body: bodyKey(incoming, place), text, saved: turn.saved }
      return text
    })
  }

  /** What the provider answered: the calls lead back here, and the numbers are for the ledger. */
  async finish({ live, place }: Turn, { calls, text, usage }: Answer): Promise<{ tokens: number }> {
    const { session } = live
    if (!place.side) this.#conversations.answered(session.id, { calls, text })
    live.answeredAt = this.#options.clock()
    return this.#inTurn(session.id, async () => {
      if (usage.input !== undefined) await session.reportUsage(usage)
      return { tokens: (await session.view({ plan: false })).tokens }
    })
  }

  async #take(given: Pick<Turn, 'incoming' | 'messages' | 'chain' | 'client' | 'place'>): Promise<Turn> {
    const { incoming, messages, chain, client, place } = given
    const live = await this.#open(place, incoming)
    const body = bodyKey(incoming, place)
    const turn: Turn = { ...given, live, saved: 0, made: [] }
    if (live.last?.body === body) {
      const { text, saved } = live.last
      return { ...turn, saved, ...(text === undefined ? {} : { text }) }
    }
    dateAnswers(messages, live)
    const sent = live.session.fold.entries.length
    const known = live.session.fold.records.size
    const view = await live.session.sync(messages)
    const current = view.session.id === live.session.id ? live : this.#follow(live, view.session)
    if (current !== live) this.#conversations.note(view.session.id, { client, chain, now: this.#options.clock() })
    const fresh = current === live ? editsSince(view.session, known) : []
    const text = place.side ? undefined : textFor(incoming, view, inPresentForm(view.session.fold, messages))
    const saved = text === undefined ? 0 : savedBy(view)
    current.last = { body, text, saved }
    const bust = current === live ? this.#bust(live, fresh, sent) : ({ cause: 'client', tokens: 0 } as const)
    const made = fresh.map(({ by }) => by)
    return { ...turn, live: current, saved, made, ...(text === undefined ? {} : { text }), ...(bust ? { bust } : {}) }
  }

  /** What this turn does to the provider's cache of the entries that were sent before. */
  #bust({ session, answeredAt }: Live, fresh: readonly Edit[], sent: number): Bust | undefined {
    if (answeredAt !== undefined && this.#options.clock() - answeredAt > session.options.model.ttl) {
      return { cause: 'pause', tokens: 0 }
    }
    const first = Math.min(...fresh.filter(({ by }) => by !== 'engine').map(({ target }) => entriesOf(target).from))
    if (first >= sent) return undefined
    return { cause: 'edit', tokens: tokensOf(session.fold, first, sent - 1) }
  }

  #follow(from: Live, session: Session): Live {
    const { model, policy, isHoldout } = from
    const live = { session, model, policy, isHoldout }
    this.#live.set(session.id, live)
    return live
  }

  async #open(place: Place, { dialect, body }: Incoming): Promise<Live> {
    const model = modelFor(dialect, body)
    const live = this.#live.get(place.session)
    if (live?.model === model) return live
    const isHoldout = this.#isHoldout(place)
    const policy = place.side || isHoldout ? 'none' : this.#options.policy
    const overhead = Math.ceil(JSON.stringify(body['tools'] ?? '').length / 4)
    const session = await this.#options.pal.session(place.session, { policy, model, overhead })
    if (session.fold.entries.length === 0) await session.record({ type: 'decision', text: introduce(place, isHoldout) })
    const opened: Live = { session, model, policy, isHoldout }
    this.#live.set(place.session, opened)
    return opened
  }

  /** The same for a conversation and everything that it starts, on any day. */
  #isHoldout({ session, parent }: Place): boolean {
    const [root = ''] = (parent ?? session).split(/\.|-fork-/)
    return Number.parseInt(digest(root).slice(0, 8), 16) / 2 ** 32 < this.#options.holdout
  }

  /** Reads from the ledger what would be remembered if the process had not been restarted. */
  async #recover(client: ClientKey | undefined): Promise<void> {
    if (!client && this.#recovered) return
    if (!client) this.#recovered = true
    const { pal } = this.#options
    const found = await pal.sessions(client ? { contains: client.key } : { limit: LOOK_BACK })
    for (const { id, updatedAt } of found.reverse()) {
      if (client && !isSegment(id, client.key)) continue
      const session = await pal.session(id, { mustExist: true })
      const messages = (await session.events()).flatMap(({ event }) => (event.type === 'entry' ? [event.message] : []))
      this.#conversations.note(id, { client, chain: chainOf(messages), now: updatedAt })
    }
  }

  /** Work on one session, one after the other. */
  async #inTurn<T>(session: string, work: () => Promise<T>): Promise<T> {
    const before = this.#queues.get(session) ?? Promise.resolve()
    const next = before.then(work, work)
    const quiet = next.catch(() => undefined)
    this.#queues.set(session, quiet)
    void quiet.then(() => {
      if (this.#queues.get(session) === quiet) this.#queues.delete(session)
    })
    return next
  }
}

/** The client's text with the view in place of its messages; nothing where no edit is in force. */
function textFor({ dialect, text, body }: Incoming, view: View, messages: Message[]): string | undefined {
  if (!view.edits.some(({ by }) => by !== 'engine')) return undefined
  const broken = view.report.find(({ rule }) => !HARMLESS.has(rule)) ?? newlyBroken(dialect, body, messages)
  if (broken) throw new Error(`the view is not legal (${broken.rule}: ${broken.message})`)
  return splice(text, body, dialect.write(body, messages))
}

/** A rule of this dialect that the view breaks and the client's own messages do not. */
function newlyBroken(dialect: ProxyDialect, body: Wire, messages: readonly Message[]): Violation | undefined {
  const found = checkView(messages, { dialect: dialect.name })
  if (found.length === 0) return undefined
  const own = new Set(checkView(dialect.read(body) ?? [], { dialect: dialect.name }).map(({ rule }) => rule))
  return found.find(({ rule }) => !own.has(rule))
}

function editsSince(session: Session, known: number): Edit[] {
  return session
    .edits()
    .slice(known)
    .map(({ edit }) => edit)
}

function savedBy({ edits }: View): number {
  return edits.reduce((sum, { saved }) => sum + saved, 0)
}

/**
 * An answer was given when it was streamed, not when the client brings it back: the age of the cache hangs on it.
 * After a restart the time of the last request stands in.
 */
function dateAnswers(messages: readonly Message[], { session, answeredAt }: Live): void {
  const at = answeredAt ?? session.fold.entries.at(-1)?.at
  if (at === undefined) return
  for (const message of messages) if (message.role === 'assistant') message.at = at
}

/** Two bodies with the same messages and the same length are the same. */
function bodyKey({ text }: Incoming, { end }: Place): string {
  return `${end} ${text.length}`
}

function modelFor(dialect: ProxyDialect, { model }: Wire): string {
  const name = typeof model === 'string' && model !== '' ? model.slice(0, 100) : 'unknown'
  // A deployment may have any name. What speaks Responses is held to OpenAI's rules on reasoning.
  return dialect.name === 'openai-responses' && !isKnownModel(name) ? `gpt:${name}` : name
}

function introduce({ by, parent, side }: Place, isHoldout: boolean): string {
  const kind = side ? `A side call (${side})` : parent ? 'A conversation with a parent' : 'A conversation'
  const from = parent ? `, from ${parent}` : ''
  return `${kind} through the proxy, told by ${by}${from}.${isHoldout ? ' Holdout: never edited.' : ''}`
}

function isSegment(id: string, key: string): boolean {
  return id === key || (id.startsWith(key) && /^(?:\.\d+)?(?:-fork-\d+)*$/.test(id.slice(key.length)))
}

function nameOf(policy: string | PlannerFactory): string {
  return typeof policy === 'string' ? policy : policy.name
}

export function jsonObject(text: string): Wire | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isWire(value) ? value : undefined
  } catch {
    return undefined
  }
}
