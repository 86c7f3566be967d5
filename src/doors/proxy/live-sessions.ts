/**
 * The sessions of the active conversations: opened with a conversation's first request, kept open while it lasts, and
 * found again in the ledger after a restart. The other state of a conversation is lost with the process, and the proxy
 * works without it.
 */

import { bareName, describeCall } from '../../calls/tool-kinds.ts'
import { sameJson, type Wire } from '../../formats/adapters/original.ts'
import { lastLink } from '../../ledger/redaction.ts'
import { Remembered } from '../../model/remembered.ts'
import { headOf } from '../../model/text.ts'
import type { Message } from '../../model/types.ts'
import type { PlannerFactory } from '../../policies/policy.ts'
import { isKnownModel } from '../../providers/models.ts'
import type { Settings } from '../../session/config.ts'
import type { OpenOptions, Palimpsest } from '../../session/engine.ts'
import { isSegment } from '../../session/live-context.ts'
import type { Session } from '../../session/session.ts'
import type { Fold } from '../../view/fold.ts'
import { recallToolIn, savingToolIn } from '../../view/shown-texts.ts'
import { CacheWatch } from './cache-watch.ts'
import { type ClientKey, clientKeyOf, clientNameOf } from './client.ts'
import { type Conversations, digest, type Place } from './conversation.ts'
import type { CallMade, ProxyDialect } from './dialect.ts'
import {
  type Injection,
  type InjectionOptions,
  injectedTokens,
  newInjection,
  recordedInjection,
  recordInjection,
} from './injection.ts'
import { namesOfTools } from './late-tools.ts'
import type { SomeHeaders } from './node-http.ts'
import { projectIn } from './project.ts'
import { factsOf, type ServerEdits } from './request-facts.ts'
import type { Spliced } from './splice-body.ts'

/** A session in use, and the state of its last turn. */
export type Live = {
  session: Session
  model: string
  policy: string | PlannerFactory
  isHoldout: boolean
  injection: Injection | undefined
  /** The facts of the request that the session was opened with. */
  asked: Asked
  settings: Settings
  /** How the provider's cache has behaved; this takes precedence over the requested lifetime. */
  seen: { cacheTtl?: string; cacheKept?: number; mayClear?: false }
  /** How many results the provider has cleared on request. */
  cleared: number
  watch: CacheWatch
  answeredAt?: number
  /** The last body, and what was sent in its place. */
  last?: { bytes: Buffer; sent: Sent | undefined }
  /**
   * The messages that were last written with edits, the client's number of messages then, and the state of the edits.
   */
  written?: { messages: readonly Wire[]; length: number; edited: number }
  /** The messages that were sent last, if we wrote them: they are known to be legal. */
  legal?: readonly Message[]
  /** The first entry in which a call of our tools may be unanswered. */
  lateFrom: number
  /** Calls of our tools that were streamed to the client. */
  lateCalls: Map<string, CallMade>
}

/** Facts of a request about its conversation. If they change, the session is opened again. */
type Asked = { model: string; cacheTtl?: string; cacheKept?: number; serverEdits: boolean; mayClear?: boolean }

export type Sent = {
  body: Spliced
  /** Valid while the session's edits are unchanged. Undefined if more than the edits decides the body. */
  edits: { fold: Readonly<Fold>; edited: number } | undefined
  /** How many results the provider is told to clear. */
  clears: number
}

export type LiveOptions = {
  pal: Palimpsest
  policy: string | PlannerFactory | undefined
  /** The share of conversations that are recorded and never edited. */
  holdout: number
  inject: InjectionOptions
  /** When the provider is told to clear old results itself. */
  serverEdits: ServerEdits
  /** Called after a failure that does not stop the conversation. */
  fault: (kind: string, error: unknown) => void
}

export type Opening = {
  dialect: ProxyDialect
  headers: SomeHeaders
  body: Wire
  isHere: boolean
  user: string | undefined
  model: string | undefined
}

