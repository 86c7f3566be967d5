/**
 * One turn of a conversation that passes through: it is found, recorded, and given the view to send.
 *
 * `prepare` returns the bytes to send instead of the client's, or none if nothing is changed: then the client's own are
 * sent. The ledger holds exactly the messages that the client sent; an answer is recorded with the next request, which
 * contains it. The same body again is the same turn and gets the same bytes. The caller must catch every error from
 * here, so that the conversation continues without us.
 */

import type { Wire } from '../../formats/adapters/original.ts'
import { isRecord } from '../../model/json.ts'
import { Queues } from '../../model/queues.ts'
import { amount } from '../../model/text.ts'
import type { Edit, Message, ServerEdit, Told, Usage } from '../../model/types.ts'
import { thrifty } from '../../planner/thrifty.ts'
import type { PlannerFactory } from '../../policies/policy.ts'
import { promptTokens } from '../../providers/token-fit.ts'
import type { Session } from '../../session/session.ts'
import type { View } from '../../session/session-view.ts'
import { leaveOutAll, STALE, stripsReasoning } from '../../view/binding.ts'
import { entriesOf } from '../../view/edits.ts'
import { firstSpeaker } from '../../view/legality.ts'
import { legalize } from '../../view/legalize.ts'
import { commonLength } from '../../view/messages.ts'
import { activeClears, CLEARED, clearedCalls, clearsMade, clearsToAsk } from '../../view/server-clears.ts'
import { inPresentForm, inPresentFormUpTo } from '../../view/sync.ts'
import type { Seen } from './account.ts'
import { CLEAR_TOOL_USES, clearsOldest } from './anthropic.ts'
import { withFreeMark } from './cache-marks.ts'
import type { Watched } from './cache-watch.ts'
import { type ClientKey, clientKeyOf, hasTools, sideOf } from './client.ts'
import { Conversations, type Place } from './conversation.ts'
import type { Answer, ProxyDialect } from './dialect.ts'
import { inject, recordedInjection } from './injection.ts'
import { answerLateCalls, hasMcpTools, lateAnswers, namesOfTools, withoutErrors } from './late-tools.ts'
import { type Live, type LiveOptions, LiveSessions, type Sent } from './live-sessions.ts'
import type { SomeHeaders } from './node-http.ts'
import type { Reading } from './reading.ts'
import { piecesOf, type Spliced, spliceBody, spliceOn } from './splice-body.ts'

export type Incoming = Reading & {
  headers: SomeHeaders
  /** Whether the client is on this machine, as far as is known. */
  isHere: boolean
  /** The user whose memory is used. */
  user: string | undefined
  /** The owner of the session; undefined if it belongs to the home. */
  owner: string | undefined
  model: string | undefined
  /** The request asks the server to compact the conversation. */
  compacts?: boolean
}

export type Turn = {
  incoming: Incoming
  messages: Message[]
  client: ClientKey | undefined
  place: Place
  live: Live
  /** The body to send in place of the client's; undefined if the client's is sent as it is. */
  edited?: Spliced
  /** How many results the provider is told to clear. */
  clears?: number
  /** Entries that the session had before this turn, including an answer to the last of them. */
  before: number
  /** The authors of the edits that this turn made. */
  made: string[]
  sent: Watched
}

export type Found = Pick<Turn, 'incoming' | 'messages' | 'client' | 'place'> & {
  /** Whether the conversation is only recorded and has no edits, so that the client's bytes need not wait. */
  asIs: boolean
}

export type Shown = Pick<Sent, 'body' | 'clears'>

export type TurnsOptions = LiveOptions & { clock: () => number; newName: () => string }

export class Turns {
  readonly #options: TurnsOptions
  readonly #conversations: Conversations
  readonly #live: LiveSessions
  readonly #queues = new Queues()

  constructor(options: TurnsOptions) {
    this.#options = options
    this.#conversations = new Conversations(options.newName)
    this.#live = new LiveSessions(options)
  }