const MOST_LIVE = 128
/** How many sessions are read when a conversation continues after a restart, or from another server. */
const LOOK_BACK = 30
const READ_BACK = 1000

export class LiveSessions {
  readonly #options: LiveOptions
  readonly #live = new Remembered<string, Live>(MOST_LIVE)
  /** The length of each session when it was last read. */
  readonly #read = new Remembered<string, number>(READ_BACK)

  constructor(options: LiveOptions) {
    this.#options = options
  }

  known(session: string): Live | undefined {
    return this.#live.get(session)
  }

  async open(place: Place, opening: Opening): Promise<Live> {
    const { pal } = this.#options
    const { settings } = pal
    const known = this.#live.get(place.session)
    const asked = askedOf(opening, this.#options.serverEdits, known?.seen)
    // A session that was deleted meanwhile begins again with everything that the client sends.
    const isSame = known?.settings === settings && sameJson(known.asked, asked)
    if (known && isSame && (await pal.find(place.session))) return known
    const { serverEdits, mayClear, ...told } = asked
    const isHoldout = this.#isHoldout(place)
    // If the server edits the history itself, our edits would break its cache a second time.
    const about = aboutOf(place, opening)
    const policy = place.side || isHoldout || serverEdits ? 'none' : (this.#options.policy ?? pal.plannerFor(about))
    const overhead = Math.ceil(JSON.stringify(opening.body['tools'] ?? '').length / 4)
    const clears = { serverClears: mayClear === true || serverEdits }
    const options: OpenOptions = { ...told, policy, overhead, about, ...toolFacts(pal, opening), ...clears }
    const session = await pal.session(place.session, options)
    const isNew = session.fold.entries.length === 0
    if (isNew) await session.record({ type: 'decision', text: introduce(place, isHoldout) })
    const injection = await this.#injection(session, { isNew: isNew && !place.side, isHoldout }, opening)
    const recallWith = recallNameIn(opening.body, injection)
    const { seen = {}, cleared = 0, watch = new CacheWatch(), lateCalls = new Map() }: Partial<Live> = known ?? {}
    const live: Live = {
      session: injection ? await this.#reopened(session, { ...options, recallWith }, injection) : session,
      model: asked.model,
      policy,
      isHoldout,
      injection,
      asked,
      settings,
      ...{ seen, cleared, watch, lateFrom: 0, lateCalls },
    }
    this.#live.set(place.session, live)
    return live
  }

  /** Moves the conversation to another session: a fork of its old one. */
  follow({ last: _, legal: __, written: ___, ...before }: Live, session: Session): Live {
    const live = { ...before, session, lateFrom: 0 }
    this.#live.set(session.id, live)
    return live
  }

  /** Reads from the ledger what this process would remember if it had served the conversations itself. */
  async recover(client: ClientKey | undefined, conversations: Conversations): Promise<void> {
    const { pal } = this.#options
    if (client && !(await pal.find(client.key))) return
    const found = await pal.sessions(client ? { contains: client.key } : { limit: LOOK_BACK })
    for (const { id, length, updatedAt } of found.reverse()) {
      if (client && !isSegment(id, client.key)) continue
      // Live sessions are remembered already, and sessions that have not grown have been read already.
      if (!client && (this.#live.has(id) || this.#read.get(id) === length)) continue
      this.#read.set(id, length)
      const session = await pal.session(id, { mustExist: true })
      const link = lastLink(await session.events())
      conversations.note(id, { client, chain: link === undefined ? [] : [link], now: updatedAt })
    }
  }

  /** The injection of a conversation, fixed when it begins and never later. */
  async #injection(
    session: Session,
    { isNew, isHoldout }: { isNew: boolean; isHoldout: boolean },
    { dialect, body, user }: Opening,
  ): Promise<Injection | undefined> {
    if (!isNew) return recordedInjection(session)
    const { inject } = this.#options
    const options = isHoldout ? { ...inject, tools: false } : inject
    const injection = await newInjection({ dialect, body, user }, options).catch(error =>
      this.#options.fault('inject', error),
    )
    if (!injection) return undefined
    await recordInjection(session, injection)
    return injection
  }

  /** Opens the session again with the injection counted, and with ids at large results if our tools are added. */
  #reopened(session: Session, options: OpenOptions, injection: Injection): Promise<Session> {
    const overhead = (options.overhead ?? 0) + injectedTokens(injection)
    return this.#options.pal.session(session.id, { ...options, overhead, ids: injection.tools !== undefined })
  }

  /** Gives the same decision for a conversation and for everything that it starts, on any day. */
  #isHoldout({ session, parent }: Place): boolean {
    const [root = ''] = (parent ?? session).split(/\.|-fork-/)
    return Number.parseInt(digest(root).slice(0, 8), 16) / 2 ** 32 < this.#options.holdout
  }
}

/** The tool with which the model can read shortened content: an added one, or one of the client's. */
function recallNameIn(body: Wire, injection?: Injection): string | false {
  const added = injection?.tools?.find(({ tool }) => tool === 'recall')?.name
  return added ?? recallToolIn(namesOfTools(body)) ?? false
}

/** What the model can do with the client's own tools. */
function toolFacts(
  pal: Palimpsest,
  { body, isHere }: Opening,
): Pick<OpenOptions, 'recallWith' | 'saveWith' | 'readsFiles'> {
  const names = [...namesOfTools(body)]
  const reads = (name: string) => {
    const { kind } = describeCall(name, { command: 'view' }, pal.settings.tools)
    return (kind === 'read' || kind.startsWith('shell')) && bareName(name) !== 'memory'
  }
  const readsFiles = isHere && !pal.files.isTable && names.some(reads)
  return { recallWith: recallNameIn(body), saveWith: savingToolIn(names), readsFiles }
}

/** A deployment may have any name, so a model behind these dialects follows their provider's rules on reasoning. */
const FAMILIES: Partial<Record<ProxyDialect['name'], string>> = { 'openai-responses': 'gpt', gemini: 'gemini' }

function modelFor({ dialect, model }: Opening): string {
  const name = model ? headOf(model, 100) : 'unknown'
  const family = FAMILIES[dialect.name]
  return family && !isKnownModel(name) ? `${family}:${name}` : name
}

/** The facts of the request, overridden by the provider's observed behavior. */
function askedOf(opening: Opening, wanted: ServerEdits, seen: Live['seen'] = {}): Asked {
  const { dialect, headers, body } = opening
  const { cacheTtl, longWindow, serverEdits, mayClear } = factsOf(dialect, headers, body, wanted)
  const model = modelFor(opening)
  return {
    model: longWindow && !model.endsWith(LONG_WINDOW) ? model + LONG_WINDOW : model,
    ...(cacheTtl === undefined ? {} : { cacheTtl }),
    ...(mayClear ? { mayClear } : {}),
    ...seen,
    serverEdits: serverEdits.length > 0,
  }
}

/** How clients name a model with a window of a million tokens. */
const LONG_WINDOW = '[1m]'

function aboutOf({ parent, side }: Place, { headers, body }: Opening): NonNullable<OpenOptions['about']> {
  const client = clientNameOf(headers)
  const project = projectIn(body)
  const isAgents = parent !== undefined && !side && clientKeyOf(headers)?.parent === parent
  return {
    ...(client ? { client } : {}),
    ...(parent ? { parent } : {}),
    ...(isAgents ? { reason: 'sub-agent' } : {}),
    ...(project ? { project } : {}),
  }
}

function introduce({ by, parent, side }: Place, isHoldout: boolean): string {
  const kind = side ? `A side call (${side})` : parent ? 'A conversation with a parent' : 'A conversation'
  const from = parent ? `, from ${parent}` : ''
  return `${kind} through the proxy, recognised by ${by}${from}.${isHoldout ? ' Holdout: never edited.' : ''}`
}