  /** Finds the conversation that a request continues; undefined if the request has none. */
  async find(incoming: Incoming): Promise<Found | undefined> {
    const { headers, body, messages, chain } = incoming
    if (!messages) return undefined
    const client = clientKeyOf(headers)
    const side = incoming.compacts ? 'compaction' : sideOf(headers, body, messages)
    const request = { client, messages, chain, side, hasTools: hasTools(body), now: this.#options.clock() }
    if (this.#conversations.isUnknown(request)) await this.#live.recover(client, this.#conversations)
    const place = this.#conversations.locate(request)
    return { incoming, messages, client, place, asIs: await this.#passesAsIs(place) }
  }

  /** Records the turn and decides what to send. The turns of one session run one after the other. */
  prepare(found: Found): Promise<Turn> {
    return this.#queues.run(found.place.session, () => this.#take(found))
  }

  /** Prepares the turn again with half of its content, for a provider that says it was too long. */
  async shrink(turn: Turn): Promise<Spliced | undefined> {
    const { live, incoming, messages } = turn
    if (nameOf(live.policy) === 'none') return undefined
    const { id } = live.session
    return this.#queues.run(id, async () => {
      const { tokens } = await live.session.view({ plan: false })
      const goal = tokens / 2 / live.session.options.model.window
      const policy = { ...thrifty({ may: 0, must: goal, goal }), name: nameOf(live.policy) }
      const { recallWith, saveWith, readsFiles } = live.session.options
      const clears = { serverClears: live.asked.mayClear === true }
      const same = { model: live.model, ...clears, recallWith, saveWith, readsFiles }
      const session = await this.#options.pal.session(id, { policy, ...same })
      await session.record({ type: 'decision', text: 'The provider reported that the request is too long: made room.' })
      const view = await session.view()
      live.session = await this.#options.pal.session(id, { policy: live.policy, ...same })
      const sent = editedBody(incoming, view, { ...live, session }, messages)
      const before = turn.edited ? piecesOf(turn.edited) : [incoming.bytes]
      if (!sent || Buffer.concat(piecesOf(sent.body)).equals(Buffer.concat(before))) return undefined
      live.last = { bytes: incoming.bytes, sent }
      return sent.body
    })
  }

  /** Prepares the turn again without any reasoning: the provider refuses some of it, and would refuse it again. */
  async forgetReasoning(turn: Turn): Promise<Spliced | undefined> {
    const { live, incoming, messages } = turn
    if (live.isHoldout) return undefined
    return this.#queues.run(live.session.id, async () => {
      const { session } = live
      const edits = leaveOutAll(session.fold, 'reasoning that the provider refused')
      if (edits.length === 0) return undefined
      await session.apply(edits, 'engine')
      const text = `The provider refused reasoning of this conversation: ${amount(edits.length, 'block')} left out from now on.`
      await session.record({ type: 'decision', text })
      const sent = editedBody(incoming, await session.view({ plan: false }), live, messages)
      if (!sent) return undefined
      live.last = { bytes: incoming.bytes, sent }
      return sent.body
    })
  }

  /** Prepares the turn again with all results: the provider refuses to clear some, and is not asked again. */
  async keepResults(turn: Turn): Promise<Spliced> {
    const { live, incoming, messages } = turn
    return this.#queues.run(live.session.id, async () => {
      const { session } = live
      live.seen.mayClear = false
      await session.undo(activeClears(session.fold), 'engine')
      await session.record({
        type: 'decision',
        text: 'The provider refused to clear results: they are sent from now on.',
      })
      const sent = editedBody(incoming, await session.view({ plan: false }), live, messages)
      live.last = { bytes: incoming.bytes, sent }
      return sent?.body ?? { bytes: incoming.bytes, head: Buffer.alloc(0), same: incoming.bytes.length }
    })
  }

  /** The body that would be sent for a request that only counts; undefined if that is the client's own. */
  async shown(incoming: Incoming): Promise<Shown | undefined> {
    const { headers, messages, chain, dialect, body } = incoming
    if (!messages) return undefined
    const request = { client: clientKeyOf(headers), messages, chain }
    const known = { ...request, side: undefined, hasTools: hasTools(body), now: this.#options.clock() }
    if (this.#conversations.isUnknown(known)) await this.#live.recover(request.client, this.#conversations)
    const name = this.#conversations.whoseIs(request)
    if (name === undefined) return undefined
    const live = this.#live.known(name)
    const session = live?.session ?? (await this.#options.pal.session(name, { mustExist: true, asGuest: true }))
    const injection = live ? live.injection : await recordedInjection(session)
    const { edits } = await session.view({ plan: false })
    const clears = clearsToAsk(session.fold)
    if (!edits.some(isSent) && !injection && !clears) return undefined
    const written = edits.some(isSent) ? dialect.write(body, inPresentFormUpTo(session.fold, messages)) : body
    const cleared = clears && dialect.clear ? dialect.clear(written, clears) : written
    const sent = spliceBody(incoming, injection ? inject(dialect, cleared, injection) : cleared)
    return { body: sent, clears: clears?.length ?? 0 }
  }

  /**
   * Processes the provider's answer: its calls identify this conversation later, and its usage is recorded in the
   * ledger.
   */
  async finish({ live, place, sent, clears = 0, incoming }: Turn, answer: Answer): Promise<void> {
    const { calls, text, usage, serverEdits, dropped } = answer
    const { session, injection } = live
    if (!place.side) this.#conversations.answered(session.id, { calls, text })
    const late = calls.filter(call => injection?.tools?.some(({ name }) => name === call.name))
    for (const call of late) live.lateCalls.set(call.id, call)
    live.answeredAt = this.#options.clock()
    return this.#queues.run(session.id, async () => {
      if (promptTokens(usage) === 0) return this.#estimate(live, answer)
      // Output before a stream was cut off is billed, but not reported.
      if (answer.isPartial) usage.output = Math.max(usage.output ?? 0, ownTokens(session, answer))
      const asked = learnClears(live, clears, serverEdits)
      const others = { ...answer, serverEdits: serverEdits.filter(edit => edit !== asked.done) }
      const { miss, ttl, sentence } = live.watch.note(sent, others, session.options.model)
      await session.reportUsage(usage, toldOf({ miss, server: serverEdits, dropped }))
      const learned = [sentence, learnLifetime(live, usage), asked.text, ...others.serverEdits.map(explainServerEdit)]
      for (const text of learned) if (text !== undefined) await session.record({ type: 'decision', text })
      await recordClears(session, clearsOldest(incoming.body) ? others.serverEdits : [])
      if (ttl !== undefined) live.seen.cacheKept = ttl
    })
  }

  /**
   * Estimates a call without reported usage (or with zeros, from a gateway that does not count) at once: its input by
   * the cost model, its answer by our own count.
   */
  async #estimate({ session }: Live, answer: Answer): Promise<void> {
    const { model } = answer.usage
    const output = ownTokens(session, answer)
    if (output > 0) await session.reportUsage({ output, ...(model === undefined ? {} : { model }) })
  }

  /** For the account: the session in use, or read again if it is no longer in use. */
  sessionOf(id: string): Omit<Seen, 'before'> {
    const { pal } = this.#options
    return {
      find: () => pal.find(id),
      open: async () => this.#live.known(id)?.session ?? pal.session(id, { mustExist: true, asGuest: true }),
    }
  }

  async #passesAsIs({ session: name }: Place): Promise<boolean> {
    const live = this.#live.known(name)
    if (!live || live.injection || nameOf(live.policy) !== 'none') return false
    const { edits } = await live.session.view({ plan: false })
    return !edits.some(isSent) && !clearsToAsk(live.session.fold)
  }

  async #take({ asIs: _, ...given }: Found): Promise<Turn> {
    const { incoming, messages, client, place } = given
    const live = await this.#live.open(place, incoming)
    const now = this.#options.clock()
    const sentNow = { at: now, model: live.model, frame: frameOf(incoming.body), edited: false, clientChanged: false }
    const turn: Turn = { ...given, live, before: 0, made: [], sent: sentNow }
    if (live.last?.bytes.equals(incoming.bytes)) return { ...turn, ...whatWasSent(live.last.sent) }
    dateAnswers(messages, live)
    const sentBefore = live.session.fold.entries.length
    const known = live.session.fold.records.size
    const synced = await live.session.follow(messages)
    const current = synced.session.id === live.session.id ? live : this.#live.follow(live, synced.session)
    const { chain } = incoming
    if (current !== live) this.#conversations.note(current.session.id, { client, chain, now: this.#options.clock() })
    const view = (await this.#answerLate(current, incoming)) ?? synced
    const fresh = current === live ? editsSince(current.session, known) : []
    const sent = place.side ? this.#besideBody(place, incoming) : editedBody(incoming, view, current, messages)
    current.last = { bytes: incoming.bytes, sent }
    const made = fresh.map(({ by }) => by)
    const before = current === live && sentBefore > 0 ? sentBefore + 1 : 0
    const edited = fresh.some(({ by, mark, target }) => {
      return mark === STALE || (by !== 'engine' && entriesOf(target).from < sentBefore)
    })
    Object.assign(turn.sent, { edited, clientChanged: current !== live || fresh.some(isClients) })
    return { ...turn, live: current, before, made, ...whatWasSent(sent) }
  }

  /**
   * A side request is not edited. The conversation's reasoning is bound to our edits, so the side request must not
   * contain it.
   */
  #besideBody({ parent }: Place, incoming: Incoming): Sent | undefined {
    const { dialect, body } = incoming
    const live = parent === undefined ? undefined : this.#live.known(parent)
    if (!live || !dialect.withoutReasoning || !stripsReasoning(live.session.options.model)) return undefined
    if (!live.session.edits().some(({ edit }) => isSent(edit))) return undefined
    return { body: spliceBody(incoming, dialect.withoutReasoning(body)), edits: undefined, clears: 0 }
  }

  /** The view with the answers of our own tools, if the model has called one. */
  async #answerLate(live: Live, { body }: Incoming): Promise<View | undefined> {
    const { session, injection, lateFrom, lateCalls } = live
    const offered = namesOfTools(body)
    if (!injection?.tools && !hasMcpTools(offered)) return undefined
    const late = { tools: injection?.tools ?? [], offered, made: lateCalls, pal: this.#options.pal }
    const answered = await answerLateCalls(session, lateFrom, late)
    live.lateFrom = session.fold.entries.length
    return answered ? session.view() : undefined
  }
}

/** The tokens of an answer by our own count. */
function ownTokens({ fold, options }: Session, { calls, text }: Answer): number {
  const inputs = calls.map(({ name, input }) => name + (typeof input === 'string' ? input : JSON.stringify(input)))
  const own = [text, ...inputs].reduce((sum, one) => sum + fold.count(one), 0)
  return Math.round(own * options.model.scale)
}

function whatWasSent(sent: Sent | undefined): Pick<Turn, 'edited' | 'clears'> {
  return sent ? { edited: sent.body, clears: sent.clears } : {}
}

/** The client's body with the view in place of its messages; undefined if it would be the same. */
function editedBody(incoming: Incoming, view: View, live: Live, own: readonly Message[]): Sent | undefined {
  const { dialect, body, bytes } = incoming
  const { session, injection } = live
  const { fold } = session
  const clears = clearsToAsk(fold)
  const again = view.report.length === 0 ? editedAsBefore(live, bytes) : undefined
  if (again) return again
  const edited = view.edits.some(isSent)
  if (!edited && !injection && !clears) return undefined
  const { plain, written } = edited ? writeEdited(incoming, live, own) : { plain: body, written: body }
  const cleared = (clears && dialect.clear?.(written, clears)) ?? written
  const spliced = spliceBody(incoming, injection ? inject(dialect, cleared, injection) : cleared)
  const isOnce = cleared !== plain || live.lateFrom > 0 || holdsMark(incoming, spliced)
  return { body: spliced, edits: isOnce ? undefined : { fold, edited: fold.edited }, clears: clears?.length ?? 0 }
}

/** The edited body, without and with a mark of ours. */
function writeEdited({ dialect, body }: Incoming, live: Live, own: readonly Message[]): { plain: Wire; written: Wire } {
  const { session, lateFrom } = live
  const messages = legalForm(dialect, live, inPresentForm(session.fold, own))
  const plain = dialect.write(body, lateFrom > 0 ? withoutErrors(messages, lateAnswers(session)) : messages)
  if (dialect.name !== 'anthropic') return { plain, written: plain }
  return { plain, written: markedBefore(plain, body, live, clearedCalls(session.fold)) }
}

/**
 * Adds a mark of ours before a new edit. The messages after the last edited ones were sent as the client wrote them.
 * After a restart the last request is not known.
 */
function markedBefore(written: Wire, { messages: own }: Wire, live: Live, clears: readonly string[]): Wire {
  const [now, client] = [written['messages'], own].map(list => (Array.isArray(list) ? list : [])) as [Wire[], Wire[]]
  const { edited } = live.session.fold
  const last = live.written
  const shown = withoutCleared(now, new Set(clears))
  live.written = { messages: shown, length: client.length, edited }
  const isNew = last ? last.edited !== edited : live.last !== undefined
  if (!isNew) return written
  return withFreeMark(written, [...(last?.messages ?? []), ...client.slice(last?.length ?? 0)], shown)
}

/** The messages as the model sees them after the provider has cleared some results. */
function withoutCleared(messages: Wire[], clears: ReadonlySet<string>): Wire[] {
  if (clears.size === 0) return messages
  return messages.map(message => {
    const content: unknown[] = Array.isArray(message['content']) ? message['content'] : []
    const isCleared = (block: unknown) => isRecord(block) && clears.has(String(block['tool_use_id']))
    if (!content.some(isCleared)) return message
    return { ...message, content: content.map(block => (isCleared(block) ? CLEARED : block)) }
  })
}

/** Whether an edit changes the client's messages: the engine's repairs of the ledger do not. */
function isSent({ by, mark }: Edit): boolean {
  return by !== 'engine' || mark === STALE
}

/** If no edit is new, the edited part is sent as before, followed by the client's own bytes. */
function editedAsBefore({ last, session: { fold } }: Live, bytes: Buffer): Sent | undefined {
  const sent = last?.sent
  if (!sent?.edits || sent.edits.fold !== fold || sent.edits.edited !== fold.edited) return undefined
  const body = spliceOn(sent.body, bytes)
  return body && { ...sent, body }
}

/** A cache mark of the client inside an edited part may have to move, depending on what follows it. */
function holdsMark({ bytes, list }: Incoming, { same }: Spliced): boolean {
  return bytes.subarray(list?.open, bytes.length - same).includes('"cache_control"')
}

/** The messages without anything that this dialect's provider would refuse. */
function legalForm(dialect: ProxyDialect, live: Live, messages: readonly Message[]): readonly Message[] {
  const from = live.session.fold.callsInEdits > 0 ? 0 : commonLength(messages, live.legal ?? [])
  const { openCalls: open, fold } = live.session
  const began = firstSpeaker(fold.entries)
  const { messages: legal, repaired } = legalize(messages, { dialect: dialect.name, from, began, open })
  live.legal = repaired.length === 0 ? messages : []
  return legal
}

function editsSince(session: Session, known: number): Edit[] {
  if (session.fold.records.size === known) return []
  return session
    .edits()
    .slice(known)
    .map(({ edit }) => edit)
}

/** The engine's edits of whole entries: changes that the client made itself. */
function isClients({ by, target }: Edit): boolean {
  return by === 'engine' && target.type === 'entry'
}

/** System prompt and tools: they belong to the cached prefix. */
function frameOf(body: Wire): unknown[] {
  return FRAME.map(key => body[key])
}

const FRAME = [
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'instructions',
  'reasoning',
  'text',
] as const

/** The lifetime that the provider reports for its cache writes, if it differs from the one asked for. */
function learnLifetime(live: Live, { cacheWrite = 0, cacheWriteLong = 0 }: Usage): string | undefined {
  const [short, long] = live.session.options.model.lifetimes
  if (cacheWrite === 0 || !short || !long) return undefined
  const { name } = cacheWriteLong > cacheWrite / 2 ? long : short
  const believed = live.asked.cacheTtl ?? short.name
  if (name === believed || live.seen.cacheTtl === name) return undefined
  live.seen.cacheTtl = name
  return `Expected cache writes for ${believed}. The provider reports ${name}, which is used from now on.`
}

type Clears = { done?: ServerEdit; text?: string }

/** Processes whether the provider cleared results as asked. If it did not, it is not asked again. */
function learnClears(live: Live, asked: number, edits: readonly ServerEdit[]): Clears {
  if (asked === 0) return {}
  const done = edits.find(({ type }) => type === CLEAR_TOOL_USES)
  const { toolUses = 0, tokens } = done ?? {}
  if (toolUses !== asked) {
    live.seen.mayClear = false
    return {
      text: `Asked the provider to clear ${amount(asked, 'result')}. It cleared ${toolUses}, so it is not asked again.`,
    }
  }
  const isNew = live.cleared !== asked
  live.cleared = asked
  const freed = tokens === undefined ? '' : `, ${tokens} tokens`
  return {
    ...(done ? { done } : {}),
    ...(isNew ? { text: `The provider cleared ${amount(asked, 'result')} as asked${freed}.` } : {}),
  }
}

function toldOf({ miss, server, dropped }: { [K in keyof Told]: Told[K] | undefined }): Told {
  return { ...(miss ? { miss } : {}), ...(server?.length ? { server } : {}), ...(dropped ? { dropped } : {}) }
}

/** Records results that the provider cleared at the client's request as edits, which can be undone. */
async function recordClears(session: Session, edits: readonly ServerEdit[]): Promise<void> {
  const { toolUses = 0 } = edits.find(({ type }) => type === CLEAR_TOOL_USES) ?? {}
  const made = toolUses > 0 ? clearsMade(session.fold, toolUses) : []
  if (made.length > 0) await session.apply(made, 'engine')
}

function explainServerEdit({ type, tokens, toolUses, thinkingTurns }: ServerEdit): string {
  const turns = thinkingTurns === undefined ? '' : ` of ${thinkingTurns} turns with thinking`
  const what = toolUses === undefined ? turns : ` of ${toolUses} tool uses`
  const freed = tokens === undefined ? '' : `, ${tokens} tokens`
  return `The provider itself edited the history (${type})${what}${freed}. The originals are in the ledger.`
}

/**
 * An answer is dated when it was streamed, not when the client sends it back: the age of the cache depends on it. After
 * a restart the time of the last request is used instead.
 */
function dateAnswers(messages: readonly Message[], { session, answeredAt }: Live): void {
  const { entries } = session.fold
  const at = answeredAt ?? entries.at(-1)?.at
  if (at === undefined) return
  for (const message of messages.slice(entries.length)) if (message.role === 'assistant') message.at = at
}

function nameOf(policy: string | PlannerFactory): string {
  return typeof policy === 'string' ? policy : policy.name
}
